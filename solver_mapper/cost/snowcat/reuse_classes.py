"""Which loop orders differ: the reuse that an order of the backing-store loops gives each tensor.

A tensor's tile is fetched anew once per iteration of the nest down to its innermost relevant loop;
the loops inside that one are free. Only two things about an order matter to a tensor, then: the set
of loops inside its innermost relevant loop, and, for a sliding window, which loop that is, because
consecutive windows along it overlap. Orders that agree on both for every tensor are one class; 7!
orders of a convolution leave a few dozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solver_mapper.core.dominance import undominated
from solver_mapper.core.problem import Problem, Tensor


@dataclass(frozen=True)
class ReuseClass:
    """`order` is one order of the class, innermost loop first. Per tensor: `reused[i]`, the loops
    inside its innermost relevant loop, and `slides[i]`, that loop if windows overlap along it, else
    None.
    """

    order: tuple[str, ...]
    reused: tuple[frozenset[str], ...]
    slides: tuple[str | None, ...]

    def covers(self, other: ReuseClass) -> bool:
        """No tile has more traffic here than in `other`: at least its reuse, and its overlaps if it
        has any.
        """
        return all(
            theirs <= ours and their_slide in (None, our_slide)
            for ours, theirs, our_slide, their_slide in zip(
                self.reused, other.reused, self.slides, other.slides, strict=True
            )
        )


def window_dims(tensor: Tensor) -> frozenset[str]:
    """Dimensions that share a rank with another (`P + R`). Only along these do neighbouring input
    tiles overlap.

    Written tensors have none: partial sums in an overlap are written back and read again (no
    credit).
    """
    if tensor.read_write:
        return frozenset()
    return frozenset(term.dim for rank in tensor.ranks if len(rank) > 1 for term in rank)


def has_windows(problem: Problem) -> bool:
    """Does some tensor, read or written, have a rank of several dimensions?"""
    return any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks)


def class_of(order: Sequence[str], tensors: Sequence[Tensor]) -> ReuseClass:
    """The class of one order, given innermost first. Every listed loop counts, even one of a single
    iteration.
    """
    reused, slides = [], []
    for tensor in tensors:
        inside = next((i for i, dim in enumerate(order) if dim in tensor.dims), len(order))
        first = order[inside] if inside < len(order) else None
        reused.append(frozenset(order[:inside]))
        slides.append(first if first in window_dims(tensor) else None)
    return ReuseClass(tuple(order), tuple(reused), tuple(slides))


def reuse_classes(
    dims: Sequence[str], tensors: Sequence[Tensor], stages: Sequence[Sequence[str]] = ()
) -> tuple[ReuseClass, ...]:
    """The classes that no other covers, of the orders in which all loops of `stages[0]` are
    innermost, those of `stages[1]` next around them, and so on; loops in no stage are outermost.
    Without stages, of all orders.

    Built from the innermost loop outwards. While a tensor is still waiting for its first relevant
    loop, loops of the current stage that no waiting tensor indexes may come next at no cost to
    anyone, so they do; only the choice of the next loop that ends a wait branches.
    """
    listed = {dim for stage in stages for dim in stage}
    plan = [[dim for dim in stage if dim in dims] for stage in stages] + [
        [dim for dim in dims if dim not in listed]
    ]
    found: dict[tuple[tuple[frozenset[str], ...], tuple[str | None, ...]], ReuseClass] = {}

    def extend(order: tuple[str, ...], waiting: tuple[Tensor, ...]) -> None:
        rest = next(
            filter(None, ([dim for dim in stage if dim not in order] for stage in plan)), []
        )
        free = tuple(dim for dim in rest if not any(dim in tensor.dims for tensor in waiting))
        if not rest:
            kind = class_of(order, tensors)
            found.setdefault((kind.reused, kind.slides), kind)
        elif free:
            extend(order + free, waiting)
        else:
            for dim in rest:
                extend((*order, dim), tuple(tensor for tensor in waiting if dim not in tensor.dims))

    extend((), tuple(tensors))
    return tuple(undominated(found.values(), ReuseClass.covers))

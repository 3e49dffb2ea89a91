"""Orders of the loops, and which tensors' tiles span which loops whole: what decides how often a
tile is loaded again.

A plan says for every tensor along which loops it is cut (along the others its tile is held whole)
and which loops repeat its tiles. A tile is loaded again in every iteration of a loop that does not
select it, if a loop inside does select it. Output tiles are never left before their sums are
complete, so nothing may repeat them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from solver_mapper.core.dominance import undominated
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.search.splits import LoopSplit, followers
from solver_mapper.tiling.tensors import Tensor


@dataclass(frozen=True)
class PlannedTensor:
    """One tensor in a plan: the loops that cut it, and the loops that repeat its tiles."""

    cut: frozenset[str]
    repeated: frozenset[str]


@dataclass(frozen=True)
class LoopPlan:
    """`order`: the loops that may have several pieces, outer to inner. `uses[i]` belongs to the
    operator's i-th tensor.
    """

    order: tuple[str, ...]
    uses: tuple[PlannedTensor, ...]


@dataclass(frozen=True)
class TensorLoops:
    """A tensor to the planner: the loops that it follows, and those of them along which cutting may
    cost: neighbours overlap, or each is padded.
    """

    loops: frozenset[str]
    costly: frozenset[str]
    written: bool


def relevance(
    operator: Operator, tensor: Tensor, ways: Mapping[str, tuple[LoopSplit, ...]], alignment: int
) -> TensorLoops:
    """What the planner needs to know of a tensor, given the splits that each loop may have."""
    costly = set()
    for loop in tensor.loops:
        position = [follower.tensor for follower in followers(operator, loop, alignment)].index(
            tensor.name
        )
        whole = next(split.total[position] for split in ways[loop] if split.trips == 1)
        if any(split.total[position] > whole for split in ways[loop]):
            costly.add(loop)
    return TensorLoops(
        frozenset(tensor.loops), frozenset(costly), tensor.name == operator.output.name
    )


@lru_cache(maxsize=256)
def plans(loops: tuple[str, ...], tensors: tuple[TensorLoops, ...]) -> tuple[LoopPlan, ...]:
    """The plans over some or all of these loops that are not dominated by another."""
    found: dict[tuple[frozenset[str], tuple[PlannedTensor, ...]], LoopPlan] = {}
    for count in range(len(loops) + 1):
        for order in itertools.permutations(loops, count):
            choices = [_front_of_uses(_uses(order, tensor), tensor) for tensor in tensors]
            for uses in itertools.product(*choices):
                found.setdefault((frozenset(order), uses), LoopPlan(order, uses))
    return _front(list(found.values()), tensors)


def _uses(order: tuple[str, ...], tensor: TensorLoops) -> Iterator[PlannedTensor]:
    """How a tensor may be cut under an order."""
    follows = [loop for loop in order if loop in tensor.loops]
    for count in range(len(follows) + 1):
        for cut in itertools.combinations(follows, count):
            innermost = max((order.index(loop) for loop in cut), default=-1)
            repeated = frozenset(loop for loop in order[: max(innermost, 0)] if loop not in cut)
            if not (tensor.written and repeated):
                yield PlannedTensor(frozenset(cut), repeated)


def _beats(
    use: PlannedTensor, other: PlannedTensor, tensor: TensorLoops, among: frozenset[str]
) -> bool:
    """Whether `use` never takes more room nor moves more than `other`, where only the loops `among`
    have several pieces.

    Cutting further costs no traffic except along the loops that are costly to cut.
    """
    cut = use.cut & among
    return (
        cut >= other.cut
        and not (cut - other.cut) & tensor.costly
        and use.repeated & among <= other.repeated
    )


def _front_of_uses(uses: Iterator[PlannedTensor], tensor: TensorLoops) -> list[PlannedTensor]:
    listed = list(uses)
    loops = tensor.loops.union(*(use.repeated for use in listed))
    return undominated(listed, lambda one, other: _beats(one, other, tensor, loops))


def _front(found: list[LoopPlan], tensors: tuple[TensorLoops, ...]) -> tuple[LoopPlan, ...]:
    """The plans that no other beats. Larger sets of loops come first, since they contain the
    smaller ones.
    """
    ordered = sorted(found, key=_promise)
    return tuple(undominated(ordered, lambda one, other: _dominates(one, other, tensors)))


def _promise(plan: LoopPlan) -> tuple[int, int, tuple[str, ...]]:
    return -len(plan.order), sum(len(use.repeated) - len(use.cut) for use in plan.uses), plan.order


def _dominates(plan: LoopPlan, other: LoopPlan, tensors: tuple[TensorLoops, ...]) -> bool:
    among = frozenset(other.order)
    return among <= set(plan.order) and all(
        _beats(use, than, tensor, among)
        for use, than, tensor in zip(plan.uses, other.uses, tensors, strict=True)
    )


def plans_for(
    operator: Operator, ways: Mapping[str, tuple[LoopSplit, ...]], alignment: int
) -> tuple[LoopPlan, ...]:
    """Plans over the loops that have more than one iteration, given the splits that each loop may
    have.
    """
    loops = tuple(loop for loop, size in operator.loops.items() if size > 1)
    return plans(
        loops, tuple(relevance(operator, tensor, ways, alignment) for tensor in operator.tensors)
    )

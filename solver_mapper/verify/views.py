"""What a lower bound may take for granted of a tensor: how its words answer to loops, whatever
stands between them.

A dimension is *fixed* for a tensor if some rank of it is that dimension alone: tiles at different
places along it share no word. It is *idle* if no rank uses it. All others, the dimensions of
sliding windows, are neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from solver_mapper.core.index_sums import distinct_sums
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.projection import Projection, project

Spared = tuple[frozenset[int], ...]
"""For each tensor, the idle dimensions whose loops need not be paid for."""


@dataclass(frozen=True)
class View:
    """A tensor with its dimensions by number. `plain`: every rank is a dimension of its own, so
    that counts are products.

    `words` are the distinct words that iterations touch, at least; `fixed_words` the same for the
    fixed dimensions alone.
    """

    projection: Projection
    fixed: frozenset[int]
    idle: frozenset[int]
    plain: bool
    words: int
    fixed_words: int


def view(problem: Problem, number: int) -> View:
    """The view of tensor `number`."""
    projection = project(problem, problem.tensors[number])
    sizes = [problem.bounds[dim] for dim in problem.dims]
    terms = [dim for rank in projection.ranks for dim, _ in rank]
    fixed = frozenset(rank[0][0] for rank in projection.ranks if len(rank) == 1)
    plain = len(projection.plain) == len(projection.ranks) == len(fixed) == len(terms)
    used: set[int] = set(fixed)
    words = fixed_words = prod(sizes[dim] for dim in fixed)
    for rank in projection.ranks:
        if not used & {dim for dim, _ in rank}:
            words *= distinct_sums((coefficient, sizes[dim]) for dim, coefficient in rank)
            used |= {dim for dim, _ in rank}
    return View(
        projection,
        fixed,
        frozenset(range(len(sizes))) - set(terms),
        plain,
        words,
        fixed_words,
    )


def sparings(views: tuple[View, ...], dims: int) -> list[Spared]:
    """What any sequence of loops can spare each tensor, at most; sets that others contain are left
    out.

    Going outwards from the innermost loop, a tensor's idle loops are spared until a loop over one
    of its fixed dimensions comes. So the order in which dimensions come first decides, and
    dimensions that are fixed for no tensor still being spared may as well come at once.
    """
    found: set[Spared] = set()

    def grow(placed: frozenset[int], spared: dict[int, frozenset[int]]) -> None:
        alive = [number for number in range(len(views)) if number not in spared]
        free = {
            dim for dim in range(dims) if not any(dim in views[number].fixed for number in alive)
        }
        placed |= free
        left = [dim for dim in range(dims) if dim not in placed]
        if not left:
            found.add(
                tuple([spared.get(number, views[number].idle) for number in range(len(views))])
            )
        for dim in left:
            ended = {
                number: views[number].idle & placed
                for number in alive
                if dim in views[number].fixed
            }
            grow(placed | {dim}, spared | ended)

    grow(frozenset(), {})
    return [
        one
        for one in sorted(found, key=_ordered)
        if not any(one != other and _within(one, other) for other in found)
    ]


def _within(one: Spared, other: Spared) -> bool:
    return all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def _ordered(spared: Spared) -> list[list[int]]:
    return [sorted(each) for each in spared]

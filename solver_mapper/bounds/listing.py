"""Every mapping of one Einsum, one by one: all tiles, all orders of the loops over tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Protocol, TypeVar

from solver_mapper.bounds.search import Restriction
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem


def tiles_within(problem: Problem, restriction: Restriction) -> Iterator[dict[str, int]]:
    """All tiles that `restriction` allows."""
    sizes = [restriction.tiles.get(dim, divisors(problem.bounds[dim])) for dim in problem.dims]
    for tile in product(*sizes):
        yield dict(zip(problem.dims, tile, strict=True))


def loop_orders(
    problem: Problem, tile: Mapping[str, int], stages: Sequence[Sequence[str]]
) -> Iterator[tuple[str, ...]]:
    """All orders, outermost first, of the loops over tiles of more than one iteration that obey
    `stages` (see `Restriction`).
    """
    loops = [dim for dim in problem.dims if tile[dim] < problem.bounds[dim]]
    return staged_orders(loops, stages)


def staged_orders(
    dims: Sequence[str], stages: Sequence[Sequence[str]]
) -> Iterator[tuple[str, ...]]:
    """Orders, outermost first, in which the loops of `stages[0]` are innermost, those of
    `stages[1]` next around them, and so on.
    """
    listed = {dim for stage in stages for dim in stage}
    plan = [
        [dim for dim in dims if dim not in listed],
        *([dim for dim in stage if dim in dims] for stage in reversed(stages)),
    ]
    for chosen in product(*(permutations(stage) for stage in plan)):
        yield tuple(dim for stage in chosen for dim in stage)


class Placed(Protocol):
    """What stands somewhere between buffer size and accesses."""

    @property
    def buffer(self) -> int:
        """Space, in units of the listing."""

    @property
    def accesses(self) -> int:
        """Traffic, in units of the listing."""


P = TypeVar("P", bound=Placed)


def strict_curve(points: Iterable[P]) -> tuple[P, ...]:
    """The points with fewer accesses than every point of a smaller or equal buffer; of equals, the
    first.
    """
    kept: list[P] = []
    for point in sorted(points, key=lambda each: (each.buffer, each.accesses)):
        if not kept or point.accesses < kept[-1].accesses:
            kept.append(point)
    return tuple(kept)


def corners_of(points: Iterable[Placed]) -> dict[int, int]:
    """The bound curve of `points`: least accesses by buffer."""
    return {point.buffer: point.accesses for point in strict_curve(points)}

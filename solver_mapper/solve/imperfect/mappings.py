"""The mappings of one cell: loop bounds and stores are given, orders are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from solver_mapper.core.mapping import Mapping as LoopNest
from solver_mapper.solve.imperfect.shapes import Plan
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.mapspace import Bars, Bounds, Skeleton


def level_bounds(
    space: ImperfectMapspace, chains: Mapping[str, Sequence[int]]
) -> list[dict[str, Bounds]]:
    """For each level and axis, the dimensions with a bound above 1. `chains[dim]`: bounds at all
    sites.
    """
    bounds: list[dict[str, Bounds]] = [{"": {}, "X": {}, "Y": {}} for _ in range(space.depth)]
    for dim, chain in chains.items():
        for (level, axis), bound in zip(space.loop_slots, chain, strict=True):
            if bound > 1:
                bounds[level][axis][dim] = bound
    return bounds


def skeletons(
    space: ImperfectMapspace, plan: Plan, bounds: list[dict[str, Bounds]]
) -> Iterator[Skeleton]:
    """All orders of loops of these bounds that constraints allow, with the innermost loops that
    `plan` asks for.
    """
    dims = space.problem.dims
    choices: list[list[tuple[Bars, Bars]]] = []
    for level, here in enumerate(bounds):
        orders, layouts = space.ways(level, here)
        kind = plan.innermost[level]
        wanted = None if kind is None else {dims[number] for number in kind}
        times = [
            tuple((dim, here[""][dim], "") for dim in reversed(order))
            for order in orders
            if wanted is None or (order[0] in wanted if order else not wanted)
        ]
        places = [
            (
                *((dim, here["Y"][dim], "Y") for dim in reversed(outer)),
                *((dim, here["X"][dim], "X") for dim in reversed(inner)),
            )
            for inner, outer in layouts
        ]
        choices.append(list(product(times, places)))
    return product(*choices)


def mappings(
    space: ImperfectMapspace, plan: Plan, bounds: list[dict[str, Bounds]]
) -> Iterator[LoopNest]:
    """All mappings of a cell under a plan."""
    for skeleton in skeletons(space, plan, bounds):
        yield space.mapping(skeleton, plan.stores)

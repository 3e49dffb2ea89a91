"""A mapping with given spatial and temporal loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from solver_mapper.core.mapping import Mapping
from solver_mapper.solve.imperfect.joint.path import TemporalLoop
from solver_mapper.solve.imperfect.local_search import reached
from solver_mapper.verify.mapspace import EnumeratedMapspace, LoopSlot

Spread = Sequence[Sequence[int]]
"""For each level and dimension, the instances along it."""


def mapping_of(
    space: EnumeratedMapspace,
    spread: Spread,
    loops: Sequence[TemporalLoop],
    keeps: tuple[tuple[bool, ...], ...],
) -> Mapping | None:
    """The mapping, with one temporal loop for each dimension of a level: where the innermost of
    them stands. None if the spatial loops do not fit the meshes.
    """
    dims, order = space.problem.dims, dict[tuple[int, str], int]()
    for level, dim, bound in reversed(loops):
        key = (level, dims[dim])
        order[key] = order.get(key, 1) * bound
    axes = [_axes(space.architecture.fanout(level), row) for level, row in enumerate(spread)]
    skeleton = []
    chains = {dim: dict.fromkeys(space.loop_slots, 1) for dim in dims}
    for (level, name), bound in order.items():
        chains[name][level, ""] = bound
    for level, chosen in enumerate(axes):
        if chosen is None:
            return None
        for number, axis in chosen.items():
            chains[dims[number]][level, axis] = spread[level][number]
    bounds = {dim: reached(space.problem.bounds[dim], chain) for dim, chain in chains.items()}
    for level in range(space.depth):
        temporal = [dim for at, dim in order if at == level][::-1]
        skeleton.append(
            (
                _bars(bounds, temporal, (level, "")),
                _bars(bounds, dims, (level, "Y")) + _bars(bounds, dims, (level, "X")),
            )
        )
    return space.mapping(tuple(skeleton), keeps)


def _bars(
    bounds: dict[str, dict[LoopSlot, int]], dims: Sequence[str], slot: LoopSlot
) -> tuple[tuple[str, int, str], ...]:
    return tuple((dim, bounds[dim][slot], slot[1]) for dim in dims if bounds[dim].get(slot, 1) > 1)


def _axes(room: tuple[int, int], row: Sequence[int]) -> dict[int, str] | None:
    """The axis of each dimension that is spread, the first choice that fits the mesh."""
    spread = {dim: bound for dim, bound in enumerate(row) if bound > 1}
    for axes in product("XY", repeat=len(spread)):
        used = [
            prod(bound for bound, axis in zip(spread.values(), axes, strict=True) if axis == each)
            for each in "XY"
        ]
        if used[0] <= room[0] and used[1] <= room[1]:
            return dict(zip(spread, axes, strict=True))
    return None

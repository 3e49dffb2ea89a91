"""Mappings that the model does not tell apart, but the exact account of sliding windows does.

The order of spatial loops along one axis decides who is whose neighbour; the order of temporal loops behind the decisive ones decides
whether the next window is a step or a jump.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, permutations, product

from solver_mapper.mapping import LevelMapping, Loop, Mapping
from solver_mapper.space.space import Space

MOST = 64


def variants(space: Space, mapping: Mapping) -> list[Mapping]:
    """`mapping` and its variants in the order of spatial loops, the given one first; at most `MOST`."""
    choices = [list(_orders(space, index, level)) for index, level in enumerate(mapping.levels)]
    found = []
    for chosen in islice(product(*choices), MOST):
        levels = tuple(replace(level, spatial=spatial) for level, spatial in zip(mapping.levels, chosen, strict=True))
        found.append(replace(mapping, levels=levels))
    return found


def _orders(space: Space, index: int, level: LevelMapping) -> Iterator[tuple[Loop, ...]]:
    pairs = space.spatial_orders.get(index, frozenset())
    by_axis = [[each for each in level.spatial if each.axis == axis] for axis in "YX"]
    for outer, inner in product(permutations(by_axis[0]), permutations(by_axis[1])):
        loops = (*outer, *inner)
        if not any((outside.dim, inside.dim) in pairs for i, outside in enumerate(loops) for inside in loops[i + 1:]):
            yield loops

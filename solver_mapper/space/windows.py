"""What a run of window steps costs: halos kept, and words passed on by neighbours.

A *run* is the innermost temporal loop outside a buffer, over a dimension that slides the window: `steps` tiles, each one step from the
last. The buffer fetches the first tile in full, then only what is new (reference 3.2). Units side by side hold windows at different
offsets; where one needs what a neighbour fetched a step before, the neighbour passes it on (reference 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from solver_mapper.space.shapes import Component

Offset = tuple[int, ...]


@dataclass(frozen=True)
class RunCost:
    """Words over one run: `sent` by the parent to all units of one instance, and `linked`, received from neighbours instead.

    Both assume the placement in which most neighbours line up; `sent` is then a lower bound for every placement.
    """

    sent: int
    linked: int


def new_words(component: Component, tile: Mapping[str, int], dim: str, step: int) -> int:
    """Words of a tile that its predecessor lacks when `dim` advances by `step` points."""
    full = overlap = 1
    for rank in component.ranks:
        extent = 1 + sum(abs(t.coefficient) * (tile[t.dim] - 1) for t in rank)
        moved = sum(abs(t.coefficient) for t in rank if t.dim == dim) * step
        full *= extent
        overlap *= max(0, extent - moved)
    return full - overlap


def fill_run(component: Component, tile: Mapping[str, int], dim: str, steps: int, step: int) -> int:
    """Words that enter one buffer over a run."""
    return component.footprint(tile) + (steps - 1) * new_words(component, tile, dim, step)


def send_run(component: Component, tile: Mapping[str, int], units: Mapping[str, int], dim: str, steps: int, linkable: bool) -> RunCost:
    """Words for `units[d]` buffers per dimension, side by side, over a run along `dim`; a step spans the units along `dim`."""
    held = offsets(component, tile, units)
    full = component.footprint(tile)
    step = tile[dim] * units[dim]
    fresh = new_words(component, tile, dim, step)
    groups, everyone = len(held), math.prod(units.values())
    if not linkable or groups == 1:
        return RunCost(groups * (full + (steps - 1) * fresh), 0)
    shift = tuple(sum(t.coefficient for t in rank if t.dim == dim) * step for rank in component.ranks)
    alone = [o for o in held if tuple(a + b for a, b in zip(o, shift, strict=True)) not in held]
    served = sum(held[o] for o in alone)
    if fresh < full:
        if steps == 1:
            return RunCost(groups * full, 0)
        linked = (everyone - served) * (steps - 2) * fresh
        return RunCost(groups * (full + fresh) + len(alone) * (steps - 2) * fresh, linked)
    first = min([len(alone), *(_unlinked(held, w) for w in _neighbour_shifts(component, tile, units))])
    return RunCost((first + len(alone) * (steps - 1)) * full, (everyone - served) * (steps - 1) * full)


def offsets(component: Component, tile: Mapping[str, int], units: Mapping[str, int]) -> dict[Offset, int]:
    """Where the units' windows begin, each with the number of units that share it."""
    found: dict[Offset, int] = {(0,) * len(component.ranks): 1}
    for dim in component.dims:
        strides = [sum(t.coefficient for t in rank if t.dim == dim) * tile[dim] for rank in component.ranks]
        spread: dict[Offset, int] = {}
        for (offset, count), index in product(found.items(), range(units[dim])):
            moved = tuple(o + index * s for o, s in zip(offset, strides, strict=True))
            spread[moved] = spread.get(moved, 0) + count
        found = spread
    return found


def _neighbour_shifts(component: Component, tile: Mapping[str, int], units: Mapping[str, int]) -> list[Offset]:
    shifts = []
    for dim in component.dims:
        if units[dim] > 1:
            stride = tuple(sum(t.coefficient for t in rank if t.dim == dim) * tile[dim] for rank in component.ranks)
            shifts += [stride, tuple(-s for s in stride)]
    return shifts


def _unlinked(held: Mapping[Offset, int], shift: Offset) -> int:
    return sum(tuple(a + b for a, b in zip(o, shift, strict=True)) not in held for o in held)

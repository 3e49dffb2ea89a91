"""What a run of window steps costs: halos kept, and words passed on by neighbours.

A *run* is the innermost temporal loop outside a buffer, over a dimension that slides the window: `steps` tiles, each one step from the
last. The buffer fetches the first tile in full, then only what is new (reference 3.2). Units side by side hold windows at different
offsets; where one needs what a neighbour fetched a step before, the neighbour passes it on (reference 3.3).
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class Run:
    """A run along `dim` of `steps` tiles for `units[d]` buffers per dimension, side by side, each with a tile of `tile[d]` points.

    `rest[d]` iterations of each dimension lie outside the run. A step spans the units along `dim`.
    """

    component: Component
    tile: Mapping[str, int]
    units: Mapping[str, int]
    dim: str
    steps: int
    rest: Mapping[str, int]

    @property
    def step(self) -> int:
        return self.tile[self.dim] * self.units[self.dim]

    def shift(self, points: Mapping[str, int]) -> Offset:
        """Words along each rank for so many points of each dimension."""
        return tuple(sum(t.coefficient * points.get(t.dim, 0) for t in rank) for rank in self.component.ranks)


def send_run(run: Run, linkable: bool, jumps: bool = False, scrambled: bool = False) -> RunCost:
    """Words of one run, if neighbours line up (`linkable`) or do not; `jumps` if even its first tile may come from neighbours.

    Neighbours are units next to each other along a spatial loop, unless rows are not full (`scrambled`): the grid is filled row by row
    (reference 3.3), and then any two units may come to stand side by side.
    """
    held = offsets(run.component, run.tile, run.units)
    full = run.component.footprint(run.tile)
    fresh = new_words(run.component, run.tile, run.dim, run.step)
    groups, steps = len(held), run.steps
    if not linkable or groups == 1 or steps == 1:
        return RunCost(groups * (full + (steps - 1) * fresh), 0)
    near = None if scrambled or len(run.component.dims) > 2 else _near(run)
    alone = _unlinked(held, run.shift({run.dim: run.step}), near)
    passing = sum(held.values()) - sum(held[o] for o in alone)
    if fresh < full:
        # the first step's neighbours hold whole tiles, not steps: nothing to pass on yet
        return RunCost(groups * (full + fresh) + len(alone) * (steps - 2) * fresh, passing * (steps - 2) * fresh)
    first = min([groups, *(len(_unlinked(held, shift, near)) for shift in _jumps(run, held))]) if jumps else groups
    return RunCost((first + len(alone) * (steps - 1)) * full, passing * (steps - 1) * full)


def _jumps(run: Run, held: Mapping[Offset, int]) -> set[Offset]:
    """Moves from the end of a run to the start of the next that could reach what another unit held.

    The run itself goes back `steps - 1` steps, while loops outside it move any of the component's dimensions by whole multiples.
    """
    reach = {tuple(a - b for a, b in zip(one, other, strict=True)) for one in held for other in held}
    shifts = {run.shift({run.dim: -run.step * (run.steps - 1)})}
    for dim in run.component.dims:
        move = run.shift({dim: run.step * run.steps if dim == run.dim else run.tile[dim] * run.units[dim]})
        times = range(1 - run.rest[dim], run.rest[dim])
        shifts = {tuple(a + n * b for a, b in zip(shift, move, strict=True)) for shift in shifts for n in times}
    return shifts & reach


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


def _unlinked(held: Mapping[Offset, int], shift: Offset, near: set[Offset] | None) -> list[Offset]:
    """The offsets whose shifted place no neighbour held; `near` are the differences between neighbours (None: any)."""
    if near is not None and shift not in near:
        return list(held)
    return [o for o in held if tuple(a + b for a, b in zip(o, shift, strict=True)) not in held]


def _near(run: Run) -> set[Offset]:
    """Differences between the windows of units that are next to each other along a spatial loop, or where the next loop carries."""
    spread = [dim for dim in run.component.dims if run.units[dim] > 1]
    moves = [{dim: run.tile[dim]} for dim in spread]
    moves += [{outer: run.tile[outer], inner: -run.tile[inner] * (run.units[inner] - 1)}
              for outer in spread for inner in spread if outer != inner]
    return {run.shift({dim: sign * points for dim, points in move.items()}) for move in moves for sign in (1, -1)}

"""What a run of window steps costs.

A *run* is the innermost temporal loop outside a buffer, over a dimension that slides the window:
`steps` tiles, each one step from the last. The buffer fetches the first tile in full, then only
what is new (docs/explanation/model.md "Words into a level"). Units side by side hold windows at
different offsets; where one needs what a neighbour fetched a step before, the neighbour may pass it
on (docs/explanation/model.md "Links").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from solver_mapper.deadline import check_time
from solver_mapper.mapspace.components import RankComponent

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """A run along `dim` of `steps` tiles for `units[d]` buffers per dimension, side by side, each
    with a tile of `tile[d]` points.

    `number`: how many runs there are, in all instances of the parent. `keeps` says whether a buffer
    keeps the overlap with the next tile. A step spans `stride` times the units along `dim`, since
    loops outside units further out skip these; or where that is not known, up to `strides` times as
    many.
    """

    component: RankComponent
    tile: Mapping[str, int]
    units: Mapping[str, int]
    dim: str
    steps: int
    number: int
    keeps: bool
    stride: int = 1
    strides: int = 1

    @property
    def step(self) -> int:
        """Points by which an iteration of the loop moves the window."""
        return self.tile[self.dim] * self.units[self.dim] * self.stride

    @property
    def shift(self) -> Offset:
        """How far windows move in a step."""
        return self.component.offset({self.dim: self.step})

    @property
    def full(self) -> int:
        """Words of one tile."""
        return self.component.footprint(self.tile)

    @property
    def fresh(self) -> int:
        """Words that are new in each tile but the first."""
        if not self.keeps:
            return self.full
        return new_words(self.component, self.tile, self.dim, self.step)

    @property
    def filled(self) -> int:
        """Words that enter one buffer over the run."""
        return self.full + (self.steps - 1) * self.fresh

    @property
    def sent(self) -> int:
        """Words that parents send in all runs, if neighbours pass nothing on."""
        return self.number * len(self._held) * self.filled

    @property
    def sent_at_least(self) -> int:
        """The same if they pass on all that any unit has held a step before; and all of the first
        tiles, too, unless these overlap with the next ones. Then these have been fetched anew.
        """
        return self.number * min(run._each_sends for run in self._with_strides())

    def _with_strides(self) -> Iterator[Run]:
        """The run with each stride that may make a difference: until windows move past all that
        were held.
        """
        spread = [max(rank) - min(rank) for rank in zip(*self._held, strict=True)]
        for stride in range(self.stride, self.strides + 1):
            run = replace(self, stride=stride, strides=stride)
            yield run
            past = any(abs(a) > b for a, b in zip(run.shift, spread, strict=True))
            if past and run.fresh == run.full:
                break

    @property
    def _each_sends(self) -> int:
        """What parents send in one run at least, if the stride is known."""
        fresh, full, windows = self.fresh, self.full, len(self._held)
        lone = _lone(self.component, self._tiles, self._units, self.shift)
        if fresh == full:
            return (self.steps - 1) * lone * full
        return windows * (full + fresh) + (self.steps - 2) * lone * fresh

    @property
    def _held(self) -> frozenset[Offset]:
        """Where the units' windows begin."""
        return _offsets(self.component, self._tiles, self._units)

    @property
    def _tiles(self) -> tuple[int, ...]:
        return tuple(self.tile[dim] for dim in self.component.dims)

    @property
    def _units(self) -> tuple[int, ...]:
        return tuple(self.units[dim] for dim in self.component.dims)


def new_words(component: RankComponent, tile: Mapping[str, int], dim: str, step: int) -> int:
    """Words of a tile that its predecessor lacks when `dim` advances by `step` points."""
    full = overlap = 1
    for rank in component.ranks:
        extent = 1 + sum(abs(t.coefficient) * (tile[t.dim] - 1) for t in rank)
        moved = sum(abs(t.coefficient) for t in rank if t.dim == dim) * step
        full *= extent
        overlap *= max(0, extent - moved)
    return full - overlap


@lru_cache(maxsize=4096)
def _offsets(
    component: RankComponent, tiles: tuple[int, ...], units: tuple[int, ...]
) -> frozenset[Offset]:
    """Where the windows of units side by side begin."""
    found = {(0,) * len(component.ranks)}
    for dim, tile, count in zip(component.dims, tiles, units, strict=True):
        step = component.offset({dim: tile})
        found = {
            tuple(a + index * b for a, b in zip(offset, step, strict=True))
            for offset, index in product(found, range(count))
        }
    return frozenset(found)


@lru_cache(maxsize=1 << 16)
def _lone(
    component: RankComponent, tiles: tuple[int, ...], units: tuple[int, ...], shift: Offset
) -> int:
    """How many windows no unit has held a step before."""
    check_time()
    held = _offsets(component, tiles, units)
    moved = (tuple(a + b for a, b in zip(each, shift, strict=True)) for each in held)
    return sum(each not in held for each in moved)

"""The loop nest of a mapping laid over the levels of an architecture, and the tile that each level
holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from solver_mapper.core.mapping import Loop, Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.projection import Projection

Extents = tuple[int, ...]
"""Points of each dimension, in the problem's order."""


class PlacedLoop(NamedTuple):
    """A loop over the dimension numbered `dim`; one iteration advances `stride` points, the product
    of the bounds inside.

    `bound`, `last` and `axis` are those of `Loop`.
    """

    dim: int
    bound: int
    last: int
    stride: int
    axis: str


@dataclass(frozen=True)
class Nest:
    """All loops of a mapping, outer to inner, without loops of bound 1.

    `temporal[i]` and `spatial[i]` belong to level `i` (0 is the backing store). `tiles[i]` is the
    box of iterations of one tile of level `i`; the entry after the last level is the single point
    of one multiplier. `unions[i]` is the box of all instances of the next inner level below one
    instance of level `i`. `last_tiles` and `last_unions` are these boxes in the final round of all
    loops outside, where they are smaller if factors are residual.
    """

    temporal: tuple[tuple[PlacedLoop, ...], ...]
    spatial: tuple[tuple[PlacedLoop, ...], ...]
    tiles: tuple[Extents, ...]
    unions: tuple[Extents, ...]
    last_tiles: tuple[Extents, ...]
    last_unions: tuple[Extents, ...]
    perfect: bool

    @property
    def depth(self) -> int:
        """Number of storage levels."""
        return len(self.temporal)

    @cached_property
    def fanouts(self) -> tuple[int, ...]:
        """Used instances of the next inner level below one instance of each level."""
        return tuple([prod([loop.bound for loop in loops]) for loops in self.spatial])

    @cached_property
    def instances(self) -> tuple[int, ...]:
        """Used instances of each level, and of the compute units after the last."""
        counts = [1]
        for fanout in self.fanouts:
            counts.append(counts[-1] * fanout)
        return tuple(counts)

    def outside(self, level: int) -> tuple[PlacedLoop, ...]:
        """Loops outside the tile of `level`, outer to inner, without the spatial loops that spread
        `level` itself.
        """
        loops: list[PlacedLoop] = []
        for index in range(level):
            loops += self.temporal[index]
            if index < level - 1:
                loops += self.spatial[index]
        return tuple(loops)

    def tile_words(self, projection: Projection, level: int) -> int:
        """Words of a tensor in the largest tile of `level`: the bounding box of the data, holes
        included.
        """
        if self.perfect:
            return projection.words(self.tiles[level])
        loops = (*self.outside(level), *(self.spatial[level - 1] if level else ()))
        return projection.words(_largest(self.tiles[level], self.last_tiles[level], loops))

    def union_words(self, projection: Projection, level: int) -> int:
        """Words of a tensor that all instances below one instance of `level` hold together, at
        most.
        """
        if self.perfect:
            return projection.words(self.unions[level])
        loops = (
            *self.outside(level),
            *(self.spatial[level - 1] if level else ()),
            *self.temporal[level],
        )
        return projection.words(_largest(self.unions[level], self.last_unions[level], loops))


def _largest(full: Extents, last: Extents, outside: tuple[PlacedLoop, ...]) -> Extents:
    """The largest box ever seen: the last round's, for dimensions along which there is no other
    round.
    """
    varied = {loop.dim for loop in outside if loop.last > 1}
    return tuple(full[dim] if dim in varied else last[dim] for dim in range(len(full)))


def build_nest(problem: Problem, mapping: Mapping) -> Nest:
    """Lay the loops of `mapping` out, with strides and tile extents."""
    index = {dim: number for number, dim in enumerate(problem.dims)}
    scale = [1] * len(index)
    final = [1] * len(index)
    perfect = True

    def position(loops: tuple[Loop, ...]) -> tuple[PlacedLoop, ...]:
        nonlocal perfect
        placed = []
        for loop in reversed(loops):
            bound, last = loop.bound, loop.last
            if bound > 1:
                dim = index[loop.dim]
                stride = scale[dim]
                placed.append(PlacedLoop(dim, bound, last, stride, loop.axis))
                final[dim] += stride * (last - 1)
                scale[dim] = stride * bound
                perfect = perfect and bound == last
        placed.reverse()
        return tuple(placed)

    temporal: list[tuple[PlacedLoop, ...]] = []
    spatial: list[tuple[PlacedLoop, ...]] = []
    tiles, last_tiles = [tuple(scale)], [tuple(final)]
    unions: list[Extents] = []
    last_unions: list[Extents] = []
    for level in reversed(mapping.levels):
        spatial.append(position(level.spatial))
        unions.append(tuple(scale))
        last_unions.append(tuple(final))
        temporal.append(position(level.temporal))
        tiles.append(tuple(scale))
        last_tiles.append(tuple(final))
    for part in (temporal, spatial, tiles, unions, last_tiles, last_unions):
        part.reverse()
    return Nest(
        tuple(temporal),
        tuple(spatial),
        tuple(tiles),
        tuple(unions),
        tuple(last_tiles),
        tuple(last_unions),
        perfect,
    )

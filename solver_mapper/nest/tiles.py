"""The loop nest of a mapping laid over the levels of an architecture, and the tile that each level holds."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass
from functools import cached_property
from math import prod

from solver_mapper.mapping import Loop, Mapping
from solver_mapper.spec.problem import Problem, Tensor


@dataclass(frozen=True, slots=True)
class PlacedLoop:
    """A loop with its `stride`: how many points of `dim` one iteration advances (the product of the bounds inside)."""

    dim: str
    bound: int
    last: int
    stride: int
    axis: str = ""


@dataclass(frozen=True)
class Extents:
    """Points per dimension of a box of iterations.

    `full` is its usual size, `last` its size where every loop outside is in its final round (smaller with residual factors).
    """

    full: MappingType[str, int]
    last: MappingType[str, int]


@dataclass(frozen=True)
class Nest:
    """All loops of a mapping, outer to inner, without loops to 1.

    `temporal[i]` and `spatial[i]` belong to level `i` (0 is the backing store). `tiles[i]` is the box of iterations covered by
    one tile of level `i`; the entry after the last level is the single point of one multiplier. `unions[i]` is the box
    covered by all instances of the next inner level below one instance of level `i`.
    """

    problem: Problem
    temporal: tuple[tuple[PlacedLoop, ...], ...]
    spatial: tuple[tuple[PlacedLoop, ...], ...]
    tiles: tuple[Extents, ...]
    unions: tuple[Extents, ...]

    @property
    def depth(self) -> int:
        """Number of storage levels."""
        return len(self.temporal)

    @cached_property
    def fanouts(self) -> tuple[int, ...]:
        """Used instances of the next inner level below one instance of each level."""
        return tuple(prod(loop.bound for loop in loops) for loops in self.spatial)

    @cached_property
    def instances(self) -> tuple[int, ...]:
        """Used instances of each level, and of the multipliers after the last."""
        counts = [1]
        for fanout in self.fanouts:
            counts.append(counts[-1] * fanout)
        return tuple(counts)

    @cached_property
    def perfect(self) -> bool:
        return all(loop.bound == loop.last for loops in (*self.temporal, *self.spatial) for loop in loops)

    def outside(self, level: int) -> tuple[PlacedLoop, ...]:
        """Loops outside the tile of `level`, outer to inner, without the spatial loops that spread `level` itself."""
        loops: list[PlacedLoop] = []
        for index in range(level):
            loops.extend(self.temporal[index])
            if index < level - 1:
                loops.extend(self.spatial[index])
        return tuple(loops)

    def largest(self, level: int, union: bool = False) -> dict[str, int]:
        """Points per dimension of the largest tile of `level` that is ever held (`union`: of the box below its instances)."""
        box = self.unions[level] if union else self.tiles[level]
        loops = [*self.outside(level), *(self.spatial[level - 1] if level else ())]
        if union:
            loops += self.temporal[level]
        varied = {loop.dim for loop in loops if loop.last > 1}
        return {dim: box.full[dim] if dim in varied else box.last[dim] for dim in self.problem.dims}

    def tile_words(self, tensor: Tensor, level: int) -> int:
        """Words of `tensor` in the largest tile of `level`: the bounding box of the data, holes included."""
        return tensor.footprint(self.largest(level))


def build_nest(problem: Problem, mapping: Mapping) -> Nest:
    """Lay the loops of `mapping` out, with strides and tile extents."""
    scale = dict.fromkeys(problem.dims, 1)
    final = dict.fromkeys(problem.dims, 1)
    tiles = [Extents(dict(scale), dict(final))]
    temporal, spatial, unions = [], [], []

    def place(loops: tuple[Loop, ...]) -> tuple[PlacedLoop, ...]:
        placed = []
        for loop in reversed(loops):
            if loop.bound > 1:
                placed.append(PlacedLoop(loop.dim, loop.bound, loop.last, scale[loop.dim], loop.axis))
                final[loop.dim] += scale[loop.dim] * (loop.last - 1)
                scale[loop.dim] *= loop.bound
        return tuple(reversed(placed))

    for level in reversed(mapping.levels):
        spatial.append(place(level.spatial))
        unions.append(Extents(dict(scale), dict(final)))
        temporal.append(place(level.temporal))
        tiles.append(Extents(dict(scale), dict(final)))
    return Nest(
        problem, tuple(reversed(temporal)), tuple(reversed(spatial)), tuple(reversed(tiles)), tuple(reversed(unions))
    )



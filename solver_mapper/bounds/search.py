"""Every tile in every reuse class, evaluated in bulk: the exact bound curve of one loop nest.

For each reuse class the candidate tiles form a grid, one axis a dimension; footprints and traffic
are products of per-axis vectors, so numpy evaluates some ten million tiles a second. Nothing is
sampled. Three reductions are lossless: alike dimensions share an axis (`axes`), covered reuse
classes are dropped (`cost/snowcat/reuse_classes.py`), and an axis along which the smallest tile is
never worse is fixed there. A loop of one iteration counts as a loop here, which can only overstate
traffic; the class in which it stands outermost is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from solver_mapper.bounds.axes import TileAxis, axes_of, joined_problem, smallest_suffices
from solver_mapper.bounds.bound_curve import EMPTY, LARGEST, BoundCurve, Ints
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.snowcat.reuse_classes import ReuseClass, reuse_classes

BLOCK = 1 << 20
"""Tiles evaluated at once."""


@dataclass(frozen=True)
class FoundTile:
    """One step: `tile[dim]`, and the loops over tiles, outermost first, those of one iteration left
    out.
    """

    buffer: int
    accesses: int
    tile: Mapping[str, int]
    order: tuple[str, ...]


@dataclass(frozen=True)
class Restriction:
    """What a dataflow prescribes. `tiles[dim]`: the tile sizes allowed. `stages`: sets of loops
    over tiles, those of `stages[0]` innermost, those of `stages[1]` next around them, ...; loops in
    no stage are outermost.
    """

    tiles: Mapping[str, Sequence[int]]
    stages: tuple[tuple[str, ...], ...] = ()


FREE = Restriction({})


def least_traffic(
    problem: Problem,
    weights: Mapping[str, int] | None = None,
    restriction: Restriction = FREE,
    held: Sequence[tuple[Tensor, int]] = (),
) -> tuple[FoundTile, ...]:
    """The bound curve of buffer size against least accesses, both in units of
    `weights[tensor]` per word (1 by default).

    Mapspace: perfect factors, tiles of all tensors in the buffer, any order of the loops over
    tiles; or what `restriction` leaves of it. `held` are further tensors, with weights, whose tiles
    take space but do not move.
    """
    weights = weights or {}
    grids: list[_Grid] = []
    stairs, offset = EMPTY, 0
    for trivial in trivial_sets(problem, restriction):
        axes = axes_of(
            problem,
            allowed_tiles(problem, restriction, trivial),
            merge=not restriction.stages and not held,
        )
        if any(not axis.sizes for axis in axes):
            continue
        seen = joined_problem(problem, axes)
        dims = [dim for dim in seen.dims if dim not in trivial]
        for kind in reuse_classes(dims, seen.tensors, restriction.stages):
            grid = _grid(axes, kind, seen, weights, held, offset)
            stairs, offset = grid.improve(stairs), offset + grid.size
            grids.append(grid)
    return tuple(_found(stairs, step, grids, problem) for step in range(len(stairs)))


def trivial_sets(problem: Problem, restriction: Restriction) -> list[frozenset[str]]:
    """Sets of dimensions to take as having no loop over tiles.

    A prescribed order binds real loops only, so with stages every set is tried; without, the empty
    one suffices.
    """
    if not restriction.stages:
        return [frozenset()]
    return [
        frozenset(dim for dim, one in zip(problem.dims, ones, strict=True) if one)
        for ones in product((False, True), repeat=len(problem.dims))
    ]


def allowed_tiles(
    problem: Problem, restriction: Restriction, trivial: frozenset[str]
) -> dict[str, Sequence[int]]:
    """Tile sizes that a restriction allows, by dimension; dimensions in `trivial` have their whole
    bound.
    """
    allowed = dict(restriction.tiles)
    for dim in trivial:
        whole = problem.bounds[dim]
        allowed[dim] = [whole] if whole in allowed.get(dim, (whole,)) else []
    return allowed


@dataclass(frozen=True)
class _Grid:
    """All tiles of one reuse class. `sizes[i]` are the candidates kept along axis i, `offset` the
    code of the first tile.
    """

    axes: tuple[TileAxis, ...]
    sizes: tuple[tuple[int, ...], ...]
    kind: ReuseClass
    problem: Problem
    weights: Mapping[str, int]
    held: Sequence[tuple[Tensor, int]]
    offset: int
    exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(sizes) for sizes in self.sizes)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def improve(self, stairs: BoundCurve) -> BoundCurve:
        """`stairs` with every tile of the grid entered. The first axes are walked one by one so
        that a block stays small.
        """
        cut = 0
        while cut < len(self.shape) and math.prod(self.shape[cut:]) > BLOCK:
            cut += 1
        inner = math.prod(self.shape[cut:])
        for number, outer in enumerate(product(*self.sizes[:cut])):
            chosen = [(size,) for size in outer] + list(self.sizes[cut:])
            buffers, accesses = self._evaluate(chosen)
            codes = np.arange(inner, dtype=np.int64) + (self.offset + number * inner)
            stairs = stairs.merged(buffers, accesses, codes)
        return stairs

    def _evaluate(self, chosen: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
        """Footprint and traffic of the tiles spanned by `chosen`, flattened."""
        shape = tuple(len(sizes) for sizes in chosen)
        tile = {
            axis.name: self._vector(chosen[i], i, len(shape)) for i, axis in enumerate(self.axes)
        }
        trips = {axis.name: axis.bound // tile[axis.name] for axis in self.axes}
        footprint, traffic = (
            sum((weight * words_of(tensor, tile) for tensor, weight in self.held), self._zero()),
            self._zero(),
        )
        for index, tensor in enumerate(self.problem.tensors):
            weight = self.weights.get(tensor.name, 1)
            footprint = footprint + weight * words_of(tensor, tile)
            traffic = traffic + weight * moved_words(tensor, self.kind, index, tile, trips)
        return np.broadcast_to(footprint, shape).ravel(), np.broadcast_to(traffic, shape).ravel()

    def _vector(self, sizes: Sequence[int], position: int, length: int) -> Ints:
        shape = [1] * length
        shape[position] = len(sizes)
        return np.array(sizes, dtype=np.int64 if self.exact else object).reshape(shape)

    def _zero(self) -> Ints:
        return np.zeros((), dtype=np.int64 if self.exact else object)


def _grid(
    axes: Sequence[TileAxis],
    kind: ReuseClass,
    problem: Problem,
    weights: Mapping[str, int],
    held: Sequence[tuple[Tensor, int]],
    offset: int,
) -> _Grid:
    sizes = tuple(
        axis.sizes[:1] if smallest_suffices(axis, kind, problem.tensors) else axis.sizes
        for axis in axes
    )
    most = largest_traffic(problem, weights) + sum(
        weight * tensor.footprint(problem.bounds) for tensor, weight in held
    )
    return _Grid(tuple(axes), sizes, kind, problem, weights, held, offset, most < LARGEST)


def largest_traffic(problem: Problem, weights: Mapping[str, int]) -> int:
    """An upper bound of every intermediate value of an evaluation.

    An extent is at most (sum of coefficients) x (product of the rank's tile sizes); tiles times
    visits is then at most the number of operations times those coefficients, times once more the
    bound of every dimension that occurs again in a tensor.
    """
    total = 0
    for tensor in problem.tensors:
        value, seen = 2 * problem.macs * weights.get(tensor.name, 1), set[str]()
        for rank in tensor.ranks:
            value *= max(1, sum(abs(term.coefficient) for term in rank))
            for term in rank:
                value *= problem.bounds[term.dim] if term.dim in seen else 1
                seen.add(term.dim)
        total += value
    return total


def words_of(tensor: Tensor, tile: Mapping[str, Ints]) -> Ints:
    """`Tensor.footprint` for arrays of tiles."""
    return product_of(extents_of(tensor, tile))


def moved_words(
    tensor: Tensor,
    kind: ReuseClass,
    index: int,
    tile: Mapping[str, Ints],
    trips: Mapping[str, Ints],
) -> Ints:
    """Words that the tensor numbered `index` in a reuse class moves, for arrays of tiles; the rules
    are those of `movement` (`cost/snowcat/accesses.py`). `trips[dim]` counts the tiles along each
    dimension.
    """
    slide = kind.slides[index]
    counted = [dim for dim in trips if dim != slide and dim not in kind.reused[index]]
    visits = product_of([trips[dim] for dim in counted])
    words = words_of(tensor, tile)
    if tensor.read_write:
        return array_of(
            words * (2 * visits - product_of([trips[dim] for dim in counted if dim in tensor.dims]))
        )
    if slide is None:
        return array_of(words * visits)
    return array_of(visits * (words + (trips[slide] - 1) * (words - _overlap(tensor, tile, slide))))


def product_of(factors: Sequence[Ints]) -> Ints:
    """The elementwise product of arrays; 1 for none."""
    total: Any = 1
    for factor in factors:
        total = total * factor
    return array_of(total) if factors else np.ones((), dtype=np.int64)


def array_of(value: Any) -> Ints:
    """An array again of what numpy made of one: of an object array without axes, a Python integer,
    which may exceed 64 bits.
    """
    return np.asarray(value, dtype=object if isinstance(value, int) else None)


def extents_of(tensor: Tensor, tile: Mapping[str, Ints]) -> list[Ints]:
    """`Tensor.extents` for arrays of tiles."""
    return [
        array_of(1 + sum(abs(term.coefficient) * (tile[term.dim] - 1) for term in rank))
        for rank in tensor.ranks
    ]


def _overlap(tensor: Tensor, tile: Mapping[str, Ints], dim: str) -> Ints:
    shared = []
    for rank, extent in zip(tensor.ranks, extents_of(tensor, tile), strict=True):
        shift = sum(abs(term.coefficient) for term in rank if term.dim == dim) * tile[dim]
        shared.append(np.maximum(0, extent - shift))
    return product_of(shared)


def _found(stairs: BoundCurve, step: int, grids: Sequence[_Grid], problem: Problem) -> FoundTile:
    code = int(stairs.codes[step])
    grid = next(grid for grid in grids if grid.offset <= code < grid.offset + grid.size)
    indices = np.unravel_index(code - grid.offset, grid.shape)
    tile: dict[str, int] = {}
    for axis, sizes, index in zip(grid.axes, grid.sizes, indices, strict=True):
        tile |= dict(zip(axis.dims, axis.parts[axis.sizes.index(sizes[int(index)])], strict=True))
    by_name = {axis.name: axis.dims for axis in grid.axes}
    inner_first = [dim for name in grid.kind.order for dim in by_name[name]]
    order = tuple(dim for dim in reversed(inner_first) if tile[dim] < problem.bounds[dim])
    return FoundTile(
        int(stairs.buffers[step]),
        int(stairs.accesses[step]),
        {dim: tile[dim] for dim in problem.dims},
        order,
    )

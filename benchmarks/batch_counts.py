"""Words of a batch of mappings, column by column: the formulas of docs/explanation/model.md on
arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.projection import Projection

Column = Any
"""One number per mapping: an integer (or Boolean) array, or a plain int where all mappings agree.
"""


class Columns:
    """The factors of a batch as columns, and what all tensors need of them.

    `loops[i]` are the temporal loops of level `i` and `spatial[i]` its spatial ones, as (dimension,
    slot), outer to inner; `factor[slot]` is a loop's bound, `moving[slot]` 1 where that exceeds 1
    and else 0, `still[slot]` the opposite, and `stride[slot]` the points that one iteration
    advances. `extents[i]` and `unions[i]` are the boxes of iterations of a tile of level `i` and of
    all instances below one of it.
    """

    def __init__(self, problem: Problem, template: Mapping, table: npt.NDArray[np.int64]):
        index = {dim: number for number, dim in enumerate(problem.dims)}
        self.template = template
        self.bounds = [problem.bounds[dim] for dim in problem.dims]
        self.size = len(table)
        self.depth = len(template.levels)
        self.factor = list(np.ascontiguousarray(table.T))
        self.turns = [column > 1 for column in self.factor]
        # Products with 0 or 1 are several times faster than numpy.where.
        self.moving = [turns.astype(np.int64) for turns in self.turns]
        self.still = [1 - moving for moving in self.moving]
        self.stride: list[Column] = [1] * len(self.factor)
        self.loops: list[list[tuple[int, int]]] = []
        self.spatial: list[list[tuple[int, int]]] = []
        self._axis = [loop.axis for loop in template.loops()]
        slot = 0
        for level in template.levels:
            self.loops.append(
                [(index[loop.dim], slot + i) for i, loop in enumerate(level.temporal)]
            )
            slot += len(level.temporal)
            self.spatial.append(
                [(index[loop.dim], slot + i) for i, loop in enumerate(level.spatial)]
            )
            slot += len(level.spatial)
        self._lay_out(len(index))
        self._count()

    def _lay_out(self, dims: int) -> None:
        extent: list[Column] = [1] * dims
        extents = [list(extent)]
        unions: list[list[Column]] = []
        for level in reversed(range(self.depth)):
            for loops, boxes in ((self.spatial[level], unions), (self.loops[level], extents)):
                for dim, slot in reversed(loops):
                    self.stride[slot] = extent[dim]
                    extent[dim] = self.factor[slot] * extent[dim]
                boxes.append(list(extent))
        self.extents = extents[::-1]
        self.unions = unions[::-1]

    def _count(self) -> None:
        """Rounds of the temporal loops up to and including each, all steps, fanouts and used
        instances.
        """
        self.rounds: dict[int, Column] = {}
        steps: Column = 1
        self.fanouts: list[Column] = []
        self.instances: list[Column] = [1]
        for level in range(self.depth):
            for _, slot in self.loops[level]:
                steps = steps * self.factor[slot]
                self.rounds[slot] = steps
            fanout: Column = 1
            for _, slot in self.spatial[level]:
                fanout = fanout * self.factor[slot]
            self.fanouts.append(fanout)
            self.instances.append(self.instances[-1] * fanout)
        self.steps = steps

    def axes(self, level: int) -> dict[str, Column]:
        """Elements along X and Y below one instance of `level`."""
        used: dict[str, Column] = {"X": 1, "Y": 1}
        for _, slot in self.spatial[level]:
            used[self._axis[slot]] = used[self._axis[slot]] * self.factor[slot]
        return used

    def tile(self, projection: Projection, level: int) -> Column:
        """Words of a tile of `level`."""
        return projection.words(self.extents[level])

    def outside(self, level: int) -> list[tuple[int, int]]:
        """Temporal loops outside the tile of `level`, outer to inner."""
        return [loop for loops in self.loops[:level] for loop in loops]


def word_columns(columns: Columns, projection: Projection) -> list[Column]:
    """`W(c)` for the levels 1 to n and the compute units: words fetched in the whole run by one
    instance.
    """
    words: list[Column] = []
    window = _Window(columns, projection) if projection.sliding else None
    changes: Column = 1
    rounds: Column = 1
    for child in range(1, columns.depth + 1):
        for dim, slot in columns.loops[child - 1]:
            rounds = columns.rounds[slot]
            if window is not None:
                window.add(dim, slot)
            elif projection.codes[dim]:
                changes = np.maximum(changes, rounds * columns.moving[slot])
        tile = columns.tile(projection, child)
        if (
            child == columns.depth
            or projection.name in columns.template.levels[child].no_temporal_reuse
        ):
            words.append(tile * rounds)
        elif window is not None:
            words.append(window.words(child, tile, rounds))
        else:
            words.append(tile * changes)
    return words


class _Window:
    """Words of a tensor with a sliding window: a jump costs a tile, a slide by the innermost loop's
    shift only what is new.

    When loop `k` advances, the tile moves by `v_k = s_k - (sum over the loops inside of (b - 1) *
    s)`. With `reach` the same sum over all loops so far, `v_k` equals the innermost shift `steady`
    where `s_k + reach(k) = steady + reach`.
    """

    def __init__(self, columns: Columns, projection: Projection):
        self.columns, self.projection = columns, projection
        self.codes = compact_codes(columns, projection)
        self.disjoint = {rank[0][0] for rank in projection.ranks if len(rank) == 1 and rank[0][1]}
        """Dimensions whose loops move a tile off itself: whatever slides by them saves nothing."""
        self.reach: Column = 0
        self.steady: Column = 0
        self.rounds: Column = 1
        self.loops: list[tuple[int, int]] = []
        self.marks: list[Column] = []
        self.advances: list[Column] = []

    def add(self, dim: int, slot: int) -> None:
        """Take in the next inner temporal loop."""
        columns = self.columns
        step = self.codes[dim] * columns.stride[slot]
        if self.codes[dim]:
            self.reach = self.reach + (columns.factor[slot] - 1) * step
        self.steady = self.steady * columns.still[slot] + step * columns.moving[slot]
        self.loops.append((dim, slot))
        if dim not in self.disjoint:
            self.marks.append(step + self.reach)
            self.advances.append(columns.rounds[slot] - self.rounds)
        self.rounds = columns.rounds[slot]

    def words(self, child: int, tile: Column, rounds: Column) -> Column:
        """A tile for each round, less what each slide need not fetch again."""
        spared = _Spared(self.columns, self.projection, child, tile)
        saved: Column = 0
        for dim, slot in self.loops:
            saved = saved * self.columns.still[slot]
            if dim not in self.disjoint:
                saved = saved + spared.by(dim, slot) * self.columns.moving[slot]
        goal = self.steady + self.reach
        slides = np.zeros(self.columns.size, dtype=np.int64)
        for mark, advances in zip(self.marks, self.advances, strict=True):
            slides += advances * (mark == goal).astype(np.int64)
        return tile * rounds - slides * saved


def compact_codes(columns: Columns, projection: Projection) -> list[int]:
    """Shifts of the tensor's data per point of each dimension, packed so that they fit 64 bits."""
    radix = 1
    codes = [0] * len(columns.bounds)
    for rank in projection.ranks:
        for dim, coefficient in rank:
            codes[dim] += coefficient * radix
        radix *= 4 * sum(abs(c) * columns.bounds[dim] for dim, c in rank) + 1
    return codes


class _Spared:
    """Words of a tile of level `child` that the tile of the loop's previous iteration held."""

    def __init__(self, columns: Columns, projection: Projection, child: int, tile: Column):
        self.columns, self.projection, self.tile = columns, projection, tile
        extents = columns.extents[child]
        self.spans = [
            1 + sum([abs(c) * (extents[dim] - 1) for dim, c in rank]) for rank in projection.ranks
        ]
        self.others = {
            rank: self._without(rank)
            for rank, terms in enumerate(projection.ranks)
            if len(terms) > 1
        }

    def _without(self, rank: int) -> Column:
        words: Column = 1
        for other, span in enumerate(self.spans):
            if other != rank:
                words = words * span
        return words

    def by(self, dim: int, slot: int) -> Column:
        shifted = [
            (rank, abs(c))
            for rank, terms in enumerate(self.projection.ranks)
            for d, c in terms
            if d == dim and c
        ]
        if not shifted:
            return self.tile
        stride = self.columns.stride[slot]
        if len(shifted) == 1:
            rank, coefficient = shifted[0]
            return self.others[rank] * np.maximum(0, self.spans[rank] - coefficient * stride)
        words: Column = 1
        for rank, span in enumerate(self.spans):
            words = words * np.maximum(0, span - sum(c for at, c in shifted if at == rank) * stride)
        return words


def content_columns(
    columns: Columns, projection: Projection, keep: Sequence[bool], words: Sequence[Column]
) -> Iterator[tuple[int, Column, Column, Column]]:
    """(level, reads, fills, updates) per instance of each level that keeps the tensor."""
    kept = [level for level, here in enumerate(keep) if here]
    partitions = _partitions(columns, projection) if projection.read_write else []
    for order, level in enumerate(kept):
        inner = kept[order + 1] if order + 1 < len(kept) else columns.depth
        content = words[inner - 1]
        for between in range(level, inner):
            if columns.spatial[between]:
                content = content * group_count(columns, projection, between)
        share: Column = words[level - 1] if order else 0
        if projection.read_write:
            own = partitions[level]
            yield (
                level,
                np.maximum(0, content - own),
                np.maximum(0, share - own) if order else 0,
                content,
            )
        else:
            yield level, content, share, 0


def _partitions(columns: Columns, projection: Projection) -> list[Column]:
    """Distinct words that one instance of each level ever sees: its tile times the relevant rounds,
    or by division.
    """
    sizes = [columns.tile(projection, 0)]
    for level in range(1, columns.depth):
        size = sizes[-1]
        if columns.spatial[level - 1]:
            size = (
                size
                * columns.tile(projection, level)
                // projection.words(columns.unions[level - 1])
            )
        sizes.append(size)
    return sizes


def group_count(columns: Columns, projection: Projection, level: int) -> Column:
    """`G(l)`: different displacements of the data among the elements below one instance."""
    if projection.name in columns.template.levels[level].no_multicast:
        return columns.fanouts[level]
    spread: dict[int, Column] = {}
    for dim, slot in columns.spatial[level]:
        if projection.codes[dim]:
            spread[dim] = spread.get(dim, 1) * columns.factor[slot]
    count: Column = 1
    for rank in projection.ranks:
        met = [(dim, abs(coefficient)) for dim, coefficient in rank if dim in spread]
        if len(met) == 2:
            count = count * _different_sums(columns, level, met, spread)
            spread = {dim: number for dim, number in spread.items() if dim not in dict(met)}
    for number in spread.values():
        count = count * number
    return count


def _different_sums(
    columns: Columns, level: int, met: Sequence[tuple[int, int]], spread: dict[int, Column]
) -> Column:
    """Different values of `i * a + j * b`, i < m, j < n: all pairs but those that another pair has
    stepped to.

    With a and b divided by their common divisor, (i, j) and (i - b, j + a) have one value.
    """
    (first, c), (second, d) = met
    m, n = spread[first], spread[second]
    a, b = c * columns.extents[level + 1][first], d * columns.extents[level + 1][second]
    common = np.gcd(a, b)
    return m * n - np.maximum(0, m - b // common) * np.maximum(0, n - a // common)


def maybe_linked(columns: Columns, projection: Projection) -> Column:
    """Whether any neighbour might serve another: true for all mappings with links, and for some
    without.

    A link needs two fetches in a row, displaced as two neighbours are. The innermost loop that
    moves the data therefore runs over a dimension that is also spread over elements; or, where idle
    steps fetch too, some elements want the same words.
    """
    linked: Column = np.zeros(columns.size, dtype=np.bool_)
    for level, loops in enumerate(columns.spatial):
        if not loops or projection.name in columns.template.levels[level].no_link_transfer:
            continue
        many = columns.fanouts[level] > 1
        alike: Column = many if projection.sliding else False
        over: dict[int, Column] = {}
        for dim, slot in loops:
            if projection.codes[dim]:
                over[dim] = over.get(dim, False) | columns.turns[slot]
            else:
                alike = alike | columns.turns[slot]
        linked = linked | _moves_like_neighbours(columns, projection, level + 1, over, many, alike)
    return linked


def _moves_like_neighbours(
    columns: Columns,
    projection: Projection,
    child: int,
    over: dict[int, Column],
    many: Column,
    alike: Column,
) -> Column:
    forgets = (
        child == columns.depth
        or projection.name in columns.template.levels[child].no_temporal_reuse
    )
    meeting = {dim for rank in projection.ranks if len(rank) > 1 for dim, _ in rank}
    moves: Column = False
    idle: Column = False
    for dim, slot in columns.outside(child):
        turns = columns.turns[slot]
        if projection.codes[dim]:
            moves = (moves & ~turns) | ((many if dim in meeting else over.get(dim, False)) & turns)
            idle = idle & ~turns
        elif forgets:
            idle = idle | turns
        else:
            moves = moves & ~turns
    return moves | (idle & alike)

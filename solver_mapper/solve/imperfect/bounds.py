"""Lower bounds of what mappings cost, for many sets of mappings at once.

A *cell* is one node of the chain tree of each dimension. Under a *plan* (which levels store each
tensor, and over which dimensions the innermost temporal loop of each level runs) all mappings of a
cell cost at least what is worked out here from the least features of its nodes. Every reuse that
depends on finer conditions is granted.

For a tensor without sliding windows, a level fetches a whole tile whenever the position of the tile
changes; it stays while loops that do not index the tensor run innermost. In rounds where the loops
that do index it run once only (a last round of one iteration), it may stay longer: the factors
`lone` take these rounds off.

Where windows slide, a level can keep at most the tile that it holds. So each run of the temporal
loops of the level outside fetches at least the distinct words of the run less one tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.problem import Tensor
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.solve.imperfect.chains import ChainTable, Features, Floats
from solver_mapper.verify.imperfect import ImperfectMapspace

Nodes = NDArray[np.int64]
"""One row for each cell, one column for each dimension: nodes of the chain trees."""
Kind = frozenset[int] | None
"""Dimensions of which one has the innermost temporal loop of a level; empty: the level has no
temporal loop; None: undecided."""
NOISE = 1e-10
"""More than the relative rounding error of a bound in double precision."""


@dataclass(frozen=True)
class Plan:
    """`stores[t][l]`: whether level l stores tensor t; `innermost[l]`: see `Kind`."""

    stores: tuple[tuple[bool, ...], ...]
    innermost: tuple[Kind, ...]


@dataclass(frozen=True)
class TensorShape:
    """How dimensions index a tensor: ranks of (dimension, absolute coefficient)."""

    name: str
    written: bool
    ranks: tuple[tuple[tuple[int, int], ...], ...]
    free: tuple[int, ...]
    """Dimensions that do not index it."""

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Dimensions that index the tensor."""
        return tuple(sorted({dim for rank in self.ranks for dim, _ in rank}))

    @cached_property
    def windows(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Ranks of several dimensions."""
        return tuple(rank for rank in self.ranks if len(rank) > 1)

    @cached_property
    def sliding(self) -> tuple[int, ...]:
        """Dimensions of its sliding windows."""
        return tuple(sorted({dim for rank in self.windows for dim, _ in rank}))

    @cached_property
    def single(self) -> tuple[tuple[int, int], ...]:
        """Dimensions that are a rank of their own, each once."""
        return tuple(dict(rank[0] for rank in self.ranks if len(rank) == 1).items())

    @cached_property
    def entangled(self) -> bool:
        """Whether a dimension of a window is also in another rank."""
        counted = [dim for rank in self.windows for dim, _ in rank] + [d for d, _ in self.single]
        return bool(self.windows) and len(counted) != len(set(counted))


def tensor_shape(tensor: Tensor, dims: Sequence[str]) -> TensorShape:
    """What bounds need to know of a tensor, with dimensions as numbers."""
    return TensorShape(
        tensor.name,
        tensor.read_write,
        tuple(
            tuple((dims.index(term.dim), abs(term.coefficient)) for term in rank)
            for rank in tensor.ranks
            if rank
        ),
        tuple(number for number, dim in enumerate(dims) if dim not in tensor.dims),
    )


class Bounds:
    """Bounds for one mapspace, whose chains are given."""

    def __init__(self, space: ImperfectMapspace, tables: Sequence[ChainTable]):
        self.space, self.tables = space, tables
        self.depth, self.dims = space.depth, range(len(tables))
        self.number = Features(space.depth).number
        self.shapes = [tensor_shape(each, space.problem.dims) for each in space.problem.tensors]
        self.levels = space.architecture.levels
        units = space.architecture.arithmetic
        self.compute = float(units.energy)
        self.leak = float(
            units.leak * units.instances
            + sum(each.energy.leak * each.instances for each in self.levels)
        )
        self.latency = latency(space.architecture)
        self.off = {
            flag: [
                [each.name in getattr(plan, flag) for plan in space.plans] for each in self.shapes
            ]
            for flag in ("no_temporal_reuse", "no_multicast", "no_link_transfer")
        }
        self.rooms = [
            (level, axis, space.architecture.fanout(level)["XY".index(axis)])
            for level in range(self.depth)
            for axis in "XY"
        ]

    def least(self, plan: Plan, nodes: Nodes) -> tuple[Floats, Floats, Floats]:
        """Least energy (pJ), cycles and last-level accesses of each cell; infinite where no mapping
        of a cell is legal.
        """
        return _Cells(self, plan, nodes).least()


class _Cells:
    """Features of some cells, each looked up once."""

    def __init__(self, bounds: Bounds, plan: Plan, nodes: Nodes):
        self.at, self.plan, self.nodes = bounds, plan, nodes
        self._low: dict[tuple[str, int, int], Floats] = {}
        self._high: dict[tuple[str, int, int], Floats] = {}
        self._positions: dict[tuple[tuple[int, ...], int], Floats] = {}

    def low(self, kind: str, place: int, dim: int) -> Floats:
        key = (kind, place, dim)
        if key not in self._low:
            row = self.at.tables[dim].least[self.at.number[f"{kind}{place}"]]
            self._low[key] = row[self.nodes[:, dim]]
        return self._low[key]

    def high(self, kind: str, place: int, dim: int) -> Floats:
        key = (kind, place, dim)
        if key not in self._high:
            row = self.at.tables[dim].greatest[self.at.number[f"{kind}{place}"]]
            self._high[key] = row[self.nodes[:, dim]]
        return self._high[key]

    def product(self, kind: str, place: int, dims: Sequence[int]) -> Floats:
        return self._product(self.low, kind, place, dims)

    def most(self, kind: str, place: int, dims: Sequence[int]) -> Floats:
        return self._product(self.high, kind, place, dims)

    def _product(self, look, kind: str, place: int, dims: Sequence[int]) -> Floats:  # type: ignore[no-untyped-def]
        total = np.ones(len(self.nodes))
        for dim in dims:
            total = total * look(kind, place, dim)
        return total

    def least(self) -> tuple[Floats, Floats, Floats]:
        at, every = self.at, list(self.at.dims)
        energy = at.compute * self.product("active", at.depth, every)
        if at.depth:
            energy = energy * self.product("outer", at.depth - 1, every)
        cycles = self._steps()
        last = np.zeros(len(self.nodes))
        reads = [np.zeros(len(self.nodes)) for _ in at.levels]
        writes = [np.zeros(len(self.nodes)) for _ in at.levels]
        for number, (shape, stores) in enumerate(zip(at.shapes, self.plan.stores, strict=True)):
            held = [level for level in range(at.depth) if stores[level]]
            for outer, inner in zip(held, [*held[1:], at.depth], strict=True):
                sent, arrived = self._flow(number, outer, inner)
                level = at.levels[outer]
                if inner - 1 > outer:  # words scaled by a bypass are rounded
                    sent = np.maximum(0, sent - 0.5 * level.instances)
                again = sent
                if shape.written:
                    again = np.maximum(0, sent - self._partition(number, outer))
                    writes[outer] = writes[outer] + sent
                reads[outer] = reads[outer] + again
                price, address = level.energy, max(float(level.address_energy), 0.0)
                share = 1 / (level.block_size * level.cluster_size)
                addressed = address / level.cluster_size
                energy = energy + again * float(price.read) * share + sent * addressed
                if shape.written:
                    energy = energy + sent * float(price.update) * share
                if outer == 0:
                    last = last + again + (sent if shape.written else 0)
                if inner < at.depth:
                    child = at.levels[inner]
                    arrived = np.maximum(0, arrived - child.instances * self._fractions(inner))
                    if shape.written:
                        arrived = np.maximum(0, arrived - self._partition(number, inner))
                    writes[inner] = writes[inner] + arrived
                    cost = float(child.energy.fill) / child.block_size + max(
                        float(child.address_energy), 0.0
                    )
                    energy = energy + arrived * cost / child.cluster_size
        cycles = self._slowed(cycles, reads, writes) + at.latency
        impossible = self._impossible()
        energy = energy + at.leak * cycles
        return tuple(np.where(impossible, np.inf, each) for each in (energy, cycles, last))  # type: ignore[return-value]

    def _steps(self) -> Floats:
        """Steps: those of the first instance, and all operations over the instances in use."""
        at, every = self.at, list(self.at.dims)
        used = np.ones(len(self.nodes))
        for level in range(at.depth):
            used = used * self._together(level, tuple(every))
        operations = prod(table.size for table in at.tables)
        return np.maximum(
            self.product("visits", at.depth, every), np.ceil(operations / used * (1 - NOISE))
        )

    def _slowed(self, cycles: Floats, reads: list[Floats], writes: list[Floats]) -> Floats:
        """Cycles that the words over the bandwidth of each level take."""
        every = list(self.at.dims)
        for number, level in enumerate(self.at.levels):
            for words, bandwidth in (
                (reads[number], level.read_bandwidth),
                (writes[number], level.write_bandwidth),
                (reads[number] + writes[number], level.shared_bandwidth),
            ):
                if bandwidth is not None:
                    used = self.most("outer", number, every)
                    cycles = np.maximum(
                        cycles, np.ceil(words / (used * float(bandwidth)) * (1 - NOISE))
                    )
        return cycles

    def _impossible(self) -> NDArray[np.bool_]:
        """Cells without a legal mapping: meshes, capacities, and innermost loops."""
        at, every = self.at, list(self.at.dims)
        wrong = np.zeros(len(self.nodes), dtype=bool)
        for number, axis, room in at.rooms:
            if room > 1:
                wrong |= self.product(axis, number, every) > room
        for number, level in enumerate(at.levels):
            if level.capacity is not None:
                used = np.zeros(len(self.nodes))
                for shape, stores in zip(at.shapes, self.plan.stores, strict=True):
                    if stores[number]:
                        used = used + self._tile(shape, number)
                wrong |= used > level.capacity
        for number, dims in enumerate(self.plan.innermost):
            if dims is not None:
                if dims:
                    present = [self.high("temporal", number, dim) > 1 for dim in dims]
                    wrong |= ~np.logical_or.reduce(present)
                else:
                    for dim in every:
                        wrong |= self.low("temporal", number, dim) > 1
        return wrong

    def _tile(self, shape: TensorShape, place: int) -> Floats:
        """Words of the smallest bounding box of a tile."""
        words = np.ones(len(self.nodes))
        for rank in shape.ranks:
            span = np.ones(len(self.nodes))
            for dim, coefficient in rank:
                span = span + coefficient * (self.low("tile", place, dim) - 1)
            words = words * span
        return words

    def _held_below(self, shape: TensorShape, parent: int) -> Floats:
        """Words that all instances below one of `parent` hold at once, at most."""
        words = np.ones(len(self.nodes))
        for rank in shape.ranks:
            span = np.ones(len(self.nodes))
            for dim, coefficient in rank:
                span = span + coefficient * (
                    self.high("tile", parent + 1, dim) * self.high("spread", parent, dim) - 1
                )
            words = words * span
        return words

    def _partition(self, number: int, level: int) -> Floats:
        """Distinct words that all instances of a level ever see, at most: see `partitions`."""
        shape = self.at.shapes[number]
        words = prod(
            1 + sum(c * (self.at.tables[dim].size - 1) for dim, c in rank) for rank in shape.ranks
        )
        total = np.full(len(self.nodes), float(words)) * self.most("outer", level, shape.free)
        if shape.entangled:
            return total * self.most("outer", level, shape.dims)
        for dim, _ in shape.single:
            total = total * self.high("share", level, dim)
        for rank in shape.windows:
            dims = [dim for dim, _ in rank]
            total = total * np.maximum.reduce(
                [
                    self.high("share", level, one)
                    * self.most("outer", level, [dim for dim in dims if dim != one])
                    for one in dims
                ]
            )
        return total

    def _fractions(self, inner: int) -> Floats:
        """1 where words per instance may be fractions, below uneven spatial loops; else 0."""
        uneven = np.zeros(len(self.nodes), dtype=bool)
        for dim in self.at.dims:
            uneven |= (self.high("spread", inner - 1, dim) > 1) & (
                self.low("fewest", inner, dim) < self.high("spread", inner - 1, dim)
            )
        return uneven.astype(float)

    def _flow(self, number: int, outer: int, inner: int) -> tuple[Floats, Floats]:
        """Words of a tensor that all instances of `outer` send, and that all instances of `inner`
        take in, at least.
        """
        at, shape = self.at, self.at.shapes[number]
        parent, every = inner - 1, list(at.dims)
        keeps = inner < at.depth and not at.off["no_temporal_reuse"][number][inner]
        links = not at.off["no_link_transfer"][number][parent]
        if shape.windows:
            sent, arrived = self._sliding(shape, inner, keeps, links)
        else:
            sent = self._words(shape, inner) * self._fetches(shape, inner, keeps, links)
            arrived = sent * self.product("fewest", inner, shape.free)
            if at.off["no_multicast"][number][parent]:
                sent = arrived
        outside = self.product("outer", parent, every)
        sent, arrived = sent * outside, arrived * outside
        for level in range(outer, parent):
            if at.off["no_multicast"][number][level]:
                continue
            if shape.entangled:
                sent = sent / self.most("spread", level, every)
                continue
            sent = sent / self._together(level, shape.free)
            for rank in shape.windows:
                bounds = [self.high("spread", level, dim) for dim, _ in rank]
                sent = sent * np.maximum.reduce(bounds) / np.multiply.reduce(bounds)
        return sent, arrived

    def _words(self, shape: TensorShape, inner: int) -> Floats:
        """Words of the tiles of all instances in use, summed over the positions of the loops of
        single ranks.
        """
        words = np.ones(len(self.nodes))
        for dim, coefficient in shape.single:
            points = self.low("moved", inner, dim)
            if coefficient > 1:
                apart = self.low("active", inner, dim)
                points = np.maximum(points, apart + coefficient * self.low("beyond", inner, dim))
            words = words * points
        return words

    def _fetches(self, shape: TensorShape, inner: int, keeps: bool, links: bool) -> Floats:
        """How often each tile is fetched, at least.

        Where tiles are not kept, neighbours may pass words on while the tensor is idle.
        """
        stays = self._rounds(shape, inner)
        if keeps:
            return stays
        moves = self._visits(shape, inner)
        return (
            np.where(self.most("spread", inner - 1, shape.free) > 1, stays, moves)
            if links
            else moves
        )

    def _rounds(self, shape: TensorShape, inner: int) -> Floats:
        """Rounds of the loops that do not index the tensor, less those during which its tile may
        stay.
        """
        rounds = self._visits(shape, inner)
        share = np.ones(len(self.nodes))
        running = np.ones(len(self.nodes), dtype=bool)
        for level in reversed(range(inner)):
            dims = self.plan.innermost[level]
            if dims is not None and not dims:
                continue
            share = np.where(running, share * self.product("lone", level, shape.dims), share)
            if dims is not None and not dims <= set(shape.free):
                break
            rounds = np.where(running, self._visits(shape, level), rounds)
            running &= self.product("temporal", level, shape.dims) <= 1
            if not running.any():
                break
        return rounds * share

    def _together(self, level: int, dims: tuple[int, ...]) -> Floats:
        """Instances that the spatial loops of a level over `dims` can spread over."""
        total = np.ones(len(self.nodes))
        for axis, room in zip("XY", self.at.space.architecture.fanout(level), strict=True):
            if room > 1:
                total = total * np.minimum(room, self.most(axis, level, dims))
        return total

    def _visits(self, shape: TensorShape, place: int) -> Floats:
        """Positions of the loops outside a place that do not index the tensor: at least those of
        each dimension, and the operations over what instances and tiles cover together.
        """
        key = (shape.free, place)
        if key not in self._positions:
            covered = self._largest(shape.free, place)
            for level in range(place):
                covered = covered * self._together(level, shape.free)
            points = prod(self.at.tables[dim].size for dim in shape.free)
            self._positions[key] = np.maximum(
                self.product("visits", place, shape.free), points / covered
            )
        return self._positions[key]

    def _largest(self, dims: tuple[int, ...], place: int) -> Floats:
        """The largest product of the extents of `dims` in a tile: what a level stores must fit."""
        best = self.most("tile", place, dims)
        room = self.at.levels[place].capacity if place < self.at.depth else None
        if room is None:
            return best
        stored = [
            shape
            for shape, stores in zip(self.at.shapes, self.plan.stores, strict=True)
            if stores[place]
        ]
        tiles = [self._tile(shape, place) for shape in stored]
        taken = np.add.reduce(tiles) if tiles else np.zeros(len(self.nodes))
        for shape, tile in zip(stored, tiles, strict=True):
            left, counted = room - taken + tile, set[int]()
            for rank in shape.ranks:
                fitting = [dim for dim, _ in rank if dim in dims and dim not in counted]
                if fitting:
                    counted.add(fitting[0])
                else:
                    span = np.ones(len(self.nodes))
                    for dim, coefficient in rank:
                        span = span + coefficient * (self.low("tile", place, dim) - 1)
                    left = left / span
            if counted:
                rest = self.most("tile", place, [dim for dim in dims if dim not in counted])
                best = np.minimum(best, np.maximum(left, 1) * rest)
        return best

    def _sliding(
        self, shape: TensorShape, inner: int, keeps: bool, links: bool
    ) -> tuple[Floats, Floats]:
        """Words sent by one instance right outside `inner`, and taken in below it, where windows
        slide.
        """
        at, parent = self.at, inner - 1
        whole = np.full(len(self.nodes), float(self._whole(shape)))
        sent = whole / self.most("outer", parent, list(at.dims))
        if shape.entangled:
            return sent, sent
        arrived = sent = np.maximum(sent, self._swept(shape, parent))
        moved = self._moved(shape, inner, keeps, links)
        if links:  # neighbours may have had the same words a step before
            near = (*shape.sliding, *(() if keeps else shape.free))
            moved = np.where(self.most("spread", parent, near) > 1, 0, moved)
        return np.maximum(sent, moved), np.maximum(
            arrived, moved * self.product("fewest", inner, shape.free)
        )

    def _moved(self, shape: TensorShape, inner: int, keeps: bool, links: bool) -> Floats:
        """Words sent where each step fetches a whole tile: nothing is kept, or the innermost loop
        moves the tile along a rank that is no window. Windows count for one instance.
        """
        words = self._words(shape, inner)
        for rank in shape.windows:
            span = np.ones(len(self.nodes))
            for dim, coefficient in rank:
                span = span + coefficient * (self.low("tile", inner, dim) - 1)
            for dim, _ in rank:
                span = span * self.low("full", inner, dim)
            words = words * span
        if not keeps:
            return words * self._fetches(shape, inner, keeps, links)
        dims = self.plan.innermost[inner - 1]
        if not dims or not dims <= {dim for dim, _ in shape.single}:
            return np.zeros(len(self.nodes))
        lone = self.product("lone", inner - 1, sorted(dims))
        return words * self.product("visits", inner, shape.free) * lone

    def _swept(self, shape: TensorShape, parent: int) -> Floats:
        """Distinct words of each run of the temporal loops of `parent`, less the words that all
        instances below may hold before.
        """
        times = self.product("visits", parent, shape.free)
        words = times
        for dim, _ in shape.single:
            words = words * self.low("points", parent, dim)
            times = times * self.high("visits", parent, dim)
        for dim in shape.sliding:
            words = words * self.low("full", parent, dim)
            times = times * self.low("full", parent, dim)
        for rank in shape.windows:
            words = words * self._distinct(rank, parent)
        return np.maximum(0, words - times * self._held_below(shape, parent))

    def _distinct(self, rank: tuple[tuple[int, int], ...], place: int) -> Floats:
        """Different values of a rank in a full region, at least."""
        extents = [self.low("tile", place, dim) for dim, _ in rank]
        if len(rank) == 2 and min(c for _, c in rank) == 1:
            span = 1.0 + sum(c * (extent - 1) for (_, c), extent in zip(rank, extents, strict=True))
            return np.minimum(extents[0] * extents[1], span)
        largest: Floats = np.maximum.reduce(extents)
        return largest

    def _whole(self, shape: TensorShape) -> int:
        """Different words of the tensor that some operation needs, at least."""
        bounds = [table.size for table in self.at.tables]
        total = 1
        counted: set[int] = set()
        for dim, _ in shape.single:
            total *= 1 if dim in counted else bounds[dim]
            counted.add(dim)
        for rank in shape.windows:
            total *= max([bounds[dim] for dim, _ in rank if dim not in counted], default=1)
            counted |= {dim for dim, _ in rank}
        return total

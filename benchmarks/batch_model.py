"""The model for many mappings at once: one array operation does for a whole batch what the closed
form does for one mapping.

The mappings of a batch share everything but their factors: orders, axes, bypass, flags. Factors are
perfect. All arithmetic is in 64-bit integers, and exact: a problem for which they might overflow is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

import numpy as np
import numpy.typing as npt
from batch_counts import (
    Column,
    Columns,
    content_columns,
    maybe_linked,
    word_columns,
)

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.energy import prices
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.network_energy import networks_below
from solver_mapper.cost.timeloop.projection import Projection, project
from solver_mapper.errors import InputError

CHUNK = 8192
"""Mappings per array operation: few enough for their columns to stay in the processor's cache."""


@dataclass(frozen=True)
class BatchStatistics:
    """Figures of a batch, one entry per mapping. `energy` is in units of `1/unit` pJ.

    `legal` says whether capacities, fanouts, meshes and factor products hold. Where `linked` is
    set, transfers between neighbours, which the batch form leaves out, might lower the figures:
    evaluate those mappings one by one.
    """

    cycles: npt.NDArray[np.int64]
    energy: npt.NDArray[np.int64]
    unit: int
    legal: npt.NDArray[np.bool_]
    linked: npt.NDArray[np.bool_]

    def energy_pj(self, index: int) -> Fraction:
        return Fraction(int(self.energy[index]), self.unit)


class BatchEvaluator:
    """The model for one architecture, one problem, and mappings that differ from `template` in
    their loop bounds only.

    Raises: InputError for networks that charge for words or hops, and where 64 bits might not
    suffice.
    """

    def __init__(self, architecture: Architecture, problem: Problem, template: Mapping):
        self.architecture = architecture
        self.problem = problem
        self.template = template
        self.slots = tuple(template.loops())
        self._projections = [project(problem, tensor) for tensor in problem.tensors]
        charged = [prices(level) for level in architecture.levels]
        units = architecture.arithmetic
        leaks = sum(
            (level.energy.leak * level.instances for level in architecture.levels),
            units.leak * units.instances,
        )
        fixed = problem.macs * units.energy
        self.unit = lcm(*(price.unit for price in charged), fixed.denominator, leaks.denominator)
        self._prices = [price._replace(unit=self.unit // price.unit) for price in charged]
        self._fixed, self._leaks = int(fixed * self.unit), int(leaks * self.unit)
        self._refuse_what_does_not_fit()

    def _refuse_what_does_not_fit(self) -> None:
        if any(
            not below.free for networks in networks_below(self.architecture) for below in networks
        ):
            raise InputError(
                "networks that charge for words or hops cannot be evaluated in batches",
                self.architecture.location,
            )
        for level in self.template.levels:
            spread = {self.problem.dims.index(loop.dim) for loop in level.spatial}
            for each in self._projections:
                if _too_many_meet(each, spread):
                    raise InputError(
                        f"{each.name} slides over too many of the dimensions spread below"
                        f" {level.level} for a batch"
                    )
        spans = max(
            prod(sum(abs(c) for _, c in rank) for rank in each.ranks) for each in self._projections
        )
        words = 4 * spans * self.problem.macs * len(self._prices) * len(self._projections)
        price = max(max(p.read, p.fill, p.update, p.address, 1) * p.unit for p in self._prices)
        if words * price + self._fixed + self._leaks * words >= 2**62:
            raise InputError(
                "the energies of this problem exceed 64 bits in exact units", self.problem.location
            )

    def evaluate(self, factors: npt.ArrayLike) -> BatchStatistics:
        """Figures for each row of `factors`: the bounds of the template's loops, outer to inner
        (`slots`).
        """
        table = np.asarray(factors, dtype=np.int64)
        if table.ndim != 2 or table.shape[1] != len(self.slots):
            raise InputError(
                f"the template has {len(self.slots)} loops; the factors have the shape"
                f" {table.shape}"
            )
        parts = [
            self._chunk(Columns(self.problem, self.template, chunk)) for chunk in _chunks(table)
        ]
        cycles, energy, legal, linked = (np.concatenate(part) for part in zip(*parts, strict=True))
        return BatchStatistics(cycles, energy, self.unit, legal, linked)

    def _chunk(
        self, columns: Columns
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Column, Column]:
        depth = columns.depth
        reads: list[Column] = [0] * depth
        writes: list[Column] = [0] * depth
        tiles: list[Column] = [0] * depth
        energy: Column = self._fixed
        linked: Column = np.zeros(columns.size, dtype=np.bool_)
        for projection in self._projections:
            keep = [projection.name in level.keep for level in self.template.levels]
            words = word_columns(columns, projection)
            linked = linked | maybe_linked(columns, projection)
            for level, read, fill, update in content_columns(columns, projection, keep, words):
                reads[level] = reads[level] + read
                writes[level] = writes[level] + fill + update
                tiles[level] = tiles[level] + columns.tile(projection, level)
                energy = energy + self._energy(
                    columns, level, projection.read_write, read, fill, update
                )
        cycles: Column = columns.steps
        for level in range(depth):
            cycles = self._stretched(level, cycles, reads[level], writes[level])
        cycles = cycles + latency(self.architecture)
        if self._leaks:
            energy = energy + cycles * self._leaks
        return (
            _column(cycles, columns.size),
            _column(energy, columns.size),
            self._legal(columns, tiles),
            linked,
        )

    def _energy(
        self, columns: Columns, level: int, writes: bool, read: Column, fill: Column, update: Column
    ) -> Column:
        price = self._prices[level]
        each: Column = 0
        for words, cost in ((read, price.read), (fill, price.fill), (update, price.update)):
            if cost:
                each = each + _blocks(words, price.block) * (cost * price.unit)
        if price.address:
            each = each + (fill + (update if writes else read)) * (price.address * price.unit)
        return each * np.minimum(columns.instances[level], price.clusters)

    def _stretched(self, level: int, cycles: Column, reads: Column, writes: Column) -> Column:
        buffer = self.architecture.levels[level]
        for words, bandwidth in (
            (reads, buffer.read_bandwidth),
            (writes, buffer.write_bandwidth),
            (reads + writes, buffer.shared_bandwidth),
        ):
            if bandwidth is not None:
                cycles = np.maximum(
                    cycles, -(-words * bandwidth.denominator // bandwidth.numerator)
                )
        return cycles

    def _legal(self, columns: Columns, tiles: list[Column]) -> Column:
        legal: Column = np.ones(columns.size, dtype=np.bool_)
        for dim, covered in enumerate(columns.extents[0]):
            legal = legal & (covered == self.problem.bounds[self.problem.dims[dim]])
        inner: list[Buffer | Arithmetic] = [
            *self.architecture.levels[1:],
            self.architecture.arithmetic,
        ]
        whole: dict[str, Column] = {"X": 1, "Y": 1}
        for level, (buffer, below) in enumerate(zip(self.architecture.levels, inner, strict=True)):
            if buffer.capacity is not None:
                legal = legal & (tiles[level] <= buffer.capacity)
                least = buffer.capacity * buffer.min_utilization
                legal = legal & (tiles[level] * least.denominator >= least.numerator)
            fanout = dict(zip("XY", self.architecture.fanout(level), strict=True))
            mesh = {"X": below.mesh_x, "Y": below.mesh_y}
            for axis, used in columns.axes(level).items():
                whole[axis] = whole[axis] * used
                legal = legal & (used <= fanout[axis]) & (whole[axis] <= mesh[axis])
        return legal


def _too_many_meet(projection: Projection, spread: set[int]) -> bool:
    """Whether more than two of the dimensions meet in one rank, or two meet of which one is also
    elsewhere.
    """
    met = [[dim for dim, _ in rank if dim in spread] for rank in projection.ranks]
    everywhere = [dim for dims in met for dim in dims]
    return any(
        len(dims) > 2 or (len(dims) == 2 and any(everywhere.count(dim) > 1 for dim in dims))
        for dims in met
    )


def _blocks(words: Column, block: int) -> Column:
    """Vector accesses: rounded up. Shifts are faster than divisions."""
    if block & (block - 1):
        return -(-words // block)
    return words if block == 1 else (words + (block - 1)) >> (block.bit_length() - 1)


def _chunks(table: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    for start in range(0, max(1, len(table)), CHUNK):
        yield table[start : start + CHUNK]


def _column(values: Column, size: int) -> npt.NDArray[np.int64]:
    return np.broadcast_to(np.asarray(values, dtype=np.int64), (size,))

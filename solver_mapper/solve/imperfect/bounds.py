"""Lower bounds of what mappings cost, for many sets of mappings at once.

A *cell* is one node of the chain tree of each dimension. Under a *plan* (which levels store each
tensor, and over which dimensions the innermost temporal loop of each level runs) all mappings of a
cell cost at least what is worked out here. The words of a tensor that cross into a level
(`words.py`) are a product over dimensions; each factor is the least one that a chain of the node
has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.cost.timeloop.energy import leakage
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.solve.imperfect.chains import ChainTable, Floats
from solver_mapper.solve.imperfect.shapes import Nodes, Plan, tensor_shape
from solver_mapper.solve.imperfect.words import NOISE, Cells, Known
from solver_mapper.verify.imperfect import ImperfectMapspace


class Bounds:
    """Bounds for one mapspace, whose chains are given."""

    def __init__(self, space: ImperfectMapspace, tables: Sequence[ChainTable]):
        self.space, self.tables = space, tables
        self.depth, self.dims = space.depth, range(len(tables))
        self.shapes = [tensor_shape(each, space.problem.bounds) for each in space.problem.tensors]
        self.levels = space.architecture.levels
        self.compute = float(space.architecture.arithmetic.energy)
        self.leak = float(leakage(space.architecture))
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
        self.inside = [
            [[one != other and space.inside(level, one, other) for other in dims] for one in dims]
            for level in range(self.depth)
            for dims in (space.problem.dims,)
        ]
        """Whether loops of a level over one dimension always stand inside those over another."""
        self._known: tuple[Nodes, Known] | None = None

    def least(self, plan: Plan, nodes: Nodes) -> tuple[Floats, Floats, Floats]:
        """Least energy (pJ), cycles and last-level accesses of each cell; infinite where no mapping
        of a cell is legal.
        """
        if self._known is None or self._known[0] is not nodes:
            self._known = nodes, {}
        return Figures(self, plan, *self._known).least()


class Crossing(NamedTuple):
    """Energy (pJ) of a tensor's words between two levels; words read and updated at the outer one
    and filled into the inner one, at least.
    """

    energy: Floats
    read: Floats
    updated: Floats
    filled: Floats


class Figures(Cells):
    """Figures of some cells."""

    def __init__(self, bounds: Bounds, plan: Plan, nodes: Nodes, known: Known):
        tables, shapes = bounds.tables, bounds.shapes
        super().__init__(bounds.space, tables, shapes, bounds.off, plan, nodes, known)
        self.at = bounds

    def least(self) -> tuple[Floats, Floats, Floats]:
        """See `Bounds.least`."""
        at = self.at
        energy = self.worked()
        last = np.zeros(self.size)
        reads = [np.zeros(self.size) for _ in at.levels]
        writes = [np.zeros(self.size) for _ in at.levels]
        for number, stores in enumerate(self.plan.stores):
            held = [level for level in range(at.depth) if stores[level]]
            for outer, inner in zip(held, [*held[1:], at.depth], strict=True):
                crossing = self.crossing(number, outer, inner)
                energy = energy + crossing.energy
                reads[outer] = reads[outer] + crossing.read
                writes[outer] = writes[outer] + crossing.updated
                if outer == 0:
                    last = last + crossing.read + crossing.updated
                if inner < at.depth:
                    writes[inner] = writes[inner] + crossing.filled
        cycles = self._slowed(self.steps(), reads, writes) + at.latency
        energy = energy + at.leak * cycles
        impossible = self.impossible()
        return tuple(np.where(impossible, np.inf, each) for each in (energy, cycles, last))  # type: ignore[return-value]

    def worked(self) -> Floats:
        """Energy of all operations that are charged."""
        return self.once("worked", make=self._worked)

    def _worked(self) -> Floats:
        every = list(self.at.dims)
        done = self.product(every, f"active{self.depth}", f"outer{self.depth - 1}")
        return self.at.compute * np.floor(done * (1 - NOISE))

    def crossing(self, number: int, outer: int, inner: int) -> Crossing:
        """What a tensor costs on its way from one level that holds it to the next."""
        key = ("crossing", number, outer, inner, *self.outside(inner))
        return self.once(*key, make=lambda: self._crossing(number, outer, inner))

    def _crossing(self, number: int, outer: int, inner: int) -> Crossing:
        at, shape = self.at, self.shapes[number]
        sent, arrived = self.flow(number, outer, inner)
        level = at.levels[outer]
        if inner - 1 > outer:  # words scaled by a bypass are rounded
            sent = np.maximum(0, sent - 0.5 * level.instances)
        again, updated, filled = sent, np.zeros(self.size), np.zeros(self.size)
        if shape.written:
            again, updated = np.maximum(0, sent - self.partition(number, outer)), sent
        price, address = level.energy, float(level.address_price)
        part = float(level.least_share)
        share = part / level.block_size
        energy = again * float(price.read) * share + sent * (address * part)
        if shape.written:
            energy = energy + sent * float(price.update) * share
        if inner < at.depth:
            child = at.levels[inner]
            filled = np.maximum(0, arrived - child.instances * self.fractions(number, inner))
            if shape.written:
                filled = np.maximum(0, filled - self.partition(number, inner))
            address = float(child.address_price)
            cost = float(child.energy.fill) / child.block_size + address
            energy = energy + filled * cost * float(child.least_share)
        return Crossing(energy, again, updated, filled)

    def steps(self) -> Floats:
        """Steps: those of the first instance, and all operations over the instances in use."""
        return self.once("steps", make=self._steps)

    def _steps(self) -> Floats:
        at, every = self.at, list(self.at.dims)
        used = np.ones(self.size)
        for level in range(at.depth):
            used = used * self.together(level, tuple(every))
        operations = prod(table.size for table in at.tables)
        return np.maximum(
            self.product(every, f"visits{at.depth}"), np.ceil(operations / used * (1 - NOISE))
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
                    used = self.most(every, f"outer{number}")
                    cycles = np.maximum(
                        cycles, np.ceil(words / (used * float(bandwidth)) * (1 - NOISE))
                    )
        return cycles

    def impossible(self) -> NDArray[np.bool_]:
        """Cells without a legal mapping: meshes, capacities, and innermost loops."""
        at, every = self.at, list(self.at.dims)
        wrong = np.zeros(self.size, dtype=bool)
        for number, axis, room in at.rooms:
            if room > 1:
                wrong = wrong | (self.product(every, f"{axis}{number}") > room)
        for number, level in enumerate(at.levels):
            if level.capacity is not None:
                used = np.zeros(self.size)
                for shape, stores in zip(self.shapes, self.plan.stores, strict=True):
                    if stores[number]:
                        used = used + self.tile(shape, number)
                wrong = wrong | (used > level.capacity)
        for number, dims in enumerate(self.plan.innermost):
            if dims is not None:
                if dims:
                    innermost = [self._may_be_innermost(number, dim) for dim in dims]
                    wrong = wrong | ~reduce(np.logical_or, innermost)
                else:
                    for dim in every:
                        wrong = wrong | (self.low(dim, f"temporal{number}") > 1)
        return wrong

    def _may_be_innermost(self, level: int, dim: int) -> NDArray[np.bool_]:
        """Whether the innermost temporal loop of a level can be over a dimension: it has one there,
        and no other has to stand inside.
        """
        inside = [one for one, row in enumerate(self.at.inside[level]) if row[dim]]
        free = [self.low(one, f"temporal{level}") <= 1 for one in inside]
        present: NDArray[np.bool_] = self.high(dim, f"temporal{level}") > 1
        return reduce(np.logical_and, free, present)

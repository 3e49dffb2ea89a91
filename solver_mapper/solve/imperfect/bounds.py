"""Lower bounds of what mappings cost, for many sets of mappings at once.

A *cell* is one node of the chain tree of each dimension. Under a *plan* (which levels store each
tensor, and over which dimensions the innermost temporal loop of each level runs) all mappings of a
cell cost at least what is worked out here. The words of a tensor that cross into a level
(`words.py`) are a product over dimensions; each factor is the least one that a chain of the node
has.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.solve.imperfect.chains import ChainTable, Floats
from solver_mapper.solve.imperfect.shapes import Nodes, Plan, tensor_shape
from solver_mapper.solve.imperfect.words import NOISE, Cells
from solver_mapper.verify.imperfect import ImperfectMapspace


class Bounds:
    """Bounds for one mapspace, whose chains are given."""

    def __init__(self, space: ImperfectMapspace, tables: Sequence[ChainTable]):
        self.space, self.tables = space, tables
        self.depth, self.dims = space.depth, range(len(tables))
        self.shapes = [tensor_shape(each, space.problem.bounds) for each in space.problem.tensors]
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
        return _Figures(self, plan, nodes).least()


class _Figures(Cells):
    """Figures of some cells."""

    def __init__(self, bounds: Bounds, plan: Plan, nodes: Nodes):
        super().__init__(bounds.space, bounds.tables, bounds.shapes, bounds.off, plan, nodes)
        self.at = bounds

    def least(self) -> tuple[Floats, Floats, Floats]:
        at, every = self.at, list(self.at.dims)
        done = self.product(every, f"active{at.depth}", f"outer{at.depth - 1}")
        energy = at.compute * np.floor(done * (1 - NOISE))
        cycles = self._steps()
        last = np.zeros(len(self.nodes))
        reads = [np.zeros(len(self.nodes)) for _ in at.levels]
        writes = [np.zeros(len(self.nodes)) for _ in at.levels]
        for number, (shape, stores) in enumerate(zip(self.shapes, self.plan.stores, strict=True)):
            held = [level for level in range(at.depth) if stores[level]]
            for outer, inner in zip(held, [*held[1:], at.depth], strict=True):
                sent, arrived = self.flow(number, outer, inner)
                level = at.levels[outer]
                if inner - 1 > outer:  # words scaled by a bypass are rounded
                    sent = np.maximum(0, sent - 0.5 * level.instances)
                again = sent
                if shape.written:
                    again = np.maximum(0, sent - self.partition(number, outer))
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
                    arrived = np.maximum(
                        0, arrived - child.instances * self.fractions(number, inner)
                    )
                    if shape.written:
                        arrived = np.maximum(0, arrived - self.partition(number, inner))
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

    def _impossible(self) -> NDArray[np.bool_]:
        """Cells without a legal mapping: meshes, capacities, and innermost loops."""
        at, every = self.at, list(self.at.dims)
        wrong = np.zeros(len(self.nodes), dtype=bool)
        for number, axis, room in at.rooms:
            if room > 1:
                wrong |= self.product(every, f"{axis}{number}") > room
        for number, level in enumerate(at.levels):
            if level.capacity is not None:
                used = np.zeros(len(self.nodes))
                for shape, stores in zip(self.shapes, self.plan.stores, strict=True):
                    if stores[number]:
                        used = used + self.tile(shape, number)
                wrong |= used > level.capacity
        for number, dims in enumerate(self.plan.innermost):
            if dims is not None:
                if dims:
                    present = [self.high(dim, f"temporal{number}") > 1 for dim in dims]
                    wrong |= ~np.logical_or.reduce(present)
                else:
                    for dim in every:
                        wrong |= self.low(dim, f"temporal{number}") > 1
        return wrong

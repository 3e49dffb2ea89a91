"""The exact cost model: what a mapping costs on an architecture."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.statistics import (
    LevelStatistics,
    NetworkStatistics,
    NetworkTensorStatistics,
    Statistics,
    TensorStatistics,
)
from solver_mapper.cost.timeloop.accesses import Accesses, TensorMovement, count_accesses
from solver_mapper.cost.timeloop.energy import address_generations, prices
from solver_mapper.cost.timeloop.latency import (
    latency,
    level_time,
    steps,
    timeloop_cycles,
    timeloop_latency,
    timeloop_steps,
)
from solver_mapper.cost.timeloop.legality import structural_violations
from solver_mapper.cost.timeloop.movement import Memory, Traffic, traffic_below
from solver_mapper.cost.timeloop.network_energy import NetworkBelow, network_use, networks_below
from solver_mapper.cost.timeloop.operations import charged_operations
from solver_mapper.cost.timeloop.projection import Projection, project
from solver_mapper.cost.timeloop.spatial_elements import Grid
from solver_mapper.cost.timeloop.tiles import Nest, build_nest
from solver_mapper.errors import InputError

_NOTHING = Fraction(0)


def evaluate(architecture: Architecture, problem: Problem, mapping: Mapping) -> Statistics:
    """Exact figures of `mapping`. Whether it fits the hardware is another question: see
    `violations`.

    Raises: InputError if the loops do not make up the problem, a level is missing, or a tensor is
    held nowhere.
    """
    wrong = structural_violations(architecture, problem, mapping)
    if wrong:
        errors = [InputError(each.message, each.location) for each in wrong]
        raise InputError(
            errors[0].message,
            errors[0].location,
            "statistics need a complete mapping",
            tuple(errors[1:]),
        )
    return Evaluator(architecture, problem, every_hop=True).evaluate(mapping)


class Evaluator:
    """The model for one architecture and one problem, prepared for many mappings.

    Hops are counted where a network charges for them; with `every_hop` also where they are free.
    """

    def __init__(self, architecture: Architecture, problem: Problem, every_hop: bool = False):
        self.architecture = architecture
        self.problem = problem
        self._projections = [project(problem, tensor) for tensor in problem.tensors]
        self._memories: list[Memory] = [{} for _ in problem.tensors]
        self._prices = [prices(level) for level in architecture.levels]
        self._networks = networks_below(architecture)
        self._hops = [
            every_hop or any(not below.free for below in networks) for networks in self._networks
        ]
        self._fanouts = [architecture.fanout(level) for level in range(len(architecture.levels))]
        names = [*architecture.level_names, architecture.arithmetic.name]
        self._links = [f"{outer} <==> {inner}" for outer, inner in pairwise(names)]
        units = architecture.arithmetic
        self._area = sum(
            (each.area * each.instances for each in architecture.levels),
            units.area * units.instances,
        )
        self._leaks = any(each.energy.leak for each in architecture.levels) or bool(units.leak)

    def evaluate(self, mapping: Mapping) -> Statistics:
        """Exact figures of `mapping`, whose loops must make up the problem."""
        nest = build_nest(self.problem, mapping)
        moved = self.movements(nest, mapping)
        held = [[each.accesses[level] for each in moved] for level in range(nest.depth)]
        compute = steps(nest)
        times = [
            level_time(level, each, compute)
            for level, each in zip(self.architecture.levels, held, strict=True)
        ]
        cycles = max(map(ceil, times)) + latency(self.architecture)
        operations = charged_operations(nest, self.problem.macs)
        levels = {}
        for index, level in enumerate(self.architecture.levels):
            levels[level.name] = self._level(
                nest, index, held[index], times[index], compute, cycles
            )
        levels[self.architecture.arithmetic.name] = self._arithmetic(operations, compute, cycles)
        networks = self._network_figures(nest, moved)
        return Statistics(
            cycles=cycles,
            timeloop_cycles=self._timeloop_cycles(nest, held),
            energy_pj=_total([*levels.values(), *networks.values()]),
            macs=self.problem.macs,
            computes=operations,
            compute_units=self.architecture.arithmetic.instances,
            last_level_accesses=sum(
                each.accesses for each in levels[self.architecture.levels[0].name].tensors.values()
            ),
            area_um2=self._area,
            levels=levels,
            networks=networks,
            architecture=self.architecture,
            problem=self.problem,
            mapping=mapping,
        )

    def movements(self, nest: Nest, mapping: Mapping) -> list[TensorMovement]:
        """Accesses and traffic of each tensor."""
        moved = []
        for projection, below in zip(
            self._projections, self.unbypassed(nest, mapping), strict=True
        ):
            keep = [projection.name in level.keep for level in mapping.levels]
            moved.append(count_accesses(nest, projection, keep, below))
        return moved

    def unbypassed(self, nest: Nest, mapping: Mapping) -> list[list[Traffic]]:
        """Traffic of each tensor below each level, as if every level held every tensor."""
        grids = [self._grid(nest, level) for level in range(nest.depth)]
        return [
            traffic_below(nest, projection, mapping.levels, grids, memory)
            for projection, memory in zip(self._projections, self._memories, strict=True)
        ]

    def _grid(self, nest: Nest, level: int) -> Grid:
        """The grid below one instance of a level: its hardware, or what the mapping uses of it if
        that is more.
        """
        width, height = self._fanouts[level]
        used_x = used_y = 1
        for loop in nest.spatial[level]:
            if loop.axis == "Y":
                used_y *= loop.bound
            else:
                used_x *= loop.bound
        return Grid(max(width, used_x), max(height, used_y), self._hops[level])

    def _timeloop_cycles(self, nest: Nest, held: list[list[Accesses | None]]) -> int:
        compute = timeloop_steps(nest)
        slowest = max(
            timeloop_cycles(level, each, compute)
            for level, each in zip(self.architecture.levels, held, strict=True)
        )
        return slowest + timeloop_latency(self.architecture)

    def _level(
        self,
        nest: Nest,
        index: int,
        held: list[Accesses | None],
        time: Fraction | int,
        compute: int,
        cycles: int,
    ) -> LevelStatistics:
        level, price, used = (
            self.architecture.levels[index],
            self._prices[index],
            nest.instances[index],
        )
        tensors = {}
        total = 0
        for projection, accesses in zip(self._projections, held, strict=True):
            if accesses is None:
                continue
            addresses = address_generations(accesses, projection.read_write)
            energy = price.energy(accesses, addresses, used)
            total += energy
            tensors[projection.name] = TensorStatistics(
                *accesses, addresses, used, Fraction(energy, price.unit)
            )
        leakage = level.energy.leak * cycles * level.instances if self._leaks else _NOTHING
        return LevelStatistics(
            level.name,
            ceil(time),
            Fraction(compute, time) if time != compute else Fraction(1),
            Fraction(total, price.unit) + leakage,
            leakage,
            level.area * level.instances,
            level.energy.origin,
            tensors,
        )

    def _arithmetic(self, operations: int, compute: int, cycles: int) -> LevelStatistics:
        units = self.architecture.arithmetic
        leakage = units.leak * cycles * units.instances if self._leaks else _NOTHING
        energy = operations * units.energy + leakage
        area = units.area * units.instances
        return LevelStatistics(
            units.name, compute, Fraction(1), energy, leakage, area, units.energy_origin, {}
        )

    def _network_figures(
        self, nest: Nest, moved: list[TensorMovement]
    ) -> dict[str, NetworkStatistics]:
        statistics = {}
        for level, networks in enumerate(self._networks):
            for below in networks:
                name = below.network.name if below.network.declared else self._links[level]
                statistics[name] = self._network(nest, level, name, below, moved)
        return statistics

    def _network(
        self,
        nest: Nest,
        level: int,
        name: str,
        below: NetworkBelow,
        moved: list[TensorMovement],
    ) -> NetworkStatistics:
        used = nest.instances[level]
        tensors = {}
        for projection, movement in zip(self._projections, moved, strict=True):
            tensors[projection.name] = network_tensor(below, movement, projection, level, used)
        energy = (
            _NOTHING if below.free else sum([each.energy_pj for each in tensors.values()], _NOTHING)
        )
        return NetworkStatistics(name, below.network.kind, energy, tensors)


def _total(parts: Sequence[LevelStatistics | NetworkStatistics]) -> Fraction:
    return sum([part.energy_pj for part in parts if part.energy_pj], _NOTHING)


def network_tensor(
    below: NetworkBelow,
    movement: TensorMovement,
    projection: Projection,
    level: int,
    used: int,
) -> NetworkTensorStatistics:
    """One tensor on the network below `level`, of which `used` instances work."""
    accesses = movement.accesses[level]
    partition = 0 if accesses is None else accesses.partition
    return NetworkTensorStatistics(
        *network_use(below, movement.traffic[level], projection.read_write, partition, used), used
    )

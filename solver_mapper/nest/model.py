"""The exact nest model: what a mapping costs on an architecture."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.mapping import Mapping
from solver_mapper.nest.accesses import Accesses, TensorMovement, count_accesses
from solver_mapper.nest.elements import Grid
from solver_mapper.nest.energy import access_energy, address_energy, address_generations
from solver_mapper.nest.figures import Figures, LevelFigures, NetworkFigures, NetworkTensorFigures, TensorFigures
from solver_mapper.nest.latency import level_time, steps, timeloop_cycles, timeloop_steps
from solver_mapper.nest.movement import traffic
from solver_mapper.nest.network import NetworkUse, legacy_use, tile_widths
from solver_mapper.nest.tiles import Nest, build_nest
from solver_mapper.spec.architecture import Architecture, Network
from solver_mapper.spec.problem import Problem, Tensor


def evaluate(architecture: Architecture, problem: Problem, mapping: Mapping) -> Figures:
    """Exact figures of `mapping`. Whether it fits is another question: see `violations`."""
    return Evaluator(architecture, problem).evaluate(mapping)


class Evaluator:
    """The model for one architecture and one problem, ready for many mappings."""

    def __init__(self, architecture: Architecture, problem: Problem):
        self.architecture = architecture
        self.problem = problem
        self._widths = tile_widths(architecture)
        self._networks = tuple(level.network or Network("") for level in architecture.levels)

    def evaluate(self, mapping: Mapping) -> Figures:
        nest = build_nest(self.problem, mapping)
        moved = {tensor.name: self._movement(nest, tensor, mapping) for tensor in self.problem.tensors}
        compute = steps(nest)
        held = [[moved[name].accesses[index] for name in moved] for index in range(nest.depth)]
        times = [level_time(buffer, each, compute) for buffer, each in zip(self.architecture.levels, held, strict=True)]
        cycles = max(_ceil(each) for each in times)
        levels = {
            buffer.name: self._level(nest, index, moved, times[index], compute, cycles)
            for index, buffer in enumerate(self.architecture.levels)
        }
        levels[self.architecture.arithmetic.name] = self._arithmetic(compute, cycles)
        networks = self._network_figures(nest, moved)
        energy = sum((level.energy_pj for level in levels.values()), Fraction(0))
        energy += sum((network.energy_pj for network in networks.values()), Fraction(0))
        return Figures(
            cycles=cycles,
            timeloop_cycles=self._timeloop_cycles(nest, held),
            energy_pj=energy,
            macs=self.problem.macs,
            computes=self.problem.macs,
            multipliers=self.architecture.arithmetic.instances,
            last_level_accesses=_level_accesses(levels[self.architecture.levels[0].name]),
            area_um2=self._area(),
            compute_energy_pj=self.problem.macs * self.architecture.arithmetic.energy,
            levels=levels,
            networks=networks,
        )

    def _movement(self, nest: Nest, tensor: Tensor, mapping: Mapping) -> TensorMovement:
        below = []
        for index, plan in enumerate(mapping.levels):
            child = mapping.levels[index + 1] if index + 1 < nest.depth else None
            below.append(traffic(nest, tensor, index, plan, child, self._grid(nest, index)))
        keep = tuple(tensor.name in level.keep for level in mapping.levels)
        return count_accesses(nest, tensor, keep, tuple(below))

    def _grid(self, nest: Nest, level: int) -> Grid:
        width, height = self.architecture.fanout(level)
        used_x = used_y = 1
        for loop in nest.spatial[level]:
            if loop.axis == "Y":
                used_y *= loop.bound
            else:
                used_x *= loop.bound
        return Grid(max(width, used_x), max(height, used_y))

    def _timeloop_cycles(self, nest: Nest, held: list[list[Accesses | None]]) -> int:
        compute = timeloop_steps(nest)
        return max(timeloop_cycles(buffer, each, compute) for buffer, each in zip(self.architecture.levels, held, strict=True))

    def _level(
        self, nest: Nest, level: int, moved: dict[str, TensorMovement], time: Fraction, compute: int, cycles: int
    ) -> LevelFigures:
        buffer = self.architecture.levels[level]
        used = nest.instances[level]
        tensors = {}
        for tensor in self.problem.tensors:
            accesses = moved[tensor.name].accesses[level]
            if accesses is None:
                continue
            addresses = address_energy(buffer, accesses, tensor.read_write, used)
            tensors[tensor.name] = TensorFigures(
                accesses.tile,
                accesses.partition,
                used,
                accesses.reads,
                accesses.fills,
                accesses.updates,
                accesses.temporal_reductions,
                address_generations(accesses, tensor.read_write),
                access_energy(buffer, accesses, used) + addresses,
            )
        leakage = buffer.energy.leak * cycles * buffer.instances
        energy = sum((each.energy_pj for each in tensors.values()), Fraction(0)) + leakage
        area = buffer.area * buffer.instances
        return LevelFigures(
            buffer.name, _ceil(time), compute / time, energy, leakage, area, buffer.energy.origin, tensors
        )

    def _arithmetic(self, compute: int, cycles: int) -> LevelFigures:
        units = self.architecture.arithmetic
        leakage = units.leak * cycles * units.instances
        energy = self.problem.macs * units.energy + leakage
        area = units.area * units.instances
        return LevelFigures(units.name, compute, Fraction(1), energy, leakage, area, units.energy_origin, {})

    def _network_figures(self, nest: Nest, moved: dict[str, TensorMovement]) -> dict[str, NetworkFigures]:
        names = [*self.architecture.level_names, self.architecture.arithmetic.name]
        figures = {}
        for level, network in enumerate(self._networks):
            used = nest.instances[level]
            tensors = {
                tensor.name: _network_tensor(self._use(level, network, tensor, moved[tensor.name]), used)
                for tensor in self.problem.tensors
            }
            name = f"{names[level]} <==> {names[level + 1]}"
            energy = sum((each.energy_pj for each in tensors.values()), Fraction(0))
            figures[name] = NetworkFigures(name, network.kind, energy, tensors)
        return figures

    def _use(self, level: int, network: Network, tensor: Tensor, movement: TensorMovement) -> NetworkUse:
        held = movement.accesses[level]
        unreduced = None
        if not self.architecture.levels[level].reduction_supported:
            unreduced = held.partition if held is not None else 0
        width = self._widths[level] if network.tile_width is None else network.tile_width
        return legacy_use(network, width, movement.traffic[level], tensor.read_write, unreduced)

    def _area(self) -> Fraction:
        units = self.architecture.arithmetic
        return sum((b.area * b.instances for b in self.architecture.levels), units.area * units.instances)


def _network_tensor(use: NetworkUse, used: int) -> NetworkTensorFigures:
    return NetworkTensorFigures(
        use.multicast, use.ingresses, use.link_transfers, use.spatial_reductions, use.hops, used, use.energy * used
    )


def _level_accesses(level: LevelFigures) -> int:
    return sum((t.reads + t.fills + t.updates) * t.instances for t in level.tensors.values())


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)

"""What each tensor contributes to the figures of a mapping, for every bypass choice, remembered by
what that depends on.

The figures come from the cost model's own functions. A tensor does not see which of the dimensions
that do not index it a loop runs over, nor a border between two such loops, so nests that differ
only there share their contributions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from solver_mapper.core.mapping import LevelMapping, Mapping
from solver_mapper.cost.timeloop.accesses import Accesses, count_accesses
from solver_mapper.cost.timeloop.energy import address_generations, prices
from solver_mapper.cost.timeloop.model import network_tensor
from solver_mapper.cost.timeloop.movement import Traffic, traffic_at
from solver_mapper.cost.timeloop.network_energy import networks_below
from solver_mapper.cost.timeloop.projection import Projection, project
from solver_mapper.cost.timeloop.spatial_elements import Grid
from solver_mapper.cost.timeloop.tiles import Nest, build_nest
from solver_mapper.verify.mapspace import Bars, EnumeratedMapspace, Skeleton


@dataclass(frozen=True)
class BypassOption:
    """One bypass choice of a tensor: `accesses` per level (None where bypassed), energy of all
    levels and networks in units of the enumeration's, and the words that the outermost level reads
    and writes.
    """

    keep: tuple[bool, ...]
    accesses: tuple[Accesses | None, ...]
    energy: Fraction | int
    last_level: int


class LoopNest:
    """A skeleton, laid out when someone needs it. `sized` is a nest with the same bounds at all
    places, in whatever order.
    """

    def __init__(self, mapspace: EnumeratedMapspace, skeleton: Skeleton, sized: Nest):
        self.mapspace, self.skeleton, self.sized = mapspace, skeleton, sized

    @cached_property
    def plans(self) -> tuple[LevelMapping, ...]:
        """The loops of each level."""
        return self.mapspace.levels(self.skeleton)

    @cached_property
    def nest(self) -> Nest:
        """The loop nest."""
        return build_nest(self.mapspace.problem, Mapping(self.plans))


@dataclass
class Contributions:
    """Contributions of one tensor of a mapspace."""

    mapspace: EnumeratedMapspace
    number: int
    unit: int
    """Energies are in pJ over this."""
    _forms: dict[tuple[Bars, Bars], Bars] = field(default_factory=dict)
    _traffic: dict[tuple[Bars, ...], Traffic] = field(default_factory=dict)
    _options: dict[tuple[object, ...], list[BypassOption]] = field(default_factory=dict)
    _sized: tuple[Nest | None, tuple[tuple[int, int, int], ...]] = (None, ())

    def __post_init__(self) -> None:
        architecture, problem = self.mapspace.architecture, self.mapspace.problem
        self.projection: Projection = project(problem, problem.tensors[self.number])
        self.relevant = problem.tensors[self.number].dims
        self.keeps = self.mapspace.keeps(self.projection.name)
        self.networks = networks_below(architecture)
        self.prices = [prices(buffer) for buffer in architecture.levels]
        self.grids = [
            Grid(*architecture.fanout(level), any(not each.free for each in networks))
            for level, networks in enumerate(self.networks)
        ]

    def options(self, loop_nest: LoopNest) -> list[BypassOption]:
        """Contributions for each bypass choice."""
        forms = tuple([self._form(level) for level in loop_nest.skeleton])
        traffic = tuple([self._traffic_at(loop_nest, level, forms) for level in range(len(forms))])
        key = (traffic, self._sizes(loop_nest.sized))
        found = self._options.get(key)
        if found is None:
            found = self._options[key] = [
                self._option(loop_nest.sized, keep, traffic) for keep in self.keeps
            ]
        return found

    def _sizes(self, nest: Nest) -> tuple[tuple[int, int, int], ...]:
        """Words of the tiles, words of all tiles below a level together, and instances: all that
        accesses ask of a nest.
        """
        if nest is not self._sized[0]:
            self._sized = (
                nest,
                tuple(
                    [
                        (
                            nest.tile_words(self.projection, level),
                            nest.union_words(self.projection, level),
                            nest.fanouts[level],
                        )
                        for level in range(nest.depth)
                    ]
                ),
            )
        return self._sized[1]

    def _form(self, loops: tuple[Bars, Bars]) -> Bars:
        """What the tensor sees of a level's loops."""
        known = self._forms.get(loops)
        if known is None:
            form: list[tuple[str, int, str]] = []
            for dim, bound, axis in (bar for part in loops for bar in part):
                if dim in self.relevant:
                    form.append((dim, bound, axis))
                elif form and form[-1][0] == "" and form[-1][2] == axis:
                    form[-1] = ("", form[-1][1] * bound, axis)
                else:
                    form.append(("", bound, axis))
            known = self._forms[loops] = tuple(form)
        return known

    def _traffic_at(self, loop_nest: LoopNest, level: int, forms: tuple[Bars, ...]) -> Traffic:
        key = forms[: level + 1]
        found = self._traffic.get(key)
        if found is None:
            loops = [loop for each in loop_nest.nest.temporal[: level + 1] for loop in each]
            found = self._traffic[key] = traffic_at(
                loop_nest.nest, self.projection, loop_nest.plans, self.grids, level, loops
            )
        return found

    def _option(
        self, nest: Nest, keep: tuple[bool, ...], below: tuple[Traffic, ...]
    ) -> BypassOption:
        movement = count_accesses(nest, self.projection, keep, below)
        energy: Fraction | int = 0
        for level, accesses in enumerate(movement.accesses):
            if accesses is not None:
                price = self.prices[level]
                addresses = address_generations(accesses, self.projection.read_write)
                energy += price.energy(accesses, addresses, nest.instances[level]) * (
                    self.unit // price.unit
                )
            for network in self.networks[level]:
                if not network.free:
                    energy += (
                        network_tensor(
                            network, movement, self.projection, level, nest.instances[level]
                        ).energy_pj
                        * self.unit
                    )
        outermost = movement.accesses[0]
        last = 0 if outermost is None else outermost.reads + outermost.fills + outermost.updates
        return BypassOption(keep, tuple(movement.accesses), energy, last * nest.instances[0])

"""What the leaves of a proof by branch and bound claim: the value to be met, and the mappings of a
box that is down to single bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations, product
from math import ceil, factorial, prod

from solver_mapper.check.constraints import constraint_violations
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.objective import Goal, HasStatistics, Objective
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.verify.boxes import Box, BoxSpace
from solver_mapper.verify.loop_tables import members
from solver_mapper.verify.relaxation import LeastStatistics

FLAGS = ("no_temporal_reuse", "no_multicast", "no_link_transfer")


@dataclass(frozen=True)
class Target:
    """The incumbent's exact values `ranks` for all goals (None: no mapping is known), and the
    relative gap that is accepted.
    """

    space: BoxSpace
    objective: Objective
    ranks: tuple[Fraction, ...] | None
    gap: Fraction

    @cached_property
    def _limits(self) -> list[tuple[Fraction, int]]:
        """For each goal the incumbent's value and the least one that is not better, with energies
        in the space's unit.
        """
        assert self.ranks is not None
        scales = [
            self.space.unit ** dict(goal.powers).get("energy", 0) for goal in self.objective.goals
        ]
        return [
            (rank * scale, ceil(rank * scale * (1 - self.gap)))
            for rank, scale in zip(self.ranks, scales, strict=True)
        ]

    def progress(self, statistics: LeastStatistics | None) -> float:
        """How far a box with these bounds is from being excluded: for each goal at most 1, their
        number where it is excluded. None: no mapping fits."""
        goals = self.objective.goals
        if statistics is None or self.capped(statistics):
            return float(len(goals))
        if self.ranks is None:
            return 0.0
        done = 0.0
        for goal, (rank, least) in zip(goals, self._limits, strict=True):
            value = product_of(goal, statistics)
            if value > rank:
                return float(len(goals))
            if value < least:
                return (
                    done + value / least if done + value / least < done + 1 else done + 1 - 2**-30
                )
            done += 1
        return done

    def excludes(self, statistics: LeastStatistics | None) -> bool:
        """Whether no mapping with at least these figures is better than the incumbent by more than
        the gap.
        """
        return self.progress(statistics) == len(self.objective.goals)

    def share(self, statistics: LeastStatistics | None) -> Fraction:
        """The first goal's least value as a share of the incumbent's; 0 if nothing is known."""
        if statistics is None or self.ranks is None or not self.ranks[0]:
            return Fraction(0)
        return product_of(self.objective.goals[0], statistics) / self._limits[0][0]

    def capped(self, statistics: LeastStatistics) -> bool:
        """Whether a cap excludes all mappings with at least these figures."""
        energy = Fraction(statistics.energy, self.space.unit)
        values: dict[str, Fraction | int] = {
            "cycles": statistics.cycles,
            "energy_pj": energy,
            "edp": energy * statistics.cycles,
            "last_level_accesses": statistics.last_level,
        }
        return any(
            values[constraint.metric] > constraint.most
            or (constraint.strict and values[constraint.metric] == constraint.most)
            for constraint in self.space.constraints
            if isinstance(constraint, MetricConstraint)
        )

    def better(self, statistics: HasStatistics) -> bool:
        """Whether a mapping with these exact figures beats the incumbent by more than the gap."""
        if self.ranks is None:
            return True
        for goal, rank in zip(self.objective.goals, self.ranks, strict=True):
            value = goal.rank(statistics)
            if value < rank * (1 - self.gap):
                return True
            if value > rank:
                return False
        return False


def product_of(goal: Goal, statistics: LeastStatistics) -> int:
    """The value of a goal, with energies in the space's unit."""
    values = {"energy": statistics.energy, "delay": statistics.cycles}
    return prod(values.get(metric, statistics.last_level) ** power for metric, power in goal.powers)


def mappings_left(space: BoxSpace, box: Box) -> int | None:
    """How many mappings `mappings` goes through, at most; None while loop bounds are open."""
    if any(mask.bit_count() > 1 for masks in box.extents for mask in masks):
        return None
    loops = _bounds(space, box)
    orders = prod(factorial(len(each)) for each in loops)
    stores = prod(mask.bit_count() for mask in box.stores)
    return (
        stores
        * orders
        * prod(
            1 << len(each)
            for each, (level, kind) in zip(loops, space.slots, strict=True)
            if kind == "spatial" and min(space.architecture.fanout(level)) > 1
        )
    )


def _bounds(space: BoxSpace, box: Box) -> list[dict[int, int]]:
    """The loops of each slot: dimension and bound."""
    facts = [space.facts(dim, extents) for dim, extents in enumerate(box.extents)]
    return [
        {dim: fact[2][slot][0] for dim, fact in enumerate(facts) if fact[2][slot][0] > 1}
        for slot in range(len(space.slots))
    ]


def mappings(space: BoxSpace, box: Box) -> Iterator[Mapping]:
    """All mappings of a box with single loop bounds: every order of loops, every placement along X
    and Y, every choice of stores.
    """
    dims, bounds = space.problem.dims, _bounds(space, box)
    choices: list[list[tuple[Loop, ...]]] = []
    for slot, (level, kind) in enumerate(space.slots):
        if kind == "temporal":
            allowed = [
                order
                for order in permutations(bounds[slot])
                if box.innermost[level] >> (order[-1] if order else space.dims) & 1
            ]
            choices.append(
                [tuple(loop(dims[dim], bounds[slot][dim]) for dim in order) for order in allowed]
            )
        else:
            choices.append(list(_placements(space, level, bounds[slot])))
    names = space.problem.tensor_names
    off = [
        [frozenset(name for name in names if space.off(flag, level, name)) for flag in FLAGS]
        for level in range(space.levels)
    ]
    kept = product(
        *(
            [space.stores[tensor][number] for number in members(mask)]
            for tensor, mask in enumerate(box.stores)
        )
    )
    for stores in kept:
        keep = [
            frozenset(name for name, choice in zip(names, stores, strict=True) if choice[level])
            for level in range(space.levels)
        ]
        for loops in product(*choices):
            yield Mapping(
                tuple(
                    LevelMapping(
                        name,
                        loops[space.temporal[level]],
                        () if slot is None else loops[slot],
                        keep[level],
                        no_temporal_reuse=off[level][0],
                        no_multicast=off[level][1],
                        no_link_transfer=off[level][2],
                    )
                    for level, (name, slot) in enumerate(
                        zip(space.architecture.level_names, space.spatial, strict=True)
                    )
                ),
                dims,
                names,
            )


def _placements(space: BoxSpace, level: int, bounds: dict[int, int]) -> Iterator[tuple[Loop, ...]]:
    """Spatial loops in every order on every axis that has room, those along Y outside those along
    X.
    """
    width, height = space.architecture.fanout(level)
    for axes in product("XY", repeat=len(bounds)):
        along = {
            axis: [dim for dim, each in zip(bounds, axes, strict=True) if each == axis]
            for axis in "XY"
        }
        if (
            prod(bounds[dim] for dim in along["X"]) <= width
            and prod(bounds[dim] for dim in along["Y"]) <= height
        ):
            for outer in permutations(along["Y"]):
                for inner in permutations(along["X"]):
                    yield (
                        *(loop(space.problem.dims[dim], bounds[dim], "Y") for dim in outer),
                        *(loop(space.problem.dims[dim], bounds[dim], "X") for dim in inner),
                    )


def legal(space: BoxSpace, mapping: Mapping) -> bool:
    """Whether a mapping fits the hardware and obeys all constraints."""
    return not (
        violations(space.architecture, space.problem, mapping)
        or constraint_violations(space.constraints, space.architecture, space.problem, mapping)
    )

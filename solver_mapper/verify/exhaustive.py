"""The best of all mappings, found by looking at every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, prod
from typing import NamedTuple

from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, Limit, Objective
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.energy import energy_unit, leakage
from solver_mapper.cost.timeloop.latency import latency, level_time
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.cost.timeloop.tiles import Nest, build_nest
from solver_mapper.errors import ExactnessError
from solver_mapper.verify.contributions import BypassOption, Contributions, LoopNest
from solver_mapper.verify.mapspace import EnumeratedMapspace, Skeleton

Number = Fraction | int
Ranks = tuple[Number, ...]


class MappingMetrics(NamedTuple):
    """The metrics of one mapping; energy in pJ over the enumeration's unit."""

    energy: Number
    cycles: int
    last_level: int


@dataclass(frozen=True)
class BestMapping:
    """A mapping with its figures; `options` are the tensors' bypass choices."""

    outcome: MappingMetrics
    skeleton: Skeleton
    options: tuple[BypassOption, ...]


class Exhaustive:
    """All legal mappings of a mapspace that keep to some `limits`, with their figures.

    `enumerated` counts the loop nests seen so far.
    """

    def __init__(self, mapspace: EnumeratedMapspace, limits: Sequence[Limit] = ()):
        caps = [each for each in mapspace.constraints if isinstance(each, MetricConstraint)]
        self.mapspace, self._limits = mapspace, [*limits, *(each.limit for each in caps)]
        self.enumerated = 0
        architecture, problem = mapspace.architecture, mapspace.problem
        self.unit = energy_unit(architecture, problem.macs)
        self._leak = int(leakage(architecture) * self.unit)
        self._fixed = int(problem.macs * architecture.arithmetic.energy * self.unit)
        self._contributions = [
            Contributions(mapspace, number, self.unit) for number in range(len(problem.tensors))
        ]
        self._latency = latency(architecture)
        self._sized = [
            (level, buffer.capacity, ceil(buffer.capacity * buffer.min_utilization))
            for level, buffer in enumerate(architecture.levels)
            if buffer.capacity is not None
        ]
        self._limited = [
            (level, buffer)
            for level, buffer in enumerate(architecture.levels)
            if buffer.read_bandwidth or buffer.write_bandwidth or buffer.shared_bandwidth
        ]

    def best(
        self, objectives: Sequence[Objective], each_nest: Callable[[], None] = lambda: None
    ) -> list[tuple[Mapping, Statistics] | None]:
        """For each objective the first of the best legal mappings; None if there is no legal
        mapping.

        `each_nest` is called for each loop nest; what it raises ends the enumeration.
        Raises: ExactnessError if a mapping's full evaluation differs from the figures it was chosen
        by.
        """
        held: list[tuple[Ranks, BestMapping] | None] = [None] * len(objectives)

        def promising(least: MappingMetrics) -> bool:
            each_nest()
            return any(
                best is None or _ranks(objective, least) < best[0]
                for objective, best in zip(objectives, held, strict=True)
            )

        for found in self.outcomes(promising):
            for number, objective in enumerate(objectives):
                ranks, best = _ranks(objective, found.outcome), held[number]
                if best is None or ranks < best[0]:
                    held[number] = (ranks, found)
        return [None if best is None else self.evaluate(best[1]) for best in held]

    def front(self, first: str, second: str) -> list[tuple[Mapping, Statistics]]:
        """The mappings of which no other is as good in both metrics and better in one, by rising
        `first`; one for each pair.
        """
        points: dict[tuple[Number, Number], BestMapping] = {}

        def undominated(outcome: MappingMetrics) -> bool:
            one, two = _metric(outcome, first), _metric(outcome, second)
            return not any(a <= one and b <= two for a, b in points)

        for found in self.outcomes(undominated):
            if undominated(found.outcome):
                one, two = _metric(found.outcome, first), _metric(found.outcome, second)
                for a, b in [point for point in points if one <= point[0] and two <= point[1]]:
                    del points[a, b]
                points[one, two] = found
        return [self.evaluate(points[point]) for point in sorted(points)]

    def outcomes(self, promising: Callable[[MappingMetrics], bool]) -> Iterator[BestMapping]:
        """All legal mappings, but none of a loop nest whose mappings cannot have figures that are
        `promising`.

        `promising` is asked about figures that no bypass choice of a nest can fall below.
        """
        if not all(each.keeps for each in self._contributions):
            return
        for bounds in self.mapspace.factorizations():
            sized: Nest | None = None
            for skeleton in self.mapspace.arrangements(bounds):
                if sized is None:
                    sized = build_nest(
                        self.mapspace.problem, Mapping(self.mapspace.levels(skeleton))
                    )
                    steps = prod(bound for temporal, _ in skeleton for _, bound, _ in temporal)
                self.enumerated += 1
                loop_nest = LoopNest(self.mapspace, skeleton, sized)
                options = [each.options(loop_nest) for each in self._contributions]
                if promising(self._least(steps, options)):
                    for chosen in product(*options):
                        outcome = self._outcome(steps, chosen)
                        if self._fits(chosen) and self._capped(outcome):
                            yield BestMapping(outcome, skeleton, chosen)

    def _least(self, steps: int, options: list[list[BypassOption]]) -> MappingMetrics:
        cycles = steps + self._latency
        energy = sum([min([option.energy for option in each]) for each in options])
        return MappingMetrics(
            energy + self._fixed + self._leak * cycles,
            cycles,
            sum([min([o.last_level for o in each]) for each in options]),
        )

    def _fits(self, chosen: tuple[BypassOption, ...]) -> bool:
        for level, capacity, least in self._sized:
            used = sum(
                [held.tile for option in chosen if (held := option.accesses[level]) is not None]
            )
            if not least <= used <= capacity:
                return False
        return True

    def _capped(self, outcome: MappingMetrics) -> bool:
        """Whether the figures keep to their caps and limits."""
        exact = outcome._replace(energy=Fraction(outcome.energy, self.unit))
        return all(limit.holds(Fraction(_rank(limit.goal, exact))) for limit in self._limits)

    def _outcome(self, steps: int, chosen: tuple[BypassOption, ...]) -> MappingMetrics:
        times = [
            level_time(buffer, [option.accesses[level] for option in chosen], steps)
            for level, buffer in self._limited
        ]
        cycles = max([steps, *map(ceil, times)]) + self._latency
        energy = sum([option.energy for option in chosen]) + self._fixed + self._leak * cycles
        return MappingMetrics(energy, cycles, sum([option.last_level for option in chosen]))

    def evaluate(self, found: BestMapping) -> tuple[Mapping, Statistics]:
        """The mapping that was found, with its full evaluation."""
        mapping = self.mapspace.mapping(
            found.skeleton, tuple(option.keep for option in found.options)
        )
        statistics = Evaluator(self.mapspace.architecture, self.mapspace.problem).evaluate(mapping)
        outcome = MappingMetrics(
            statistics.energy_pj * self.unit, statistics.cycles, statistics.last_level_accesses
        )
        if outcome != found.outcome:
            raise ExactnessError(
                f"enumeration counted {found.outcome} for a mapping that has {outcome}: {mapping}"
            )
        return mapping, statistics


def _metric(outcome: MappingMetrics, metric: str) -> Number:
    return {
        "energy": outcome.energy,
        "delay": outcome.cycles,
        "last-level-accesses": outcome.last_level,
    }[metric]


def _ranks(objective: Objective, outcome: MappingMetrics) -> Ranks:
    return tuple([_rank(goal, outcome) for goal in objective.goals])


def _rank(goal: Goal, outcome: MappingMetrics) -> Number:
    return prod([_metric(outcome, metric) ** power for metric, power in goal.powers])

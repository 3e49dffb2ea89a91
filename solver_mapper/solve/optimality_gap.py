"""The optimality gap of a goal: between the best mapping that was evaluated and a proven bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, Goal, HasStatistics, Limit

F = TypeVar("F", bound=HasStatistics)


@dataclass(frozen=True)
class Candidate(Generic[F]):
    """A mapping that the search has evaluated exactly."""

    mapping: Mapping
    statistics: F


@dataclass
class OptimalityGap(Generic[F]):
    """The incumbent `best` and the `bound` of a goal's rank over all mappings within `limits`.

    accepted: the relative gap at which the goal counts as proven.
    energy_unit: energies are whole multiples of one over this, in pJ; None if that is not known.
    on_change: called whenever the incumbent or the bound has changed.
    """

    goal: Goal
    limits: tuple[Limit, ...]
    accepted: float
    energy_unit: int | None
    best: Candidate[F] | None = None
    bound: Fraction | None = None
    on_change: Callable[[OptimalityGap[F]], None] | None = None

    @property
    def rank(self) -> Fraction | None:
        """The rank of the incumbent."""
        return None if self.best is None else self.goal.rank(self.best.statistics)

    @property
    def closed(self) -> bool:
        """Whether the bound is as close to the incumbent as was asked for."""
        return self.is_near(self.bound)

    @property
    def share(self) -> float:
        """The gap as a share of the incumbent's rank; 0 where either is missing."""
        if self.rank is None or self.bound is None:
            return 0.0
        return float((self.rank - self.bound) / abs(self.rank)) if self.rank else 0.0

    @property
    def span(self) -> tuple[float, float]:
        """The bound, and what the rank of a mapping has to be below that is worth finding."""
        bound = -math.inf if self.bound is None else float(self.bound)
        if self.rank is None:
            return bound, math.inf
        below = self.rank - self.slack() if self.accepted > GAP else self.rank
        return bound, math.nextafter(float(below), math.inf)

    def admits(self, statistics: F) -> bool:
        """Whether statistics are within all limits."""
        return all(limit.admits(statistics) for limit in self.limits)

    def adopt(self, candidate: Candidate[F]) -> None:
        """Make a candidate the incumbent if it is within the limits and better."""
        if self.admits(candidate.statistics) and (
            self.rank is None or self.goal.rank(candidate.statistics) < self.rank
        ):
            self.best = candidate
            self.changed()

    def raise_bound(self, least: Fraction, cut: Fraction | None = None) -> None:
        """No mapping whose rank is below `cut` is below `least`, and neither is the incumbent below
        itself.
        """
        known = [self._next_rank(least), cut, self.rank]
        bound = min(each for each in known if each is not None)
        self.bound = bound if self.bound is None else max(self.bound, bound)

    def slack(self, gap: float | None = None) -> Fraction:
        """By how much the rank of an optimum may exceed the bound: `gap`, the accepted one unless
        given, is a share of the value, a root of the rank.
        """
        assert self.rank is not None
        share = Fraction(self.accepted if gap is None else gap)
        return abs(self.rank) * share * min(Fraction(1), 1 / self.goal.root)

    def is_near(self, rank: Fraction | None) -> bool:
        """Whether a bound of this rank would close the gap."""
        if rank is None or self.rank is None:
            return False
        return self.rank - rank <= self.slack()

    def changed(self) -> None:
        """Report the incumbent and the bound."""
        if self.on_change is not None:
            self.on_change(self)

    def _next_rank(self, least: Fraction) -> Fraction:
        """The least rank that a mapping may have which is not below `least`: cycles are whole
        numbers, and energies multiples of a unit.
        """
        powers = dict(self.goal.powers)
        if self.energy_unit is None or not powers.keys() <= {"energy", "delay"}:
            return least
        unit = self.energy_unit ** powers.get("energy", 0)
        return Fraction(math.ceil(least * unit), unit)

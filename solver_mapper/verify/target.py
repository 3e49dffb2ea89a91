"""What an optimality certificate has to show, and when figures show it."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import NamedTuple

from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.objective import Goal, Objective
from solver_mapper.verify.boxes import Mapspace


class Least(NamedTuple):
    """Least energy (in pJ / unit), cycles, and accesses of the outermost level."""

    energy: int
    cycles: int
    last_level: int


class Target(NamedTuple):
    """What is to be shown: no mapping is better than one of exact values `ranks` (None: no mapping
    is legal) by more than the relative `gap`."""

    space: Mapspace
    objective: Objective
    ranks: tuple[Fraction, ...] | None
    gap: Fraction

    def values(self, least: Least) -> list[Fraction]:
        """Least values of all goals."""
        return [self._value(goal, least) for goal in self.objective.goals]

    def _value(self, goal: Goal, least: Least) -> Fraction:
        figures = {
            "energy": Fraction(least.energy, self.space.unit),
            "delay": Fraction(least.cycles),
            "last-level-accesses": Fraction(least.last_level),
        }
        return prod((figures[metric] ** power for metric, power in goal.powers), start=Fraction(1))

    def excludes(self, least: Least) -> bool:
        """Whether no mapping with at least these figures is legal and better."""
        limits = [cap.limit for cap in self.space.all(MetricConstraint)]
        legal = all(limit.holds(self._value(limit.goal, least)) for limit in limits)
        return not legal or not self.better(self.values(least))

    def better(self, values: list[Fraction]) -> bool:
        """Whether a mapping of these values is better by more than the gap."""
        for value, rank in zip(values, self.ranks or values, strict=True):
            if value > rank or value < rank * (1 - self.gap):
                return value < rank
        return self.ranks is None

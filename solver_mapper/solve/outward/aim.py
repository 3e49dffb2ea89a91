"""What mappings are looked for, and how inner mappings are ranked."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from solver_mapper.core.objective import Goal, Limit
from solver_mapper.solve.outward.costs import NOISE, Costs
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Outside


class Aim(NamedTuple):
    """What mappings are looked for: their rank of the goal is below `target`, and their figures are
    within `limits`. `latency`: how many cycles are networks'.
    """

    goal: Goal
    latency: int
    target: float
    limits: tuple[Limit, ...] = ()

    @property
    def of_cycles(self) -> bool:
        """Whether the goal or a limit has to do with cycles."""
        goals = (self.goal, *(limit.goal for limit in self.limits))
        return any(metric == "delay" for goal in goals for metric, _ in goal.powers)


def rank(costs: Costs, aim: Aim, cycles: Floats, energy: Floats) -> Floats:
    """The rank of the goal for so much energy apart from that of operations and leakage, less what
    rounding may have added to it; infinite where that is not within the limits.
    """
    fixed, leak = costs.work
    # What may still be saved can exceed what is settled; the square of that would be too high.
    if leak:  # cycles are infinite where nothing may follow
        energy = energy + leak * cycles
    energy = np.maximum(energy + fixed - costs.rounding, 0.0)
    figures = {"energy": energy, "delay": cycles}
    found = _product(aim.goal, figures)
    for limit in aim.limits:
        found = np.where(_within(limit, figures), found, np.inf)
    return found


def _product(goal: Goal, figures: dict[str, Floats]) -> Floats:
    return np.asarray(prod((figures[metric] ** power for metric, power in goal.powers)))


def _within(limit: Limit, figures: dict[str, Floats]) -> Flags:
    """Whether figures are within a limit, or may be but for rounding. Cycles are whole numbers, of
    which rounding has been taken.
    """
    least, most = _product(limit.goal, figures), limit.above
    if limit.goal.single == "delay":
        return np.asarray(least < most if limit.strict else least <= most)
    return np.asarray(least * (1 - NOISE) <= most)


def least_cycles(costs: Costs, latency: int, rows: InnerMappings, outside: Outside) -> Floats:
    """The least cycles of a whole mapping: operations by pace, or what a level needs to move each
    different word once that it has to hold.
    """
    pace = rows.pace * costs.spread_at_most(outside, rows.tile, rows.meshes)
    return cycles_at(costs, latency, pace)


def cycles_at(costs: Costs, latency: int, pace: Floats) -> Floats:
    """The same for so many operations a cycle."""
    cycles = np.ceil(costs.operations / pace * (1 - NOISE)) + latency
    return np.asarray(np.maximum(cycles, costs.fewest_cycles))


def most_energy(costs: Costs, aim: Aim, rows: InnerMappings, outside: Outside) -> Floats:
    """The energy in pJ that a whole mapping below the target has at most."""
    cycles = least_cycles(costs, aim.latency, rows, outside)
    powers = dict(aim.goal.powers)
    most = (aim.target / cycles ** powers.get("delay", 0)) ** (1 / powers["energy"])
    return np.asarray(most)

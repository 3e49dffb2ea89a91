"""What mappings with one choice of holders cost, at least, whatever their loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from solver_mapper.core.objective import Goal
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.solve.imperfect.joint.bandwidth import Port, ports
from solver_mapper.solve.imperfect.joint.computing import ComputingEnergy
from solver_mapper.solve.imperfect.joint.counts import Floats
from solver_mapper.solve.imperfect.joint.outside import (
    EnteringByTile,
    LeastOutside,
    entering_by_tile,
)
from solver_mapper.verify.bound import Keeps
from solver_mapper.verify.imperfect_bound import NOISE, ComputeBoundary, ImperfectLowerBound


class Powers(NamedTuple):
    """The powers of a goal's metrics."""

    energy: int
    delay: int

    @classmethod
    def of(cls, goal: Goal) -> Powers:
        """Raises: ValueError for a goal without energy, or with other metrics than these."""
        powers = dict(goal.powers)
        if not {"energy"} <= set(powers) <= {"energy", "delay"}:
            raise ValueError(f"{goal.name} is no matter of energy and cycles alone")
        return cls(powers["energy"], powers.get("delay", 0))


@dataclass(frozen=True)
class HolderCosts:
    """Least costs for one choice of holders. Energy is in pJ."""

    bound: ImperfectLowerBound
    keeps: Keeps
    powers: Powers

    @cached_property
    def computing(self) -> ComputingEnergy:
        """Energy at the compute units."""
        return ComputingEnergy(self.bound, self.keeps)

    @cached_property
    def sizes(self) -> list[int]:
        """The size of each dimension."""
        return list(self.bound.mapspace.problem.bounds.values())

    @cached_property
    def latency(self) -> int:
        """Cycles of networks."""
        return latency(self.bound.mapspace.architecture)

    def ranks(self, spread: ComputeBoundary, *, rounded: bool = True) -> Floats:
        """A bound of the rank of each choice of spatial loops: words at the compute units as they
        are spread, at each level the least apart.
        """
        cycles = self.fewest_cycles(spread)
        charged = self.computing.charged(spread) if rounded else self.computing.sizes
        energy = self.computing.least(spread, charged, rounded=rounded)
        return self.rank(energy + self.entering_apart + self.worked(cycles), cycles)

    def rank(self, energy: Floats, cycles: Floats) -> Floats:
        """The rank for so much energy and so many cycles."""
        rank: Floats = energy**self.powers.energy * cycles**self.powers.delay
        return rank * (1 - NOISE)

    def worked(self, cycles: Floats | float) -> Floats | float:
        """Energy of all operations, and of leakage for so many cycles."""
        fixed, leaked = self._worked
        return fixed + leaked * cycles if leaked else fixed

    @cached_property
    def _worked(self) -> tuple[float, float]:
        """Energy of all operations, and of leakage in each cycle."""
        fixed = float(self.bound.worked(0))
        return fixed, float(self.bound.worked(1)) - fixed

    def fewest_cycles(self, spread: ComputeBoundary) -> Floats:
        """Cycles for each choice of spatial loops, at least, as far as they count."""
        if not self.powers.delay and not self._worked[1]:
            return np.asarray(spread.steps + self.latency, np.float64)
        return np.maximum(self.bound.cycles_of(spread, [self.keeps]), self.bound.cycles or 0)

    @cached_property
    def entering_apart(self) -> float:
        """Energy of what enters levels, each apart; infinite where tiles cannot fit."""
        found = self.bound.entering(self.keeps)
        return inf if found is None else float(found)

    @cached_property
    def entering(self) -> EnteringByTile:
        """Energy of what enters each level."""
        return entering_by_tile(self.bound, self.keeps)

    @cached_property
    def port(self) -> tuple[Port, float] | None:
        """The port that needs the most cycles of all, at least, and these cycles; None where no
        bandwidth is limited or cycles do not count.
        """
        if not self.powers.delay:
            return None
        architecture, levels = self.bound.mapspace.architecture, self.bound.depth
        found = []
        for port in ports(architecture):
            needed = self.bound.entering_from(self.keeps, levels, port.rates(architecture))
            found.append((port, inf if needed is None else float(needed)))
        return max(found, key=lambda each: each[1], default=None)

    @cached_property
    def cycles_entering(self) -> EnteringByTile:
        """Cycles that the port needs for what enters each level, at least."""
        assert self.port is not None
        rates = self.port[0].rates(self.bound.mapspace.architecture)
        return entering_by_tile(self.bound, self.keeps, rates)

    def outside(self, spread: Sequence[Sequence[int]], price: float = 0.0) -> LeastOutside:
        """What enters levels for a choice of spatial loops, where each cycle of the port has a
        price.
        """
        parts = [(1 - NOISE, self.entering)]
        if price:
            parts.append((price * (1 - NOISE), self.cycles_entering))
        return LeastOutside(spread, parts)

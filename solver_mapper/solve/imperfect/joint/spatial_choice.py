"""One choice of spatial loops, and what is known of it, whatever the temporal loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solver_mapper.solve.imperfect.joint.bandwidth import CycleRange
from solver_mapper.solve.imperfect.joint.computing import Charged
from solver_mapper.solve.imperfect.joint.costs import HolderCosts
from solver_mapper.solve.imperfect.joint.counts import Floats, Ints
from solver_mapper.solve.imperfect.joint.fetches import ROUNDING
from solver_mapper.solve.imperfect.joint.walk import Ended
from solver_mapper.verify.imperfect_bound import NOISE, ComputeBoundary, compute_boundary

MARGIN = 1e-8
"""How much further ranges of cycles reach than those that lead below the target, relatively."""


@dataclass(frozen=True)
class SpatialChoice:
    """A choice of spatial loops: instances along each dimension, (levels, dimensions).

    boundary: this choice alone.
    charged: operations along each dimension that are charged, at least.
    """

    costs: HolderCosts
    instances: Ints
    boundary: ComputeBoundary
    charged: Charged

    @classmethod
    def of(cls, costs: HolderCosts, room: ComputeBoundary, instances: Ints) -> SpatialChoice:
        """`room`: all choices."""
        boundary = compute_boundary(room, instances[None])
        return cls(costs, instances, boundary, costs.computing.charged(boundary))

    @cached_property
    def spread(self) -> list[list[int]]:
        """The instances, by level."""
        found: list[list[int]] = self.instances.tolist()
        return found

    @cached_property
    def computing(self) -> float:
        """Energy in pJ at the compute units, at least."""
        return float(self.costs.computing.least(self.boundary, self.charged)[0])

    @cached_property
    def operands(self) -> list[float]:
        """The same for the words of each tensor alone, with the operations that happen."""
        return self.costs.computing.of_tensors(self.boundary)

    @cached_property
    def cycles(self) -> float:
        """Cycles, at least."""
        port = self.costs.port
        needed = 0.0 if port is None else self.costs.cycles_entering.whole(self.spread)
        return float(max(self.costs.fewest_cycles(self.boundary)[0], needed * (1 - NOISE)))

    def energy(self, entering: float) -> float:
        """The energy in pJ at least, where so much energy enters levels."""
        entering = max(entering, self.costs.entering_apart)
        return float(entering + self.costs.worked(self.cycles) + self.computing)

    def rank(self, entering: float) -> float:
        """The least rank where so much energy enters levels."""
        return float(self.costs.rank(np.array(self.energy(entering)), np.array(self.cycles)))

    def budget(self, limit: float, cycles: float | None = None) -> float:
        """How much energy may enter levels where the rank is below the limit, with so many cycles
        or the fewest.
        """
        cycles, powers = self.cycles if cycles is None else cycles, self.costs.powers
        most = (limit / cycles**powers.delay) ** (1 / powers.energy)
        return float(most * (1 + 1e-9) - self.computing - self.costs.worked(cycles))

    def most_cycles(self, limit: float, entering: float) -> float:
        """The most cycles with which the rank may be below the limit, where so much energy enters
        levels.
        """
        powers = self.costs.powers
        ratio = limit / self.energy(entering) ** powers.energy
        return float(ratio ** (1 / powers.delay) * (1 + MARGIN))

    def fewest_iterations(self) -> dict[int, int]:
        """Temporal iterations of the first instance over each dimension, at least."""
        along = self.instances.prod(axis=0)
        return {
            dim: -(-size // int(along[dim]))
            for dim, size in enumerate(self.costs.sizes)
            if size > 1
        }

    def most_iterations(self, entering: float, target: float) -> dict[int, int]:
        """How many temporal iterations of the first instance over each dimension may lead below the
        target, where so much energy enters levels. More take more cycles, and fewer compute units
        share each word.
        """
        return {
            dim: self._most(dim, least, entering, target)
            for dim, least in self.fewest_iterations().items()
        }

    def _most(self, dim: int, least: int, entering: float, target: float) -> int:
        costs, size, spread = self.costs, self.costs.sizes[dim], self.instances[:, dim]
        steps = np.arange(least, size + 1, dtype=np.float64)
        cycles = np.maximum(self.boundary.steps / least * steps + costs.latency, self.cycles)
        energy = np.asarray(entering + costs.worked(cycles), np.float64)
        for number, parent in enumerate(costs.computing.parents):
            idle = dim in costs.bound.views[number].idle
            shared = idle and not self.boundary.helpers and spread[:parent].prod() == 1
            alone = size / spread.prod()
            parts = steps / alone if shared else np.ones(len(steps))
            energy = energy + self.operands[number] * parts
        return int(steps[costs.rank(energy, cycles) < target].max(initial=least))

    def ranking(
        self, cycles: CycleRange, entering: float, price: float = 0.0
    ) -> Callable[[Ended], Floats]:
        """What ranks temporal loops within a range of cycles, each of which has a price where a
        port needs it. `entering`: what enters levels at least, without that price.

        For a given sum of both the rank is least at one of two ends: with the fewest cycles, or
        with the least energy.
        """
        costs, least = self.costs, max(entering, self.costs.entering_apart)

        def rank(ended: Ended) -> Floats:
            steps = np.maximum(np.floor(ended.steps + ROUNDING), self.boundary.steps)
            fewest = np.maximum(steps + costs.latency, cycles.fewest)
            charged = [
                np.maximum(one, other)
                for one, other in zip(ended.charged, self.charged, strict=True)
            ]
            computing = costs.computing.least(self.boundary, charged)

            def at(number: Floats) -> Floats:
                energy = np.maximum(ended.energy - price * (number - costs.latency), least)
                return costs.rank(energy + costs.worked(number) + computing, number)

            if not price:
                return at(fewest)
            most = np.maximum(ended.energy - least, 0) / price + costs.latency
            most = np.clip(most, fewest, np.maximum(cycles.most, fewest))
            return np.minimum(at(fewest), at(most))

        return rank

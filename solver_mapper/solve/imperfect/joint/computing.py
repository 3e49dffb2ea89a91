"""Energy at the compute units: of words between them and the levels above, and of charged
operations beyond those that happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from solver_mapper.solve.imperfect.joint.counts import Floats
from solver_mapper.solve.imperfect.joint.fetches import ROUNDING
from solver_mapper.verify.bound import Keeps
from solver_mapper.verify.imperfect_bound import ComputeBoundary, ImperfectLowerBound
from solver_mapper.verify.views import View

Charged = Sequence[Floats]
"""Operations along each dimension that are charged, at least, for each choice of spatial loops."""


@dataclass(frozen=True)
class ComputingEnergy:
    """This energy in pJ for one choice of holders, at least, in arrays of an entry for each choice
    of spatial loops, or for each charge of a single one.
    """

    bound: ImperfectLowerBound
    keeps: Keeps

    @cached_property
    def sizes(self) -> list[Floats]:
        """Operations along each dimension that happen."""
        return [np.array([float(size)]) for size in self.bound.mapspace.problem.bounds.values()]

    @cached_property
    def parents(self) -> list[int]:
        """For each tensor, the level that feeds the compute units."""
        return [max(level for level, held in enumerate(each) if held) for each in self.keeps]

    def charged(self, spread: ComputeBoundary) -> list[Floats]:
        """Operations along each dimension that are charged for each choice, at least: those of the
        first instance of the innermost level, for each instance of it.
        """
        found = []
        for dim, size in enumerate(self.sizes):
            along = spread.along(frozenset([dim]), range(spread.child - 1))
            found.append(along * np.ceil(size / along))
        return found

    def least(self, spread: ComputeBoundary, charged: Charged, *, rounded: bool = True) -> Floats:
        """The energy of all tensors. Words are rounded for each instance of the level that sends
        them; unless `rounded`, what rounding may lose is taken off.
        """
        none = frozenset[int]()
        ways = [each if spread.helpers else (none,) * len(each) for each in self.bound.spared]
        words = {
            key: self._words(spread, *key, charged, rounded)
            for key in {key for each in ways for key in enumerate(each)}
        }
        idle = reduce(np.multiply, charged) - reduce(np.multiply, self.sizes)
        idle = idle * float(self.bound.mapspace.architecture.arithmetic.energy)
        found = [sum((words[key] for key in enumerate(way)), idle) for way in dict.fromkeys(ways)]
        least: Floats = np.minimum.reduce(found)
        return least

    def of_tensors(self, spread: ComputeBoundary) -> list[float]:
        """The same for the words of each tensor alone, with the operations that happen, for a
        single choice of spatial loops.
        """
        return [
            min(
                float(self._words(spread, number, each[number], self.sizes, False)[0])
                for each in self.bound.spared
            )
            for number in range(len(self.keeps))
        ]

    def _words(
        self,
        spread: ComputeBoundary,
        number: int,
        spared: frozenset[int],
        charged: Charged,
        rounded: bool,
    ) -> Floats:
        """The same for the words of one tensor. Unless neighbours help, each charged operation
        takes its operand from an access that serves `shared` of them at most.
        """
        view, parent = self.bound.views[number], self.parents[number]
        rates, level = self.bound.rates[parent], self.bound.mapspace.architecture.levels[parent]
        written, again = view.projection.read_write, float(rates.again)
        first = float(rates.update if written else rates.send)
        if spread.helpers:
            moved = spread.moved(view, parent, spared)
            energy = moved.sent * first
            return np.asarray(energy + moved.sent_again * again if written else energy, np.float64)
        used = spread.along(frozenset(range(len(spread.inside))), range(parent))
        each: Floats = reduce(np.multiply, charged) / spread.shared(view, parent) / used
        energy = first * (np.floor(each + ROUNDING + 0.5) if rounded else np.maximum(each - 0.5, 0))
        if written and view.plain:
            rest: Floats = each - self._elided(spread, view, parent, charged) / used
            rest = np.floor(rest + ROUNDING) if rounded else rest - 1
            energy = energy + np.maximum(rest, 0) * again
        # Rates are what an instance pays where all are in use.
        paying: Floats = np.minimum(used, level.clusters)
        return np.asarray(paying * level.instances / max(level.clusters, 1) * energy, np.float64)

    def _elided(self, spread: ComputeBoundary, view: View, parent: int, charged: Charged) -> Floats:
        """First reads that all instances of a level elide, which count like the first one, at most.

        Along a dimension the first instance has no greater part of the tensor, over the average,
        than the first instance of the innermost level has of the operations. More charged
        operations raise the words that are sent in the same proportion, so what is left is least
        for the fewest of them.
        """
        elided: Floats = view.words * spread.elided(view, parent)
        for dim in view.fixed:
            along = spread.along(frozenset([dim]), range(parent))
            elided = elided * np.where(along > 1, charged[dim] / self.sizes[dim], 1)
        return elided

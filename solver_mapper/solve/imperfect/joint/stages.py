"""The bound of one choice of spatial loops, raised in stages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.cycle_ranges import by_bandwidth
from solver_mapper.solve.imperfect.joint.points import TooManyStates
from solver_mapper.solve.imperfect.joint.spatial_choice import SpatialChoice
from solver_mapper.solve.imperfect.joint.walk import Least
from solver_mapper.solve.imperfect.joint.walks import COARSE, EXACT, NESTED, TIGHT, Refined, Walks
from solver_mapper.verify.imperfect_bound import NOISE

BUDGETS = (1.0003, 1.003, 1.01, 1.03, 1.1, 1.3, 1.9)
"""Budgets for a first mapping, as multiples of the least energy."""
PARTS = (0.1, 0.25, 0.5, 0.75)
"""Budgets where walks are large, as parts of what the target leaves."""


class _FirstWalk(NamedTuple):
    """What a walk with tiles of equal number together has shown, for at most so many temporal
    iterations over each dimension and a budget.
    """

    most: dict[int, int]
    budget: float
    least: Least

    def covers(self, most: dict[int, int]) -> bool:
        """Whether it has looked at all these iterations."""
        return all(number <= self.most[dim] for dim, number in most.items())


@dataclass(frozen=True)
class Stages:
    """The stages of all choices of spatial loops for one choice of holders."""

    walks: Walks
    _first: dict[bytes, _FirstWalk] = field(default_factory=dict)
    """Walks that looked for a first mapping, by their choice of spatial loops."""

    def refined(self, choice: SpatialChoice, known: Refined, stage: int) -> Refined:
        """What is known after a stage. The best loops that a walk finds are offered as a mapping.

        Where time or effort ends or a walk is too large, it is what the walks before have shown.
        """
        if stage == NESTED:
            return self._nested(choice, known)
        if stage == TIGHT:
            return self._tight(choice, known)
        state, found = self.walks.state, known
        try:
            for shown in self._walked(choice, known, stage):
                found = shown
        except TooManyStates:
            found = found._replace(ended=False)
            if state.heavy or stage >= EXACT:
                return found
            state.heavy = True
            return self._tight(choice, found)._replace(ended=False)
        except LimitReached:
            state.stopped = True
        return found

    def _nested(self, choice: SpatialChoice, known: Refined) -> Refined:
        """What tiles that hold each other cost, without a walk."""
        costs = self.walks.costs
        entering = max(known.entering, costs.entering.whole(choice.spread) * (1 - NOISE))
        rank = inf if entering == inf else choice.rank(entering)
        return Refined(min(rank, self.walks.state.limit), entering)

    def _walked(self, choice: SpatialChoice, known: Refined, stage: int) -> Iterator[Refined]:
        """What one walk after the other shows of the best temporal loops."""
        port, found = self.walks.costs.port, known
        narrow = port is not None and port[1] > choice.boundary.steps[0]
        if narrow:
            found = by_bandwidth(self.walks, choice, found, stage)
            yield found
        if not narrow or stage >= EXACT:
            for shown in self._by_steps(choice, found, stage):
                found = shown
                yield found
        if stage >= EXACT and not narrow and found.cycles > choice.cycles:
            yield by_bandwidth(self.walks, choice, found, stage)

    def _by_steps(self, choice: SpatialChoice, known: Refined, stage: int) -> Iterator[Refined]:
        """The same where energy and steps decide."""
        walks, state, found = self.walks, self.walks.state, known
        fetches = walks.fetches(choice)
        before: dict[int, int] | None = None
        while found.rank < state.limit:
            limit = state.limit
            most = choice.most_iterations(found.entering, limit)
            if most == before:
                break
            before, budget = most, choice.budget(limit)
            first = None if stage >= EXACT else self._first.get(choice.instances.tobytes())
            if first is not None and first.covers(most):
                found = found.raised(min(first.least.rank, limit), first.least, first.budget)
                yield found
                continue
            walk = walks.walk(choice, fetches, most, budget, stage)
            least = walk.least()
            found = found.raised(min(least.rank, limit), least, budget)
            if found.rank < limit:
                found = found._replace(cycles=walks.offer(choice, walk))
            yield found

    def _tight(self, choice: SpatialChoice, known: Refined) -> Refined:
        """The same by walks with tight budgets, which end soon. Where they find nothing, no loops
        keep the budget.
        """
        walks, found, limit = self.walks, known, self.walks.state.limit
        fetches, whole = walks.fetches(choice), choice.budget(limit)
        most = choice.most_iterations(known.entering, limit)
        with suppress(LimitReached):
            for part in PARTS:
                budget = known.entering + part * (whole - known.entering)
                if budget <= found.entering:
                    continue
                walk = walks.walk(choice, fetches, most, budget, TIGHT)
                least = walk.least()
                entering = max(found.entering, min(least.energy, budget))
                found = found.raised(min(choice.rank(entering), limit), least, budget)
                if least.energy < budget:
                    walks.offer(choice, walk)
                    break
        return found

    def find_first(self, choice: SpatialChoice) -> None:
        """Look for a mapping near the least energy that the fewest steps need: by exact walks with
        rising budgets, which take little time as long as these are tight.
        """
        walks, most = self.walks, choice.fewest_iterations()
        fetches, budget = walks.fetches(choice), choice.budget(walks.state.limit)
        walk = walks.walk(choice, fetches, most, budget, COARSE)
        least = walk.least()
        self._first[choice.instances.tobytes()] = _FirstWalk(most, budget, least)
        walks.offer(choice, walk)
        if least.energy == inf:
            return
        for part in BUDGETS:
            wanted = least.energy * part
            budget = min(wanted, choice.budget(walks.state.limit))
            walk = walks.walk(choice, fetches, most, budget, EXACT)
            if walk.least().rank < inf or budget < wanted:
                walks.offer(choice, walk)
                return

"""A lower bound for mappings of imperfect factors: all choices of spatial loops, and for each of
them the least energy of all temporal loops together.

The choices are looked at from the one on that `ImperfectLowerBound` promises most. Those that it
excludes already, being above a target, stand for themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import inf

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.costs import HolderCosts, Powers
from solver_mapper.solve.imperfect.joint.holders import HolderSearch, OpenChoice
from solver_mapper.solve.imperfect.joint.spatial_loops import MOST_CHOICES, SpatialLoops
from solver_mapper.solve.imperfect.joint.walk import Effort
from solver_mapper.solve.imperfect.joint.walks import GoalState
from solver_mapper.verify.imperfect_bound import ComputeBoundary, ImperfectLowerBound

FEW_CHOICES = 400
"""Choices of spatial loops that may be better than the target where another search could follow."""
MUCH_EFFORT = 2e7
"""What walks may take where there are more."""
MOST_HOLDERS = 64
"""Choices of what levels hold that are looked at."""


@dataclass
class JointBound:
    """Lower bounds of goals that are products of powers of energy, cycles, or both.

    Raises: ValueError where a problem or mapspace is too large for it, or a tensor is not as
    `Fetches` says.
    """

    bound: ImperfectLowerBound
    found: Callable[[Mapping], Fraction | None] = lambda mapping: None
    """Called with mappings that may be good; returns the target from then on if it is a new one."""
    most: int = MOST_CHOICES
    """With more choices of spatial loops that may be better than the target, walks may take
    `MUCH_EFFORT` at most.
    """
    effort: float = inf
    """How much walks may take, in units of `Effort`."""
    ended_early: bool = False
    """Whether time or effort ended the search."""
    _begun: _BestFirst | None = None

    def goal(self, goal: Goal, target: Fraction) -> Fraction:
        """A lower bound of the rank of all mappings, at most the target. When the time is over it
        is what is known by then; asked again for the same goal, it goes on from there.

        Raises: LimitReached if the time is over before anything is known.
        """
        if self._begun is None or self._begun.goal != goal:
            self._begun = self._begin(goal, target)
        state = self._begun.state
        state.target, state.found = min(state.target, target), self.found
        state.effort.left, state.stopped = self.effort, False
        least = self._begun.least(self.most)
        self.ended_early = state.stopped
        return state.target if least >= state.limit else min(Fraction(least), state.target)

    def _begin(self, goal: Goal, target: Fraction) -> _BestFirst:
        """All choices of who holds what."""
        powers = Powers.of(goal)
        room, keeps = self.bound.boundaries[self.bound.depth], self.bound.holders
        if not isinstance(room, ComputeBoundary) or len(keeps) > MOST_HOLDERS:
            raise ValueError("there are too many choices of spatial loops, or of holders")
        state = GoalState(target, self.found, Effort(self.effort))
        loops = [SpatialLoops(HolderCosts(self.bound, each, powers), room) for each in keeps]
        waiting = [OpenChoice(each.least_rank(), at) for at, each in enumerate(loops)]
        heapify(waiting)
        return _BestFirst(goal, state, [HolderSearch(each, state) for each in loops], waiting)


@dataclass
class _BestFirst:
    """The search for a goal: holders and then their choices of spatial loops wait in a heap, in the
    order of what they promise. `choices`: how many choices of spatial loops were found.
    """

    goal: Goal
    state: GoalState
    holders: list[HolderSearch]
    waiting: list[OpenChoice]
    choices: int = 0

    def least(self, most: int) -> float:
        """The least rank, as far as it is known when the time is over; at most the limit. `most`:
        see `JointBound`.
        """
        state, waiting = self.state, self.waiting
        while waiting and not state.stopped:
            least = waiting[0]
            if least.final or least.rank >= state.limit:
                break
            try:
                check_time()
                found = self._next(least)
            except LimitReached:
                state.stopped = True
                break
            if self.choices > most:
                state.effort.left = min(state.effort.left, MUCH_EFFORT)
            heappop(waiting)
            for each in found:
                heappush(waiting, each)
        return min(waiting[0].rank, state.limit) if waiting else state.limit

    def _next(self, least: OpenChoice) -> list[OpenChoice]:
        """What waits instead of the choice that promises most."""
        holder = self.holders[least.holder]
        if least.number >= 0:
            return [holder.refined(least)]
        found = holder.opened(least)
        self.choices += len(found)
        return found

"""A walk that a helper makes beside all else that the search does for a goal.

The search's own walks are below targets that rise (`outward/deepening.py`); this one is below what
mappings have to be below, so that it ends the proof at once, if it ends. Which comes first is told
by the work that both have done, not by the time that it took, so that equal input gives equal
answers: the search waits as long as the helper has done less work.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from solver_mapper.core.objective import Goal, Limit
from solver_mapper.errors import LimitReached
from solver_mapper.solve.beside.helper import Helper
from solver_mapper.solve.beside.messages import Told
from solver_mapper.solve.outward.cases import Cases
from solver_mapper.solve.outward.deepening import MANY, TABLES, Deepening, Span
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.walk import Walk

LESS = 0.005
"""Where mappings have to be better by this share than those that the walk looks for, another one
below that takes its place.
"""
SOME = 20_000
"""The first one begins when the search has done so much work: not where that is the whole proof."""

ONCE = 50_000
"""Inner mappings that a short walk may examine."""


class Overtaken(LimitReached):
    """The walk beside this one has ended."""


class Race:
    """The walk of a helper for one goal within limits, and the work of the search.

    before: how much work the helper does before its first walk.
    """

    def __init__(self, helper: Helper, goal: Goal, limits: tuple[Limit, ...], before: int):
        self._helper, self._goal, self._limits = helper, goal, limits
        self._before = before
        self._target, self._serial, self._work = inf, 0, 0

    def begin(self, target: float) -> None:
        """Begin a walk below the target, unless there is one that goes on, or was below that.

        Raises: TimeUp if the clock that runs is over.
        """
        if not self._helper.wanted or (not self._serial and self._work < SOME):
            return
        if self.ends is not None:
            return
        goes_on = self._serial and self._ended() is None
        if target < self._target * (1 - LESS if goes_on else 1):
            self._work = 0 if self._serial else -self._before
            self._serial, self._target = self._helper.walk(self._goal, self._limits, target), target

    def advance(self, work: int) -> None:
        """Take note of work that the search has done."""
        self._work += work

    @property
    def ends(self) -> Ends | None:
        """How the walk has ended, if it has by now and is whole.

        Raises: TimeUp if the clock that runs is over.
        """
        ended = self._ended() if self._serial else None
        if ended is None or ended.ends is None or not ended.ends.whole:
            return None
        return ended.ends._replace(target=self._target)

    def _ended(self) -> Told | None:
        """How the walk has ended, if it has by now; one whose process is gone took no work."""
        if self._work < 0:
            return None
        told = self._helper.told(self._serial, self._work) or Told(self._serial, 0)
        return told if told.work <= self._work else None


class RacedWalks:
    """Walks below targets that rise, and one beside them and beside CP-SAT.

    first: see `Walk`.
    """

    def __init__(self, walk: Walk | Cases, helper: Helper):
        self._race = Race(helper, walk.goal, walk.limits, int(TABLES * walk.figures))
        self._walk, self._walks = walk, Deepening(_RacedWalk(walk, self._race))
        self.first = walk.first

    def ends(self, span: Span, effort: float) -> Iterator[Ends]:
        """What walks find (`Deepening.ends`)."""
        self._race.begin(span()[1])
        for ends in self._walks.ends(span, effort):
            yield ends
            self._race.begin(span()[1])

    def once(self, target: float) -> Iterator[Ends]:
        """What a short walk finds below a target."""
        yield self._walk.ends(target, examined=ONCE)

    def meanwhile(self, span: Span, effort: float) -> Iterator[Ends]:
        """What the walk beside CP-SAT has found when this has spent so much effort more."""
        self._race.advance(int(MANY * effort))
        if self._race.ends is not None:
            yield from self._walks.ends(span, effort)
        self._race.begin(span()[1])


class _RacedWalk:
    """A walk of the search, which ends early if the one beside it has ended."""

    def __init__(self, walk: Walk | Cases, race: Race):
        self._walk, self._race = walk, race

    @property
    def figures(self) -> int:
        """See `Walk.figures`."""
        return self._walk.figures

    def further(self, target: float, *, examined: float, lowest: float, last: float) -> Ends:
        """See `Walk.further`; or how the walk beside has ended, if that comes first."""
        done = 0

        def advanced(work: int) -> None:
            nonlocal done
            self._race.advance(work - done)
            done = work
            if self._race.ends is not None:
                raise Overtaken

        ends = self._race.ends
        if ends is None:
            ends = self._walk.further(
                target, examined=examined, lowest=lowest, last=last, advanced=advanced
            )
        return self._race.ends or ends

    def beam(self, target: float, width: int) -> Ends:
        """See `Walk.beam`."""
        return self._walk.beam(target, width)

    @property
    def lists_near_ties(self) -> bool:
        """See `Walk.lists_near_ties`."""
        return self._walk.lists_near_ties

    def near_ties(self, target: float, least: float, most: int, *, examined: float) -> Ends:
        """See `Walk.near_ties`."""
        return self._walk.near_ties(target, least, most, examined=examined)

"""A walk below targets that rise, from what is proven, until it finds the optimum.

What a walk takes grows steeply with its target, and an incumbent may lie far above the optimum. A
walk below a target that no mapping reaches proves this target; the first one below a target above
the optimum finds the optimum. So targets rise step by step, as in iterative deepening (Korf, 1985);
but each walk goes on where the one before was, so that all of them together take hardly more than
one below the last target. Steps are such that what has been met grows by a known share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, inf, log
from typing import Protocol

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import NOISE
from solver_mapper.solve.outward.run import Ends

MANY = 100_000
"""Inner mappings that walks examine for each unit of effort, at most."""
TABLES = 0.01
"""As how many inner mappings each figure of the tables of a walk counts."""
FEW = 2_000
"""A walk that may examine fewer is not begun."""
STEP = 0.005
"""How far, relative, the first target lies above what the next inner mapping needs."""
GROWTH = 2.0
"""How many times as many inner mappings as below the target before there should be below the next.
"""
OVERRUN, SOME = 1.5, 20_000
"""The target falls of a walk that examines so many times as many as were met before, or as a few.
After one that ends because of that the next one may examine twice as many.
"""
ONE_STEP = 2.5
"""What mappings have to be below is the next target if there should be at most so many times as
many inner mappings as below the one before.
"""
FEW_STEP = 2.0
SHORTER, LONGER = 0.5, 8.0
"""By how much a step is changed at most; by the former if a walk could not end."""
STEEP = 40.0
"""How many inner mappings walks examine is taken to grow with this power of their targets, as long
as nothing else is known.
"""
MOST_GROWTH = 50.0
"""More than this, as a logarithm, is out of reach anyway."""
NEAR, CLOSE = 1e-1, 1e-9
"""How far a claim may be from the figure of the best mapping, relative, for all other mappings
between the two to be looked at; and from where on it may only be what doubles do not tell apart.
"""
TIES, MOST_TIES = 8, 4_096
"""How many times as many inner mappings that takes at first, at most, as the walk before it; and
how many mappings are listed, at most, in all orders of their spatial loops.
"""
MORE_TIES, PER_TIE = 4, 20
"""How many times as many of both are allowed if these are too few; and as how many inner mappings
each mapping that is listed counts.
"""
BETTER = 0.97
"""The optimum is taken to be so much of the incumbent."""

WIDTH, WIDER = 64, 4
"""How wide the first beam is, and how many times as wide each next one."""
FOR_BEAMS, EARLY = 4_000, 1_000
"""Inner mappings that walks examine before a beam, for each of its width; and how many of them are
enough where at least the former seem to be left.
"""

Span = Callable[[], tuple[float, float]]
"""What is proven of a goal, and what mappings have to be below."""


class Walks(Protocol):
    """Makes walks of one mapspace and goal; see `Walk`."""

    @property
    def figures(self) -> int:
        """See `Walk.figures`."""
        ...

    def further(self, target: float, *, examined: float, lowest: float, last: float) -> Ends:
        """See `Walk.further`."""
        ...

    def beam(self, target: float, width: int) -> Ends:
        """See `Walk.beam`."""
        ...

    @property
    def lists_near_ties(self) -> bool:
        """See `Walk.lists_near_ties`."""
        ...

    def near_ties(self, target: float, least: float, most: int, *, examined: float) -> Ends:
        """See `Walk.near_ties`."""
        ...


class Deepening:
    """Walks of one mapspace and goal, which go on where they were when there is more effort."""

    def __init__(self, walk: Walks):
        self._walk = walk
        self._ended = False
        self._found: Ends | None = None
        self._looked_near: set[float] = set()
        self._ties = 1
        self._proven, self._goal, self._next = -inf, 0.0, 0.0
        self._step, self._overrun = STEP, OVERRUN
        self._last: Ends | None = None
        self._met = 0
        self._known: list[tuple[float, int]] = []
        self._width, self._walked = WIDTH, 0
        self._left = 0.0

    def ends(self, span: Span, effort: float) -> Iterator[Ends]:
        """What walks find below rising targets: nothing more after one that found mappings, or that
        none is below the last target.

        Args:
            span: what is proven of the goal by other means, and what mappings have to be below.
            effort: how long walks may take, in units of CP-SAT's deterministic time, roughly.

        Raises: ValueError if tables of outer levels would be too large; TimeUp if the clock that
            runs is over.
        """
        if self._ended:
            yield from self._near_ties(span, MANY * effort)
            return
        used = (0.0 if self._last else TABLES * self._walk.figures) - self._left
        self._left = 0.0
        if MANY * effort - used < FEW:
            yield Ends((), None, whole=False)
        while True:
            check_time()
            proven, last = span()
            most = MANY * effort - used
            usual = (GROWTH - 1) * self._met
            if most < max(FEW, min(usual, self._need(last))):
                # The next walk would hardly end.
                self._left = max(most, 0.0)
                return
            least = max(self._next, proven)
            goal = least * (1 + self._step)
            if not self._proven < goal < last or self._in_one_step(last):
                goal = last
            examined = min(most, self._overrun * self._usual())
            ends = self._walk.further(goal, examined=examined, lowest=least, last=last)
            goal = goal if ends.target is None else ends.target
            best = bool(ends.mappings) and ends.least is not None and ends.least < goal
            self._ended = ends.whole and (best or goal >= last)
            yield ends
            if self._ended:
                self._found = ends
                yield from self._near_ties(span, most - ends.work)
                return
            # A walk that comes to nothing at once is some work, too: else there might be no end.
            used += max(ends.work, FEW)
            if ends.whole:
                self._proven, self._next = goal, max(goal, ends.beyond)
                self._met, self._overrun = ends.size, OVERRUN
                if ends.target is None:
                    self._step *= self._changed(ends)
                    self._known = [*self._known[-1:], (goal, ends.size)]
                else:
                    # What was met before the target fell is more than there is below it.
                    self._step = self._step_taken(goal, least)
            else:
                self._step = SHORTER * self._step_taken(goal, least)
                self._overrun *= 2
            self._last, self._goal = ends, goal
            self._walked += ends.work
            if self._may_gain(span()[1]):
                yield self._beam(last)

    def _may_gain(self, last: float) -> bool:
        """Whether a beam is due: after long walks, or earlier if walks below `last` seem to have at
        least as many inner mappings left to examine.
        """
        far = self._need(last) >= FOR_BEAMS * self._width
        return self._walked >= (EARLY if far else FOR_BEAMS) * self._width

    def _beam(self, last: float) -> Ends:
        """A better mapping, perhaps: it makes the walks that follow shorter."""
        width, self._width, self._walked = self._width, WIDER * self._width, 0
        return self._walk.beam(last, width)

    def _near_ties(self, span: Span, most: float) -> Iterator[Ends]:
        """What else is near the mappings found, if the best of them costs more than it claims, or
        doubles do not tell; anew if mappings have to be below less since then, or if there were too
        many, as long as that may be at most so much more work.
        """
        while (ends := self._listed(span)) is not None:
            most -= ends.work + PER_TIE * len(ends.mappings)
            yield ends
            if self._most_near > most:
                return

    def _listed(self, span: Span) -> Ends | None:
        """All of that, or that there were too many; None if there is nothing to be looked at."""
        check_time()
        found, (proven, last) = self._found, span()
        if found is None or not found.mappings or found.least is None:
            return None
        # What is proven by other means is no bound of claims.
        least = min(float(found.least), proven)
        target = last if proven < last * (1 - CLOSE) else last * (1 + 2 * NOISE)
        if (
            not 0 < (1 - NEAR) * last < least
            or proven >= last
            or target in self._looked_near
            or not self._walk.lists_near_ties
        ):
            return None
        most = self._ties * MOST_TIES
        ends = self._walk.near_ties(target, least, most, examined=self._most_near)
        if ends.whole:
            self._looked_near.add(target)
        else:
            self._ties *= MORE_TIES
        return ends

    @property
    def _most_near(self) -> int:
        """How many inner mappings looking near the mappings found may examine next."""
        return self._ties * TIES * max(0 if self._found is None else self._found.size, SOME)

    def _usual(self) -> int:
        """How many inner mappings had been met when the last target was reached, or a few."""
        return max(self._met, SOME)

    def _changed(self, ends: Ends) -> float:
        """By how much to change the step after a walk for there to be so many times as many inner
        mappings below the next target, if their logarithms grow as the targets' do; for more where
        steps are much of the work. Below a few, what is there to begin with hides the growth.
        """
        if ends.size < FEW:
            return FEW_STEP
        before = max(self._known[-1][1] if self._known else 0, FEW)
        growth = max(ends.size / before, 1.0001)
        more = 1 + (GROWTH - 1) * ends.work / ends.size
        return min(max(log(more) / log(growth), SHORTER), LONGER)

    def _step_taken(self, goal: float, least: float) -> float:
        """From `least` to `goal`, relative; at most the step that was meant."""
        return min(self._step, goal / least - 1) if least > 0 else self._step

    def _in_one_step(self, last: float) -> bool:
        """Whether a walk below `last` would take little more than one below the next target, which
        would come before it, if they go on growing as they did.
        """
        if self._last is None or not self._last.whole or self._goal <= 0:
            return False
        growth = self._power * log(max(last / self._goal, 1.0))
        return self._last.size > FEW and growth <= log(ONE_STEP)

    @property
    def _growth(self) -> float | None:
        """With which power of their targets the inner mappings grow that walks examine, if that is
        known.
        """
        if len(self._known) < 2:
            return None
        (before, few), (goal, many) = self._known
        if not (FEW < few < many and 0 < before * (1 + STEP) < goal):
            return None
        return log(many / few) / log(goal / before)

    @property
    def _power(self) -> float:
        """The same, as long as nothing is known a steep one."""
        return STEEP if self._growth is None else self._growth

    def _need(self, last: float) -> float:
        """How many more inner mappings a walk would examine that finds the optimum below `last`, if
        they go on growing as they did.
        """
        if self._last is None or self._goal <= 0:
            return inf
        growth = self._power * log(max(last * BETTER / self._goal, 1.0))
        return max(self._last.size, FEW) * (exp(min(growth, MOST_GROWTH)) - 1)

"""Whole walks below targets that rise, from what is proven, until one finds the optimum.

What a walk takes grows steeply with its target, and an incumbent may lie far above the optimum. A
walk below a target that no mapping reaches proves this target; the first one below a target above
the optimum finds the optimum. So targets rise step by step, which is iterative deepening (Korf,
1985); steps are such that walks grow severalfold, and all of them together take little more than
the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, log

from solver_mapper.solve.outward.walk import Ends, Walk

HASTY = 100
"""Inner mappings that a hasty walk goes on with."""
MANY, MANY_SLIDING = 200_000, 40_000
"""Inner mappings that walks keep in all, at most, for each unit of effort; and where windows slide,
of which each takes longer.
"""
STEPS = 300
"""As how many inner mappings each step of a walk counts."""
FEW = 500
"""A walk that may keep fewer is not begun."""
STEP = 0.005
"""How far, relative, the first target lies above what the next inner mapping needs."""
GROWTH = 3.0
"""How many times as many inner mappings as the one before a walk should keep."""
SHORTER, LONGER = 0.5, 8.0
"""By how much a step is changed at most; by the former if a walk could not end."""


class Deepening:
    """Walks of one mapspace and goal, which go on where they were when there is more effort."""

    def __init__(self, walk: Walk):
        self._walk = walk
        self._many = MANY_SLIDING if walk.costs.sliding else MANY
        self._turns, self._ended = 0, False
        self._proven, self._next = -inf, 0.0
        self._step, self._rows = STEP, 0

    def ends(self, span: Callable[[], tuple[float, float]], effort: float) -> Iterator[Ends]:
        """What walks find below rising targets: nothing more after one that found mappings, or that
        none is below the last target. The second time, when a proof takes long, a hasty one comes
        before them, whose `least` is no bound.

        Args:
            span: what is proven of the goal by other means, and what mappings have to be below.
            effort: how long walks may take, in units of CP-SAT's deterministic time, roughly.

        Raises: ValueError if tables of outer levels would be too large.
        """
        if self._ended:
            return
        left = effort * self._many
        self._turns += 1
        if self._turns == 2:
            yield self._walk.ends(span()[1], HASTY)
        while left >= FEW:
            proven, last = span()
            goal = max(self._next, proven) * (1 + self._step)
            goal = goal if self._proven < goal < last else last
            ends = self._walk.ends(goal, rows=left)
            self._ended = ends.whole and (bool(ends.mappings) or goal >= last)
            yield ends
            if not ends.whole:
                self._step *= SHORTER
            if self._ended or not ends.whole:
                return
            left -= ends.rows + STEPS * ends.steps
            self._proven, self._next = goal, max(goal, ends.beyond)
            self._step *= _changed(self._rows, ends.rows)
            self._rows = ends.rows


def _changed(before: int, rows: int) -> float:
    """By how much to change the step after walks that kept so many inner mappings, if their
    logarithms grow as the targets' do. Below a few, what is there to begin with hides the growth.
    """
    if rows < FEW:
        return 2.0
    if before < FEW:
        return 1.0
    growth = max(rows / before, 1.0001)
    return min(max(log(GROWTH) / log(growth), SHORTER), LONGER)

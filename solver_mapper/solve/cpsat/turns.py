"""CP-SAT and walks outwards in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from solver_mapper.solve.outward.deepening import Span
from solver_mapper.solve.outward.run import Ends

TURNS = (1.0, 4.0, 16.0, 64.0, 256.0)
"""The solver's deterministic time in turns with walks outwards."""
LONGER = 16.0
"""How many times as long the walks' turn after each of these is: what CP-SAT does not prove in its
first turn, they mostly prove sooner.
"""
RUNS, IDLE_RUNS = 6, 2
"""After so many runs that find better mappings, or so many that do not, a turn is over, however
short they were. A product mostly takes two to five to find its optimum, and another one to prove
it; those that find nothing better rule candidates out one by one.
"""


class Walks(NamedTuple):
    """Walks outwards, or all mappings instead.

    ends: what they find within a span, which may change meanwhile, with so much effort more. Each
          may give mappings, and a bound that holds without the model: infinity if there is no
          mapping at all.
    once: what a short walk finds below a target, instead of walks below targets that rise to it.
    first: whether they come before the model is compiled.
    later: whether CP-SAT begins with its second turn, in which it often proves what walks prove no
           sooner.
    """

    ends: Callable[[Span, float], Iterable[Ends]]
    once: Callable[[float], Iterable[Ends]]
    first: bool = False
    later: bool = False


class Turns:
    """The turns of one goal: of the model alone, if there are no `walks`."""

    def __init__(self, walks: Walks | None):
        self._walks = walks
        self._left = [] if walks is None else list(TURNS)
        self._spent = self._used = 0.0
        if walks is not None and walks.later:
            self._left = self._left[1:]
        self._walked = False

    def before(self, span: Span) -> Iterator[Ends]:
        """What walks find in their first turn, without the model."""
        if self._walks is not None:
            self._walked = True
            yield from self._walks.ends(span, LONGER * TURNS[1])

    def effort(self, otherwise: float | None) -> float | None:
        """The solver's deterministic time for its next run: what is left of its turn, but at least
        a part of a turn.
        """
        if not self._left:
            return otherwise
        return max(self._left[0] - self._used, self._left[0] / RUNS)

    @property
    def over(self) -> bool:
        """Whether the rest is up to the model."""
        return not self._left

    def after(
        self, span: Span, effort: float, *, ended: bool, better: bool = False
    ) -> Iterator[Ends]:
        """What walks find after a run that took so much effort: if it is their turn, since the run
        did not end or several have taken as long together. `better`: whether it found a better
        mapping.
        """
        least = self._left[0] / (RUNS if better else IDLE_RUNS) if self._left else 0.0
        self._spent += max(effort, least)
        self._used += effort
        if self._walks is None or not self._left or (ended and self._spent < self._left[0]):
            return
        some = self._walked
        if not self._walked:
            for ends in self._walks.ends(span, LONGER * self._left[0]):
                some = True
                yield ends
        self._walked = False
        longer = (each for each in self._left[1:] if each > self._spent)
        self._left = list(longer) if some else []
        self._spent = self._used = 0.0

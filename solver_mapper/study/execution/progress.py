"""Where a study stands, in one line: how much is done, what is running, and how long the rest will
take.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from solver_mapper.core.progress import Progress
from solver_mapper.study.execution.events import Advanced, Died, Event, Started
from solver_mapper.study.execution.job import Outcome

_WIDTH = 20
_SHOWN = 2


@dataclass
class StudyProgress:
    """Where a study stands after `event`: `done` of `total` searches, `stored` of which were known
    before.

    `now` tells the time in seconds.
    """

    total: int
    now: Callable[[], float] = time.monotonic
    done: int = 0
    stored: int = 0
    event: Event | None = None
    _running: dict[str, tuple[str, float, Progress | None]] = field(default_factory=dict)
    _started: float | None = None

    def take(self, event: Event) -> None:
        """Count an event."""
        self.event = event
        if self._started is None:
            self._started = self.now()
        key = event.job.digest
        if isinstance(event, Started):
            self._running[key] = (event.job.name, self.now(), None)
        elif isinstance(event, Advanced) and key in self._running:
            self._running[key] = (*self._running[key][:2], event.progress)
        elif isinstance(event, Died):
            self._running.pop(key, None)
        elif isinstance(event, Outcome):
            self._running.pop(key, None)
            self.done += 1
            self.stored += event.stored

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at the pace so far; None before anything was solved."""
        solved = self.done - self.stored
        if not solved or self._started is None:
            return None
        return (self.now() - self._started) / solved * (self.total - self.done)

    def line(self) -> str:
        """`[#####---------------] 6 of 24, 2.1 s, about 6 s left; conv4 0.3 s, gap 5.00 %`."""
        filled = _WIDTH * self.done // max(1, self.total)
        spent = 0.0 if self._started is None else self.now() - self._started
        parts = [
            f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {self.done} of {self.total}",
            f"{spent:.1f} s",
        ]
        if self.left is not None and self.done < self.total:
            parts.append(f"about {self.left:.0f} s left")
        running = [self._describe(*each) for each in list(self._running.values())[:_SHOWN]]
        more = [f"{len(self._running) - _SHOWN} more"] if len(self._running) > _SHOWN else []
        return "; ".join([", ".join(parts), *running, *more])

    def _describe(self, name: str, since: float, progress: Progress | None) -> str:
        gap = (
            "" if progress is None or progress.gap is None else f", gap {100 * progress.gap:.2f} %"
        )
        return f"{name} {self.now() - since:.1f} s{gap}"

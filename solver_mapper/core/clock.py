"""The limits of a request, and stopping it from outside. See `solver_mapper.deadline`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from solver_mapper.deadline import TimeUp


@dataclass
class Clock:
    """Seconds since the start, against an optional limit: of the wall clock, unless `now` reads
    another one, as `started` then does. `stop` ends the current and all further runs.
    """

    limit: float | None = None
    started: float = field(default_factory=time.monotonic)
    stopped: bool = False
    interrupted: bool = False
    reason: str = "the time limit was reached"
    """Why the clock is over, once it is."""
    end_run: Callable[[], None] | None = None
    """Ends the run that is under way, if there is one."""
    now: Callable[[], float] = time.monotonic

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.now() - self.started

    @property
    def left(self) -> float | None:
        """Seconds to the limit; None without one."""
        return None if self.limit is None else max(0.0, self.limit - self.seconds)

    @property
    def wall_left(self) -> float | None:
        """Seconds of the wall clock to the limit; None without one, and if others are counted."""
        return self.left if self.now is time.monotonic else None

    @contextmanager
    def only(self, share: float, most: float = inf) -> Iterator[None]:
        """Within the block the limit is a share of the time that is left, and `most` seconds at
        most.
        """
        limit = self.limit
        seconds = min(inf if self.left is None else share * self.left, most)
        if seconds < inf:
            self.limit = self.seconds + seconds
        try:
            yield
        finally:
            self.limit = limit

    @property
    def over(self) -> bool:
        """Whether the limit is reached or somebody stopped the clock."""
        return self.stopped or (self.left is not None and self.left <= 0)

    def check(self) -> None:
        """Raises: TimeUp if the clock is over."""
        if self.over:
            raise TimeUp(f"{self.reason} before there was an answer")

    def stop(self) -> None:
        """End the search that runs now and all that would follow."""
        self.stopped = True
        self.stop_run()

    def stop_run(self) -> None:
        """End the current run only."""
        end = self.end_run
        if end is not None:
            end()

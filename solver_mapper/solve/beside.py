"""Work in a thread beside a run of CP-SAT, which leaves Python alone meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from solver_mapper.core.clock import Clock
from solver_mapper.deadline import TimeUp, running

T = TypeVar("T")
AGAIN = 0.05
"""Seconds between attempts to end the run that is under way."""
PATIENCE = 2.0
"""Seconds that the thread may take to end after it was told to."""


class Beside(Generic[T]):
    """What an iterator yields, worked out in a thread of its own until the clock is over or `end`
    is called. When there is nothing more, the run of CP-SAT that is under way is ended, so that the
    news is read, if there is any.

    Raises: MemoryError if there is no room for another thread.
    """

    def __init__(self, work: Iterator[T], clock: Clock):
        self._work, self._clock = work, clock
        self._found: SimpleQueue[T] = SimpleQueue()
        self._failure: BaseException | None = None
        self._ended, self._read = threading.Event(), threading.Event()
        run = copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), daemon=True, name="beside")
        try:
            self._thread.start()
        except RuntimeError as error:
            raise MemoryError("there is no room for another thread") from error

    @property
    def over(self) -> bool:
        """Whether there is nothing more to come."""
        return self._read.is_set()

    def news(self) -> Iterator[T]:
        """What was found since the last time.

        Raises: whatever the work raised.
        """
        done = not self._thread.is_alive() or self._ended.is_set()
        while True:
            try:
                yield self._found.get_nowait()
            except Empty:
                break
        if done:
            self._read.set()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure

    def end(self) -> None:
        """End the work; what it finds from now on is lost.

        Raises: whatever the work raised.
        """
        self._ended.set()
        self._read.set()
        self._thread.join(PATIENCE)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def check(self) -> None:
        """See `Deadline`."""
        if self._ended.is_set():
            raise TimeUp("the search is over")
        self._clock.check()

    def _run(self) -> None:
        try:
            with running(self):
                for each in self._work:
                    self._found.put(each)
        except TimeUp:
            pass
        except BaseException as error:
            self._failure = error
        self._ended.set()
        while not (self._found.empty() and self._failure is None) and not self._read.wait(AGAIN):
            self._clock.stop_run()

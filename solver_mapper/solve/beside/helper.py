"""The process beside a search, as the search sees it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

from solver_mapper.core.child_process import ChildProcess
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import check_time
from solver_mapper.solve.beside.messages import READY, Told, WalkTask

SERVE = "solver_mapper.solve.beside.process:main"
PERIOD = 0.1
"""Seconds between looks at the clock while the search waits for the helper."""


class Helper:
    """A process that makes walks of one mapspace, one at a time.

    wanted: whether there is to be one at all. Where there is no room for it, it is gone at once.
    """

    def __init__(self, spec: Spec, *, wanted: bool):
        self.wanted = wanted and cores() > 1
        self._spec = replace(spec, source=None)
        self._process: ChildProcess | None = None
        self._gone, self._serial = not self.wanted, 0
        self._told: Told | None = None
        self._news = SimpleQueue[None]()

    def start(self) -> None:
        """Start the process, unless that has been done."""
        if self._process is None and not self._gone:
            try:
                self._process = ChildProcess(SERVE, [], self._receive, quiet=True)
            except (OSError, MemoryError):
                self._gone = True

    def close(self) -> None:
        """End the process."""
        self._gone = True
        if self._process is not None:
            self._process.end()

    def walk(self, goal: Goal, limits: tuple[Limit, ...], target: float) -> int:
        """Begin a walk in place of the one under way, as soon as the process runs; the number by
        which `told` knows it.
        """
        self.start()
        self._serial += 1
        if self._process is not None:
            self._process.send(WalkTask(self._serial, goal, limits, target))
        return self._serial

    def told(self, serial: int, work: int) -> Told | None:
        """What there is to know of a walk once it has ended, or took more than so much work; None
        if the process is gone before.

        Raises: TimeUp if the clock that runs is over.
        """
        while not self._gone:
            told = self._told
            if told is not None and told.serial == serial and (told.ends or told.work > work):
                return told
            check_time()
            with suppress(Empty):
                self._news.get(timeout=PERIOD)
        return None

    def _receive(self, message: object | None) -> None:
        """In a thread: take note of a message, of which None is the last one."""
        if message == READY:
            assert self._process is not None
            self._process.send(self._spec)
        elif isinstance(message, Told):
            self._told = message
        else:
            self._gone = True
        self._news.put(None)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

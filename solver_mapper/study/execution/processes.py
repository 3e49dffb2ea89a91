"""Searches in separate processes. One that dies is reported with its layer and started again."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from solver_mapper.core.child_process import ChildProcess
from solver_mapper.core.progress import Progress
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Advanced, Died, Listener, Started
from solver_mapper.study.execution.job import Job, Outcome
from solver_mapper.study.execution.record import Record
from solver_mapper.study.execution.worker import OUT_OF_MEMORY, STOP

_SERVE = "solver_mapper.study.execution.worker:main"
GRACE = 15.0
"""Seconds that a search has to end after it was told to."""
_TICK = 0.2

Message = tuple["_Process", Progress | Record | None]


class _Process(ChildProcess):
    """A worker process. Its messages arrive in `inbox`, and None when it is gone."""

    def __init__(self, memory: int | None, inbox: SimpleQueue[Message]) -> None:
        words = [] if memory is None else [str(memory)]

        def receive(message: Any) -> None:
            inbox.put((self, message))

        super().__init__(_SERVE, words, receive)


def _ending(code: int) -> str:
    if code == OUT_OF_MEMORY:
        return "it needed more memory than it may have"
    if code >= 0:
        return f"it ended with code {code}"
    ended = f"it was ended by {signal.Signals(-code).name}"
    if code in (-signal.SIGABRT, -signal.SIGSEGV):
        return f"{ended}, as happens when the memory that it may have is used up"
    return ended


@dataclass
class Processes:
    """`jobs` processes, each with at most `memory` bytes of data (None: no limit)."""

    jobs: int
    memory: int | None = None

    @property
    def slots(self) -> int:
        """The number of searches at a time."""
        return self.jobs

    def run(
        self, work: Iterator[Job | Outcome], clock: StudyClock, listen: Listener
    ) -> Iterator[Outcome]:
        """See `Executor.run`."""
        run = _Run(self, clock, listen)
        try:
            yield from run.outcomes(work)
        finally:
            for process in run.processes:
                process.end()


@dataclass
class _Run:
    """One run of an executor: who is busy with what."""

    executor: Processes
    clock: StudyClock
    listen: Listener
    inbox: SimpleQueue[Message] = field(default_factory=SimpleQueue)
    idle: list[_Process] = field(default_factory=list)
    busy: dict[_Process, Job] = field(default_factory=dict)
    again: deque[Job] = field(default_factory=deque)
    died: set[str] = field(default_factory=set)
    """Digests of jobs whose process died once."""
    stopped: float | None = None

    @property
    def processes(self) -> tuple[_Process, ...]:
        return (*self.idle, *self.busy)

    def outcomes(self, work: Iterator[Job | Outcome]) -> Iterator[Outcome]:
        """Keep all slots busy until there is no more work."""
        more = True
        while more or self.busy or self.again:
            while (more or self.again) and len(self.busy) < self.executor.jobs:
                item = self.again.popleft() if self.again else next(work, None)
                if item is None:
                    more = False
                elif isinstance(item, Outcome):
                    yield item
                else:
                    self._begin(item)
            if self.busy:
                yield from self._next()

    def _begin(self, job: Job) -> None:
        process = self.idle.pop() if self.idle else _Process(self.executor.memory, self.inbox)
        self.busy[process] = job
        process.send(job)
        if self.stopped is not None:
            process.send(STOP)
        self.listen(Started(job))

    def _next(self) -> Iterator[Outcome]:
        """What the next message, if one comes soon, amounts to."""
        self._stop_in_time()
        try:
            process, message = self.inbox.get(timeout=_TICK)
        except Empty:
            return
        except (
            KeyboardInterrupt
        ):  # as in a search of this process: what is known by then is the answer
            self.clock.stop()
            return
        if process not in self.busy:
            if message is None and process in self.idle:
                self.idle.remove(process)
                process.end()
        elif message is None:
            yield from self._dead(process)
        elif isinstance(message, Record):
            job = self.busy.pop(process)
            self.idle.append(process)
            yield Outcome(job, message)
        else:
            self.listen(Advanced(self.busy[process], message))

    def _dead(self, process: _Process) -> Iterator[Outcome]:
        """The process is gone: its job begins again in another one, unless that has happened
        before.
        """
        job, reason = self.busy.pop(process), _ending(process.end())
        retried = job.digest not in self.died and not self.clock.over
        self.listen(Died(job, reason, retried))
        if retried:
            self.died.add(job.digest)
            self.again.append(job)
        else:
            yield Outcome(job, Record.failed(f"the process that mapped it died: {reason}"))

    def _stop_in_time(self) -> None:
        """Tell the workers that the time is over, and end those that do not hear."""
        if not self.clock.over:
            return
        if self.stopped is None:
            self.stopped = time.monotonic()
            for process in self.busy:
                process.send(STOP)
        elif time.monotonic() - self.stopped > GRACE:
            for process in self.busy:
                process.end()  # its end is told in the inbox

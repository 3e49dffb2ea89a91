"""Parts of a search's work, shared with other processes.

The search cuts its work into parts, however many processes there are, and goes on with the results
in the order of the parts. So answers do not depend on the number of processes, nor on their speed,
nor on whether one of them dies or stands still: the search then does what that one had been given.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from solver_mapper.core.child_process import ChildProcess
from solver_mapper.deadline import check_time
from solver_mapper.solve.pool.messages import Part, Prepare, Result, Tables, Task

SERVE = "solver_mapper.solve.pool.process:main"
PERIOD = 0.1
"""Seconds between looks at the clock while the search waits for a result."""
PATIENCE = 3.0
"""Seconds without news after which the search does itself what a process has begun with."""
AT_ONCE = 4
"""A process gets its whole share of so many parts for each worker, of more half of it at first."""

T = TypeVar("T", bound=Tables)
R = TypeVar("R")


class _Job:
    """Parts that are being done, which are functions of `shared` tables. Processes take the last
    ones, the search the first ones.
    """

    def __init__(self, shared: Shared[Any], parts: Sequence[Part]):
        self.shared, self.parts = shared, parts
        self.results: dict[int, Any] = {}
        self.left = deque(range(len(parts)))

    @property
    def missing(self) -> list[int]:
        """The parts without a result."""
        return [part for part in range(len(self.parts)) if part not in self.results]


class _Helper:
    """A process beside the search, which tells what it receives.

    Raises: OSError or MemoryError if there is no room for it.
    """

    def __init__(self, receive: Callable[[_Helper, object], None]):
        self._messages, self._lost = 1, False
        self._known: dict[int, list[set[int]]] = {}
        self._job: _Job | None = None
        self._share: list[int] = []
        self._process = ChildProcess(SERVE, [], partial(receive, self), quiet=True, bare=True)

    def end(self) -> None:
        """End the process."""
        self._process.end()

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do, but might."""
        return not self._messages and not self._lost

    def help(self, job: _Job, number: int) -> None:
        """Have it do so many parts, once it has made the tables."""
        shared = job.shared
        self.prepare(shared)
        if number and not self._lost:
            self._job, self._share = job, [job.left.pop() for _ in range(number)]
            parts = [job.parts[part] for part in self._share]
            self._send(Task(shared.number, parts, self._met(shared, parts)))

    def hear(self, message: object) -> None:
        """Take note of a message, of which None is the last one."""
        if not isinstance(message, Result):
            self._lose()
            return
        self._messages -= 1
        if self._job is not None and not self._messages:
            self._job.results |= zip(self._share, message.values, strict=True)
            self._job = None

    def knows(self, shared: Shared[Any]) -> bool:
        """Whether it has these tables, or makes them."""
        return shared.number in self._known

    def prepare(self, shared: Shared[Any]) -> None:
        """Have it make tables, unless it has them."""
        if not self.knows(shared):
            self._known[shared.number] = [set() for _ in shared.tables.numberings]
            self._send(Prepare(shared.number, shared.make))

    def _send(self, message: Prepare | Task) -> None:
        self._messages += 1
        if not self._process.send(message, PATIENCE):
            self._lose()

    def _lose(self) -> None:
        """It does nothing any more: give back what it had to do."""
        self._lost = True
        if self._job is not None:
            self._job.left.extend(self._share)
            self._job = None

    def _met(self, shared: Shared[Any], parts: Sequence[Part]) -> list[dict[int, Any]]:
        """What parts refer to and the process does not know yet."""
        mentioned = [shared.tables.mentioned(part) for part in parts]
        found = []
        for numbering, known, *numbers in zip(
            shared.tables.numberings, self._known[shared.number], *mentioned, strict=True
        ):
            new = set[int]().union(*(each.tolist() for each in numbers)) - known
            known |= new
            found.append({number: numbering[number] for number in sorted(new)})
        return found


class Pool:
    """A search and up to `workers` - 1 processes beside it, of which each has a core."""

    def __init__(self, workers: int):
        self._wanted = min(workers, cores()) - 1
        self._helpers: list[_Helper] | None = None
        self._numbers = count()
        self._begun: list[_Job] = []
        self._lock, self._news = threading.RLock(), SimpleQueue[None]()

    def start(self) -> None:
        """Start the processes, unless that has been done."""
        if self._helpers is None:
            self._helpers = []
            with suppress(OSError, MemoryError):
                for _ in range(self._wanted):
                    self._helpers.append(_Helper(self._receive))

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            helpers, self._helpers, self._begun = self._helpers or [], [], []
        for helper in helpers:
            helper.end()

    def shared(self, tables: T, make: Callable[[], T]) -> Shared[T]:
        """Work on tables. `make`, which can be pickled, makes them anew in another process."""
        return Shared(self, next(self._numbers), tables, make)

    def begin(self, job: _Job) -> None:
        """Have a process begin with a job, as soon as one is idle."""
        if self._helpers:
            self._begun.append(job)
            self._help(None)

    def finish(self, job: _Job) -> list[Any]:
        """The results of a job.

        Raises: TimeUp if the clock that runs is over; and what a part raises.
        """
        waited = 0.0
        while missing := job.missing:
            check_time()
            self._help(job)
            with self._lock:
                part = job.left.popleft() if job.left else None
            if part is None and waited < PATIENCE:
                try:
                    self._news.get(timeout=PERIOD)
                    waited = 0.0
                except Empty:
                    waited += PERIOD
                continue
            try:
                mine = missing[0] if part is None else part
                job.results[mine] = job.parts[mine](job.shared.tables)
            except BaseException:
                if part is not None:
                    job.left.appendleft(part)
                raise
        return [job.results[part] for part in range(len(job.parts))]

    def _help(self, job: _Job | None) -> None:
        """Have idle processes do what has been begun, or their shares of a job."""
        with self._lock:
            for helper in self._helpers or ():
                if not helper.idle:
                    continue
                for begun in list(self._begun):
                    helper.help(begun, len(begun.left))
                    self._begun.remove(begun)
                    if not helper.idle:
                        break
                if job is not None and helper.idle:
                    workers = 1 + self._wanted
                    often = 1 if len(job.left) <= AT_ONCE * workers else 2
                    share = len(job.left) // (often * workers)
                    helper.help(job, share if helper.knows(job.shared) else 0)

    def _receive(self, helper: _Helper, message: object) -> None:
        """In a thread: take note of what a process has sent."""
        with self._lock:
            helper.hear(message)
            self._help(None)
        self._news.put(None)


class Shared(Generic[T]):
    """Work on tables that all processes of a pool have. Args: see `Pool.shared`."""

    def __init__(self, pool: Pool, number: int, tables: T, make: Callable[[], T]):
        self._pool, self.number, self.tables, self.make = pool, number, tables, make

    def results(self, parts: Sequence[Callable[[T], R]]) -> list[R]:
        """What the parts return, in their order. They can be pickled, and so can their results.

        Raises: TimeUp if the clock that runs is over; and what a part raises.
        """
        return self._pool.finish(_Job(self, parts))

    def later(self, part: Callable[[T], R]) -> Later[R]:
        """What a part returns, when it is asked for."""
        job = _Job(self, [part])
        self._pool.begin(job)
        return Later(self._pool, job)


class Later(Generic[R]):
    """What a part returns. Where no other process has begun with it, it is done when the result is
    asked for.
    """

    def __init__(self, pool: Pool, job: _Job):
        self._pool, self._job = pool, job

    def result(self) -> R:
        """Raises: TimeUp if the clock that runs is over; and what the part raises."""
        (result,) = self._pool.finish(self._job)
        found: R = result
        return found


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

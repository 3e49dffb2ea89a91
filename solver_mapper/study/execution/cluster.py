"""Searches on a Dask cluster. A worker that dies loses only what it was solving, which Dask begins
again on another.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from solver_mapper.core.clock import Clock
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.digest import package_version
from solver_mapper.study.execution.events import Listener, Started
from solver_mapper.study.execution.job import Job, Outcome, solve_job
from solver_mapper.study.execution.record import Record

CONNECT = 10
"""Seconds to wait for the scheduler."""
GRACE = 30.0
"""Seconds that searches have to end after they were told to."""
_TICK = 0.25
_POLL = 1.0
"""Seconds between a search's questions whether it should end."""
_ADDRESS = re.compile(
    r"inproc://[^\s/]+/\d+/\d+|"
    r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[\w:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})/?",
    re.ASCII,
)
_LAST_PORT = 65_535
_EXAMPLE = "for example tcp://10.0.0.1:8786"


class Cluster:
    """The workers of the scheduler at `address`, such as `tcp://10.0.0.1:8786`; one search for each
    thread of theirs.
    """

    def __init__(self, address: str) -> None:
        """Connect. Raises: InputError if there is no such scheduler, it has no workers, or they
        have another version.
        """
        location, dask = SourceLocation(address or "scheduler"), _dask()
        _check_address(address, location)
        try:
            _try_connection(address)
            self._client = dask.Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"no Dask scheduler answers here ({error})", location, _EXAMPLE
            ) from None
        self.slots = sum(self._client.nthreads().values())
        if not self.slots:
            self._client.close()
            raise InputError("the scheduler has no workers", location)
        versions = set(self._client.run(package_version).values())
        if versions != {package_version()}:
            self._client.close()
            raise InputError(
                f"the workers have solver-mapper {', '.join(sorted(versions))}, not"
                f" {package_version()}",
                location,
            )

    def run(
        self, work: Iterator[Job | Outcome], clock: StudyClock, listen: Listener
    ) -> Iterator[Outcome]:
        """See `Executor.run`."""
        try:
            yield from _Run(self._client, self.slots, clock, listen).outcomes(work)
        finally:
            self._client.close()


def _check_address(address: str, location: SourceLocation) -> None:
    """Raises: InputError for what is not the address of a scheduler."""
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"] or 0) > _LAST_PORT:
        raise InputError("this is not the address of a Dask scheduler", location, _EXAMPLE)


def _try_connection(address: str) -> None:
    """Connect and disconnect. A client that cannot connect would print a traceback when it is
    deleted, so none is made before a connection works.

    Raises: OSError, ValueError or TypeError if there is no connection.
    """
    comm, security = import_module("distributed.comm"), import_module("distributed.security")

    async def connect() -> None:
        arguments = security.Security().get_connection_args("client")
        await (await comm.connect(address, timeout=CONNECT, **arguments)).close()

    with ThreadPoolExecutor(1) as threads:  # the caller's thread may run an event loop of its own
        threads.submit(lambda: asyncio.run(connect())).result()


def _dask() -> Any:
    """The package `distributed`, which has no complete types. Raises: InputError if it is not
    installed.
    """
    try:
        return import_module("distributed")
    except ImportError:
        raise InputError(
            "the package 'distributed' is not installed",
            SourceLocation("--scheduler"),
            "install solver-mapper with the extra 'dask'",
        ) from None


class _Run:
    """One run of an executor: which futures belong to which jobs."""

    def __init__(self, client: Any, slots: int, clock: StudyClock, listen: Listener) -> None:
        self._client, self._slots, self._clock, self._listen = client, slots, clock, listen
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._busy: dict[str, tuple[Any, Job]] = {}
        self._name = f"solver-mapper-{uuid4().hex}"
        self._stop = _dask().Event(f"{self._name}-stop", client=client)
        self._stopped: float | None = None

    def outcomes(self, work: Iterator[Job | Outcome]) -> Iterator[Outcome]:
        """Keep all threads busy until there is no more work."""
        more = True
        while more or self._busy:
            while more and len(self._busy) < self._slots:
                item = next(work, None)
                if item is None:
                    more = False
                elif isinstance(item, Outcome):
                    yield item
                else:
                    self._begin(item)
            if self._busy:
                yield from self._next()

    def _begin(self, job: Job) -> None:
        future = self._client.submit(
            solve_remotely, job, self._stop.name, key=f"{self._name}-{job.digest}", pure=False
        )
        self._busy[future.key] = (future, job)
        future.add_done_callback(self._ended.put)
        self._listen(Started(job))

    def _next(self) -> Iterator[Outcome]:
        """The next outcome, if one comes soon."""
        try:
            future = self._ended.get(timeout=_TICK)
        except Empty:
            yield from self._stop_in_time()
            return
        except (
            KeyboardInterrupt
        ):  # as in a search of this process: what is known by then is the answer
            self._clock.stop()
            return
        if future.key in self._busy:
            _, job = self._busy.pop(future.key)
            yield Outcome(job, _record(future))

    def _stop_in_time(self) -> Iterator[Outcome]:
        """Tell the searches that the time is over, and do without those that do not hear."""
        if not self._clock.over:
            return
        if self._stopped is None:
            self._stopped = self._clock.seconds
            self._stop.set()
        elif self._clock.seconds - self._stopped > GRACE:
            for future, job in self._busy.values():
                future.cancel()
                yield Outcome(job, Record.failed("the search did not end in time"))
            self._busy.clear()


def _record(future: Any) -> Record:
    if future.status == "finished":
        found = future.result()
        assert isinstance(found, Record)
        return found
    if future.status == "cancelled":
        return Record.failed("the search was cancelled")
    return Record.failed(f"the workers that mapped it died: {type(future.exception()).__name__}")


def solve_remotely(job: Job, stop: str) -> Record:
    """What a worker of the cluster runs: the search, ended early when the event called `stop` is
    set.
    """
    clock, done = Clock(job.time_limit), threading.Event()
    dask = _dask()
    event = dask.Event(stop, client=dask.get_client())  # only the thread of a task knows its client

    def watch() -> None:
        while not done.wait(_POLL):
            with contextlib.suppress(OSError, TimeoutError):
                if event.is_set():
                    clock.stop()
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        return solve_job(job, clock)
    finally:
        done.set()
        watcher.join()

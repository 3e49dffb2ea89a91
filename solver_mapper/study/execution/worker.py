"""The process that `processes.py` starts: it maps the layers it is sent, until it is told to end or
its parent is gone.

Frames are pickled objects: in come `Job`, `STOP` or the end of the file; out go `Progress` and
`Record`.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from queue import SimpleQueue
from typing import IO

from solver_mapper.core.child_process import to_parent
from solver_mapper.core.clock import Clock
from solver_mapper.core.progress import Progress
from solver_mapper.startup import is_out_of_memory
from solver_mapper.study.execution.job import Job, solve_job

STOP = "stop"
OUT_OF_MEMORY = 71
"""The exit code where a search needed more memory than it may have."""
_PERIOD = 0.25
"""Seconds between reports of progress."""


class _Worker:
    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._clock: Clock | None = None
        self._stopped = False
        self._told = 0.0

    def listen(self, source: IO[bytes]) -> None:
        """Take orders until the parent is gone; then nobody waits for an answer."""
        while True:
            try:
                message = pickle.load(source)
            except (EOFError, OSError, pickle.UnpicklingError):
                os._exit(0)
            if message == STOP:
                self._stopped = True
                if self._clock is not None:
                    self._clock.stop()
            else:
                self._jobs.put(message)

    def work(self) -> None:
        """Solve job after job, in the main thread."""
        while True:
            job = self._jobs.get()
            self._clock = Clock(job.time_limit)
            if self._stopped:
                self._clock.stop()
            self._send(solve_job(job, self._clock, self._report))

    def _report(self, progress: Progress) -> None:
        if time.monotonic() - self._told >= _PERIOD:
            self._told = time.monotonic()
            self._send(progress)

    def _send(self, message: object) -> None:
        pickle.dump(message, self._out)
        self._out.flush()


def cap_memory(limit: int) -> None:
    """Let this process have at most `limit` bytes of data. Raises: ImportError where the system has
    no such limits.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main(words: list[str]) -> None:
    """`words` may hold the limit of memory in bytes."""
    source, out = to_parent()
    worker = _Worker(out)
    threading.Thread(target=worker.listen, args=(source,), daemon=True).start()
    try:
        if words:
            cap_memory(int(words[0]))
        worker.work()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        os._exit(OUT_OF_MEMORY)

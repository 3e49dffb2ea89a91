"""A limit in seconds of processor time, for machines that do other work as well."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from solver_mapper.core.clock import Clock

INTERVAL = 0.1


@contextmanager
def processor_limit(seconds: float) -> Iterator[Clock]:
    """A clock that is stopped once this process has spent `seconds` since now."""
    clock, ended, started = Clock(), threading.Event(), time.process_time()

    def watch() -> None:
        while not ended.wait(INTERVAL):
            if time.process_time() - started > seconds:
                clock.stop()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield clock
    finally:
        ended.set()
        thread.join()

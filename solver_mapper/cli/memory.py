"""Memory that a command may use: near the limit its clock is stopped, so that the best so far is
the answer. A limit of the system (`ulimit -v`) is obeyed likewise.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from solver_mapper.core.clock import Clock

_PERIOD = 0.05
"""Seconds between looks."""
_SHARE = 0.9
"""The part of a limit at which the search ends: what is under way still takes some."""
_RESERVE = 64 << 20
"""Bytes below the limit of the address space at which the search ends at the latest: the solver's
code does not survive a request for memory that is refused.
"""
_STATUS = "/proc/self/statm"


def watch_memory(limit: int | None, clock: Clock) -> Callable[[], None]:
    """Stop `clock` when this process comes near `limit` bytes (None: no limit), or near the limit
    of its address space; the result ends that.

    Raises: MemoryError where it is near that already.
    """
    done = threading.Event()
    system = _address_limit()
    if limit is None and system is None:
        return done.set
    if system is not None and _used()[0] > system - _RESERVE:
        raise MemoryError("the address space is too small for a search")

    def watch() -> None:
        while not reached():
            if done.wait(_PERIOD):
                return
        clock.reason = "the memory limit was reached"
        clock.stop()

    def reached() -> bool:
        mapped, resident = _used()
        return (limit is not None and resident > _SHARE * limit) or (
            system is not None and mapped > min(_SHARE * system, system - _RESERVE)
        )

    thread = threading.Thread(target=watch, daemon=True, name="memory")
    try:
        thread.start()
    except RuntimeError as error:
        raise MemoryError("there is no room for another thread") from error

    def end() -> None:
        done.set()
        thread.join()

    return end


def _address_limit() -> int | None:
    """Bytes that this process may map, None for no limit."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _used() -> tuple[int, int]:
    """Bytes that are mapped and bytes that are resident."""
    import resource

    try:
        with open(_STATUS, encoding="ascii") as file:
            size, resident, *_ = map(int, file.read().split())
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    page = resource.getpagesize()
    return size * page, resident * page

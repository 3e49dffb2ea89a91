"""Where code that may take long asks whether it may go on.

A request runs under one clock, `with running(clock)`; code that is called there, however deep,
calls `check_time`, which raises `TimeUp`; what has an answer so far catches it, or any
`LimitReached`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from solver_mapper.errors import LimitReached


class TimeUp(LimitReached):
    """The running clock is over: its limit is reached, or it was stopped."""


class Deadline(Protocol):
    """A clock, as far as this module needs one."""

    def check(self) -> None:
        """Raises: TimeUp if the clock is over."""


_running: ContextVar[Deadline | None] = ContextVar("running_clock", default=None)


@contextmanager
def running(clock: Deadline | None) -> Iterator[None]:
    """Within the block, `check_time` asks `clock`; with None, nothing ends the block early."""
    token = _running.set(clock)
    try:
        yield
    finally:
        _running.reset(token)


def time_is_over() -> bool:
    """Whether the request that is running here is over."""
    try:
        check_time()
    except TimeUp:
        return True
    return False


def check_time() -> None:
    """Raises: TimeUp if the request that is running here is over."""
    clock = _running.get()
    if clock is not None:
        clock.check()

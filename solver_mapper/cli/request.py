"""What limits the command that is running: its clock, signals, and its memory.

Ctrl-C, SIGTERM and SIGHUP stop the clock; the best so far is then the answer, and the exit code
says which signal it was. A second signal ends the process at once. Code that polls the clock sees
that within milliseconds; whatever does not is interrupted by a timer a moment later.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import isnan
from types import FrameType

from solver_mapper.cli.memory import watch_memory
from solver_mapper.cli.sizes import memory_size
from solver_mapper.core.clock import Clock
from solver_mapper.deadline import check_time, running
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.startup import STOPPING, end
from solver_mapper.study.execution.clock import StudyClock

_PATIENCE = 0.3
"""Seconds between the end of the time and the first interruption of code that does not poll."""
_PERIOD = 0.1
"""Seconds between interruptions."""
_READING = 0.5
"""Seconds that reading may take beyond the time limit: a short limit still says what is wrong."""
_START_SHARE = 0.5
"""The most of a time limit that the start of the process takes: a short limit leaves some time."""
_LONGEST = 1e6
"""Seconds; timers of operating systems end somewhere."""


@dataclass
class Request:
    """`code` is the exit code for the signal that came: 128 plus its number, 0 if none did."""

    clock: StudyClock
    code: int = 0
    told: list[Callable[[], None]] = field(default_factory=list)
    """Called when a signal comes."""
    ended: list[Callable[[], None]] = field(default_factory=list)
    """Called when the command has ended."""


_request: ContextVar[Request] = ContextVar("request")
process_started: ContextVar[float | None] = ContextVar("process_started", default=None)
"""When this process started, where it runs one command only; else time counts from the command."""


def current_request() -> Request:
    """The request of the command that is running."""
    return _request.get()


def tell_of_signals(tell: Callable[[], None]) -> None:
    """Call `tell` when a signal comes, if a command is running."""
    request = _request.get(None)
    if request is not None:
        request.told.append(tell)


def limited(time_limit: float | None = None, memory_limit: str | None = None) -> StudyClock:
    """The clock of the command that is running, under the limits of its options.

    Raises: InputError for a time that is no number and a size that is none.
    """
    request = current_request()
    most = memory_size(memory_limit, "--memory-limit")
    if time_limit is not None:
        if isnan(time_limit):
            raise InputError("the time limit is not a number", SourceLocation("--time-limit"))
        request.clock.limit = time_limit
        latest = time.monotonic() - time_limit * _START_SHARE
        request.clock.started = max(request.clock.started, latest)
        _interrupt_after(request.clock.left)
    request.ended.append(watch_memory(most, request.clock))
    return request.clock


@contextmanager
def reading_input() -> Iterator[None]:
    """Within the block, which reads input, a signal or the end of the time ends the command."""
    clock = current_request().clock
    limit = None if clock.limit is None else clock.limit + _READING
    own = Clock(limit, clock.started, clock.stopped, reason=clock.reason)

    def stop() -> None:
        own.reason = clock.reason
        own.stop()

    with clock.followed_by(stop), running(own):
        yield
        own.check()


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block, which computes what has no parts, a signal or the end of the time ends the
    command.
    """
    with running(current_request().clock):
        yield


def stop_code() -> int:
    """128 plus the number of the signal that came, 0 if none did."""
    return current_request().code


@contextmanager
def requested() -> Iterator[Request]:
    """The frame of one command.

    Code under `running` is interrupted; the rest, such as printing an answer, is not.
    """
    started = process_started.get()
    request = Request(StudyClock(started=time.monotonic() if started is None else started))
    token = _request.set(request)
    try:
        with _signals(request):
            yield request
    finally:
        for end_watch in request.ended:
            end_watch()
        _request.reset(token)


@contextmanager
def _signals(request: Request) -> Iterator[None]:
    """Handlers of signals, which only the main thread may set."""

    def stop(number: int, frame: FrameType | None) -> None:
        if request.code:
            end(number, frame)
        request.code = 128 + number
        request.clock.interrupted = True
        request.clock.reason = f"{signal.Signals(number).name} came"
        for tell in request.told:
            tell()
        request.clock.stop()
        _interrupt_after(0.0)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in STOPPING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, stop)
    alarm = signal.signal(signal.SIGALRM, lambda *_: check_time()) if _has_timers() else None
    try:
        yield
    finally:
        if _has_timers():
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, alarm)
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_timers() -> bool:
    return hasattr(signal, "setitimer") and os.name == "posix"


def _interrupt_after(seconds: float | None) -> None:
    """Interrupt what does not poll, again and again, once so much time has passed."""
    if seconds is None or seconds > _LONGEST or not _has_timers():
        return
    if threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, seconds + _PATIENCE, _PERIOD)

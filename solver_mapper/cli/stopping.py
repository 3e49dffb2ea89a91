"""Signals that end a search early: the best so far is the answer, and the exit code says which
signal it was.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from solver_mapper.cli.progress import ProgressLine
from solver_mapper.core.clock import Clock

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass
class Stopped:
    """`code` is the exit code for the signal that came: 128 plus its number, 0 if none did."""

    code: int = 0


@contextmanager
def stopped_by_signals(clock: Clock, line: ProgressLine) -> Iterator[Stopped]:
    """Ctrl-C, SIGTERM and SIGHUP stop the clock. A second one ends the program.

    SIGHUP stays ignored where it is ignored already, as under nohup.
    """
    stopped = Stopped()

    def stop(number: int, _frame: FrameType | None) -> None:
        if stopped.code:
            raise KeyboardInterrupt
        stopped.code = 128 + number
        clock.interrupted = True
        line.stopping()
        clock.stop()

    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if number == signal.SIGINT or before[number] is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

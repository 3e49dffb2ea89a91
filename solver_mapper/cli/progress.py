"""One live line on a terminal while a search runs; plain lines, sparingly, anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from solver_mapper.cpsat.search import Progress

PERIOD = 2.0
"""Seconds between plain lines."""

_REFRESH = 8


class ProgressLine:
    """Best value, bound, gap, time, and which goal is being minimized, on standard error. `now` tells the time in seconds."""

    def __init__(self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._now = now
        self._told: tuple[Progress, float] | None = None
        self._started = self._printed = now()
        self._stopping = False
        self._live = self._terminal_line() if self._stream.isatty() else None

    def _terminal_line(self) -> Live:
        console = Console(file=self._stream, highlight=False)
        return Live(console=console, get_renderable=self._render, refresh_per_second=_REFRESH, transient=True,
                    redirect_stdout=False, redirect_stderr=False)  # fmt: skip

    def __enter__(self) -> ProgressLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        """Take note of where the search stands."""
        now = self._now()
        self._told = progress, now
        if self._live is None and now - self._printed >= PERIOD:
            self._printed = now
            self._stream.write(f"{describe(progress)}\n")
            self._stream.flush()

    def stopping(self) -> None:
        """Say that the search is about to end."""
        self._stopping = True

    def _render(self) -> Text:
        """The line as of this moment: time goes on where nothing else does."""
        if self._told is None:
            text = f"preparing the search, {self._now() - self._started:.1f} s"
        else:
            progress, when = self._told
            text = describe(progress, progress.seconds + self._now() - when)
        return Text(f"{text}; stopping" if self._stopping else text, no_wrap=True, overflow="ellipsis")


def describe(progress: Progress, seconds: float | None = None) -> str:
    """One line: `edp: best 1.234e+09, bound 1.1e+09, gap 10.85 %, 2.3 s`. `seconds` takes the place of the search's own."""
    best = "none yet" if progress.value is None else f"{float(progress.value):.6g}"
    bound = "none yet" if progress.bound is None else f"{progress.bound:.6g}"
    gap = "" if progress.gap is None else f", gap {100 * progress.gap:.2f} %"
    return f"{progress.where}: best {best}, bound {bound}{gap}, {progress.seconds if seconds is None else seconds:.1f} s"

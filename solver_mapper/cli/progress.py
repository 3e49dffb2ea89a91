"""One live line on a terminal while a search runs; plain lines, sparingly, anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from solver_mapper.cpsat.search import Progress

_TERMINAL_PERIOD, _PLAIN_PERIOD = 0.1, 2.0


class ProgressLine:
    """Shows best value, bound, gap, time, and which goal is being minimized, on standard error."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._last = time.monotonic() if not self._live else 0.0
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def show(self, progress: Progress) -> None:
        self.say(lambda: describe(progress))

    def say(self, text_of: Callable[[], str]) -> None:
        """Show a line, unless another was shown a moment ago."""
        now = time.monotonic()
        if now - self._last < (_TERMINAL_PERIOD if self._live else _PLAIN_PERIOD):
            return
        self._last = now
        text = text_of()
        if self._live:
            sys.stderr.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()


def describe(progress: Progress) -> str:
    """One line: `edp: best 1.234e+09, bound 1.1e+09, gap 10.85 %, 2.3 s`."""
    best = "none yet" if progress.value is None else f"{float(progress.value):.6g}"
    bound = "none yet" if progress.bound is None else f"{progress.bound:.6g}"
    gap = "" if progress.gap is None else f", gap {100 * progress.gap:.2f} %"
    return f"{progress.where}: best {best}, bound {bound}{gap}, {progress.seconds:.1f} s"

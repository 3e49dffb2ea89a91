"""One live line on a terminal while a search runs; plain lines, sparingly, anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from solver_mapper.cli.request import tell_of_signals
from solver_mapper.cli.terminal import harmless, raw
from solver_mapper.core.objective import rounded_down
from solver_mapper.core.progress import Progress

PERIOD = 30.0
"""Seconds between plain lines."""

_REFRESH = 8


class ProgressLine:
    """What a search is doing, on standard error: `show` where a search for a mapping stands, `say`
    anything else.

    `now` tells the time in seconds.
    """

    def __init__(
        self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = raw(sys.stderr) if stream is None else stream
        self._now = now
        self._started = self._printed = now()
        self._text: Callable[[], str] = lambda: f"preparing, {self._now() - self._started:.1f} s"
        self._stopping = False
        self._live = self._terminal_line() if self._stream.isatty() else None

    def _terminal_line(self) -> Live:
        console = Console(file=self._stream, highlight=False)
        return Live(
            console=console,
            get_renderable=self._render,
            refresh_per_second=_REFRESH,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> ProgressLine:
        tell_of_signals(self.stopping)
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        """Best value, bound, gap, time, and which goal is being minimized. On a terminal time goes
        on without further calls.
        """
        told = self._now()
        self.say(lambda: describe(progress, progress.seconds + self._now() - told))

    def say(self, text_of: Callable[[], str]) -> None:
        """Show a line from now on; where there is no terminal, print it unless another was printed
        a moment ago.
        """
        self._text = text_of
        if self._live is None and self._now() - self._printed >= PERIOD:
            self._printed = self._now()
            self._write(text_of())

    def _write(self, text: str) -> None:
        """A line; where standard error cannot be written, there is nobody to tell."""
        with suppress(OSError):
            self._stream.write(f"{harmless(text)}\n")
            self._stream.flush()

    def note(self, text: str) -> None:
        """Print a line that stays, above the live one."""
        if self._live is not None:
            self._live.console.print(harmless(text), markup=False, highlight=False, soft_wrap=True)
        else:
            self._write(text)

    def stopping(self) -> None:
        """Say that the search is about to end."""
        self._stopping = True

    def _render(self) -> Text:
        text = harmless(self._text())
        return Text(
            f"{text}; stopping" if self._stopping else text,
            no_wrap=True,
            overflow="ellipsis",
        )


def describe(progress: Progress, seconds: float) -> str:
    """One line: `edp: best 1.234e+09, bound 1.1e+09, gap 10.85 %, 2.3 s`."""
    best = "none yet" if progress.value is None else f"{float(progress.value):.6g}"
    bound = "none yet" if progress.bound is None else f"{rounded_down(progress.bound, 6):.6g}"
    gap = "" if progress.gap is None else f", gap {100 * progress.gap:.2f} %"
    return f"{progress.where}: best {best}, bound {bound}{gap}, {seconds:.1f} s"

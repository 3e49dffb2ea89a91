"""The real command in a process of its own, under the faults that a test asks for.

The process is forked from this one, so that the imports are paid for once: standard streams,
limits, signals and exit codes are those of a real process.
"""

from __future__ import annotations

import io
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from solver_mapper.cli import main

CLOSED = "closed"
"""A standard stream that is not there."""
MOST_MEMORY = 2 << 30
"""Bytes that no process may need."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `code` is its exit code, or minus the signal that killed it."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float
    peak: int

    def __str__(self) -> str:
        return (
            f"exit code {self.code} after {self.seconds:.2f} s ({self.cpu:.2f} s CPU,"
            f" {self.peak >> 20} MiB)\n--- out\n{self.out[-1500:]}\n--- err\n{self.err[-1500:]}"
        )


def run(
    arguments: Sequence[str],
    folder: Path,
    *,
    stdin: bytes | Path | str = b"",
    stdout: Path | str | int | None = None,
    stderr: Path | str | int | None = None,
    limits: Mapping[int, int] | None = None,
    signals: Sequence[tuple[float, int]] = (),
    before: Callable[[], object] | None = None,
    timeout: float = 60.0,
) -> Outcome:
    """Run `solver-mapper ARGUMENTS` in `folder`.

    Args: `stdin`, bytes, a file, or `CLOSED`; `stdout` and `stderr`, a file, an open descriptor or
    `CLOSED` instead of being captured; `limits`, resource limits; `signals`, (seconds, number) to
    send; `before`, called in the process first; `timeout`, seconds after which it is killed.
    """
    streams = folder / ".streams"
    streams.mkdir(exist_ok=True)
    given, out, err = (streams / name for name in ("in", "out", "err"))
    given.write_bytes(stdin if isinstance(stdin, bytes) else b"")
    out.write_bytes(b"")
    err.write_bytes(b"")
    sources = (
        (0, given if isinstance(stdin, bytes) else stdin, os.O_RDONLY),
        (1, out if stdout is None else stdout, os.O_WRONLY),
        (2, err if stderr is None else stderr, os.O_WRONLY),
    )
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_command(arguments, folder, sources, limits or {}, before)
    _send(child, signals, started, timeout)
    _, status, used = os.wait4(child, 0)
    return Outcome(
        os.waitstatus_to_exitcode(status),
        out.read_text(encoding="utf-8", errors="surrogateescape"),
        err.read_text(encoding="utf-8", errors="surrogateescape"),
        time.monotonic() - started,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * 1024,
    )


def _send(child: int, signals: Sequence[tuple[float, int]], started: float, timeout: float) -> None:
    """Send the signals in time, and kill what runs past the timeout. Does not reap the child."""
    due = sorted([*signals, (timeout, signal.SIGKILL)])
    while due:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        seconds, number = due[0]
        left = seconds - (time.monotonic() - started)
        if left <= 0:
            due.pop(0)
            os.kill(child, number)
        else:
            time.sleep(min(left, 0.02))


def _be_command(
    arguments: Sequence[str],
    folder: Path,
    sources: Sequence[tuple[int, Path | str | int, int]],
    limits: Mapping[int, int],
    before: Callable[[], object] | None,
) -> None:
    code = 99
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGALRM"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.chdir(folder)
        for number, source, flags in sources:
            _put(number, source, flags)
        sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
        for which, most in limits.items():
            resource.setrlimit(which, (most, most))
        if before is not None:
            before()
        sys.argv = ["solver-mapper", *arguments]
        code = _main()
    finally:
        os._exit(code)


def _main() -> int:
    """What the interpreter makes of the entry point, its end included."""
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else (0 if end.code is None else 1)
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException:
        code = 120
    return code


def _put(number: int, source: Path | str | int, flags: int) -> None:
    if source == CLOSED:
        os.close(number)
    elif isinstance(source, int):
        os.dup2(source, number)
    else:
        opened = os.open(source, flags)
        os.dup2(opened, number)
        os.close(opened)


def _stream(number: int) -> io.TextIOWrapper | None:
    try:
        os.fstat(number)
    except OSError:
        return None
    mode = "rb" if number == 0 else "wb"
    return io.TextIOWrapper(
        open(number, mode, closefd=False), encoding="utf-8", line_buffering=number == 2
    )

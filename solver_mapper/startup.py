"""Signals and lack of memory while the command starts up: nothing can be lost yet, so the process
ends at once.

This module imports next to nothing, and the package imports it first, so that the handlers are
there before OR-Tools is imported.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from types import FrameType, TracebackType

STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a command; a system may lack some."""
_ROOM = 64 << 20
"""Bytes. An error with less than this left is put down to lack of memory: libraries catch the
MemoryError of a file that they could not read, and raise errors of their own.
"""


def is_command() -> bool:
    """Whether this process is the command line, not a program that uses the package."""
    words = sys.orig_argv
    started = os.path.basename(sys.argv[0] if sys.argv else "")
    module = any(pair == ("-m", "solver_mapper") for pair in itertools.pairwise(words))
    return started.removesuffix(".exe") == "solver-mapper" or module


def end_on_signals() -> None:
    """From now on, a signal ends the process with exit code 128 plus its number, without a
    traceback.

    SIGHUP stays ignored where it is ignored already, as under nohup; so does SIGINT, as in the
    background of a shell without job control.
    """
    for name in STOPPING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def end_without_memory() -> None:
    """From now on, an import for which there is no memory ends the process with exit code 3 and a
    message, without a traceback.
    """
    sys.excepthook = _explain


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory, or next to none is left. The loader of
    libraries has its own words, and so has Python where there is none for the error itself.
    """
    text = str(error)
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, SystemError) and "without exception set" in text)
        or (
            isinstance(error, (ImportError, OSError))
            and any(words in text for words in ("failed to map segment", "annot allocate memory"))
        )
        or not _is_room()
    )


def _is_room() -> bool:
    try:
        bytearray(_ROOM)
    except MemoryError:
        return False
    return True


def _explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not is_out_of_memory(error):
        sys.__excepthook__(kind, error, trace)
        return
    os.write(2, b"solver-mapper: out of memory before there was an answer\n")
    os._exit(3)


def end(number: int, _frame: FrameType | None) -> None:
    """End the process now."""
    os._exit(128 + number)

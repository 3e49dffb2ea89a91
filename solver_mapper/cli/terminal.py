"""What reaches a terminal: text from input never moves its cursor, colours it, or rings its bell.

Standard output and error are replaced by streams that write control characters as `\\u001b`, which
is what JSON calls them too. The one place that may send such characters, the live line of progress,
writes to the stream below (`raw`), and its text is made harmless by `harmless`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import TextIO

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters but for tabs and ends of lines; what changes the direction of text; what ends
a line without looking like it; what is no character.
"""


def harmless(text: str) -> str:
    """`text` with control characters as JSON writes them."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _Harmless(io.TextIOWrapper):
    """A text stream that shows control characters instead of sending them."""

    def write(self, text: str) -> int:
        super().write(harmless(text))
        return len(text)


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Standard streams for one command: harmless, and there even if they were closed.

    A descriptor that is closed would be given to the next file that is opened, and what a library
    prints would end there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    before = sys.stdout, sys.stderr
    own = tuple(_replaced(stream) for stream in before)
    sys.stdout, sys.stderr = own
    try:
        yield
    finally:
        for stream in own:
            _end(stream)
            if isinstance(stream, _Harmless):
                stream.detach()
        sys.stdout, sys.stderr = before


def _replaced(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    # Bars and names of files may hold characters that the terminal's encoding lacks.
    return _Harmless(
        stream.buffer,
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
    )


def _end(stream: TextIO) -> None:
    """Write what is buffered. Where that fails, it must not fail again when Python ends."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def raw(stream: TextIO) -> TextIO:
    """The stream below a harmless one, for control characters of our own."""
    if not isinstance(stream, _Harmless):
        return stream
    return io.TextIOWrapper(
        _Unclosed(stream.fileno()), encoding=stream.encoding, errors="backslashreplace"
    )


class _Unclosed(io.FileIO):
    """A descriptor that stays open."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)

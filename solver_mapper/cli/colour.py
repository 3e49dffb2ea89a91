"""Colour in the terminal: headings, verdicts, bars and warnings stand out.

Without its colours a text is the same text. Text from input is made harmless before colours are
added, see `cli/terminal.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TextIO

from solver_mapper.cli.folding import fold, folded

BOLD, FAINT = "1", "2"
GOOD, OPEN, BAD, BAR = "1;32", "1;33", "1;31", "36"

_VERDICTS = (
    (
        GOOD,
        r"Proven optimal|Complete Pareto|Proven: |proof +every layer|legal$|The certificate holds",
    ),
    (OPEN, r"Not proven|Time limit|Memory limit|Partial|(The s|S)earch stopped|Interrupted"),
    (BAD, r"Proven infeasible|No legal mapping|No mapping|illegal|The certificate is refused"),
)
_VERDICT = tuple((style, re.compile(rf"(?:{words})")) for style, words in _VERDICTS)
_HEADING = re.compile(r"[A-Z](?!.*\S  )")
_LEVEL = re.compile(r"^( *)([^\s\[]+)( \[[^\]]*\])$")
_PART = re.compile(r"[█▉▊▋▌▍▎▏░]+|─{3,}|(?<=  )(?:not proven|no mapping|no bound)(?=\s|$)")
_WARNING = re.compile(r"^(warning:|note:)")
_CARET = re.compile(r"^\s+\^$")


def wanted(stream: TextIO) -> bool:
    """Whether a stream gets colours: a terminal does, unless NO_COLOR is set; anything else does
    where FORCE_COLOR is set.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def answer(text: str, columns: int | None = None) -> str:
    """An answer with its colours, in lines of at most `columns`."""
    lines = text.split("\n")
    above = ["", *lines]
    below = [*lines[1:], ""]
    shown = map(_answer_line, lines, folded(text, columns), above, below)
    return "\n".join(shown)


def _answer_line(line: str, pieces: list[str], above: str, below: str) -> str:
    """A line, as the pieces in which the terminal shows it."""
    for style, words in _VERDICT:
        if words.match(line):
            return "\n".join(_styled(style, piece) for piece in pieces)
    if not above and below and _HEADING.match(line):
        return "\n".join(_styled(BOLD, piece) for piece in pieces)
    level = _LEVEL.match(line) if len(pieces) == 1 else None
    if level:
        return f"{level[1]}{_styled(BOLD, level[2])}{_styled(FAINT, level[3])}"
    return "\n".join("".join(_parts(piece)) for piece in pieces)


def _parts(line: str) -> Iterator[str]:
    reached = 0
    for found in _PART.finditer(line):
        style = FAINT if found[0][0] == "─" else OPEN if found[0][0] == "n" else BAR
        yield line[reached : found.start()] + _styled(style, found[0])
        reached = found.end()
    yield line[reached:]


def message(text: str, columns: int | None = None) -> str:
    """A message on standard error with its colours, in lines of at most `columns`."""
    return "\n".join(_message_line(line) for line in fold(text, columns).split("\n"))


def _message_line(line: str) -> str:
    if _CARET.match(line):
        return _styled(BAD, line)
    found = _WARNING.match(line)
    return line if found is None else _styled(OPEN, found[0]) + line[found.end() :]


def _styled(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else ""

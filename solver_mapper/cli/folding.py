"""Lines of an answer or a message that a terminal is too narrow for: broken at blanks, with what
follows below the last column that the line has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap

_COLUMN = re.compile(r" {2,}(?=\S)")
_EXCERPT = re.compile(r" *\d+ \| ")
_CARET = re.compile(r" +\^$")
_FEWEST = 20
"""Columns below which words are not put below a column."""


def fold(text: str, columns: int | None) -> str:
    """`text` with no line longer than `columns` (None: as it is)."""
    return "\n".join("\n".join(pieces) for pieces in folded(text, columns))


def folded(text: str, columns: int | None) -> Iterator[list[str]]:
    """For each line of `text`, the lines that show it. A line of a file and the caret below it
    stay one line each: the part around the caret is shown.
    """
    lines = text.split("\n")
    start = 0
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if columns is None or len(line) <= columns:
            yield [line[start:] if _CARET.fullmatch(line) else line]
        elif (quoted := _EXCERPT.match(line)) is not None:
            caret = len(below) - 1 if _CARET.fullmatch(below) else 0
            start = _first_shown(caret - quoted.end(), columns - quoted.end())
            yield [quoted[0] + line[quoted.end() + start :][: columns - quoted.end()]]
            continue
        elif _CARET.fullmatch(line):
            yield [line[start:]]
        else:
            yield _broken(line, columns)
        start = 0


def _first_shown(caret: int, room: int) -> int:
    """The first column of a quoted line to show in `room` columns, so that the caret is shown."""
    return 0 if caret < room else caret - room * 3 // 4


def _broken(line: str, columns: int) -> list[str]:
    indent = len(line) - len(line.lstrip())
    hanging = indent + (2 if indent or line.find(": ") >= 0 else 0)
    for found in _COLUMN.finditer(line, indent):
        if found.end() <= columns - max(_FEWEST, columns // 3):
            hanging = found.end()
    return wrap(
        line,
        columns,
        subsequent_indent=" " * hanging,
        replace_whitespace=False,
        expand_tabs=False,
        break_long_words=False,
        break_on_hyphens=False,
    )

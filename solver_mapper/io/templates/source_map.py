"""Where the text that templates render comes from.

While a template is rendered, marks stand in its output: invisible references to positions in the
files that people wrote. They are taken out again, and what remains is the text and, line by line,
where its parts come from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from solver_mapper.errors import SourceLocation

_MARK = re.compile("\x02([0-9]{1,9})\x03")


@dataclass(frozen=True, slots=True)
class TemplateOrigin:
    """A position in a file. `literal` text was copied from there letter by letter; other text is
    the value of an expression.
    """

    location: SourceLocation
    literal: bool


@dataclass
class Origins:
    """The positions that marks refer to, of all templates that one input consists of."""

    listed: list[TemplateOrigin] = field(default_factory=list)

    def mark(self, location: SourceLocation, literal: bool) -> str:
        """The mark that says: the text after it comes from `location`."""
        self.listed.append(TemplateOrigin(location, literal))
        return f"\x02{len(self.listed) - 1}\x03"


@dataclass(frozen=True)
class _Segment:
    """Text from `column` (from 1) on, which comes from `origin`."""

    column: int
    origin: TemplateOrigin


@dataclass(frozen=True)
class SourceMap:
    """For each line of a rendered text, the segments that begin on it. `fallback` is the file that
    was rendered.
    """

    lines: tuple[tuple[_Segment, ...], ...]
    fallback: SourceLocation

    def origin(self, line: int, column: int) -> SourceLocation:
        """The position in a file that people wrote of a position in the rendered text; both count
        from 1.
        """
        for number in range(min(line, len(self.lines)), 0, -1):
            segments = self.lines[number - 1]
            if number < line and segments:
                return segments[-1].origin.location
            index = bisect_right(segments, column, key=lambda segment: segment.column) - 1
            if index >= 0:
                return _within(segments[index], column)
        return self.fallback


def _within(segment: _Segment, column: int) -> SourceLocation:
    location = segment.origin.location
    if not segment.origin.literal or location.column is None:
        return location
    return SourceLocation(location.file, location.line, location.column + column - segment.column)


def split_marks(text: str, origins: Origins, fallback: SourceLocation) -> tuple[str, SourceMap]:
    """`text` without its marks, and what they said."""
    lines, maps = [], []
    for line in text.split("\n"):
        parts, segments, column = [], list[_Segment](), 1
        for index, part in enumerate(_MARK.split(line)):
            if index % 2 == 0:
                parts.append(part)
                column += len(part)
            elif int(part) < len(origins.listed):
                segments.append(_Segment(column, origins.listed[int(part)]))
        lines.append("".join(parts))
        maps.append(tuple(segments))
    return "\n".join(lines), SourceMap(tuple(maps), fallback)

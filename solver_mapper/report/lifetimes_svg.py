"""Lifetimes of tensors as a picture: Einsums from left to right, for each memory how full it is and
a bar for each tensor while it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import groupby

from solver_mapper.cost.looptree.lifetimes import Lifetime
from solver_mapper.report.charts.palette import colours_of
from solver_mapper.report.charts.svg import STANDALONE
from solver_mapper.report.tables import percent, short

WIDTH = 720
_LEFT, _RIGHT, _ROW, _PROFILE, _CHARACTER = 130.0, 100.0, 20.0, 54.0, 6.6
_FAINT = 'stroke="currentColor" stroke-opacity="0.2"'


@dataclass(frozen=True)
class _Columns:
    """Where each Einsum stands: `names` share the width between `left` and `right`."""

    names: Sequence[str]
    left: float
    right: float

    @property
    def width(self) -> float:
        return (self.right - self.left) / len(self.names)

    def at(self, position: int) -> float:
        """The left end of an Einsum."""
        return self.left + position * self.width


def lifetimes_svg(lifetimes: Sequence[Lifetime], einsums: Sequence[str]) -> str:
    """The picture as the text of an SVG file."""
    left = max(_LEFT, *(14 + len(each.tensor) * _CHARACTER for each in lifetimes))
    columns = _Columns(einsums, left, WIDTH - _RIGHT)
    colours = colours_of(list(dict.fromkeys(each.tensor for each in lifetimes)))
    body = list(_heads(columns))
    y = 40.0
    for _, group in groupby(lifetimes, key=lambda each: each.component):
        rows = list(group)
        body += _memory(rows, columns, colours, y)
        y += _height(rows) + 16
    body += [
        f'<path d="M{columns.at(number):.1f} 28V{y - 10:.1f}" {_FAINT}/>'
        for number in range(len(einsums) + 1)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}" width="{WIDTH}"'
        f' height="{y:.0f}" font-family="sans-serif" font-size="12" fill="currentColor"'
        f' style="{STANDALONE}" role="img"><title>Lifetimes of tensors</title>'
        f"<desc>{escape(described(lifetimes, einsums))}</desc>"
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def described(lifetimes: Sequence[Lifetime], einsums: Sequence[str]) -> str:
    """The picture in words."""
    return " ".join(
        f"{each.component} has {each.tensor} {span(each, einsums)}, at most {short(each.most)} bits"
        f"{_share(each)}."
        for each in lifetimes
    )


def span(each: Lifetime, einsums: Sequence[str]) -> str:
    """During which Einsums the tensor is there: `during A`, `from A to C`, `during A and C`."""
    first, last = each.positions[0], each.positions[-1]
    if len(each.positions) == last - first + 1 and first < last:
        return f"from {einsums[first]} to {einsums[last]}"
    return f"during {' and '.join(einsums[position] for position in each.positions)}"


def _share(each: Lifetime) -> str:
    return f" ({percent(each.most / each.size)} of it)" if each.size else ""


def _heads(columns: _Columns) -> Iterator[str]:
    """Names above the columns; numbers where names have no room, and only some of many numbers."""
    names = list(columns.names)
    longest = max(len(name) for name in names) * _CHARACTER + 6
    if longest > columns.width:
        numbers = [str(position) for position in range(1, len(names) + 1)]
        every = 1 + int((len(numbers[-1]) * _CHARACTER + 4) // columns.width)
        names = [text if not index % every else "" for index, text in enumerate(numbers)]
        yield _text(8, 22, "Einsum number")
    yield _text(columns.right + 6, 22, "most bits")
    for position, name in enumerate(names):
        if name:
            yield _text(columns.at(position) + columns.width / 2, 22, name, "middle")


def _height(rows: Sequence[Lifetime]) -> float:
    return 18 + (_PROFILE + 8 if rows[0].size else 0.0) + _ROW * len(rows)


def _memory(
    rows: Sequence[Lifetime], columns: _Columns, colours: dict[str, str], y: float
) -> Iterator[str]:
    """One memory: its name, how full it is, and its tensors."""
    size = rows[0].size
    limit = f"{short(size)} bits" if size else "unlimited"
    yield (
        f'<text x="8" y="{y + 13:.1f}"><tspan font-weight="bold">{escape(rows[0].component)}'
        f'</tspan><tspan dx="8" fill-opacity="0.7">{limit}</tspan></text>'
    )
    y += 18
    if size:
        yield from _profile(rows, size, columns, colours, y)
        y += _PROFILE + 8
    for each in rows:
        yield _text(columns.left - 6, y + 14, each.tensor, "end")
        for position, bits in enumerate(each.bits):
            if bits:
                yield _stay(each, position, columns, colours[each.tensor], y)
        yield _text(columns.right + 6, y + 14, short(each.most))
        y += _ROW


def _stay(each: Lifetime, position: int, columns: _Columns, shade: str, y: float) -> str:
    """The bar of one tensor during one Einsum: pale where it is only kept."""
    used = each.used[position]
    words = "in use" if used else "kept"
    title = (
        f"{each.tensor} in {each.component} during {columns.names[position]}:"
        f" {short(each.bits[position])} bits, {words}"
    )
    return (
        f'<rect x="{columns.at(position):.1f}" y="{y + 3:.1f}" width="{columns.width:.1f}"'
        f' height="{_ROW - 6:.1f}" fill="{shade}" fill-opacity="{1 if used else 0.3}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _profile(
    rows: Sequence[Lifetime],
    size: Fraction,
    columns: _Columns,
    colours: dict[str, str],
    y: float,
) -> Iterator[str]:
    """What fills the memory during each Einsum, stacked; the dashed line is its size."""
    totals = [sum((each.bits[i] for each in rows), Fraction(0)) for i in range(len(columns.names))]
    top, floor = max(size, *totals), y + _PROFILE
    for position, total in enumerate(totals):
        reached = Fraction(0)
        for each in rows:
            bits = each.bits[position]
            height = float(bits / top) * _PROFILE
            reached += bits
            if bits:
                up = floor - float(reached / top) * _PROFILE
                yield (
                    f'<rect x="{columns.at(position):.1f}" y="{up:.1f}"'
                    f' width="{columns.width:.1f}" height="{height:.1f}"'
                    f' fill="{colours[each.tensor]}"><title>{escape(each.tensor)}:'
                    f" {short(bits)} of {short(total)} bits</title></rect>"
                )
    limit = floor - float(size / top) * _PROFILE
    yield (
        f'<path d="M{columns.left:.1f} {limit:.1f}H{columns.right:.1f}" stroke="currentColor"'
        ' stroke-dasharray="5 4"/>'
        f'<path d="M{columns.left:.1f} {floor:.1f}H{columns.right:.1f}" stroke="currentColor"/>'
    )
    yield _text(columns.right + 6, limit + 4, "full")
    yield _text(columns.right + 6, floor + 1, f"peak {percent(max(totals) / size)}")


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'

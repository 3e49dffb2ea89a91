"""Scatter plots with logarithmic axes as SVG, without dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from solver_mapper.errors import InputError, SourceLocation

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 92, 24, 24, 60
COLOURS = ("#1b6ca8", "#c8553d", "#3f7d20", "#7b4b94", "#a47c00", "#0f8b8d")


@dataclass(frozen=True)
class Picture:
    """An SVG picture; notebooks show it."""

    svg: str

    def save(self, path: str | Path) -> None:
        """Write it to a file. Raises: InputError if that cannot be done."""
        try:
            Path(path).write_text(self.svg, encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror})", SourceLocation(str(path))
            ) from None

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class _Axis:
    """Positions of values between `low` and `high` on a logarithmic axis from pixel `start` to
    `end`.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - math.log10(self.low)) / (
            math.log10(self.high) - math.log10(self.low)
        )
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        """1, 2 and 5 times powers of ten, or powers alone where these would be many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 3 else (1,)
        for exponent in range(first, last + 1):
            for step in steps:
                value = step * 10.0**exponent
                if self.low <= value <= self.high:
                    yield value


def scatter(
    rows: Sequence[Mapping[str, Any]], x: str, y: str, *, series: str, filled: str
) -> Picture:
    """Points of the columns `x` and `y`, a colour for each value of `series`, filled where `filled`
    is true.

    Rows without both values are left out.
    Raises: InputError for columns without positive numbers.
    """
    points = [
        (str(row[series]), float(row[x]), float(row[y]), bool(row[filled]))
        for row in rows
        if _positive(row.get(x)) and _positive(row.get(y))
    ]
    if not points:
        raise InputError(f"no point has positive numbers '{x}' and '{y}'", SourceLocation("plot"))
    across = _axis([point[1] for point in points], LEFT, WIDTH - RIGHT)
    up = _axis([point[2] for point in points], HEIGHT - BOTTOM, TOP)
    names = list(dict.fromkeys(point[0] for point in points))
    body = [*_frame(across, up), *_titles(x, y), *_legend(names)]
    for name, a, b, on_front in points:
        colour = COLOURS[names.index(name) % len(COLOURS)]
        fill = colour if on_front else "white"
        body.append(
            f'<circle cx="{across(a):.1f}" cy="{up(b):.1f}" r="4" fill="{fill}" stroke="{colour}"'
            f' stroke-width="1.5"><title>{escape(name)}: {a:g}, {b:g}</title></circle>'
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}" font-family="sans-serif" font-size="12"><rect width="100%"'
        ' height="100%" fill="white"/>'
    )
    return Picture("\n".join([head, *body, "</svg>"]) + "\n")


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    return _Axis(min(values) / 1.2, max(values) * 1.2, start, end)


def _frame(across: _Axis, up: _Axis) -> Iterator[str]:
    yield (
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}"'
        f' height="{HEIGHT - TOP - BOTTOM}" fill="none" stroke="#555"/>'
    )
    for value in across.ticks():
        yield f'<path d="M{across(value):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield (
            f'<text x="{across(value):.1f}" y="{HEIGHT - BOTTOM + 16}"'
            f' text-anchor="middle">{_short(value)}</text>'
        )
    for value in up.ticks():
        yield f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
        yield (
            f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{_short(value)}</text>'
        )


def _titles(x: str, y: str) -> Iterator[str]:
    yield (
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 16}"'
        f' text-anchor="middle">{escape(x)}</text>'
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18'
        f' {middle})">{escape(y)}</text>'
    )


def _legend(names: Sequence[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        colour = COLOURS[number % len(COLOURS)]
        yield (
            f'<text x="{WIDTH - RIGHT - 8}" y="{TOP + 16 * (number + 1)}" fill="{colour}"'
            f' text-anchor="end">{escape(name)}</text>'
        )


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1 <= value < 10**6 else f"{value:g}"

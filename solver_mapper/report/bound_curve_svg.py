"""Log-log plots of staircases as SVG, without dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from solver_mapper.bounds.curve import Curve, Mark
from solver_mapper.core.rendering import svg_of

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 24, 60
COLOURS = ("#1b6ca8", "#c8553d", "#3f7d20", "#7b4b94", "#a47c00", "#0f8b8d")


@dataclass(frozen=True)
class _Scale:
    """Maps values between `low` and `high` to pixels, logarithmically."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        part = (math.log10(value) - math.log10(self.low)) / (
            math.log10(self.high) - math.log10(self.low)
        )
        return self.start + part * (self.end - self.start)

    def decades(self) -> Iterator[int]:
        yield from range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)


@svg_of.register(Curve)
def curve_svg(curve: Curve[Any]) -> str:
    """A curve and those beside it in one picture."""
    own = tuple((point.buffer, point.accesses) for point in curve.points)
    return plot({curve.title: own, **curve.beside}, curve.marks, curve.units)


def plot(curves: Mapping[str, Sequence[tuple[int, int]]], marks: Sequence[Mark], units: str) -> str:
    """All staircases of (buffer, accesses) in one picture, by name: buffer to the right, accesses
    upwards, a dashed line a mark.
    """
    buffers = [buffer for steps in curves.values() for buffer, _ in steps] + [
        mark.buffer for mark in marks
    ]
    accesses = [accesses for steps in curves.values() for _, accesses in steps]
    x = _Scale(min(buffers) / 1.3, max(buffers) * 3, LEFT, WIDTH - RIGHT)
    y = _Scale(min(accesses) / 1.3, max(accesses) * 1.5, HEIGHT - BOTTOM, TOP)
    body = [*_grid(x, y), *_labels(units)]
    body += [line for mark in marks for line in _mark(mark.name, x(mark.buffer))]
    for number, (name, steps) in enumerate(curves.items()):
        body += _curve(name, steps, x, y, number)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}" font-family="sans-serif" font-size="12"><rect width="100%"'
        ' height="100%" fill="white"/>'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _curve(
    name: str, steps: Sequence[tuple[int, int]], x: _Scale, y: _Scale, number: int
) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    (first, most), *others = steps
    path = f"M{x(first):.1f} {TOP}V{y(most):.1f}" + "".join(
        f"H{x(buffer):.1f}V{y(accesses):.1f}" for buffer, accesses in others
    )
    at = TOP + 16 * (number + 1)
    return [
        f'<path d="{path}H{x.end:.1f}" fill="none" stroke="{colour}" stroke-width="2"/>',
        (
            f'<text x="{x.end - 8:.1f}" y="{at}" fill="{colour}"'
            f' text-anchor="end">{escape(name)}</text>'
        ),
    ]


def _mark(name: str, across: float) -> Sequence[str]:
    line = f'<path d="M{across:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#555" stroke-dasharray="5 4"/>'
    return (
        line,
        f'<text x="{across + 4:.1f}" y="{HEIGHT - BOTTOM - 6}" fill="#555">{escape(name)}</text>',
    )


def _grid(x: _Scale, y: _Scale) -> Iterator[str]:
    for power in x.decades():
        across = x(10.0**power)
        yield f'<path d="M{across:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield (
            f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 18}"'
            f' text-anchor="middle">{_power(power)}</text>'
        )
    for power in y.decades():
        down = y(10.0**power)
        yield f'<path d="M{LEFT} {down:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{_power(power)}</text>'
    yield f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="black"/>'


def _power(power: int) -> str:
    return f'10<tspan dy="-5" font-size="9">{power}</tspan>'


def _labels(units: str) -> Iterator[str]:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 16}" text-anchor="middle">buffer'
        f" ({units})</text>"
    )
    yield (
        f'<text x="20" y="{middle}" text-anchor="middle" transform="rotate(-90 20 {middle})">least'
        f" accesses ({units})</text>"
    )

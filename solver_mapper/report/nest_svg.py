"""A mapping drawn over the memory hierarchy: a box for each level with the tiles that it stores,
how full it is, its loops in time, and its loops in space on the mesh below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from math import prod

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.mapping import LevelMapping, Loop
from solver_mapper.core.results.rendering import svg_of
from solver_mapper.core.results.statistics import LevelStatistics, Statistics
from solver_mapper.report.charts.palette import colours_of
from solver_mapper.report.charts.svg import STANDALONE
from solver_mapper.report.tables import number, percent

WIDTH = 720
_PAD, _LINE, _STEP, _CHARACTER = 14, 19, 12, 7.0
_CHIP, _BAR, _MESH, _GAP = 22, 12, 96, 20
_MOST_CELLS = 32
"""Rows or columns of a mesh that are drawn one by one."""


@dataclass
class _Pen:
    """Shapes so far; `y` is where the next one goes, `depth` counts the loops so far."""

    y: float = 0.0
    depth: int = 0
    shapes: list[str] = field(default_factory=list)

    def heading(self, x: float, name: str, words: str) -> None:
        """A name, and beside it what is to be said of it."""
        self.shapes.append(
            f'<text x="{x:.1f}" y="{self.y:.1f}"><tspan font-weight="bold">{escape(name)}</tspan>'
            f'<tspan dx="10" fill-opacity="0.7">{escape(words)}</tspan></text>'
        )

    def text(self, x: float, text: str, *, faint: bool = False) -> None:
        style = ' fill-opacity="0.7"' if faint else ""
        self.shapes.append(f'<text x="{x:.1f}" y="{self.y:.1f}"{style}>{escape(text)}</text>')


@svg_of.register
def nest_svg(statistics: Statistics) -> str:
    """The picture as the text of an SVG file."""
    colours, pen = colours_of(statistics.problem.tensor_names), _Pen(y=2.0)
    used = 1
    levels = statistics.architecture.levels
    for index, (buffer, mapped) in enumerate(zip(levels, statistics.mapping.levels, strict=True)):
        fanout = statistics.architecture.fanout(index)
        _level(pen, buffer, mapped, statistics.levels[buffer.name], used, fanout, colours)
        used *= prod(each.bound for each in mapped.spatial)
        _arrow(pen)
    _arithmetic(pen, statistics, used)
    words = _described(statistics)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {pen.y + 2:.0f}"'
        f' width="{WIDTH}" height="{pen.y + 2:.0f}" font-family="sans-serif" font-size="12.5"'
        f' fill="currentColor" style="{STANDALONE}" role="img">'
        f"<title>Loop nest over the memory hierarchy</title><desc>{escape(words)}</desc>"
    )
    return "\n".join([head, *pen.shapes, "</svg>"]) + "\n"


def _described(statistics: Statistics) -> str:
    """The picture in words, outer to inner."""
    told = []
    for mapped in statistics.mapping.levels:
        rows = statistics.levels[mapped.level].tensors
        stored = ", ".join(f"{name} ({row.tile:,} words)" for name, row in rows.items())
        loops = ", ".join(_loop_text(each) for each in _busy((*mapped.temporal, *mapped.spatial)))
        told.append(f"{mapped.level} stores {stored or 'nothing'}; loops: {loops or 'none'}.")
    return " ".join(told)


def _level(
    pen: _Pen,
    buffer: Buffer,
    mapped: LevelMapping,
    level: LevelStatistics,
    used: int,
    fanout: tuple[int, int],
    colours: dict[str, str],
) -> None:
    """One box. What it contains is drawn first, since its height follows from that."""
    top, at = pen.y, len(pen.shapes)
    pen.y += _LINE + 2
    pen.heading(_PAD, buffer.name, _header(buffer, level, used))
    _chips(pen, buffer, level, colours)
    if buffer.capacity and level.tensors:
        _fill(pen, buffer.capacity, level, colours)
    for each in _busy(mapped.temporal):
        pen.y += _LINE
        pen.text(_PAD + pen.depth * _STEP, _loop_text(each))
        pen.depth += 1
    if fanout != (1, 1):
        _mesh(pen, mapped, fanout)
    pen.y += 11
    pen.shapes.insert(
        at,
        f'<rect x="1" y="{top:.1f}" width="{WIDTH - 2}" height="{pen.y - top:.1f}" rx="6"'
        ' fill="currentColor" fill-opacity="0.04" stroke="currentColor" stroke-opacity="0.45"/>',
    )


def _header(buffer: Buffer, level: LevelStatistics, used: int) -> str:
    held = sum(row.tile for row in level.tensors.values())
    instances = f"{used:,} of {buffer.instances:,} in use" if buffer.instances > 1 else "1 instance"
    if not level.tensors:
        return f"{instances}, stores nothing"
    if buffer.capacity is None:
        return f"{instances}, {number(held)} words, unlimited"
    full = percent(Fraction(held, buffer.capacity))
    return f"{instances}, {number(held)} of {number(buffer.capacity)} words each, {full} full"


def _chips(pen: _Pen, buffer: Buffer, level: LevelStatistics, colours: dict[str, str]) -> None:
    """A label for each tensor: its colour and tile where it is stored, dashed where it bypasses."""
    if buffer.entries == 0:
        return
    pen.y += 8
    x = float(_PAD)
    for name, shade in colours.items():
        row = level.tensors.get(name)
        text = f"{name} {row.tile:,}" if row else f"{name} bypasses"
        width = len(text) * _CHARACTER + 26
        if x + width > WIDTH - _PAD and x > _PAD:
            x, pen.y = float(_PAD), pen.y + _CHIP + 5
        dash = "" if row else ' stroke-dasharray="4 3" stroke-opacity="0.6"'
        pen.shapes.append(
            f'<rect x="{x:.1f}" y="{pen.y:.1f}" width="{width:.1f}" height="{_CHIP}" rx="11"'
            f' fill="none" stroke="{shade if row else "currentColor"}" stroke-width="1.5"{dash}/>'
        )
        if row:
            pen.shapes.append(
                f'<circle cx="{x + 12:.1f}" cy="{pen.y + _CHIP / 2:.1f}" r="5" fill="{shade}"/>'
            )
        pen.y += 15
        pen.text(x + (21 if row else 12), text, faint=not row)
        pen.y -= 15
        x += width + 8
    pen.y += _CHIP


def _fill(pen: _Pen, capacity: int, level: LevelStatistics, colours: dict[str, str]) -> None:
    """A bar as long as the capacity, filled by the tiles."""
    pen.y += 8
    length, x = WIDTH - 2 * _PAD, float(_PAD)
    for name, row in level.tensors.items():
        width = min(length * row.tile / capacity, length - (x - _PAD))
        pen.shapes.append(
            f'<rect x="{x:.1f}" y="{pen.y:.1f}" width="{width:.1f}" height="{_BAR}"'
            f' fill="{colours[name]}"><title>{escape(name)}: {row.tile:,} of {capacity:,} words'
            "</title></rect>"
        )
        x += width
    pen.shapes.append(
        f'<rect x="{_PAD}" y="{pen.y:.1f}" width="{length}" height="{_BAR}" fill="none"'
        ' stroke="currentColor" stroke-opacity="0.5"/>'
    )
    pen.y += _BAR


def _mesh(pen: _Pen, mapped: LevelMapping, fanout: tuple[int, int]) -> None:
    """The instances below as a grid; those in use are dark. Loops stand beside it, axis by axis."""
    along = {axis: _busy(each for each in mapped.spatial if each.axis == axis) for axis in "XY"}
    busy = tuple(prod(each.bound for each in along[axis]) for axis in "XY")
    pen.y += 10
    columns, rows = fanout
    cell = min(_MESH / rows, 2.2 * _MESH / columns, 16.0)
    width, height = max(cell * columns, 3.0), max(cell * rows, 3.0)
    x = min(_PAD + pen.depth * _STEP, WIDTH - _PAD - width - 260)
    pen.shapes += _grid(x, pen.y, (width, height), fanout, busy)
    beside, line = x + width + 14, pen.y + 11
    for text, faint in _mesh_lines(along, busy, fanout):
        style = ' fill-opacity="0.7"' if faint else ""
        pen.shapes.append(f'<text x="{beside:.1f}" y="{line:.1f}"{style}>{escape(text)}</text>')
        line += _LINE - 1
    pen.depth += sum(len(loops) for loops in along.values())
    pen.y = max(pen.y + height, line - 10)


def _mesh_lines(
    along: dict[str, list[Loop]], busy: Sequence[int], fanout: tuple[int, int]
) -> Iterator[tuple[str, bool]]:
    for axis, loops, reached, most in zip("XY", along.values(), busy, fanout, strict=True):
        if most > 1:
            spread = " x ".join(f"{each.dim}={_bound(each)}" for each in loops) or "no loop"
            yield f"{axis}: {spread} ({reached} of {most})", False
    share = Fraction(prod(busy), prod(fanout))
    yield f"{prod(busy):,} of {prod(fanout):,} used, {percent(share)}", True


def _grid(
    x: float, y: float, size: tuple[float, float], cells: tuple[int, int], busy: Sequence[int]
) -> Iterator[str]:
    (width, height), (columns, rows) = size, cells
    used = f'width="{width * busy[0] / columns:.1f}" height="{height * busy[1] / rows:.1f}"'
    yield f'<rect x="{x:.1f}" y="{y:.1f}" {used} fill="currentColor" fill-opacity="0.45"/>'
    path = f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}Z"
    if columns <= _MOST_CELLS:
        path += "".join(
            f"M{x + width * i / columns:.1f} {y:.1f}v{height:.1f}" for i in range(1, columns)
        )
    if rows <= _MOST_CELLS:
        path += "".join(f"M{x:.1f} {y + height * i / rows:.1f}h{width:.1f}" for i in range(1, rows))
    yield (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.6"'
        ' stroke-width="0.8"/>'
    )


def _arrow(pen: _Pen) -> None:
    middle = WIDTH / 2
    pen.shapes.append(
        f'<path d="M{middle} {pen.y:.1f}v{_GAP - 3}m-5 -6l5 6l5 -6" fill="none"'
        ' stroke="currentColor" stroke-opacity="0.7" stroke-width="1.5"/>'
    )
    pen.y += _GAP


def _arithmetic(pen: _Pen, statistics: Statistics, used: int) -> None:
    units = statistics.architecture.arithmetic
    pen.shapes.append(
        f'<rect x="1" y="{pen.y:.1f}" width="{WIDTH - 2}" height="34" rx="17" fill="none"'
        ' stroke="currentColor" stroke-opacity="0.45"/>'
    )
    pen.y += 22
    words = f"{used:,} of {units.instances:,} compute units in use, {statistics.macs:,} MACs"
    pen.heading(_PAD + 6, units.name, words)
    pen.y += 13


def _busy(loops: Iterator[Loop] | Sequence[Loop]) -> list[Loop]:
    """Loops that iterate more than once."""
    return [each for each in loops if each.bound > 1]


def _loop_text(loop: Loop) -> str:
    return (
        f"parallel-for {loop.dim} in {_bound(loop)} along {loop.axis}"
        if loop.axis
        else f"for {loop.dim} in {_bound(loop)}"
    )


def _bound(loop: Loop) -> str:
    return f"{loop.bound}" if loop.perfect else f"{loop.bound}, at last {loop.last}"

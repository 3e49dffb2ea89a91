"""Charts as SVG, without dependencies. Text and lines take the colour of the text around them, so
that a chart within a dark page is readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from solver_mapper.core.results.chart import BarChart, Picture, PlaneChart, Series
from solver_mapper.core.results.rendering import svg_of
from solver_mapper.report.charts.palette import colour
from solver_mapper.report.charts.scale import Scale, scale_of, short

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 78, 16, 40, 52
_BAR, _BETWEEN = 22, 10
_CHARACTER = 6.6
_LABELLED = 4
"""Points of a series that have their labels beside them; of more, only the pointer shows them."""
STANDALONE = "background:white;color:#1a1a1a"
"""Colours of a picture by itself; a page overrides them."""
_GRID = 'stroke="currentColor" stroke-opacity="0.15"'


@svg_of.register
def bars_svg(chart: BarChart) -> str:
    """Stacked or grouped horizontal bars with a legend above and the total at each end."""
    names = list(chart.parts)
    legend = _legend(names)
    left = 14 + max(len(each) for each in chart.categories) * _CHARACTER
    rows = len(names) if chart.grouped else 1
    pitch = (_BAR * rows if chart.grouped else _BAR) + _BETWEEN
    top = TOP + 18 * (len(legend) - 1) if len(names) > 1 else 24
    height = top + pitch * len(chart.categories) + 44
    totals = [
        sum(values[i] for values in chart.parts.values()) for i in range(len(chart.categories))
    ]
    widest = (
        [value for values in chart.parts.values() for value in values] if chart.grouped else totals
    )
    across = scale_of(widest, left, WIDTH - 70, False, zero=True)
    body = list(_legend_lines(legend, left)) if len(names) > 1 else []
    body += _bar_grid(across, top, height - 40, chart.unit)
    for number, category in enumerate(chart.categories):
        y = top + number * pitch
        body.append(_text(left - 8, y + pitch / 2 - 1, category, "end"))
        body += (
            _group(chart, number, y, across) if chart.grouped else _stack(chart, number, y, across)
        )
    return _document(chart.title, chart.summary, height, body)


def _stack(chart: BarChart, number: int, y: float, across: Scale) -> Iterator[str]:
    reached = 0.0
    for index, (name, values) in enumerate(chart.parts.items()):
        value = values[number]
        if value <= 0:
            continue
        start, end = across(reached), across(reached + value)
        reached += value
        title = f"{chart.categories[number]}, {name}: {value:,.6g} {chart.unit}"
        yield _bar(start, y, end - start, _BAR, index, title)
    yield _text(across(reached) + 5, y + _BAR / 2 + 4, short(reached), "start")


def _group(chart: BarChart, number: int, y: float, across: Scale) -> Iterator[str]:
    for index, (name, values) in enumerate(chart.parts.items()):
        value, at = values[number], y + index * _BAR
        title = f"{chart.categories[number]}, {name}: {value:,.6g} {chart.unit}"
        yield _bar(across(0), at + 1, max(across(value) - across(0), 0), _BAR - 2, index, title)
        yield _text(across(value) + 5, at + _BAR / 2 + 4, short(value), "start")


def _bar(x: float, y: float, width: float, height: float, index: int, title: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}"'
        f' fill="{colour(index)}"><title>{escape(title)}</title></rect>'
    )


def _bar_grid(across: Scale, top: float, bottom: float, unit: str) -> Iterator[str]:
    for value in across.ticks():
        yield f'<path d="M{across(value):.1f} {top - 4:.1f}V{bottom:.1f}" {_GRID}/>'
        yield _text(across(value), bottom + 16, short(value), "middle")
    yield _text((across.start + across.end) / 2, bottom + 34, unit, "middle")


@svg_of.register
def picture_svg(picture: Picture) -> str:
    """A picture as it is."""
    return picture.text


@svg_of.register
def plane_svg(chart: PlaneChart) -> str:
    """Points, lines and steps between two axes, with a legend above and marks as dashed lines."""
    legend = _legend([each.name for each in chart.series])
    top = TOP + 18 * (len(legend) - 1)
    xs = [value for each in chart.series for value in each.x] + list(chart.marks.values())
    x = scale_of(xs, LEFT, WIDTH - RIGHT, chart.x.log)
    y = scale_of(
        (value for each in chart.series for value in each.y), HEIGHT - BOTTOM, top, chart.y.log
    )
    body = [*_legend_lines(legend, LEFT), *_plane_grid(chart, x, y, top)]
    for name, value in chart.marks.items():
        body += _mark(name, x(value), top)
    for number, each in enumerate(chart.series):
        body += _series(each, x, y, number, top)
    return _document(chart.title, chart.summary, HEIGHT, body)


def _plane_grid(chart: PlaneChart, x: Scale, y: Scale, top: float) -> Iterator[str]:
    for value in x.ticks():
        yield f'<path d="M{x(value):.1f} {top}V{HEIGHT - BOTTOM}" {_GRID}/>'
        yield _text(x(value), HEIGHT - BOTTOM + 17, short(value), "middle")
    for value in y.ticks():
        yield f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" {_GRID}/>'
        yield _text(LEFT - 7, y(value) + 4, short(value), "end")
    yield (
        f'<path d="M{LEFT} {top}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none"'
        ' stroke="currentColor"/>'
    )
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, chart.x.title, "middle")
    middle = (top + HEIGHT - BOTTOM) / 2
    yield (
        f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">'
        f"{escape(chart.y.title)}</text>"
    )


def _mark(name: str, across: float, top: float) -> Sequence[str]:
    x, y = across - 4, HEIGHT - BOTTOM - 6
    return (
        (
            f'<path d="M{across:.1f} {top}V{HEIGHT - BOTTOM}" stroke="currentColor"'
            ' stroke-opacity="0.6" stroke-dasharray="5 4"/>'
        ),
        (
            f'<text x="{x:.1f}" y="{y}" text-anchor="start" transform="rotate(-90 {x:.1f} {y})">'
            f"{escape(name)}</text>"
        ),
    )


def _series(series: Series, x: Scale, y: Scale, number: int, top: float) -> Iterator[str]:
    points = [
        (x(a), y(b), index)
        for index, (a, b) in enumerate(zip(series.x, series.y, strict=True))
        if (a > 0 or not x.log) and (b > 0 or not y.log)
    ]
    if series.style != "points" and points:
        dash = ' stroke-dasharray="7 4"' if series.dashed else ""
        yield (
            f'<path d="{_path(points, series.style == "steps", x, top)}" fill="none"'
            f' stroke="{colour(number)}" stroke-width="2"{dash}/>'
        )
    for across, up, index in points if series.style == "points" or series.labels else ():
        yield _point(series, across, up, index, number)
    if series.style == "points" and len(series.labels) <= _LABELLED:
        yield from _labels(series, sorted(points))


def _labels(series: Series, points: Sequence[tuple[float, float, int]]) -> Iterator[str]:
    """The labels of a few points, below each other so that none covers another."""
    for row, (across, up, index) in enumerate(points if series.labels else ()):
        text, low = series.labels[index], up + 20 + 15 * row
        room = WIDTH - RIGHT - len(text) * _CHARACTER
        yield f'<path d="M{across:.1f} {up + 5:.1f}V{low - 10:.1f}" {_GRID}/>'
        yield _text(min(across - 4, room), low, text, "start")


def _path(points: Sequence[tuple[float, float, int]], steps: bool, x: Scale, top: float) -> str:
    (first, most, _), *others = points
    if not steps:
        return f"M{first:.1f} {most:.1f}" + "".join(f"L{a:.1f} {b:.1f}" for a, b, _ in others)
    walk = "".join(f"H{a:.1f}V{b:.1f}" for a, b, _ in others)
    falls = others and others[-1][1] > most
    above = f"M{first:.1f} {top}V{most:.1f}" if falls else f"M{first:.1f} {most:.1f}"
    return f"{above}{walk}H{x.end:.1f}"


def _point(series: Series, across: float, up: float, index: int, number: int) -> str:
    filled = not series.filled or series.filled[index]
    fill = colour(number) if filled else "none"
    label = f": {series.labels[index]}" if series.labels else ""
    title = f"{series.name}{label}; {series.x[index]:,.6g}, {series.y[index]:,.6g}"
    return (
        f'<path d="{_shape(number, across, up)}" fill="{fill}" stroke="{colour(number)}"'
        f' stroke-width="1.5"><title>{escape(title)}</title></path>'
    )


def _shape(number: int, x: float, y: float) -> str:
    """The mark of a series: a circle, a square, a diamond or a triangle."""
    if number % 4 == 0:
        return f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"
    if number % 4 == 1:
        return f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8Z"
    if number % 4 == 2:
        return f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5Z"
    return f"M{x:.1f} {y - 5:.1f}l5 9h-10Z"


def _legend(names: Sequence[str]) -> list[list[tuple[int, str]]]:
    """The names, numbered, in lines that fit above the chart."""
    lines: list[list[tuple[int, str]]] = [[]]
    used = 0.0
    for number, name in enumerate(names):
        width = len(name) * _CHARACTER + 34
        if lines[-1] and used + width > WIDTH - LEFT - RIGHT:
            lines.append([])
            used = 0.0
        lines[-1].append((number, name))
        used += width
    return lines


def _legend_lines(lines: Sequence[Sequence[tuple[int, str]]], left: float) -> Iterator[str]:
    for row, entries in enumerate(lines):
        x, y = left, 24 + 18 * row
        for number, name in entries:
            yield f'<path d="{_shape(number, x + 6, y - 4)}" fill="{colour(number)}"/>'
            yield _text(x + 16, y, name, "start")
            x += len(name) * _CHARACTER + 34


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(title: str, summary: str, height: float, body: Sequence[str]) -> str:
    described = f"<desc>{escape(summary)}</desc>" if summary else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}"'
        f' width="{WIDTH}" height="{height:.0f}" font-family="sans-serif" font-size="12"'
        f' fill="currentColor" style="{STANDALONE}" role="img">'
        f"<title>{escape(title)}</title>{described}"
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"

"""Charts as figures of Matplotlib (extra `plot`), for PNG, PDF and further styling."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

from solver_mapper.core.results.chart import BarChart, PlaneChart, Series
from solver_mapper.core.results.rendering import figure_of, image_of
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.report.charts.palette import colour
from solver_mapper.report.charts.steps import prolonged

_SYMBOLS = ("o", "s", "D", "^", "P", "v")
_SIZE = (7.2, 4.2)


def require_matplotlib() -> ModuleType:
    """The module of Matplotlib's figures. Raises: InputError where it is not installed."""
    try:
        from matplotlib import figure
    except ImportError:
        raise InputError(
            "matplotlib is not installed",
            SourceLocation("plot"),
            "install solver-mapper with the extra 'plot', or save the chart as .svg",
        ) from None
    module: ModuleType = figure
    return module


@image_of.register(BarChart)
@image_of.register(PlaneChart)
def image(chart: BarChart | PlaneChart, image_format: str) -> bytes:
    """The chart as a file. Dates are left out: equal charts give equal bytes."""
    out = io.BytesIO()
    dated = {"CreationDate": None} if image_format == "pdf" else None
    figure_of(chart).savefig(out, format=image_format, dpi=150, metadata=dated)
    return out.getvalue()


@figure_of.register
def _bars(chart: BarChart) -> Any:
    rows = len(chart.categories) * (len(chart.parts) if chart.grouped else 1)
    figure = require_matplotlib().Figure(
        figsize=(_SIZE[0], max(2.0, 0.3 * rows + 1.4)), layout="constrained"
    )
    axes = figure.add_subplot()
    places = range(len(chart.categories))
    height = 0.8 / len(chart.parts) if chart.grouped else 0.7
    reached = [0.0] * len(chart.categories)
    for number, (name, values) in enumerate(chart.parts.items()):
        shift = (number - (len(chart.parts) - 1) / 2) * height if chart.grouped else 0.0
        left = 0 if chart.grouped else reached
        axes.barh(
            [place + shift for place in places],
            values,
            height,
            left=left,
            label=_literal(name),
            color=colour(number),
        )
        reached = [a + b for a, b in zip(reached, values, strict=True)]
    axes.set_yticks(list(places), [_literal(each) for each in chart.categories])
    axes.invert_yaxis()
    axes.set_xlabel(_literal(chart.unit))
    axes.spines[["top", "right"]].set_visible(False)
    if len(chart.parts) > 1:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    return figure


@figure_of.register
def _plane(chart: PlaneChart) -> Any:
    figure = require_matplotlib().Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    for number, series in enumerate(prolonged(chart).series):
        _draw(axes, series, number)
    for name, at in chart.marks.items():
        axes.axvline(at, linestyle="--", linewidth=1, color="0.4")
        axes.text(
            at,
            0.02,
            _literal(name),
            rotation=90,
            ha="right",
            color="0.3",
            fontsize=8,
            transform=axes.get_xaxis_transform(),
        )
    for axis, described in (("x", chart.x), ("y", chart.y)):
        getattr(axes, f"set_{axis}label")(_literal(described.title))
        if described.log:
            getattr(axes, f"set_{axis}scale")("log")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return figure


def _draw(axes: Any, series: Series, number: int) -> None:
    label, shade = _literal(series.name), colour(number)
    if series.style != "points":
        style = "steps-post" if series.style == "steps" else "default"
        dash = "--" if series.dashed else "-"
        axes.plot(series.x, series.y, dash, drawstyle=style, color=shade, label=label)
    if series.style == "points" or series.labels:
        filled = series.filled or (True,) * len(series.x)
        faces = [shade if each else "none" for each in filled]
        named = label if series.style == "points" else None
        axes.scatter(
            series.x,
            series.y,
            s=26,
            marker=_SYMBOLS[number % len(_SYMBOLS)],
            facecolors=faces,
            edgecolors=shade,
            label=named,
            zorder=3,
        )


def _literal(text: str) -> str:
    """Text in which Matplotlib sees no formulas."""
    return text.replace("$", r"\$")

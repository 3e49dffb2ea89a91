"""Charts as the JSON that plotly.js draws. Colours of text and grid are set by the page."""

from __future__ import annotations

import gzip
from base64 import b64encode
from functools import lru_cache, singledispatch
from importlib.resources import files
from math import log10
from typing import Any

from solver_mapper.core.results.chart import Axis, BarChart, PlaneChart, Series
from solver_mapper.report.charts.palette import colour, symbol
from solver_mapper.report.charts.steps import prolonged

_LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
_LONG = 20
"""Characters of a label that needs several lines."""
_SHAPES = {"line": "linear", "steps": "hv"}


def packed_library() -> str | None:
    """plotly.js as the package `plotly` ships it, gzipped, in base64: less than half its size. None
    where the package is not installed.
    """
    try:
        script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    except (ImportError, OSError):
        return None
    return _packed(script)


@lru_cache(maxsize=1)
def _packed(script: bytes) -> str:
    return b64encode(gzip.compress(script, mtime=0)).decode("ascii")


@singledispatch
def plotly_of(chart: object) -> dict[str, Any]:
    """`data` and `layout` for `Plotly.newPlot`.

    Raises: TypeError for anything but a chart.
    """
    raise TypeError(f"{type(chart).__name__} is no chart")


@plotly_of.register
def _bars(chart: BarChart) -> dict[str, Any]:
    categories = [_in_lines(_plain(each)) for each in chart.categories]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": _plain(name),
            "x": list(values),
            "y": categories,
            "marker": {"color": colour(number)},
            "hovertemplate": "%{y}, %{fullData.name}: %{x:,.6~g} " + chart.unit + "<extra></extra>",
        }
        for number, (name, values) in enumerate(chart.parts.items())
    ]
    rows = len(chart.categories) * (len(chart.parts) if chart.grouped else 1)
    layout = {
        "barmode": "group" if chart.grouped else "stack",
        "height": max(220, (36 if any("<br>" in each for each in categories) else 24) * rows + 130),
        "xaxis": {"title": {"text": chart.unit}, "automargin": True, "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
        "legend": _LEGEND | {"traceorder": "normal"},
        "showlegend": len(chart.parts) > 1,
        "margin": {"l": 20, "r": 20, "t": 30, "b": 50},
    }
    return {"data": data, "layout": layout}


@plotly_of.register
def _plane(chart: PlaneChart) -> dict[str, Any]:
    layout = {
        "height": 420,
        "xaxis": _axis(chart.x),
        "yaxis": _axis(chart.y),
        "legend": _LEGEND,
        "showlegend": True,
        "margin": {"l": 20, "r": 20, "t": 30, "b": 50},
        "shapes": [
            {
                "type": "line",
                "x0": at,
                "x1": at,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"dash": "dash", "width": 1},
            }
            for at in chart.marks.values()
        ],
        "annotations": [
            {
                "x": _position(chart.x, at),
                "y": 0.02,
                "yref": "paper",
                "text": _plain(name),
                "textangle": -90,
                "showarrow": False,
                "xanchor": "right",
                "yanchor": "bottom",
            }
            for name, at in chart.marks.items()
        ],
        "hovermode": "closest",
    }
    return {
        "data": [_series(each, number) for number, each in enumerate(prolonged(chart).series)],
        "layout": layout,
    }


def _series(series: Series, number: int) -> dict[str, Any]:
    filled = series.filled or (True,) * len(series.x)
    marks = {
        "symbol": [symbol(number) + ("" if each else "-open") for each in filled],
        "size": 8,
        "color": colour(number),
    }
    drawn: dict[str, Any] = {
        "type": "scatter",
        "name": _plain(series.name),
        "x": list(series.x),
        "y": list(series.y),
        "mode": "markers" if series.style == "points" else "lines",
        "hovertemplate": ("%{text}<br>" if series.labels else "") + "%{x:,.6~g}, %{y:,.6~g}",
    }
    if series.labels:
        drawn["text"] = [_plain(each) for each in series.labels]
    if series.style == "points":
        return drawn | {"marker": marks}
    dash = "dash" if series.dashed else "solid"
    line = {"color": colour(number), "dash": dash, "shape": _SHAPES[series.style]}
    points = {"mode": "lines+markers", "marker": marks} if series.labels else {}
    return drawn | {"line": line} | points


def _axis(axis: Axis) -> dict[str, Any]:
    kind = "log" if axis.log else "linear"
    return {"title": {"text": _plain(axis.title)}, "type": kind, "automargin": True}


def _position(axis: Axis, value: float) -> float:
    """Where an annotation stands: on logarithmic axes Plotly takes the exponent."""
    return log10(value) if axis.log else value


def _in_lines(text: str) -> str:
    """A long label in a line for each part, so that bars have room on a narrow screen."""
    return text if len(text) <= _LONG else text.replace(": ", ":<br>", 1).replace(", ", ",<br>")


def _plain(text: str) -> str:
    """Text in which Plotly sees no markup of its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""Curves of steps go on beyond their last point, where nothing changes any more."""

from __future__ import annotations

from dataclasses import replace

from solver_mapper.core.results.chart import PlaneChart, Series

_BEYOND = 0.06
"""Share of the axis that the last step takes."""


def prolonged(chart: PlaneChart) -> PlaneChart:
    """The chart with each curve of steps drawn beyond the last point of all. Series whose points
    are marked stay as they are.
    """
    values = [value for each in chart.series for value in each.x if value > 0 or not chart.x.log]
    low, high = min(values, default=1.0), max(values, default=1.0)
    high = max(high, *chart.marks.values()) if chart.marks else high
    end = high * (high / low) ** _BEYOND if chart.x.log else high + (high - low) * _BEYOND
    return replace(chart, series=tuple(_to(each, end) for each in chart.series))


def _to(series: Series, end: float) -> Series:
    if series.style != "steps" or series.labels or not series.x:
        return series
    return replace(series, x=(*series.x, end), y=(*series.y, series.y[-1]))

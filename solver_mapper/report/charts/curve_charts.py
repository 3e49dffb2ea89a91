"""Charts of bounds: buffer size against least accesses."""

from __future__ import annotations

from typing import Any

from solver_mapper.bounds.curve import Curve
from solver_mapper.core.results.chart import Axis, Chart, PlaneChart, Series
from solver_mapper.core.results.rendering import chart_of, svg_of
from solver_mapper.report.charts.choice import chosen


def accesses_chart(curve: Curve[Any]) -> PlaneChart:
    """The curve, those beside it, and the machine's buffers."""
    own = tuple((point.buffer, point.accesses) for point in curve.points)
    return PlaneChart(
        f"{curve.title}: buffer size against least accesses",
        Axis(f"buffer ({curve.units})", log=True),
        Axis(f"least accesses ({curve.units})", log=True),
        tuple(
            Series(
                name,
                tuple(float(buffer) for buffer, _ in steps),
                tuple(float(accesses) for _, accesses in steps),
                "steps",
                dashed=number > 0,
            )
            for number, (name, steps) in enumerate({curve.title: own, **curve.beside}.items())
        ),
        {mark.name: float(mark.buffer) for mark in curve.marks},
        f"From {own[0][1]:,} accesses with a buffer of {own[0][0]:,} {curve.units} down to"
        f" {curve.least:,}, which {curve.enough:,} reach.",
    )


def intensity_chart(curve: Curve[Any]) -> PlaneChart:
    """Operations per access that each buffer size allows at most."""
    buffers = tuple(float(each.buffer) for each in curve.points)
    intensities = tuple(float(curve.intensity(each)) for each in curve.points)
    return PlaneChart(
        f"{curve.title}: buffer size against operational intensity",
        Axis(f"buffer ({curve.units})", log=True),
        Axis("operations per access, at most", log=True),
        (Series(curve.title, buffers, intensities, "steps"),),
        {mark.name: float(mark.buffer) for mark in curve.marks},
        f"At most {intensities[-1]:.4g} operations per access with any buffer.",
    )


CHARTS = {"accesses": accesses_chart, "intensity": intensity_chart}


@chart_of.register(Curve)
def curve_chart(curve: Curve[Any], what: str = "accesses") -> Chart:
    """One of `CHARTS`."""
    return chosen(CHARTS, what, curve)


@svg_of.register(Curve)
def curve_svg(curve: Curve[Any]) -> str:
    """The curve as a picture."""
    return svg_of(accesses_chart(curve))

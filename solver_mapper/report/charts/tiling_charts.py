"""Charts of tilings."""

from __future__ import annotations

from solver_mapper.core.results.chart import BarChart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.tiling.network import OBJECTIVES, NetworkTiling
from solver_mapper.tiling.result import Tiling

NAMES = {OBJECTIVES[0]: "SMAUG's choice", OBJECTIVES[1]: "least moved"}
"""What the objectives of a tiling are called in charts and reports."""


@chart_of.register
def tiling_chart(tiling: Tiling) -> BarChart:
    """Elements that the schedule moves, by tensor.

    Raises: InfeasibleError if no schedule iterates over these tiles.
    """
    moved = tiling.moved
    parts = {**moved.loaded, tiling.operator.output.name: moved.stored}
    return BarChart(
        "Elements moved by tensor",
        "elements",
        tuple(parts),
        {"moved": tuple(float(count) for count in parts.values())},
        f"{moved.total:,} elements in all; algorithmic minimum {tiling.algorithmic_minimum:,}.",
    )


@chart_of.register
def network_tiling_chart(tilings: NetworkTiling) -> BarChart:
    """Elements that each layer moves under both objectives, and the algorithmic minimum."""
    layers = [
        each for each in tilings.layers if all(each.moved(name) is not None for name in OBJECTIVES)
    ]
    if not layers:
        raise InputError("no layer has a schedule under both objectives", SourceLocation("plot"))
    return BarChart(
        f"Elements moved by the layers of {tilings.name}, one run of each",
        "elements",
        tuple(each.job.operator.name for each in layers),
        {
            **{
                NAMES[name]: tuple(float(each.moved(name) or 0) for each in layers)
                for name in OBJECTIVES
            },
            "algorithmic minimum": tuple(float(each.algorithmic_minimum) for each in layers),
        },
        f"{len(layers)} layers.",
        grouped=True,
    )

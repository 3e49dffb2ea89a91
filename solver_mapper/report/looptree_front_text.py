"""A front of LoopTree mappings as a table."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.core.rendering import text_of
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.report.tables import render, table


@text_of.register
def front_text(front: TreeFront) -> str:
    """One row a point: the two metrics, then energy, latency and their product."""
    first, second = front.metrics
    words = {
        "complete": (
            f"The complete front of {first} against {second}: no mapping in this mapspace beats a"
            " point or adds one"
        ),
        "partial": (
            f"Part of the front of {first} against {second}: each point is proven; those with less"
            f" {second} are missing"
        ),
        "infeasible": "Proven infeasible: no mapping obeys the hardware and the constraints",
        "unknown": "No point was proven before the search ended",
    }
    if not front.points:
        return words[front.status]
    rows = table(">", *(f">{_title(metric)}" for metric in front.metrics), ">EDP (J s)")
    for index, point in enumerate(front.points, start=1):
        rows.add_row(str(index), *map(_number, point.values), _number(point.evaluation.edp))
    return render(words[front.status], rows)


def _title(metric: str) -> str:
    units = {"energy": "J", "delay": "s", "edp": "J s"}
    return f"{metric} ({units.get(metric, 'bits')})"


def _number(value: Fraction) -> str:
    return f"{float(value):.9g}"

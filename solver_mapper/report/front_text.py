"""A front as a table."""

from __future__ import annotations

from solver_mapper.front import Front
from solver_mapper.objective import METRICS
from solver_mapper.report.plain import number, render, table

_TITLES = {"energy": "energy (pJ)", "delay": "cycles", "last-level-accesses": "outermost words"}


def front_text(front: Front) -> str:
    """One row a point: the two metrics, then the other figures that tell mappings apart."""
    first, second = front.metrics
    words = {
        "complete": f"The complete front of {first} against {second}: no mapping in this mapspace beats a point or adds one",
        "partial": f"Part of the front of {first} against {second}: each point is proven; those with a smaller {second} are missing",
        "infeasible": "Proven infeasible: no mapping obeys the hardware and the constraints",
        "unknown": "No point was proven before the search ended",
    }
    if not front.points:
        return words[front.status]
    others = [metric for metric in METRICS if metric not in front.metrics]
    shown = (*front.metrics, *others)
    rows = table(">", *(f">{_TITLES[metric]}" for metric in shown), ">pJ x cycles", ">utilization")
    for index, point in enumerate(front.points, start=1):
        figures = point.evaluation
        rows.add_row(str(index), *(number(point.value(metric)) for metric in shown), number(figures.edp),
                     f"{100 * float(figures.utilization):.1f} %")
    return render(words[front.status], rows)

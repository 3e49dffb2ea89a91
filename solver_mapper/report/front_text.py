"""A front as a table."""

from __future__ import annotations

from solver_mapper.core.objective import METRICS
from solver_mapper.core.results.pareto_front import Front, front_verdict
from solver_mapper.core.results.rendering import text_of
from solver_mapper.report.tables import number, render, table

_TITLES = {"energy": "energy (pJ)", "delay": "cycles", "last-level-accesses": "outermost words"}


@text_of.register
def front_text(front: Front) -> str:
    """One row a point: the two metrics, then the other figures that tell mappings apart; and the
    gap, if points have one.
    """
    if not front.points:
        return front_verdict(front.status, front.metrics)
    others = [metric for metric in METRICS if metric not in front.metrics]
    shown = (*front.metrics, *others)
    rows = table(
        ">",
        *(f">{_TITLES[metric]}" for metric in shown),
        ">pJ x cycles",
        ">utilization",
        *([">gap"] if front.gap else []),
        expendable=(3, 5),
    )
    for index, point in enumerate(front.points, start=1):
        statistics = point.evaluation
        rows.add_row(
            str(index),
            *(number(point.value(metric)) for metric in shown),
            number(statistics.edp),
            f"{100 * float(statistics.utilization):.1f} %",
            *([f"{100 * point.gap:.4g} %"] if front.gap else []),
        )
    return render(front_verdict(front.status, front.metrics, front.gap), rows)

"""A front of LoopTree mappings as a table."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.core.results.rendering import text_of
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.report.tables import render, table


@text_of.register
def front_text(front: TreeFront) -> str:
    """One row a point: the two metrics, then energy, latency and their product."""
    if not front.points:
        return front.verdict
    rows = table(">", *(f">{title_of(metric)}" for metric in front.metrics), ">EDP (J s)")
    for index, point in enumerate(front.points, start=1):
        rows.add_row(str(index), *map(_number, point.values), _number(point.evaluation.edp))
    return render(front.verdict, rows)


def title_of(metric: str) -> str:
    """The metric with its unit."""
    units = {"energy": "J", "delay": "s", "edp": "J s"}
    return f"{metric} ({units.get(metric, 'bits')})"


def _number(value: Fraction) -> str:
    return f"{float(value):.9g}"

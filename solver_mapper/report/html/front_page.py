"""The answer of `pareto` as a page."""

from __future__ import annotations

from typing import Any

from solver_mapper.core.results.pareto_front import Front, front_verdict
from solver_mapper.core.results.rendering import page_of
from solver_mapper.report.charts.solution_charts import front_chart
from solver_mapper.report.html.page import Definitions, Page, Plot, Section, cell, table
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.html.statistics_page import nest_fold, title_of
from solver_mapper.report.tables import percent

register_fragment(Front)

STANDING = {"complete": "good", "partial": "open", "infeasible": "bad", "unknown": "open"}


@page_of.register
def front_page(front: Front) -> Page:
    """The front as a chart and a table, with each point's loop nest."""
    first, second = front.metrics
    sections: list[Section] = []
    if front.points:
        rows = [
            (
                number,
                each.evaluation.energy_pj,
                each.evaluation.cycles,
                each.evaluation.edp,
                cell(each.evaluation.utilization, percent(each.evaluation.utilization)),
                each.evaluation.last_level_accesses,
            )
            for number, each in enumerate(front.points, start=1)
        ]
        backing = front.points[0].evaluation.architecture.levels[0].name
        titles = (
            "point",
            "energy (pJ)",
            "cycles",
            "pJ x cycles",
            "utilization",
            f"{backing} words",
        )
        blocks: tuple[Any, ...] = (Plot(front_chart(front)), table("Points", titles, rows))
        sections.append(Section("Front", blocks, brief=True))
        folds = tuple(
            nest_fold(f"Point {number}", each.evaluation)
            for number, each in enumerate(front.points, start=1)
        )
        sections.append(Section("Loop nests", folds))
    sections.append(Section("Proof", (Definitions(_proof(front)),)))
    title = title_of(front.points[0].evaluation) if front.points else "Pareto front"
    subtitle = f"Pareto front of {first} and {second}"
    proven = front_verdict(front.status, front.metrics, front.gap)
    return Page(title, subtitle, proven, STANDING[front.status], tuple(sections))


def _proof(front: Front) -> tuple[tuple[str, str], ...]:
    certificate = front.certificate
    steps = [
        (f"point {number}", f"{step['goal']}: {step['claim']}, gap {100 * step['tolerance']:.4g} %")
        for number, point in enumerate(front.points, start=1)
        for step in point.proofs
    ]
    seconds = ", ".join(f"{phase} {each:.2f}" for phase, each in front.seconds.items())
    return (
        *steps,
        *(("proof", f"{step['goal']}: {step['claim']}") for step in certificate.proofs),
        *((("checked", "; ".join(certificate.checks)),) if certificate.checks else ()),
        ("solver", f"{certificate.solver}, seed {certificate.seed}"),
        ("seconds", seconds),
    )

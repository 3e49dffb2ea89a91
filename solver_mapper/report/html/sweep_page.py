"""A sweep as a page: every point, the architecture front, and how figures follow parameters."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.core.rendering import page_of
from solver_mapper.errors import InputError
from solver_mapper.report.charts.study_charts import sweep_chart
from solver_mapper.report.html.page import (
    DataTable,
    Facts,
    Page,
    Plot,
    Section,
    Words,
    cell,
    table,
)
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.sweep_text import axes_of, errors, objectives_of
from solver_mapper.report.tables import number, short
from solver_mapper.study.sweep_result import SweepPoint, SweepResult

register_fragment(SweepResult)

_COLUMNS = {"energy": "energy_pj", "delay": "cycles"}
"""Columns of figures that have other names than the objective."""


@page_of.register
def sweep_page(result: SweepResult) -> Page:
    """The page of `sweep`."""
    marked = sum(point.pareto for point in result.points)
    facts = (
        ("points", number(len(result.points)), f"{marked} on the front"),
        ("searches", number(result.solved), "the others are equal to one of these, or were stored"),
        ("time", f"{result.seconds:.2f} s", ""),
    )
    plots = tuple(_plots(result))
    notes = (*result.notes, *errors(result))
    sections = [Section("Summary", (Facts(facts),), brief=True)]
    sections += [Section("Notes", (Words(notes),), brief=True)] if notes else []
    sections += [Section("Charts", plots)] if plots else []
    sections.append(Section("Points", (points_table(result),), brief=True))
    told = {
        "complete": "Complete: every point has a proven answer",
        "partial": "Partial: the sweep ended early, or not every answer is proven",
    }
    standing = "good" if result.status == "complete" else "open"
    subtitle = f"Front: {objectives_of(result)} against {axes_of(result)}"
    return Page("Design space", subtitle, told[result.status], standing, tuple(sections))


def _plots(result: SweepResult) -> Iterator[Plot]:
    """The objective against capacity, and against each swept number that has several values."""
    goals = {point.objective[0] for point in result.points}
    figure = _COLUMNS.get(goals.pop(), "edp") if len(goals) == 1 else "edp"
    columns = ["capacity_bits"]
    for label in dict.fromkeys(label for point in result.points for label in point.parameters):
        values = {str(point.parameters.get(label)) for point in result.points}
        if len(values) > 1:
            columns.append(label)
    for column in columns:
        try:
            yield Plot(sweep_chart(result, column, figure))
        except InputError:
            continue


def points_table(result: SweepResult) -> DataTable:
    """One row a point and workload."""
    labels = list(dict.fromkeys(label for point in result.points for label in point.parameters))
    titles = (
        *labels,
        "workload",
        "energy (pJ)",
        "cycles",
        "pJ x cycles",
        "KiB",
        "compute units",
        "proof",
        "on the front",
    )
    return table("One row for each point and workload", titles, _rows(result, labels))


def _rows(result: SweepResult, labels: list[str]) -> Iterator[tuple[object, ...]]:
    for point in result.points:
        shown = [cell(point.parameters.get(label)) for label in labels]
        sizes = _sizes(point)
        front = "yes" if point.pareto else ""
        if not point.workloads:
            yield (*shown, "", None, None, None, *sizes, "cannot be read", "")
        for name, totals in point.workloads.items():
            edp = cell(None) if totals.edp is None else cell(totals.edp, short(totals.edp))
            proof = "no mapping" if totals.edp is None else "optimal" if totals.proven else "open"
            yield (*shown, name, totals.energy_pj, totals.cycles, edp, *sizes, proof, front)


def _sizes(point: SweepPoint) -> tuple[object, object]:
    if point.sizes is None:
        return None, None
    kib = point.sizes.capacity / 8192
    return cell(kib, f"{kib:,.1f}"), point.sizes.units

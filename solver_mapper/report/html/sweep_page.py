"""A sweep as a page: every point, the architecture front, and how figures follow parameters."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.core.results.rendering import page_of
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
from solver_mapper.report.sweep_text import (
    axes_of,
    errors,
    objectives_of,
    parameters_of,
    sweep_rows,
    titles_of,
)
from solver_mapper.report.tables import number, short
from solver_mapper.study.sweep_result import SweepResult

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
    for label in parameters_of(result):
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
    return table("One row for each point and workload", titles_of(result), _rows(result))


def _rows(result: SweepResult) -> Iterator[tuple[object, ...]]:
    for row in sweep_rows(result):
        edp = cell(None) if row.edp is None else cell(row.edp, short(row.edp))
        kib = None if row.kib is None else cell(row.kib, f"{row.kib:,.1f}")
        front = "yes" if row.on_front else ""
        figures = (row.energy_pj, row.cycles, edp, kib, row.units)
        yield (*map(cell, row.parameters), row.workload, *figures, row.proof, front)

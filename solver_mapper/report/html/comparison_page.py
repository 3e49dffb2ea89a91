"""Mappings beside each other as a page."""

from __future__ import annotations

from solver_mapper.compare.comparison import Comparison
from solver_mapper.core.results.rendering import page_of
from solver_mapper.report.charts.comparison_charts import cycles_comparison, energy_chart
from solver_mapper.report.comparison_text import explanation, figures, ratio
from solver_mapper.report.html.page import (
    DataTable,
    Page,
    Plot,
    Section,
    Words,
    cell,
    table,
)
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.html.statistics_page import nest_fold, title_of
from solver_mapper.report.tables import number

register_fragment(Comparison)


@page_of.register
def comparison_page(comparison: Comparison) -> Page:
    """The page of `compare`."""
    names = [each.name for each in comparison.mappings]
    sections = (
        Section("Why", (Words(tuple(explanation(comparison))),), brief=True),
        Section("Figures", (_figures(comparison, names),), brief=True),
        Section("Loop nests side by side", (_nests(comparison, names),), brief=True),
        Section("Energy", (Plot(energy_chart(comparison)), _terms(comparison, names))),
        Section("Cycles", (Plot(cycles_comparison(comparison)),)),
        Section(
            "Loop nests",
            tuple(nest_fold(each.name, each.statistics) for each in comparison.mappings),
        ),
    )
    return Page(
        title_of(comparison.mappings[0].statistics),
        f"{len(names)} mappings compared for {comparison.goal.name}",
        f"{names[comparison.best]} has the smallest {comparison.goal.name}",
        "good",
        sections,
    )


def _figures(comparison: Comparison, names: list[str]) -> DataTable:
    rows = [
        (
            name,
            cell(*values[0]),
            *(
                each
                for value, text in values[1:]
                for each in (cell(value, text), cell(ratio(value, values[0][0])))
            ),
        )
        for name, values in figures(comparison)
    ]
    limits = [comparison.bottleneck(position)[0] for position in range(len(names))]
    others = [each for limit in limits[1:] for each in (limit, "")]
    rows.append(("bound by", limits[0], *others))
    titles = ("figure", names[0], *(title for name in names[1:] for title in (name, "ratio")))
    return table("Figures, and their ratio to the first mapping's", titles, rows)


def _nests(comparison: Comparison, names: list[str]) -> DataTable:
    rows = [(row.level, "differs" if row.differs else "", *row.cells) for row in comparison.nest]
    marked = [number for number, row in enumerate(comparison.nest) if row.differs]
    caption = "Tiles in words, loops in time, loops in space"
    return table(caption, ("level", "", *names), rows, marked)


def _terms(comparison: Comparison, names: list[str]) -> DataTable:
    rows = [
        (term.level, term.tensor, *(cell(each, number(each)) for each in term.energies))
        for term in comparison.terms
    ]
    titles = ("level or network", "tensor", *(f"{name} (pJ)" for name in names))
    return table("Terms of the energy, those first that differ most", titles, rows)

"""Charts of mappings beside each other."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.compare.comparison import Comparison
from solver_mapper.core.results.chart import BarChart, Chart
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.report.charts.choice import chosen
from solver_mapper.report.charts.statistics_charts import cycles_chart, energy_parts
from solver_mapper.report.tables import energy_unit


def energy_chart(comparison: Comparison) -> BarChart:
    """Energy by level of each mapping."""
    unit, scale = energy_unit(max(each.statistics.energy_pj for each in comparison.mappings))
    totals = {
        each.name: {name: sum(parts.values()) for name, parts in energy_parts(each.statistics)}
        for each in comparison.mappings
    }
    levels = tuple(dict.fromkeys(level for each in totals.values() for level in each)) or ("none",)
    return BarChart(
        "Energy by level",
        unit,
        levels,
        {
            name: tuple(float(Fraction(each.get(level, 0)) / scale) for level in levels)
            for name, each in totals.items()
        },
        grouped=True,
    )


def cycles_comparison(comparison: Comparison) -> BarChart:
    """Cycles that each resource needs by itself, of each mapping."""
    charts = {each.name: cycles_chart(each.statistics) for each in comparison.mappings}
    rows = {
        name: dict(zip(chart.categories, chart.parts["cycles"], strict=True))
        for name, chart in charts.items()
    }
    resources = tuple(dict.fromkeys(resource for each in rows.values() for resource in each))
    return BarChart(
        "Cycles that each resource needs by itself",
        "cycles",
        resources,
        {name: tuple(each.get(one, 0.0) for one in resources) for name, each in rows.items()},
        grouped=True,
    )


CHARTS = {"energy": energy_chart, "cycles": cycles_comparison}


@chart_of.register
def comparison_chart(comparison: Comparison, what: str = "energy") -> Chart:
    """One of `CHARTS`."""
    return chosen(CHARTS, what, comparison)

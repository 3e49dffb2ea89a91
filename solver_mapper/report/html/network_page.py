"""A network on an architecture as a page: totals, where the energy goes, and every layer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from solver_mapper.core.results.rendering import chart_of, page_of
from solver_mapper.report.charts.study_charts import layers_energy_chart
from solver_mapper.report.html.page import (
    DataTable,
    Definitions,
    Facts,
    Fold,
    Page,
    Plot,
    Section,
    Words,
    cell,
    table,
)
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.html.solution_page import STANDING
from solver_mapper.report.html.statistics_page import nest_blocks
from solver_mapper.report.network_text import errors, proof_of_layer, proven
from solver_mapper.report.tables import number, percent, sentence, short
from solver_mapper.study.network_result import LayerResult, NetworkResult

register_fragment(NetworkResult)


@page_of.register
def network_page(result: NetworkResult) -> Page:
    """The page of `solve` for a network."""
    sections = [
        Section("Totals", (Facts(_totals(result)),), brief=True),
        Section("Layers", (layers_table(result),), brief=True),
    ]
    charts: list[Any] = []
    energy = layers_energy_chart(result)
    if energy is not None:
        charts = [Plot(energy), Plot(chart_of(result))]
        sections.insert(1, Section("Energy by component", tuple(charts)))
    wrong = tuple(errors(result))
    if wrong:
        sections.insert(1, Section("Errors", (Words(wrong),), brief=True))
    folds = tuple(_layer(each) for each in result.layers if each.evaluation is not None)
    if folds:
        sections.append(Section("Loop nests", folds))
    return Page(
        f"{result.network} on {result.architecture}",
        f"Objective: {', then '.join(result.objective)}",
        sentence(proven(result)),
        STANDING[result.status],
        tuple(sections),
    )


def _totals(result: NetworkResult) -> tuple[tuple[str, str, str], ...]:
    totals = result.totals
    runs = f"{totals.distinct} differ"
    rows = [("layers", number(totals.layers), runs), ("MACs", number(totals.macs), "")]
    if totals.energy_pj is None or totals.cycles is None or totals.edp is None:
        without = sum(each.energy_pj is None for each in result.layers)
        rows.append(("totals", "none", f"{without} of {len(result.layers)} layers have no mapping"))
    else:
        rows += [
            ("energy", f"{number(totals.energy_pj)} pJ", "each layer weighted by its count"),
            (
                "cycles",
                number(totals.cycles),
                f"{short(Fraction(totals.macs, totals.cycles))} MACs per cycle",
            ),
            ("edp", f"{number(totals.edp)} pJ x cycles", "total energy times total cycles"),
        ]
    stored = sum(each.stored for each in result.layers)
    note = f"{stored} of {len(result.layers)} layers were stored" if stored else ""
    return (*rows, ("time", f"{result.seconds:.2f} s", note))


def layers_table(result: NetworkResult) -> DataTable:
    """One run of each layer."""
    rows = []
    for layer in result.layers:
        row = layer.row()
        used = row["utilization"]
        edp = None
        if layer.energy_pj is not None and layer.cycles is not None:
            edp = layer.energy_pj * layer.cycles
        rows.append(
            (
                layer.name,
                layer.count,
                layer.energy_pj,
                layer.cycles,
                cell(None) if edp is None else cell(edp, short(edp)),
                cell(None) if used is None else cell(used, percent(used)),
                row["last_level_accesses"],
                layer.macs,
                proof_of_layer(layer),
                cell(layer.seconds, "stored" if layer.stored else f"{layer.seconds:.2f}"),
            )
        )
    titles = (
        "layer",
        "count",
        "energy (pJ)",
        "cycles",
        "pJ x cycles",
        "utilization",
        "DRAM words",
        "MACs",
        "proof",
        "seconds",
    )
    return table("Figures of one run of each layer", titles, rows)


def _layer(layer: LayerResult) -> Fold:
    if layer.evaluation is None:
        return Fold(layer.name, ())
    sizes = " ".join(f"{dim}={size}" for dim, size in layer.evaluation.problem.bounds.items())
    return Fold(layer.name, (Definitions((("bounds", sizes),)), *nest_blocks(layer.evaluation)[:1]))

"""Tilings for a scratchpad accelerator as pages."""

from __future__ import annotations

from typing import Any

from solver_mapper.core.results.rendering import chart_of, page_of
from solver_mapper.errors import InfeasibleError
from solver_mapper.report.charts.tiling_charts import NAMES
from solver_mapper.report.html.page import (
    Code,
    DataTable,
    Definitions,
    Facts,
    Page,
    Plot,
    Section,
    Words,
    cell,
    table,
)
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.html.statistics_page import violations
from solver_mapper.report.tables import number, percent
from solver_mapper.report.tiling_text import sizes_text
from solver_mapper.tiling.network import OBJECTIVES, NetworkTiling, ObjectiveComparison
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.schedule import loop_nest_text

register_fragment(Tiling, NetworkTiling)


@page_of.register
def tiling_page(tiling: Tiling) -> Page:
    """One operator: tiles, schedule, what it moves, and the proof."""
    proof = tiling.certificate
    verdict, standing = _standing(tiling)
    try:
        blocks: tuple[Any, ...] = (
            Facts(_facts(tiling)),
            Plot(chart_of(tiling)),
        )
        schedule: tuple[Any, ...] = (Code(loop_nest_text(tiling.nest)),)
    except InfeasibleError as error:
        blocks, schedule = (Words((f"No schedule: {error}",)),), ()
    sections = [
        Section("Elements moved", blocks, brief=True),
        Section("Tiles", (_tiles(tiling), *schedule), brief=True),
    ]
    if tiling.verdict is not None and not tiling.verdict.legal:
        sections.insert(0, Section("Violations", (violations(tiling.verdict),), brief=True))
    if proof is not None:
        rows = [
            ("objective", proof.objective),
            ("chosen from", proof.mapspace),
            ("value", number(proof.value)),
            ("bound", number(proof.bound)),
            ("solver", f"{proof.solver}, seed {proof.seed}"),
            *(("checked", each) for each in proof.checks),
        ]
        sections.append(Section("Proof", (Definitions(tuple(rows)),)))
    if tiling.notes:
        sections.append(Section("Notes", (Words(tiling.notes),)))
    title = f"{tiling.operator.name} ({tiling.operator.kind}) on {tiling.backend.name}"
    return Page(title, f"Objective: {tiling.objective}", verdict, standing, tuple(sections))


def _standing(tiling: Tiling) -> tuple[str, str]:
    if tiling.fault is not None:
        return f"These tiles cannot be used: {tiling.fault}", "bad"
    if tiling.certificate is None:
        return "A tiling that was given", "open"
    if tiling.certificate.optimal:
        return f"Proven optimal for {tiling.certificate.objective}", "good"
    return f"Not proven optimal: the bound is {tiling.certificate.bound:,} elements", "open"


def _facts(tiling: Tiling) -> tuple[tuple[str, str, str], ...]:
    moved = tiling.moved
    ratio = f"{moved.total / tiling.algorithmic_minimum:.3f} x the algorithmic minimum"
    return (
        ("elements moved", number(moved.total), ratio if tiling.algorithmic_minimum else ""),
        (
            "algorithmic minimum",
            number(tiling.algorithmic_minimum),
            "with any tiling",
        ),
        ("invocations", number(moved.invocations), "of the kernel"),
        ("scratchpads used", percent(tiling.utilization), "by the largest tiles"),
    )


def _tiles(tiling: Tiling) -> DataTable:
    rows = []
    for name, tiled in tiling.tiled.items():
        pad = tiling.backend.scratchpad(name)
        rows.append(
            (
                name,
                sizes_text(tiled.tensor.shape),
                tiling.dims.get(name, "-"),
                sizes_text(tiling.basic[name]),
                tiled.count,
                tiled.largest,
                pad.name,
                tiling.backend.elements(pad),
            )
        )
    titles = (
        "tensor",
        "shape",
        "dims",
        "tile",
        "tiles",
        "largest (elements)",
        "scratchpad",
        "capacity (elements)",
    )
    return table("Tiles of each tensor", titles, rows)


@page_of.register
def network_tiling_page(tilings: NetworkTiling) -> Page:
    """All layers under both objectives."""
    facts = tuple(
        (
            name,
            "none" if total is None else f"{total:,} elements",
            "a layer has no such tiling" if total is None else "all runs of all layers",
        )
        for name, total in (
            *((f"moved, {NAMES[each]}", tilings.total(each, runs=True)) for each in OBJECTIVES),
            ("algorithmic minimum", tilings.algorithmic_minimum(runs=True)),
        )
    )
    drawn = any(all(each.moved(name) is not None for name in OBJECTIVES) for each in tilings.layers)
    charts = (Section("Chart", (Plot(chart_of(tilings)),)),) if drawn else ()
    without = tuple(
        f"{NAMES[name]}: {trouble}"
        for name in OBJECTIVES
        for layer in tilings.layers
        if (trouble := layer.trouble(name)) is not None
    )
    missing = (Section("Layers without a tiling", (Words(without),), brief=True),)
    sections = (
        Section("Totals", (Facts(facts),), brief=True),
        *(missing if without else ()),
        *charts,
        Section("Layers", (_layers(tilings),), brief=True),
    )
    verdict = "Interrupted: the layers that were finished" if tilings.interrupted else ""
    subtitle = "SMAUG's choice beside the least elements moved"
    return Page(f"Tilings of {tilings.name}", subtitle, verdict, "open", sections)


def _layers(tilings: NetworkTiling) -> DataTable:
    titles = (
        "layer",
        "runs",
        *(title for name in OBJECTIVES for title in (f"moved, {NAMES[name]}", "scratchpads used")),
        "algorithmic minimum",
    )
    rows = [
        (
            layer.job.operator.name,
            layer.job.count,
            *(value for name in OBJECTIVES for value in _under(layer, name)),
            layer.algorithmic_minimum,
        )
        for layer in tilings.layers
    ]
    return table("One run of each layer, elements", titles, rows)


def _under(layer: ObjectiveComparison, objective: str) -> tuple[object, object]:
    found, moved = layer.results[objective], layer.moved(objective)
    if moved is None or not isinstance(found, Tiling):
        return None, None
    return moved, cell(found.utilization, percent(found.utilization))

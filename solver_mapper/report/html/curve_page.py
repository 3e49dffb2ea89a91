"""Bounds of one Einsum or of several fused ones as a page."""

from __future__ import annotations

from typing import Any

from solver_mapper.bounds.curve import Curve
from solver_mapper.core.results.rendering import page_of
from solver_mapper.report.charts.curve_charts import accesses_chart, intensity_chart
from solver_mapper.report.html.page import (
    DataTable,
    Definitions,
    Facts,
    Page,
    Plot,
    Section,
    cell,
    table,
)
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.tables import number, short

register_fragment(Curve)


@page_of.register(Curve)
def curve_page(curve: Curve[Any]) -> Page:
    """The page of `bound` and `fuse`."""
    proof = [("proof", curve.proof)] if curve.proof else []
    blocks: list[Any] = [Plot(accesses_chart(curve)), Plot(intensity_chart(curve))]
    if curve.marks:
        blocks.append(_marks(curve))
    sections = (
        Section("Summary", (Facts(_facts(curve)),), brief=True),
        Section("Curve", tuple(blocks[:1]), brief=True),
        Section("Operational intensity and buffers", tuple(blocks[1:])),
        Section("Steps", (steps_table(curve),)),
        Section(
            "Proof", (Definitions((*proof, *(("assumed", each) for each in curve.assumptions))),)
        ),
    )
    verdict = f"Proven: {curve.proof}" if curve.proof else ""
    subtitle = f"Buffer size against least accesses, in {curve.units}"
    return Page(curve.title, subtitle, verdict, "good", sections)


def _facts(curve: Curve[Any]) -> tuple[tuple[str, str, str], ...]:
    ratio = f"{short(curve.effectual_ratio)} of all operands"
    return (
        ("least accesses", f"{curve.least:,} {curve.units}", "with a buffer of any size"),
        ("sufficient buffer", f"{curve.enough:,} {curve.units}", ratio),
        ("algorithmic minimum", f"{curve.algorithmic_minimum:,} {curve.units}", "every word once"),
        ("operations", number(curve.operations), ""),
    )


def _marks(curve: Curve[Any]) -> DataTable:
    rows = [(mark.name, mark.buffer, curve.accesses(mark.buffer)) for mark in curve.marks]
    titles = ("buffer", f"size ({curve.units})", f"least accesses ({curve.units})")
    return table("Buffers of the machine", titles, rows)


def steps_table(curve: Curve[Any]) -> DataTable:
    """Each step of the curve with its example mapping."""
    columns = list(dict.fromkeys(name for point in curve.points for name in point.summary()))
    rows = []
    for point in curve.points:
        summary = point.summary()
        intensity = cell(float(curve.intensity(point)))
        values = [summary.get(name, "") for name in columns]
        cycles = [curve.cycles(point)] if curve.roofline else []
        rows.append((point.buffer, point.accesses, intensity, *cycles, *values))
    titles = (
        "buffer",
        "accesses",
        "operations per access",
        *(["least cycles"] if curve.roofline else []),
        *(each or "mapping" for each in columns),
    )
    return table(f"Steps of the curve, in {curve.units}", titles, rows)

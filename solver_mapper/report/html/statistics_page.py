"""One mapping as a page: the loop nest, charts, and every access count."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from solver_mapper.core.results.rendering import page_of, svg_of
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.results.verdict import Verdict
from solver_mapper.report.charts.statistics_charts import (
    cycles_chart,
    energy_chart,
    roofline_chart,
)
from solver_mapper.report.html.page import (
    Code,
    DataTable,
    Facts,
    Fold,
    Page,
    Plot,
    Section,
    SvgPicture,
    cell,
    table,
)
from solver_mapper.report.html.render import register_fragment
from solver_mapper.report.loop_nest_text import loop_nest_text
from solver_mapper.report.statistics_text import carries, summary_rows
from solver_mapper.report.tables import percent

register_fragment(Statistics)


@page_of.register
def statistics_page(statistics: Statistics) -> Page:
    """The page of `evaluate`."""
    verdict = statistics.verdict
    legal = verdict is None or verdict.legal
    standing = "open" if verdict is None else "good" if legal else "bad"
    told = {"open": "Legality was not checked", "good": "Legal mapping", "bad": "Illegal mapping"}
    sections = list(statistics_sections(statistics))
    if verdict is not None and not legal:
        sections.insert(0, Section("Violations", (violations(verdict),), brief=True))
    return Page(title_of(statistics), "", told[standing], standing, tuple(sections))


_ROOTS = (None, "system", "System")
"""Names of an architecture's root that say nothing about it."""


def title_of(statistics: Statistics) -> str:
    """What is mapped onto what."""
    bounds = " ".join(f"{dim}={size}" for dim, size in statistics.problem.bounds.items())
    name = statistics.problem.name or "problem"
    architecture = statistics.architecture.name
    place = "" if architecture in ("", *_ROOTS) else f" on {architecture}"
    return f"{name} ({bounds}){place}"


def violations(verdict: Verdict) -> DataTable:
    """Every constraint that an illegal mapping breaks."""
    rows = [
        (each.rule, each.message, str(each.location) if each.location.line is not None else "")
        for each in verdict.violations
    ]
    return table("Violations", ("constraint", "what is wrong", "where"), rows)


def statistics_sections(statistics: Statistics) -> Iterator[Section]:
    """Sums, loop nest, energy, cycles and access counts."""
    yield Section("Summary", (Facts(tuple(summary_rows(statistics))),), brief=True)
    yield Section("Loop nest", nest_blocks(statistics), brief=True)
    yield Section("Energy", (Plot(energy_chart(statistics)), energy_table(statistics)))
    yield Section("Cycles", (Plot(cycles_chart(statistics)), Plot(roofline_chart(statistics))))
    networks = networks_table(statistics)
    blocks: tuple[Any, ...] = (access_table(statistics), *([networks] if networks.rows else []))
    yield Section("Access counts", blocks)


def nest_blocks(statistics: Statistics) -> tuple[Any, ...]:
    """The loop nest as a picture, as text, and as a file."""
    return (
        SvgPicture("Loop nest over the memory hierarchy", Markup(svg_of(statistics))),
        Code(loop_nest_text(statistics.mapping, statistics), "Loop nest as text"),
    )


def energy_table(statistics: Statistics) -> DataTable:
    """Energy of each level and network."""
    total = statistics.energy_pj

    def row(name: str, energy: Fraction, origin: str) -> tuple[object, ...]:
        share = energy / total if total else Fraction(0)
        per_mac = energy / statistics.macs
        return name, energy, cell(share, percent(share)), cell(float(per_mac)), origin

    levels = [
        row(each.name, each.energy_pj, each.energy_origin) for each in statistics.levels.values()
    ]
    networks = [
        row(each.name, each.energy_pj, f"{each.kind} network")
        for each in statistics.networks.values()
        if each.energy_pj
    ]
    return table(
        "Energy of all instances",
        ("level or network", "pJ", "share", "pJ per MAC", "energy source"),
        [*levels, *networks],
    )


def access_table(statistics: Statistics) -> DataTable:
    """Every tensor at every level."""
    rows = []
    for buffer in statistics.architecture.levels:
        for name, row in statistics.levels[buffer.name].tensors.items():
            share = Fraction(row.tile, buffer.capacity) if buffer.capacity else None
            full = cell(None) if share is None else cell(share, percent(share))
            rows.append(
                (
                    buffer.name,
                    name,
                    row.instances,
                    row.tile,
                    full,
                    row.reads,
                    row.fills,
                    row.updates,
                    row.temporal_reductions,
                    row.accesses,
                    row.energy_pj,
                )
            )
    titles = (
        "level",
        "tensor",
        "instances",
        "tile",
        "of capacity",
        "reads",
        "fills",
        "updates",
        "temporal reductions",
        "accesses of all instances",
        "pJ",
    )
    return table("Words per instance of each level; energy of all instances", titles, rows)


def networks_table(statistics: Statistics) -> DataTable:
    """Every tensor on every network that does more than pass words on."""
    rows = [
        (
            network.name,
            name,
            row.multicast,
            Fraction(row.ingresses),
            row.link_transfers,
            Fraction(row.spatial_reductions),
            cell(float(row.hops)),
            row.energy_pj,
        )
        for network in statistics.networks.values()
        for name, row in network.tensors.items()
        if carries(row)
    ]
    titles = (
        "network",
        "tensor",
        "multicast",
        "ingresses",
        "link transfers",
        "spatial reductions",
        "hops",
        "pJ",
    )
    return table("Networks, per instance of the level above", titles, rows)


def nest_fold(title: str, statistics: Statistics) -> Fold:
    """The loop nest, shown on demand."""
    return Fold(title, nest_blocks(statistics)[:1])

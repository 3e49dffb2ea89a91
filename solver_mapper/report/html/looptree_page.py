"""LoopTree mappings as pages: the tree, energy, latency, occupancy and actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from solver_mapper.core.results.rendering import page_of, svg_of
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.report.charts.looptree_charts import (
    energy_chart,
    latency_chart,
    lifetimes_picture,
    tree_front_chart,
)
from solver_mapper.report.html.front_page import STANDING as FRONT_STANDING
from solver_mapper.report.html.page import (
    Code,
    DataTable,
    Definitions,
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
from solver_mapper.report.html.solution_page import STANDING
from solver_mapper.report.html.statistics_page import violations
from solver_mapper.report.lifetimes_svg import span
from solver_mapper.report.looptree_front_text import title_of as metric_title
from solver_mapper.report.looptree_solution_text import (
    certificate_rows,
    proof_rows,
    seconds_text,
    verdict,
)
from solver_mapper.report.tables import percent, short

register_fragment(TreeStatistics, TreeSolution, TreeFront)

_TITLE = "LoopTree mapping"


@page_of.register
def tree_statistics_page(statistics: TreeStatistics) -> Page:
    """The page of `evaluate` on LoopTree input."""
    checked = statistics.verdict
    legal = checked is None or checked.legal
    sections = list(_sections(statistics))
    if checked is not None and not checked.legal:
        sections.insert(0, Section("Violations", (violations(checked),), brief=True))
    told = "Legal mapping" if legal else "Illegal mapping"
    return Page(_title(statistics), "", told, "good" if legal else "bad", tuple(sections))


@page_of.register
def tree_solution_page(solution: TreeSolution) -> Page:
    """The page of `solve` on LoopTree input."""
    statistics = solution.evaluation
    sections = [] if statistics is None else list(_sections(statistics))
    rows = tuple(proof_rows(solution))
    sections.append(Section("Proof", (Definitions(rows),), brief=statistics is None))
    if solution.mapping is not None:
        sections.append(Section("Mapping file", (Code(solution.mapping.to_yaml(), "map.yaml"),)))
    title = _TITLE if statistics is None else _title(statistics)
    goals = ", then ".join(solution.objective.names)
    standing = STANDING[solution.status]
    return Page(title, f"Objective: {goals}", verdict(solution), standing, tuple(sections))


@page_of.register
def tree_front_page(front: TreeFront) -> Page:
    """The front as a chart and a table, with each point's tree."""
    sections: list[Section] = []
    if front.points:
        rows = [
            (
                number,
                *(cell(float(value), f"{float(value):.6g}") for value in point.values),
                cell(float(point.evaluation.edp), f"{float(point.evaluation.edp):.6g}"),
            )
            for number, point in enumerate(front.points, start=1)
        ]
        titles = ("point", *(metric_title(each) for each in front.metrics), "EDP (J s)")
        blocks = (Plot(tree_front_chart(front)), table("Points", titles, rows))
        sections.append(Section("Front", blocks, brief=True))
        folds = tuple(
            Fold(f"Point {number}", tuple(_pictures(point.evaluation)))
            for number, point in enumerate(front.points, start=1)
        )
        sections.append(Section("Mapping trees", folds))
    checks = front.certificate.checks
    proof = (
        *certificate_rows(front.certificate),
        *([("checked", "; ".join(checks))] if checks else []),
        ("seconds", seconds_text(front.seconds)),
    )
    sections.append(Section("Proof", (Definitions(proof),)))
    title = _title(front.points[0].evaluation) if front.points else "Pareto front"
    subtitle = f"Pareto front of {front.metrics[0]} and {front.metrics[1]}"
    standing = FRONT_STANDING[front.status]
    proven = front.verdict
    return Page(title, subtitle, proven, standing, tuple(sections))


def _pictures(statistics: TreeStatistics) -> Iterator[SvgPicture]:
    """The tree, and where several Einsums follow each other, the lifetimes of tensors."""
    if statistics.tree is not None:
        yield SvgPicture("Mapping tree", Markup(svg_of(statistics.tree)))
    if statistics.lifetimes and len(statistics.einsums) > 1:
        yield SvgPicture("Lifetimes of tensors", Markup(svg_of(lifetimes_picture(statistics))))


def _title(statistics: TreeStatistics) -> str:
    names = [each.name for each in statistics.einsums]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{_TITLE} of {shown}"


def _sections(statistics: TreeStatistics) -> Iterator[Section]:
    facts = (
        ("energy", f"{float(statistics.energy):.6g} J", ""),
        ("latency", f"{float(statistics.latency):.6g} s", ""),
        ("edp", f"{float(statistics.edp):.6g} J s", ""),
    )
    yield Section("Summary", (Facts(facts),), brief=True)
    tree: list[Any] = []
    if statistics.tree is not None:
        tree.append(SvgPicture("Mapping tree", Markup(svg_of(statistics.tree))))
    if statistics.drawing:
        tree.append(Code(statistics.drawing, "Mapping tree as text" if tree else ""))
    if tree:
        yield Section("Mapping tree", tuple(tree), brief=True)
    if statistics.lifetimes and len(statistics.einsums) > 1:
        drawn = SvgPicture("Lifetimes of tensors", Markup(svg_of(lifetimes_picture(statistics))))
        yield Section("Lifetimes of tensors", (drawn, _lifetimes(statistics)))
    yield Section("Energy", (Plot(energy_chart(statistics)),))
    yield Section("Latency", (Plot(latency_chart(statistics)), _einsums(statistics)))
    if statistics.occupancy:
        yield Section("Occupancy", (_occupancy(statistics),))
    yield Section("Actions", (_actions(statistics),))


def _einsums(statistics: TreeStatistics) -> DataTable:
    rows = [
        (each.name, cell(float(each.energy)), cell(float(each.latency)), each.bottleneck or "")
        for each in statistics.einsums
    ]
    return table("Einsums", ("Einsum", "energy (J)", "latency (s)", "bound by"), rows)


def _lifetimes(statistics: TreeStatistics) -> DataTable:
    names = [each.name for each in statistics.einsums]
    rows = [
        (
            each.component,
            each.tensor,
            span(each, names),
            cell(float(each.most), short(each.most)),
            cell(each.most / each.size, percent(each.most / each.size)) if each.size else "",
        )
        for each in statistics.lifetimes
    ]
    titles = ("memory", "tensor", "there", "most bits", "of memory")
    return table("Tensors in one instance of each memory, over the Einsums", titles, rows)


def _occupancy(statistics: TreeStatistics) -> DataTable:
    rows = [
        (
            name,
            cell(float(peak.bits)),
            cell(float(peak.size)),
            cell(peak.fraction, percent(peak.fraction)),
            peak.einsum,
            "; ".join(str(each) for each in peak.reservations),
        )
        for name, peak in statistics.occupancy.items()
    ]
    titles = ("memory", "peak (bits)", "size (bits)", "full", "during", "what makes the peak")
    return table("Peak of each finite memory", titles, rows)


def _actions(statistics: TreeStatistics) -> DataTable:
    rows = [
        (
            einsum.name,
            each.component,
            each.subject,
            each.action,
            each.actions,
            cell(float(each.energy)),
        )
        for einsum in statistics.einsums
        for each in einsum.actions
        if each.actions
    ]
    titles = ("Einsum", "component", "of", "action", "count", "energy (J)")
    return table("Actions over all instances", titles, rows)

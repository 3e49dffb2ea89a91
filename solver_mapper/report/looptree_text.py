"""Mappings and their figures in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from solver_mapper.core.results.rendering import text_of
from solver_mapper.cost.looptree.mapping.labels import Label, LabelledTree
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Nested,
    Node,
    Pipeline,
    Sequential,
    TreeMapping,
)
from solver_mapper.cost.looptree.statistics import EinsumStatistics, TreeStatistics
from solver_mapper.report.lifetimes_text import lifetimes_text


@text_of.register
def draw_tree(tree: LabelledTree) -> str:
    """The tree with one line a node; branches of a fork are indented below it."""
    rows = list(_rows(tree.mapping.nodes, tree.labels))
    width = max(len(text) for text, _ in rows)
    return "\n".join(f"{text.ljust(width)}  {detail}" if detail else text for text, detail in rows)


@text_of.register
def _plain_tree(mapping: TreeMapping) -> str:
    return draw_tree(LabelledTree(mapping, {}))


def _rows(nodes: tuple[Node, ...], notes: Mapping[int, Label]) -> Iterator[tuple[str, str]]:
    """(text, detail) of each line."""
    for node in nodes:
        if isinstance(node, Nested):
            yield from _rows(node.nodes, notes)
        elif isinstance(node, (Sequential, Pipeline)):
            yield "in sequence" if isinstance(node, Sequential) else "in a pipeline", ""
            for position, child in enumerate(node.nodes):
                last = position + 1 == len(node.nodes)
                for line, (text, detail) in enumerate(_rows((child,), notes)):
                    mark = ("└─ " if last else "├─ ") if not line else ("   " if last else "│  ")
                    yield mark + text, detail
        else:
            label = notes.get(id(node))
            yield (label.text, label.detail) if label else (str(node), "")


@text_of.register
def statistics_text(statistics: TreeStatistics) -> str:
    """The figures as a table a person reads."""
    lines = [statistics.drawing, ""] if statistics.drawing else []
    lines += [
        f"energy   {_short(statistics.energy)} J",
        f"latency  {_short(statistics.latency)} s",
        f"EDP      {_short(statistics.edp)} J s",
        "",
    ]
    for einsum in statistics.einsums:
        lines += [*_einsum(einsum), ""]
    for peak in statistics.occupancy.values():
        share = f"{float(100 * peak.fraction):.1f} %"
        lines.append(
            f"{peak.component} holds {float(peak.bits):g} of {float(peak.size):g} bits ({share})"
            f" during {peak.einsum}"
        )
        lines += [f"    {each}" for each in peak.reservations]
    lasting = lifetimes_text(statistics.lifetimes, [each.name for each in statistics.einsums])
    if lasting:
        lines += [*([""] if lines[-1] else []), *lasting]
    if statistics.verdict is not None and not statistics.verdict.legal:
        lines += ["", str(statistics.verdict)]
    return "\n".join(lines).rstrip()


def _einsum(einsum: EinsumStatistics) -> Iterator[str]:
    yield (
        f"{einsum.name}: energy {_short(einsum.energy)} J, latency {_short(einsum.latency)} s, "
        f"bound by {einsum.bottleneck}"
    )
    rows = [
        (row.component, row.subject, row.action, f"{float(row.actions):,.10g}", _short(row.energy))
        for row in einsum.actions
        if row.actions
    ]
    titles = ("component", "of", "action", "count", "energy (J)")
    widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(5)]
    for row in [titles, *rows]:
        cells = [
            row[column].ljust(widths[column]) if column < 3 else row[column].rjust(widths[column])
            for column in range(5)
        ]
        yield "    " + "  ".join(cells).rstrip()


def _short(value: Fraction) -> str:
    return f"{float(value):.9g}"

"""Mappings and their figures in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.looptree.figures import EinsumFigures, TreeFigures
from solver_mapper.looptree.tree import Nested, Node, Pipeline, Sequential, TreeMapping


def draw_tree(mapping: TreeMapping) -> str:
    """The tree with one line a node; branches of a fork are indented below it."""
    return "\n".join(_lines(mapping.nodes, ""))


def _lines(nodes: tuple[Node, ...], indent: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Nested):
            yield from _lines(node.nodes, indent)
        elif isinstance(node, (Sequential, Pipeline)):
            yield f"{indent}{'in sequence' if isinstance(node, Sequential) else 'in a pipeline'}"
            for position, child in enumerate(node.nodes):
                last = position + 1 == len(node.nodes)
                inner = list(_lines((child,), ""))
                yield f"{indent}{'└─ ' if last else '├─ '}{inner[0]}"
                yield from (f"{indent}{'   ' if last else '│  '}{line}" for line in inner[1:])
        else:
            yield indent + str(node)


def figures_text(figures: TreeFigures) -> str:
    """The figures as a table a person reads."""
    lines = [f"energy   {_short(figures.energy)} J", f"latency  {_short(figures.latency)} s",
             f"EDP      {_short(figures.edp)} J s", ""]
    for einsum in figures.einsums:
        lines += [*_einsum(einsum), ""]
    for peak in figures.occupancy.values():
        share = f"{float(100 * peak.fraction):.1f} %"
        lines.append(f"{peak.component} holds {float(peak.bits):g} of {float(peak.size):g} bits ({share}) during {peak.einsum}")
        lines += [f"    {each}" for each in peak.reservations]
    return "\n".join(lines).rstrip()


def _einsum(einsum: EinsumFigures) -> Iterator[str]:
    yield (f"{einsum.name}: energy {_short(einsum.energy)} J, latency {_short(einsum.latency)} s, "
           f"bound by {einsum.bottleneck}")
    rows = [(row.component, row.subject, row.action, f"{float(row.actions):,.10g}", _short(row.energy)) for row in einsum.actions
            if row.actions]
    titles = ("component", "of", "action", "count", "energy (J)")
    widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(5)]
    for row in [titles, *rows]:
        cells = [row[column].ljust(widths[column]) if column < 3 else row[column].rjust(widths[column]) for column in range(5)]
        yield "    " + "  ".join(cells).rstrip()


def _short(value: object) -> str:
    return f"{float(value):.9g}" if not isinstance(value, str) else value  # type: ignore[arg-type]

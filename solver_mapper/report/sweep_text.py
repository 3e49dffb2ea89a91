"""A sweep as a table: one row a point and workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from solver_mapper.core.rendering import text_of
from solver_mapper.report.tables import in_lines, number, render, short, table
from solver_mapper.study.sweep_result import SweepPoint, SweepResult

_SIZES = {"capacity": "capacity", "units": "compute units", "area": "area"}


@text_of.register
def sweep_text(result: SweepResult) -> str:
    """The table, then what the marks mean and what to know about energies."""
    titles = _titles(result)
    rows = table(
        *(
            f">{in_lines(title)}" if title not in ("workload", "proof", "front") else title
            for title in titles
        ),
        expendable=(-3, -4, -7),
    )
    for cells in _rows(result):
        rows.add_row(*cells)
    return "\n".join([render(rows), "", *_notes(result)])


def _parameters(result: SweepResult) -> list[str]:
    return list(dict.fromkeys(label for point in result.points for label in point.parameters))


def _titles(result: SweepResult) -> list[str]:
    return [
        *_parameters(result),
        "workload",
        "energy (pJ)",
        "cycles",
        "pJ x cycles",
        "KiB",
        "compute units",
        "proof",
        "front",
    ]


def _rows(result: SweepResult) -> Iterator[list[str]]:
    labels = _parameters(result)
    for point in result.points:
        shown = [_cell(point.parameters.get(label)) for label in labels]
        sizes = (
            ["", ""]
            if point.sizes is None
            else [f"{point.sizes.capacity / 8192:,.1f}", number(point.sizes.units)]
        )
        if not point.workloads:
            yield [*shown, "", "", "", "", *sizes, "cannot be read", ""]
        for name, totals in point.workloads.items():
            none = totals.energy_pj is None or totals.cycles is None or totals.edp is None
            statistics = (
                ["", "", ""]
                if totals.energy_pj is None or totals.cycles is None or totals.edp is None
                else [short(totals.energy_pj), number(totals.cycles), short(totals.edp)]
            )
            proof = "no mapping" if none else "optimal" if totals.proven else "not proven"
            yield [*shown, name, *statistics, *sizes, proof, "*" if point.pareto else ""]


def _cell(value: Any) -> str:
    return (
        number(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else ""
        if value is None
        else str(value)
    )


def _notes(result: SweepResult) -> Iterator[str]:
    marked = sum(point.pareto for point in result.points)
    yield (
        f"points       {len(result.points)}, of which {marked} on the front (*) of"
        f" {objectives_of(result)} against {axes_of(result)}"
    )
    yield f"status       {result.status}; {result.solved} searches, {result.seconds:.2f} s"
    for note in result.notes:
        yield f"note         {note}"
    for error in errors(result):
        yield f"error        {error}"


def errors(result: SweepResult) -> Iterator[str]:
    """Points that could not be read, and why."""
    for point in result.points:
        if point.error is not None:
            yield f"{_label(point)}: {point.error}"


def axes_of(result: SweepResult) -> str:
    """The sizes of the architecture front, in words."""
    return ", ".join(_SIZES[axis] for axis in result.front)


def objectives_of(result: SweepResult) -> str:
    """What the points minimize, in words."""
    return " or ".join(dict.fromkeys(point.objective[0] for point in result.points))


def _label(point: SweepPoint) -> str:
    return ", ".join(f"{key}={value}" for key, value in point.parameters.items())

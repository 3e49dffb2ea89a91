"""A sweep as a table: one row a point and workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver_mapper.core.objective import left_open
from solver_mapper.core.results.rendering import text_of
from solver_mapper.report.tables import in_lines, number, render, short, table
from solver_mapper.study.sweep_result import SweepPoint, SweepResult

_SIZES = {"capacity": "capacity", "units": "compute units", "area": "area"}

_PROOF = {
    "optimal": "optimal",
    "feasible": "not proven",
    "infeasible": "no mapping exists",
    "unknown": "no mapping found",
}


@dataclass(frozen=True)
class SweepRow:
    """One point and workload. Parameters that a point does not have, and figures that are not
    known, are None."""

    parameters: tuple[Any, ...]
    workload: str
    energy_pj: Fraction | None
    cycles: int | None
    edp: Fraction | None
    kib: float | None
    units: int | None
    proof: str
    on_front: bool


def parameters_of(result: SweepResult) -> list[str]:
    """All swept parameters, in the order in which they first come."""
    return list(dict.fromkeys(label for point in result.points for label in point.parameters))


def titles_of(result: SweepResult) -> list[str]:
    """The titles of a table of all points."""
    figures = ["energy (pJ)", "cycles", "pJ x cycles", "KiB", "compute units", "proof"]
    return [*parameters_of(result), "workload", *figures, "front"]


def sweep_rows(result: SweepResult) -> Iterator[SweepRow]:
    """One row a point and workload; a point that cannot be read has one row."""
    labels = parameters_of(result)
    for point in result.points:
        parameters = tuple(point.parameters.get(label) for label in labels)
        sizes = point.sizes
        kib, units = (None, None) if sizes is None else (sizes.capacity / 8192, sizes.units)
        if not point.workloads:
            none = (None, None, None)
            yield SweepRow(parameters, "", *none, kib, units, "cannot be read", False)
        for name, totals in point.workloads.items():
            figures = (totals.energy_pj, totals.cycles, totals.edp)
            within = left_open(totals.gap, "within").strip()
            proof = (totals.status == "optimal" and within) or _PROOF[totals.status]
            yield SweepRow(parameters, name, *figures, kib, units, proof, point.pareto)


@text_of.register
def sweep_text(result: SweepResult) -> str:
    """The table, then what the marks mean and what to know about energies."""
    words = ("workload", "proof", "front")
    titles = (t if t in words else f">{in_lines(t)}" for t in titles_of(result))
    rows = table(*titles, expendable=(-3, -4, -7), words=(len(parameters_of(result)),))
    for row in sweep_rows(result):
        rows.add_row(
            *map(_cell, row.parameters),
            row.workload,
            "" if row.energy_pj is None else short(row.energy_pj),
            _cell(row.cycles),
            "" if row.edp is None else short(row.edp),
            "" if row.kib is None else f"{row.kib:,.1f}",
            _cell(row.units),
            row.proof,
            "*" if row.on_front else "",
        )
    return "\n".join([render(rows), "", *_notes(result)])


def _cell(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    return "" if value is None else str(value)


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

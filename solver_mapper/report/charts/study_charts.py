"""Charts of networks and sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from solver_mapper.core.objective import left_open
from solver_mapper.core.results.chart import Axis, BarChart, Chart, PlaneChart, Series
from solver_mapper.core.results.rendering import chart_of
from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.report.tables import energy_unit
from solver_mapper.study.network_result import COLUMNS, LayerResult, NetworkResult
from solver_mapper.study.sweep_result import SweepResult

MOST_LAYERS = 30
"""Bars in a chart of layers."""

_TITLES = {
    "energy_pj": "energy (pJ)",
    "edp": "edp (pJ x cycles)",
    "capacity_bits": "capacity of all buffers (bits)",
    "area_um2": "area (um^2)",
    "compute_units": "compute units",
}


NUMBERS = tuple(
    name for name in COLUMNS if name not in ("name", "status", "objective", "stored", "error")
)
"""Columns of layers that have numbers."""


@chart_of.register
def network_chart(result: NetworkResult, x: str = "cycles", y: str = "energy_pj") -> Chart:
    """One figure of the layers against another, one run of each; `x` "layers" stands for the energy
    of all runs of each layer by level.
    """
    if x == "layers":
        return layers_energy_chart(result) or _no_layers()
    rows = [
        each.row() | {"network": result.network, "proven": each.status == "optimal"}
        for each in result.layers
    ]
    within = left_open(result.proven_gap, "within")
    return scatter(
        rows,
        x,
        y,
        title=f"Layers of {result.network} on {result.architecture}",
        series="network",
        filled="proven",
        labels=[each.name for each in result.layers],
        summary=f"Each point is one run of a layer; filled where it is proven optimal{within}.",
    )


def _no_layers() -> Chart:
    raise InputError("no layer has a mapping", SourceLocation("plot"))


@chart_of.register
def sweep_chart(result: SweepResult, x: str = "capacity_bits", y: str = "edp") -> PlaneChart:
    """One figure of the points against another, a series a workload."""
    rows = result.rows()
    names = dict.fromkeys(label for point in result.points for label in point.parameters)
    labels = [", ".join(f"{name}={row[name]}" for name in names if name in row) for row in rows]
    return scatter(
        rows,
        x,
        y,
        title=f"{_TITLES.get(y, y)} against {_TITLES.get(x, x)}",
        series="workload",
        filled="pareto",
        labels=labels,
        summary="Each point is a design; filled where it is on the architecture front.",
    )


def scatter(
    rows: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    *,
    title: str,
    series: str,
    filled: str,
    labels: Sequence[str],
    summary: str,
) -> PlaneChart:
    """Points of the columns `x` and `y`, a series for each value of the column `series`, filled
    where `filled` is true. Rows without both values are left out.

    Raises: InputError for columns without positive numbers.
    """
    known = dict.fromkeys(key for row in rows for key, value in row.items() if _positive(value))
    for column in (x, y):
        if rows and not any(column in row for row in rows):
            raise unknown_name("column", column, known, SourceLocation("plot"))
    kept = [
        (row, label)
        for row, label in zip(rows, labels, strict=True)
        if _positive(row.get(x)) and _positive(row.get(y))
    ]
    if not kept:
        raise InputError(f"no point has positive numbers '{x}' and '{y}'", SourceLocation("plot"))
    groups: dict[str, list[tuple[Mapping[str, Any], str]]] = {}
    for row, label in kept:
        groups.setdefault(str(row[series]), []).append((row, label))
    return PlaneChart(
        title,
        Axis(_TITLES.get(x, x), log=True),
        Axis(_TITLES.get(y, y), log=True),
        tuple(
            Series(
                name,
                tuple(float(row[x]) for row, _ in group),
                tuple(float(row[y]) for row, _ in group),
                labels=tuple(label for _, label in group),
                filled=tuple(bool(row[filled]) for row, _ in group),
            )
            for name, group in groups.items()
        ),
        summary=summary,
    )


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def layer_energy(layer: LayerResult) -> dict[str, float]:
    """Energy in pJ of all runs of a layer, by level; networks count as one part."""
    evaluation = layer.record.solution.get("evaluation") or {"levels": {}, "networks": {}}
    levels = {name: level["energy_pj"] for name, level in evaluation["levels"].items()}
    wires = sum(
        row["energy_pj"] for tensors in evaluation["networks"].values() for row in tensors.values()
    )
    parts = levels | ({"networks": wires} if wires else {})
    return {name: layer.count * energy for name, energy in parts.items() if energy}


def layers_energy_chart(result: NetworkResult) -> BarChart | None:
    """Energy of all runs of each layer by level: those layers that take most. None without any."""
    shown = sorted(
        (each for each in result.layers if each.energy_pj is not None),
        key=lambda each: each.count * (each.energy_pj or 0),
        reverse=True,
    )
    if not shown:
        return None
    total, top = sum(each.count * (each.energy_pj or 0) for each in shown), shown[:MOST_LAYERS]
    unit, scale = energy_unit(max(top[0].count * (top[0].energy_pj or Fraction(0)), Fraction(1)))
    parts = [layer_energy(each) for each in top]
    names = dict.fromkeys(name for each in parts for name in each)
    limited = f", the {MOST_LAYERS} largest of {len(shown)}" if len(shown) > MOST_LAYERS else ""
    share = float(top[0].count * (top[0].energy_pj or 0) / total) if total else 0.0
    return BarChart(
        f"Energy of all runs of each layer{limited}",
        unit,
        tuple(f"{each.name} x {each.count}" if each.count > 1 else each.name for each in top),
        {name: tuple(each.get(name, 0.0) / float(scale) for each in parts) for name in names}
        or {"energy": (0.0,) * len(top)},
        f"{top[0].name} takes most, {100 * share:.1f} % of the network's energy.",
    )

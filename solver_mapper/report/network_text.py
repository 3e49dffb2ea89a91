"""A network's layers and totals as a table."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from solver_mapper.core.objective import left_open
from solver_mapper.core.results.rendering import text_of
from solver_mapper.report.tables import energy_unit, number, render, short, table, two_decimals
from solver_mapper.study.network_edp import NETWORK_EDP
from solver_mapper.study.network_result import LayerResult, NetworkResult

_PROOF = {"infeasible": "no mapping exists", "unknown": "no mapping found"}


@text_of.register
def network_text(result: NetworkResult) -> str:
    """One row a layer, then the totals and what was proven."""
    unit, scale = energy_unit(
        max((each.energy_pj or Fraction(0) for each in result.layers), default=Fraction(0))
    )
    rows = table(
        "layer",
        ">count",
        f">energy ({unit})",
        ">cycles",
        ">pJ x cycles",
        ">utilization",
        ">DRAM words",
        "proof",
        ">seconds",
        expendable=(6, 5, 8, 4),
    )
    for cells in _rows(result, scale):
        rows.add_row(*cells)
    title = f"{result.network} on {result.architecture}: statistics of one run of each layer"
    return "\n".join([title, render(rows), "", *_totals(result), *errors(result)])


def _rows(result: NetworkResult, scale: Fraction) -> Iterator[tuple[str, ...]]:
    for layer in result.layers:
        row, seconds = layer.row(), "stored" if layer.stored else f"{layer.seconds:.2f}"
        if layer.energy_pj is None or layer.cycles is None:
            yield (layer.name, str(layer.count), *[""] * 5, _PROOF[layer.status], seconds)
            continue
        yield (
            layer.name,
            str(layer.count),
            two_decimals(layer.energy_pj / scale),
            number(layer.cycles),
            short(layer.energy_pj * layer.cycles),
            f"{100 * row['utilization']:.1f} %",
            number(row["last_level_accesses"]),
            proof_of_layer(layer),
            seconds,
        )


def proof_of_layer(layer: LayerResult) -> str:
    """What is proven of a layer, in a few words."""
    if layer.status in _PROOF:
        return _PROOF[layer.status]
    if layer.status == "optimal":
        return left_open(layer.proven_gap, "within").strip() or "optimal"
    gap = layer.objective["gap"]
    return "no bound" if gap is None else f"gap {100 * gap:.3g} %"


def _totals(result: NetworkResult) -> Iterator[str]:
    totals = result.totals
    yield (
        f"layers       {totals.layers}, of which {totals.distinct} differ; {number(totals.macs)}"
        " MACs"
    )
    if totals.energy_pj is None or totals.cycles is None or totals.edp is None:
        without = sum(each.energy_pj is None for each in result.layers)
        yield f"totals       none: {without} of {len(result.layers)} layers have no mapping"
    else:
        yield f"energy       {number(totals.energy_pj)} pJ"
        yield f"cycles       {number(totals.cycles)}"
        yield f"edp          {number(totals.edp)} pJ x cycles, total energy times total cycles"
    yield f"proof        {proven(result)}"
    yield f"seconds      {result.seconds:.2f}"


def proven(result: NetworkResult) -> str:
    """What is proven of the network, in one sentence."""
    proven = sum(each.status == "optimal" for each in result.layers)
    if proven < len(result.layers):
        within = left_open(result.proven_gap, "within")
        return f"{proven} of {len(result.layers)} layers proven optimal{within}"
    if result.objective == (NETWORK_EDP,):
        return "no choice of mappings gives a smaller edp: the front of every layer is complete"
    goals = ", then ".join(result.objective)
    return f"every layer is proven optimal for {goals}{left_open(result.proven_gap, 'within')}"


def errors(result: NetworkResult) -> Iterator[str]:
    """Why layers have no answer."""
    for layer in result.layers:
        if layer.record.error is not None:
            yield f"{layer.name}: {layer.record.error}"

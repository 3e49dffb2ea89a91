"""Tilings as text."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from solver_mapper.core.results.rendering import text_of
from solver_mapper.errors import InfeasibleError
from solver_mapper.report.tables import percent, render, table
from solver_mapper.tiling.configurations import Configurations
from solver_mapper.tiling.network import OBJECTIVES, NetworkTiling, ObjectiveComparison
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.schedule import loop_nest_text
from solver_mapper.tiling.tensors import TiledTensor

_BETTER = {OBJECTIVES[0]: "fills more", OBJECTIVES[1]: "moves fewer"}


def sizes_text(sizes: Iterable[int]) -> str:
    """Sizes as `16 x 8 x 8`."""
    return " x ".join(map(str, sizes))


_LEGEND = """\
SMAUG moves   elements moved by the tiling that SMAUG chooses (objective utilization)
least moved   elements moved by the tiling that provably moves fewest (objective traffic)
in use        share of the scratchpads that the largest tiles of that tiling fill"""


@text_of.register
def tiling_text(tiling: Tiling) -> str:
    """What was chosen, the schedule, and what it moves."""
    lines = [
        (
            f"{tiling.operator.name} ({tiling.operator.kind}) on {tiling.backend.name},"
            f" {tiling.objective} objective"
        ),
        "",
    ]
    tensors = table(
        "tensor", ">shape", ">dims", ">tile", ">tiles", ">largest tile", expendable=(2, 4)
    )
    for tiled in tiling.tiled.values():
        tensors.add_row(*_tensor_row(tiling, tiled))
    lines.append(render(tensors))
    lines += [f"scratchpads used: {percent(tiling.utilization)}", "", nest_text_of(tiling), ""]
    lines += moved_lines(tiling)
    if tiling.verdict is not None:
        lines.append(str(tiling.verdict))
    proof = tiling.certificate
    if proof is None:
        return "\n".join([*lines, *(f"note: {note}" for note in tiling.notes)])
    if proof.optimal:
        lines.append(
            f"proven by {proof.solver}: no choice {_BETTER.get(proof.objective, 'is better')} than"
            f" {proof.value:,} elements"
        )
    else:
        lines.append(f"not proven: {proof.value:,} elements found, the bound is {proof.bound:,}")
    return "\n".join([*lines, *(f"note: {note}" for note in tiling.notes)])


def _tensor_row(tiling: Tiling, tiled: TiledTensor) -> tuple[str, ...]:
    pad = tiling.backend.scratchpad(tiled.name)
    return (
        tiled.name,
        sizes_text(tiled.tensor.shape),
        tiling.dims.get(tiled.name, "-"),
        sizes_text(tiling.basic[tiled.name]),
        f"{tiled.count:,}",
        f"{tiled.largest:,} of {tiling.backend.elements(pad):,}",
    )


@text_of.register
def configurations_text(found: Configurations) -> str:
    """A row for each configuration; a star marks the one that SMAUG takes."""
    names = tuple(found.choices[0].tiles)
    dims = ", ".join(f"{name} {found.dims[name]}" for name in names)
    lines = [
        (
            f"{found.operator.name} ({found.operator.kind}) on {found.backend.name}:"
            f" {len(found.choices):,} configurations fit"
        ),
        f"tiling dims: {dims}",
        "",
    ]
    rows = table("configuration", *(f">{name}" for name in names), ">elements")
    for number, choice in enumerate(found.choices):
        rows.add_row(
            f"{number + 1:,}{' *' if number == found.chosen else ''}",
            *(sizes_text(choice.tiles[name]) for name in names),
            f"{choice.total:,}",
        )
    return "\n".join([*lines, render(rows)])


def nest_text_of(tiling: Tiling) -> str:
    """The nest, unless no schedule iterates over the tiles."""
    try:
        tiling.moved  # noqa: B018  (asks whether there is a schedule)
    except InfeasibleError as error:
        return f"no schedule: {error}"
    return loop_nest_text(tiling.nest)


def moved_lines(tiling: Tiling) -> list[str]:
    """Elements moved, and the fewest that any tiling can move."""
    try:
        moved = tiling.moved
    except InfeasibleError:
        return []
    parts = " + ".join(
        [
            *(f"{count:,} {name}" for name, count in moved.loaded.items()),
            f"{moved.stored:,} outputs",
        ]
    )
    lines = [
        f"moves {moved.total:,} elements ({parts}) in {moved.invocations:,} invocations",
        f"algorithmic minimum: {tiling.algorithmic_minimum:,} elements",
    ]
    if tiling.defect is not None and tiling.verdict is None:
        lines.append(f"but this schedule computes something else: {tiling.defect}")
    return lines


@text_of.register
def network_text(tilings: NetworkTiling) -> str:
    """A table over the layers: what each objective moves, how much of the scratchpads its tiles
    use, and the bound.
    """
    rows = table(
        "layer",
        ">runs",
        ">SMAUG\nmoves",
        ">in use",
        ">least\nmoved",
        ">in use ",
        ">saved",
        ">algorithmic\nminimum",
        expendable=(5, 3, 7),
    )
    for layer in tilings.layers:
        rows.add_row(*_layer_row(layer))
    rows.add_row(*_total_row("all, once each", tilings, False))
    rows.add_row(*_total_row("all runs", tilings, True))
    notes = [note for layer in tilings.layers for note in _troubles(layer)]
    title = f"{tilings.name}: elements moved by one run of each layer"
    return "\n".join([render(title, rows), "", _LEGEND, *(["", *notes] if notes else [])])


def _layer_row(layer: ObjectiveComparison) -> tuple[str, ...]:
    cells = []
    for found in layer.results.values():
        sound = isinstance(found, Tiling) and found.fault is None
        proven = (
            isinstance(found, Tiling)
            and found.certificate is not None
            and found.certificate.optimal
        )
        cells += (
            [f"{found.traffic:,}" + ("" if proven else " ?"), percent(found.utilization)]
            if isinstance(found, Tiling) and sound
            else ["-", "-"]
        )
    fullest, least = (layer.moved(objective) for objective in layer.results)
    return (
        layer.job.operator.name,
        str(layer.job.count),
        *cells,
        _saved(fullest, least),
        f"{layer.algorithmic_minimum:,}",
    )


def _total_row(title: str, tilings: NetworkTiling, runs: bool) -> tuple[str, ...]:
    fullest, least = (tilings.total(objective, runs) for objective in OBJECTIVES)
    return (
        title,
        "",
        _count(fullest),
        "",
        _count(least),
        "",
        _saved(fullest, least),
        f"{tilings.algorithmic_minimum(runs):,}",
    )


def comparison_text(comparison: ObjectiveComparison) -> str:
    """Both objectives for one operator."""
    rows = table("objective", ">elements moved", ">scratchpads used", ">invocations")
    for objective, found in comparison.results.items():
        if isinstance(found, Tiling) and found.fault is None:
            rows.add_row(
                objective,
                f"{found.traffic:,}",
                percent(found.utilization),
                f"{found.nest.invocations:,}",
            )
        else:
            rows.add_row(objective, "-", "-", "-")
    rows.add_row("algorithmic minimum", f"{comparison.algorithmic_minimum:,}", "", "")
    return "\n".join([render(rows), *_troubles(comparison)])


def _troubles(comparison: ObjectiveComparison) -> list[str]:
    """Why an objective has no tiling."""
    found = {objective: comparison.trouble(objective) for objective in comparison.results}
    return [
        f"{trouble} (objective {objective})"
        for objective, trouble in found.items()
        if trouble is not None
    ]


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _saved(before: int | None, after: int | None) -> str:
    return "-" if before is None or after is None else percent(1 - Fraction(after, before))

"""Tilings as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from solver_mapper.core.rendering import text_of
from solver_mapper.errors import InfeasibleError
from solver_mapper.tiling.configurations import Configurations
from solver_mapper.tiling.network import OBJECTIVES, NetworkTiling, ObjectiveComparison
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.schedule import loop_nest_text
from solver_mapper.tiling.tensors import TiledTensor

_BETTER = {OBJECTIVES[0]: "fills more", OBJECTIVES[1]: "moves fewer"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column left-aligned, the others right-aligned."""
    listed = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in listed) for column in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in listed
    ]


def sizes_text(sizes: Iterable[int]) -> str:
    """Sizes as `16 x 8 x 8`."""
    return " x ".join(map(str, sizes))


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
    lines += table(
        ("tensor", "shape", "dims", "tile", "tiles", "largest", "scratchpad"),
        (_tensor_row(tiling, tiled) for tiled in tiling.tiled.values()),
    )
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
        f"{tiled.largest:,}",
        f"{pad.name} {tiling.backend.elements(pad):,}",
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
    rows = (
        (
            f"{number + 1:,}{' *' if number == found.chosen else ''}",
            *(sizes_text(choice.tiles[name]) for name in names),
            f"{choice.total:,}",
        )
        for number, choice in enumerate(found.choices)
    )
    return "\n".join([*lines, *table(("configuration", *names, "elements"), rows)])


def nest_text_of(tiling: Tiling) -> str:
    """The nest, unless no schedule iterates over the tiles."""
    try:
        tiling.moved  # noqa: B018  (asks whether there is a schedule)
    except InfeasibleError as error:
        return f"no schedule: {error}"
    return loop_nest_text(tiling.nest)


def moved_lines(tiling: Tiling) -> list[str]:
    """Elements moved, against what any tiling moves."""
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
        f"moves {moved.total:,} elements ({parts}) in {moved.invocations:,} invocations; "
        f"any tiling moves {tiling.algorithmic_minimum:,}"
    ]
    if tiling.defect is not None and tiling.verdict is None:
        lines.append(f"but this schedule computes something else: {tiling.defect}")
    return lines


@text_of.register
def network_text(tilings: NetworkTiling) -> str:
    """A table over the layers: what each objective moves, how much of the scratchpads its tiles
    use, and the bound.
    """
    header = (
        "layer",
        "runs",
        "SMAUG moves",
        "uses",
        "least moved",
        "uses",
        "saved",
        "any tiling moves",
    )
    rows = [_layer_row(layer) for layer in tilings.layers]
    rows += [
        _total_row("all, once each", tilings, False),
        _total_row("all, as often as they run", tilings, True),
    ]
    lines = [f"{tilings.name}: elements moved", "", *table(header, rows)]
    notes = [note for layer in tilings.layers for note in _troubles(layer)]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


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
    rows = []
    for objective, found in comparison.results.items():
        if isinstance(found, Tiling) and found.fault is None:
            rows.append(
                (
                    objective,
                    f"{found.traffic:,}",
                    percent(found.utilization),
                    f"{found.nest.invocations:,}",
                )
            )
        else:
            rows.append((objective, "-", "-", "-"))
    rows.append(("any tiling", f"{comparison.algorithmic_minimum:,}", "", ""))
    return "\n".join(
        [
            *table(("objective", "elements moved", "scratchpads used", "invocations"), rows),
            *_troubles(comparison),
        ]
    )


def _troubles(comparison: ObjectiveComparison) -> list[str]:
    found = {objective: comparison.trouble(objective) for objective in comparison.results}
    return [
        f"{objective}: {trouble}" for objective, trouble in found.items() if trouble is not None
    ]


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _saved(before: int | None, after: int | None) -> str:
    return "-" if before is None or after is None else percent(1 - Fraction(after, before))


def percent(share: Fraction) -> str:
    """A share with one decimal, such as `12.5 %`."""
    return f"{100 * float(share):.1f} %"

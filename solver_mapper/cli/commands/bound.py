"""`solver-mapper bound`: buffer size against least data movement, one Einsum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypedDict

import typer

from solver_mapper import api
from solver_mapper.cli.app import Files, Json, command
from solver_mapper.cli.curves import (
    AllMappings,
    Bandwidth,
    MacsPerCycle,
    Pareto,
    check_listing,
    numbers,
    print_lines,
    words,
    write_curve,
)
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.output import deliver, need_folder, print_result
from solver_mapper.cli.pictures import Html, Plots, pictures
from solver_mapper.cli.request import MemoryLimit, TimeLimit, interruptible, limited, stop_code
from solver_mapper.cost.looptree.specification import TreeSpec


class BoundArguments(TypedDict):
    """What `bound` and `bound_mappings` share."""

    einsum: str | None
    word_bits: dict[str, int] | None
    stationary: str | None
    order: list[str] | None
    tiles: dict[str, int] | None
    constrained: bool
    regular_shifts: bool
    bypass: bool


@command("bound")
def bound(
    files: Files,
    einsum: Annotated[
        str | None, typer.Option(metavar="NAME", help="The Einsum, if the workload has several.")
    ] = None,
    word_bits: Annotated[
        str | None, typer.Option(metavar="A=8,...", help="Bits per word of every tensor.")
    ] = None,
    stationary: Annotated[
        str | None,
        typer.Option(metavar="TENSOR", help="Only mappings that keep this tensor stationary."),
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="MNK", help="Only this loop order, outermost first.")
    ] = None,
    tile: Annotated[
        str | None, typer.Option(metavar="M=4,...", help="Only these tile sizes.")
    ] = None,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Only mappings that satisfy the constraints.")
    ] = False,
    regular_shifts: Annotated[
        bool,
        typer.Option(
            "--regular-shifts", help="Count sliding windows as the cost model of 'solve' does."
        ),
    ] = False,
    bypass: Annotated[
        bool, typer.Option("--bypass", help="Tensors may bypass the buffer.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", metavar="DIR", help="Write JSON, CSV, SVG, text and mappings."),
    ] = None,
    macs_per_cycle: MacsPerCycle = None,
    bandwidth: Bandwidth = None,
    all_mappings: AllMappings = False,
    pareto: Pareto = False,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
) -> int:
    """Bound data movement by buffer size, for one Einsum.

    No mapping with a buffer of that size moves less data."""
    check_listing(
        all_mappings,
        pareto,
        {
            "-o": output,
            "--macs-per-cycle": macs_per_cycle,
            "--bandwidth": bandwidth,
            "--html": html,
            "--plot": plot or None,
        },
    )
    drawn = pictures(html, plot)
    clock = limited(time_limit, memory_limit)
    spec = read_any(files, energies=False)
    if output is not None:
        need_folder(output)
    asked = BoundArguments(
        einsum=einsum,
        word_bits=numbers(word_bits, "--word-bits"),
        stationary=stationary,
        order=words(order),
        tiles=numbers(tile, "--tile"),
        constrained=constrained,
        regular_shifts=regular_shifts,
        bypass=bypass,
    )
    if all_mappings:
        with interruptible():
            print_lines(api.bound_mappings(spec, **asked, pareto=pareto))
        return stop_code()
    curve = api.bound(
        spec, **asked, macs_per_cycle=macs_per_cycle, bandwidth=bandwidth, clock=clock
    )

    def write() -> None:
        if output is not None:
            write_curve(curve, output, trees=isinstance(spec, TreeSpec))
        drawn.write(curve, output, files, spec)

    deliver(lambda: print_result(curve, as_json), write)
    return stop_code()

"""`solver-mapper bound`: buffer size against least data movement, one Einsum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypedDict

import typer

from solver_mapper import api
from solver_mapper.bounds import Curve
from solver_mapper.cli.app import Files, Json, command
from solver_mapper.cli.curves import (
    CURVE_FILES,
    CURVE_FOLDER,
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
from solver_mapper.cli.destination import destination
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.pictures import Html, Plots
from solver_mapper.cli.request import interruptible, limited, stop_code
from solver_mapper.cli.search_options import MemoryLimit, TimeLimit
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


Einsum = Annotated[
    str | None, typer.Option(metavar="NAME", help="The Einsum, if the workload has several.")
]
WordBits = Annotated[
    str | None, typer.Option(metavar="A=8,...", help="Bits per word of every tensor.")
]
Stationary = Annotated[
    str | None,
    typer.Option(metavar="TENSOR", help="Only mappings that keep this tensor stationary."),
]
Order = Annotated[
    str | None, typer.Option(metavar="MNK", help="Only this loop order, outermost first.")
]
Tiles = Annotated[str | None, typer.Option(metavar="M=4,...", help="Only these tile sizes.")]
Constrained = Annotated[
    bool, typer.Option("--constrained", help="Only mappings that satisfy the constraints.")
]
RegularShifts = Annotated[
    bool,
    typer.Option(
        "--regular-shifts", help="Count sliding windows as the cost model of 'solve' does."
    ),
]
Bypass = Annotated[bool, typer.Option("--bypass", help="Tensors may bypass the buffer.")]
Folder = Annotated[
    Path | None,
    typer.Option("-o", metavar="DIR", help="Write JSON, CSV, SVG, text and mappings."),
]


@command("bound")
def bound(
    files: Files,
    einsum: Einsum = None,
    word_bits: WordBits = None,
    stationary: Stationary = None,
    order: Order = None,
    tile: Tiles = None,
    constrained: Constrained = False,
    regular_shifts: RegularShifts = False,
    bypass: Bypass = False,
    output: Annotated[Path | None, CURVE_FOLDER] = None,
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
    target = destination(output, html, plot, as_json)
    clock = limited(time_limit, memory_limit)
    spec = read_any(files, energies=False)
    target.prepare(Curve, files, CURVE_FILES)
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
    target.deliver(
        curve,
        files,
        spec,
        lambda folder: write_curve(curve, folder, trees=isinstance(spec, TreeSpec)),
    )
    return stop_code()

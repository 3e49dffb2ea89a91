"""`solver-mapper bound`: buffer size against least data movement, one Einsum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command, print_result
from solver_mapper.cli.curves import numbers, words, write_curve
from solver_mapper.cli.inputs import read_any
from solver_mapper.cost.looptree.specification import TreeSpec


@command("bound")
def bound(
    files: Files,
    einsum: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which Einsum of a workload of several.")
    ] = None,
    word_bits: Annotated[
        str | None, typer.Option(metavar="A=8,...", help="Bits per word of every tensor.")
    ] = None,
    stationary: Annotated[
        str | None, typer.Option(metavar="TENSOR", help="Only mappings that keep this tensor.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="MNK", help="Only this order of the loops over tiles.")
    ] = None,
    tile: Annotated[
        str | None, typer.Option(metavar="M=4,...", help="Only these tile sizes.")
    ] = None,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Only what the constraint files allow.")
    ] = False,
    regular_shifts: Annotated[
        bool, typer.Option("--regular-shifts", help="Count sliding windows as solve does.")
    ] = False,
    bypass: Annotated[
        bool, typer.Option("--bypass", help="Tensors may do without a tile in the buffer.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", metavar="DIR", help="Write JSON, CSV, SVG, text and mappings."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Buffer size against the least data movement that any mapping can have."""
    spec = read_any(files, energies=False)
    curve = api.bound(
        spec,
        einsum=einsum,
        word_bits=numbers(word_bits, "--word-bits"),
        stationary=stationary,
        order=words(order),
        tiles=numbers(tile, "--tile"),
        constrained=constrained,
        regular_shifts=regular_shifts,
        bypass=bypass,
    )
    if output is not None:
        write_curve(curve, output, trees=isinstance(spec, TreeSpec))
    print_result(curve, as_json)
    return YES

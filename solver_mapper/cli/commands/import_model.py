"""`solver-mapper import`: the layers of an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Json, command, say
from solver_mapper.cli.output import deliver, print_result, write_file
from solver_mapper.cli.request import reading_input
from solver_mapper.cli.written import check_written
from solver_mapper.errors import InputError, SourceLocation


@command("import")
def import_model(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.onnx", help="An ONNX model; weights are not read.")
    ],
    dim: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SIZE", help="Value of a symbolic dimension of the model."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.yaml", help="The file to write.")
    ] = None,
    fused: Annotated[
        bool, typer.Option("--fused", help="One LoopTree workload: Einsums that share tensors.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Import the layers of an ONNX model.

    The file is input for solve and sweep.

    What is left out is listed on standard error, with its share of the multiply-accumulates.
    """
    sizes = _sizes(dim or [])
    check_written([("-o", output)], [model])
    with reading_input():
        imported = api.import_fused(model, sizes) if fused else api.import_model(model, sizes)
    for note in imported.notes:
        say(note)
    deliver(
        lambda: print_result(imported, as_json) if output is None or as_json else None,
        lambda: None if output is None else write_file(output, imported.to_yaml()),
    )
    return YES


def _sizes(words: list[str]) -> dict[str, int]:
    """Raises: InputError for what is no size, and for two sizes of one dimension."""
    sizes: dict[str, int] = {}
    for name, value in map(_size, words):
        if name in sizes:
            raise InputError(
                f"the size of '{name}' is given twice", SourceLocation("--dim"), "keep one of them"
            )
        sizes[name] = value
    return sizes


def _size(word: str) -> tuple[str, int]:
    name, _, value = word.rpartition("=")
    if not name or not value.isdigit() or int(value) < 1:
        raise InputError(
            f"'{word}' is not of the form NAME=SIZE",
            SourceLocation("--dim"),
            "for example --dim batch=1",
        )
    return name, int(value)

"""`solver-mapper import`: the layers of an ONNX model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Json, command, print_result
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
    sizes = dict(map(_size, dim or []))
    imported = api.import_fused(model, sizes) if fused else api.import_model(model, sizes)
    for note in imported.notes:
        print(note, file=sys.stderr)
    if output is not None:
        try:
            output.write_text(imported.to_yaml(), encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror})", SourceLocation(str(output))
            ) from None
    if output is None or as_json:
        print_result(imported, as_json)
    return YES


def _size(word: str) -> tuple[str, int]:
    name, _, value = word.rpartition("=")
    if not name or not value.isdigit() or int(value) < 1:
        raise InputError(
            f"'{word}' is not of the form NAME=SIZE",
            SourceLocation("--dim"),
            "for example --dim batch=1",
        )
    return name, int(value)

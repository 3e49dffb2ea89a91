"""`solver-mapper energies`: an energy reference table by an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read
from solver_mapper.errors import InputError, SourceLocation


@command("energies")
def energies(
    files: Files,
    tech_node: Annotated[
        float, typer.Option(metavar="NM", help="Technology node in nm.", min=1)
    ] = 45,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="ERT.yaml", help="The file to write.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Energies of the architecture's components by hwcomponents, as an ERT."""
    table = api.energies(read(files, energies=False), tech_node)
    if output is not None:
        try:
            output.write_text(table.to_yaml(), encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror})", SourceLocation(str(output))
            ) from None
    if output is None or as_json:
        print_result(table, as_json)
    return YES

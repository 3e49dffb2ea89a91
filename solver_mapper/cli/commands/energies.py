"""`solver-mapper energies`: an energy reference table by an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command
from solver_mapper.cli.inputs import read
from solver_mapper.cli.output import deliver, print_result, write_file


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
    """Write an energy table as hwcomponents estimates it."""
    table = api.energies(read(files, energies=False), tech_node)
    deliver(
        lambda: print_result(table, as_json) if output is None or as_json else None,
        lambda: None if output is None else write_file(output, table.to_yaml()),
    )
    return YES

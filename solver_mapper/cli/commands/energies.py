"""`solver-mapper energies`: energies by estimators, as a table or written into LoopTree files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command
from solver_mapper.cli.input_options import current
from solver_mapper.cli.inputs import read, reader_of
from solver_mapper.cli.output import deliver, print_result, write_file
from solver_mapper.cli.request import reading_input
from solver_mapper.cli.written import check_written
from solver_mapper.core.arguments import refuse_given
from solver_mapper.errors import SourceLocation
from solver_mapper.io import bundled
from solver_mapper.io.accelforge.component_models import FilledInput
from solver_mapper.io.accelforge.specification import is_tree_input
from solver_mapper.io.estimators import EstimatedTable


@command("energies")
def energies(
    files: Files,
    tech_node: Annotated[
        float, typer.Option(metavar="NM", help="Technology node in nm.", min=1)
    ] = 45,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="ERT.yaml", help="The file to write.")
    ] = None,
    functions: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.py", help="LoopTree: run FILE.py, whose functions expressions call."
        ),
    ] = None,
    main_memory: Annotated[
        bool,
        typer.Option("--main-memory", help="LoopTree: put a free memory of any size outermost."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Write an energy table as hwcomponents estimates it.

    LoopTree files are written again with the figures of AccelForge's component models.
    """
    check_written([("-o", output)], [*files, *(functions or ())])
    table: EstimatedTable | FilledInput
    if _are_trees(files):
        table = api.fill_components(
            *files,
            variables=current().templates.variables,
            functions=functions or (),
            main_memory=main_memory,
        )
    else:
        refuse_given(
            {"--functions": bool(functions), "--main-memory": main_memory},
            "is for LoopTree files",
            SourceLocation(files[0]),
        )
        table = api.energies(read(files, energies=False), tech_node)
    deliver(
        lambda: print_result(table, as_json) if output is None or as_json else None,
        lambda: None if output is None else write_file(output, table.to_yaml()),
    )
    return YES


def _are_trees(files: list[str]) -> bool:
    """Whether the files are in LoopTree notation; standard input is not read for that."""
    if "-" in files:
        return False
    reader, sources = reader_of(files)
    with reading_input():
        return is_tree_input(reader.all(*bundled.resolve(*sources, reader=reader)))

"""`solver-mapper convert`: the same input in the other notation."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read_any


@command("convert")
def convert(files: Files, to: Annotated[str, typer.Option(help="timeloop or looptree.")], as_json: Json = False) -> int:
    """FILE... in the other notation; rules by which the two accounts differ go to standard error."""
    conversion = api.convert(read_any(files), to)
    for note in conversion.notes:
        print(f"note: {note}", file=sys.stderr)
    print_result(conversion, as_json)
    return YES

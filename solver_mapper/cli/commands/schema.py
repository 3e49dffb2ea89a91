"""`solver-mapper schema`: a JSON schema of the input, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper.cli.app import YES, command
from solver_mapper.cli.output import print_text, write_file
from solver_mapper.io import bundled
from solver_mapper.io.schema import json_schema

FOLDER = "samples"
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write to FILE instead of standard output."
    ),
]


@command("schema")
def schema(output: Output = None) -> int:
    """Print a JSON schema of input files, for editors."""
    samples = tuple(bundled.path(FOLDER, f"{name}.yaml") for name in bundled.names(FOLDER))
    text = json.dumps(json_schema(samples), indent=1) + "\n"
    if output is None:
        print_text(text)
    else:
        write_file(output, text)
    return YES

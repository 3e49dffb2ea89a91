"""`solver-mapper convert`: the same input in the other notation."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command, say
from solver_mapper.cli.input_options import refuse_for_operators
from solver_mapper.cli.inputs import read_any, reader_of
from solver_mapper.cli.output import print_result, print_text
from solver_mapper.cli.request import interruptible, reading_input
from solver_mapper.errors import InputError
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import parse
from solver_mapper.io.yaml.source import Table, to_python
from solver_mapper.tiling.api import Options, tile_job
from solver_mapper.tiling.read import read_operator


@command("convert")
def convert(
    files: Files,
    to: Annotated[str, typer.Option(metavar="NOTATION", help="timeloop or looptree.")],
    as_json: Json = False,
) -> int:
    """Convert between Timeloop and LoopTree files.

    Differences between the two cost models are printed to standard error. An operator for `tile`
    becomes the loop nest of its tiling, in Timeloop files.
    """
    with reading_input():
        operator = _operator(files)
    if operator is not None:
        refuse_for_operators()
        return _convert_operator(operator, to, as_json)
    spec = read_any(files)
    with interruptible():
        conversion = api.convert(spec, to)
    for note in conversion.notes:
        say(f"note: {note}")
    print_result(conversion, as_json)
    return YES


def _operator(files: list[str]) -> Table | None:
    """The input, if it describes an operator for `tile`."""
    if "-" in files:
        return None
    reader, sources = reader_of(files)
    top = reader.all(*bundled.resolve(*sources, reader=reader))
    return top if "operator" in top.entries else None


def _convert_operator(top: Table, to: str, as_json: bool) -> int:
    if to != "timeloop":
        raise InputError(
            f"a tiled operator cannot be written as '{to}'", top.location, "use '--to timeloop'"
        )
    with interruptible():
        text = tile_job(read_operator(top, None), "utilization", Options()).to_timeloop()
    if as_json:
        text = json.dumps(to_python(parse(text, "<tiling>")))
    print_text(f"{text}\n")
    return YES

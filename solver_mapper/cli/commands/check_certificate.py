"""`solver-mapper check-certificate`: does a certificate hold."""

from __future__ import annotations

from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Json, command
from solver_mapper.cli.inputs import read
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import print_result
from solver_mapper.cli.request import interruptible
from solver_mapper.errors import InputError


@command("check-certificate")
def check_certificate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC... FILE",
            help="The files that were solved, then the certificate that solve wrote.",
        ),
    ],
    as_json: Json = False,
) -> int:
    """Check an optimality certificate without the solver.

    Exit code 0: it is valid; 1: it is refused; 2: it cannot be read.
    """
    if len(files) < 2:
        raise InputError(
            "a specification and a certificate are needed",
            COMMAND_LINE,
            "name the files that were solved, then the certificate",
        )
    spec = read(files[:-1])
    with interruptible():
        check = api.check_certificate(spec, files[-1])
    print_result(check, as_json)
    return YES if check.holds else NO

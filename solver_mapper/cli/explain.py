"""`solver-mapper explain`: why no mapping exists."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, excerpt, print_result
from solver_mapper.cli.inputs import read
from solver_mapper.explain.reason import Reason


@command("explain")
def explain(
    files: Files,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which the answer is what is known by then.", min=0),
    ] = None,
    as_json: Json = False,
) -> int:
    """Why no mapping of FILE... exists: constraints, capacities, meshes and bounds that collide,
    and what would lift that.
    """
    reason = api.explain(read(files, energies=False), time_limit)
    if as_json:
        print_result(reason, as_json)
    else:
        _print(reason)
    return YES if reason.feasible else NO


def _print(reason: Reason) -> None:
    """The reason, with the line that each entry of the conflict was written on below it."""
    console = Console(highlight=False, soft_wrap=True)
    first, *rest = str(reason).split("\n")
    console.print(first, markup=False)
    for number, line in enumerate(rest):
        console.print(line, markup=False)
        if number < len(reason.conflict):
            for shown in excerpt(reason.conflict[number].location):
                console.print(shown, markup=False)

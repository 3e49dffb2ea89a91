"""`solver-mapper explain`: why no mapping exists."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, excerpt, print_result
from solver_mapper.cli.factors import Factors, FactorWord
from solver_mapper.cli.inputs import read_any
from solver_mapper.explain.looptree import TreeReason
from solver_mapper.explain.reason import Reason


@command("explain")
def explain(
    files: Files,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for the whole command; what is known by then is printed.", min=0
        ),
    ] = None,
    factors: Factors = FactorWord.PERFECT,
    as_json: Json = False,
) -> int:
    """Explain why no legal mapping exists.

    Prints a minimal conflict of constraints, capacities, fan-outs and dimensions, and changes that
    resolve it.
    """
    reason = api.explain(read_any(files, energies=False), time_limit, factors=factors.value)
    if as_json:
        print_result(reason, as_json)
    else:
        _print(reason)
    return YES if reason.feasible else NO


def _print(reason: Reason | TreeReason) -> None:
    """Print the reason, each entry of the conflict followed by its line in the file."""
    console = Console(highlight=False, soft_wrap=True)
    first, *rest = str(reason).split("\n")
    console.print(first, markup=False)
    for number, line in enumerate(rest):
        console.print(line, markup=False)
        if number < len(reason.conflict):
            for shown in excerpt(reason.conflict[number].location):
                console.print(shown, markup=False)

"""`solver-mapper explain`: why no mapping exists."""

from __future__ import annotations

from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, excerpt
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.output import print_answer, print_result
from solver_mapper.cli.request import limited, stop_code
from solver_mapper.cli.search_options import Factors, FactorWord, MemoryLimit, TimeLimit
from solver_mapper.explain.looptree import TreeReason
from solver_mapper.explain.reason import Reason


@command("explain")
def explain(
    files: Files,
    time_limit: TimeLimit = None,
    every: Annotated[
        bool, typer.Option("--all", help="List all conflicts that share no entry.")
    ] = False,
    factors: Factors = FactorWord.PERFECT,
    memory_limit: MemoryLimit = None,
    as_json: Json = False,
) -> int:
    """Explain why no legal mapping exists.

    Prints a minimal conflict of constraints, capacities, fan-outs and dimensions, and changes that
    resolve it.
    """
    clock = limited(time_limit, memory_limit)
    reason = api.explain(
        read_any(files, energies=False), clock=clock, factors=factors.value, every=every
    )
    if as_json:
        print_result(reason, as_json)
    else:
        _print(reason)
    return stop_code() or (YES if reason.feasible else NO)


def _print(reason: Reason | TreeReason) -> None:
    """Print the reason, each entry of a conflict followed by its line in the file."""
    lines: list[str] = []
    for text, location in reason.lines():
        lines += [text, *excerpt(location)]
    print_answer("\n".join([*lines, ""]))

"""`solver-mapper evaluate`: exact figures of a mapping."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read_any


@command("evaluate")
def evaluate(files: Files, as_json: Json = False) -> int:
    """Exact figures of the mapping in FILE..."""
    print_result(api.evaluate(read_any(files)), as_json)
    return YES

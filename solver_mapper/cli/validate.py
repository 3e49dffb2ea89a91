"""`solver-mapper validate`: is a mapping legal."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read_any


@command("validate")
def validate(files: Files, as_json: Json = False) -> int:
    """Is the mapping in FILE... legal: hardware, problem and constraints."""
    verdict = api.validate(read_any(files))
    print_result(verdict, as_json)
    return YES if verdict.legal else NO

"""`solver-mapper space`: how many mappings there are."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read


@command("space")
def space(files: Files, as_json: Json = False) -> int:
    """How many mappings the constraints of FILE... leave, level by level, and what each constraint
    cuts.
    """
    mapspace_size = api.space(read(files, energies=False))
    print_result(mapspace_size, as_json)
    return NO if mapspace_size.empty else YES

"""`solver-mapper space`: how many mappings there are."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read_any


@command("space")
def space(files: Files, as_json: Json = False) -> int:
    """Size of the mapspace, and what each constraint prunes; fused design space of Einsums."""
    mapspace_size = api.space(read_any(files, energies=False))
    print_result(mapspace_size, as_json)
    return NO if mapspace_size.empty else YES

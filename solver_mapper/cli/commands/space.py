"""`solver-mapper space`: how many mappings there are."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.output import print_result
from solver_mapper.cli.request import limited, stop_code
from solver_mapper.cli.search_options import Factors, FactorWord, MemoryLimit, TimeLimit


@command("space")
def space(
    files: Files,
    factors: Factors = FactorWord.PERFECT,
    as_json: Json = False,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
) -> int:
    """Count the mappings of a mapspace.

    Prints its size, how much each constraint prunes, and which constraints are redundant; of a
    workload of Einsums, the size of its space of fused mappings.
    """
    clock = limited(time_limit, memory_limit)
    spec = read_any(files, energies=False)
    mapspace_size = api.space(spec, factors=factors.value, clock=clock)
    print_result(mapspace_size, as_json)
    return stop_code() or (NO if mapspace_size.empty else YES)

"""`solver-mapper space`: how many mappings there are."""

from __future__ import annotations

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, print_result
from solver_mapper.cli.factors import Factors, FactorWord
from solver_mapper.cli.inputs import read_any


@command("space")
def space(files: Files, factors: Factors = FactorWord.PERFECT, as_json: Json = False) -> int:
    """Count the mappings of a mapspace.

    Prints its size, how much each constraint prunes, and which constraints are redundant; of a
    workload of Einsums, the size of its space of fused mappings.
    """
    mapspace_size = api.space(read_any(files, energies=False), factors=factors.value)
    print_result(mapspace_size, as_json)
    return NO if mapspace_size.empty else YES

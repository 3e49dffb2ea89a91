"""Legal mappings one by one, by asking the solver for another one: for spaces of too many tiles to
count.
"""

from __future__ import annotations

from collections.abc import Iterator

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.mapspace.requirements import requirements_of
from solver_mapper.solve.legality.extract import Read, mapping_of
from solver_mapper.solve.legality.model import Legal, legal_model
from solver_mapper.solve.legality.queries import least


def other_mappings(spec: Spec, clock: Clock) -> Iterator[Mapping]:
    """All legal mappings that differ in factors, axes or bypass, caps on figures apart; of each,
    one order of loops.

    Raises: LimitReached.
    """
    legal = legal_model(spec.need_architecture(), spec.need_problem(), requirements_of(spec))
    while (read := least(legal, None, clock).read) is not None:
        yield mapping_of(legal, read)
        exclude(legal, read)


def exclude(legal: Legal, read: Read) -> None:
    """Forbid the factors and bypass choices of a solution."""
    other: list[cp_model.IntVar] = []
    for variable in (*legal.loops.power.values(), *legal.storage.keep.values()):
        literal = legal.model.new_bool_var("")
        legal.model.add(variable != read(variable)).only_enforce_if(literal)
        other.append(literal)
    legal.model.add_bool_or(other)

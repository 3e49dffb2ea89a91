"""Repairs: the smallest sets of requirements to lift, and numbers that suffice, each tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.spec import Spec
from solver_mapper.explain.change import Change, changed
from solver_mapper.explain.numbers import number_for
from solver_mapper.mapspace.requirements import Requirement, requirements_of
from solver_mapper.solve.legality.model import legal_model
from solver_mapper.solve.legality.queries import colliding, least, legal_mapping

MOST = 12
"""Repairs that are looked for."""


def smallest_lifts(
    spec: Spec, conflict: Sequence[Requirement], clock: Clock
) -> Iterator[tuple[Requirement, ...]]:
    """The smallest sets of requirements without which some mapping is legal: single ones in the
    order of `conflict`, or if there are none all sets of the least size, in no particular order; at
    most `MOST`.
    """
    requirements = requirements_of(spec)
    guarded = legal_model(spec.need_architecture(), spec.need_problem(), requirements, guarded=True)
    single = [
        requirement
        for requirement in conflict
        if not isinstance(
            colliding(guarded, [each for each in requirements if each != requirement], clock), tuple
        )
    ]
    if single:
        yield from ((requirement,) for requirement in single[:MOST])
        return
    guards = {
        requirement: guard for requirement, guard in guarded.guards.items() if guard is not None
    }
    size = 0
    for _ in range(MOST):
        answer = least(guarded, len(guards) - cp_model.LinearExpr.sum(list(guards.values())), clock)
        if answer.read is None or (size and answer.value > size):
            return
        size = answer.value
        lifted = tuple(
            requirement for requirement, guard in guards.items() if not answer.read(guard)
        )
        yield lifted
        guarded.model.add_bool_or([guards[requirement] for requirement in lifted])


def repair(spec: Spec, lifted: Sequence[Requirement], clock: Clock) -> tuple[Change, ...] | None:
    """Numbers for all of `lifted`, one after the other. None if the changed specification turns out
    to have no mapping.
    """
    changes: list[Change] = []
    for number, requirement in enumerate(lifted):
        change = number_for(spec, requirement, lifted[number + 1 :], clock)
        if change is None:
            return None
        changes.append(change)
        spec = changed(spec, change)
    return tuple(changes) if legal_mapping(spec, clock) is not None else None

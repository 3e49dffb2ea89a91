"""What a search begins with: the user's mapping, or a good one found in a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from solver_mapper.check.constraints import constraint_violations
from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.core.progress import Progress
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.errors import LimitReached
from solver_mapper.solve.legality.queries import legal_mapping
from solver_mapper.solve.local_search import LocalSearch
from solver_mapper.verify.mapspace import EnumeratedMapspace


class Start(NamedTuple):
    """A mapping to begin with, and what the certificate says about it. `impossible`: it is proven
    that no mapping is legal.
    """

    mapping: Mapping | None
    notes: tuple[str, ...] = ()
    impossible: bool = False


def begin(
    spec: Spec,
    goal: Goal,
    clock: Clock,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    local_search: bool = True,
) -> Start:
    """The mapping in `spec` if it is legal and of the mapspace; else, with `local_search`, one
    found by local search, if one is legal.
    """
    given = _given(spec)
    if given.mapping is not None:
        return given
    try:
        legal = None if clock.over else legal_mapping(spec, clock)
        if legal is None:
            return given._replace(impossible=not clock.over)
    except LimitReached:
        return given
    if not local_search:
        return given
    best, statistics = LocalSearch(spec, goal, seed).best_from(legal, over=lambda: clock.over)
    if not EnumeratedMapspace(
        spec.need_architecture(), spec.need_problem(), spec.constraints
    ).contains(best):
        return given
    if on_progress is not None:
        on_progress(Progress(goal.shown(goal.rank(statistics)), None, clock.seconds, goal.name))
    return Start(best, (*given.notes, "the search began with a mapping found by local search"))


def _given(spec: Spec) -> Start:
    """The given mapping, if there is one and it is legal and of the mapspace."""
    given = spec.mapping
    if given is None:
        return Start(None)
    architecture, problem = spec.need_architecture(), spec.need_problem()
    wrong = (
        *violations(architecture, problem, given),
        *constraint_violations(spec.constraints, architecture, problem, given),
    )
    if wrong:
        return Start(None, (f"the given mapping is illegal and was not used: {wrong[0].message}",))
    if not EnumeratedMapspace(architecture, problem, spec.constraints).contains(given):
        return Start(None, ("the given mapping is not of this mapspace and was not used",))
    return Start(given, ("the search began with the given mapping",))

"""Why no mapping of imperfect factors is legal: an irreducible conflict, and what would lift it.

Each question whether some mapping is legal is a search, as with caps on figures (`caps.py`). Bounds
and meshes are taken as given too; what may give way are constraints, capacities and least fills.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from solver_mapper.check.mapping import require_legal
from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import running
from solver_mapper.errors import LimitReached
from solver_mapper.explain.caps import caps_of, may_give_way, turn, value_of
from solver_mapper.explain.change import Change, changed
from solver_mapper.explain.explain import entry_of
from solver_mapper.explain.reason import Entry, Reason, Repair
from solver_mapper.explain.wording import advice
from solver_mapper.mapspace.requirements import Requirement, requirements_of
from solver_mapper.solve.imperfect.search import ImperfectSearch, Tree
from solver_mapper.solve.legality.queries import legal_mapping
from solver_mapper.solve.partial_mapping import with_directives
from solver_mapper.solve.session import require_countable
from solver_mapper.verify.imperfect import ImperfectMapspace


def explain_imperfect(spec: Spec, clock: Clock) -> Reason:
    """See `api.explain`."""
    require_countable(spec.need_problem())
    with running(clock):
        spec = with_directives(spec)
        mapping = some_mapping(spec, clock)
        if mapping is not None:
            require_legal(spec, mapping)
            return Reason(True, mapping=mapping, seconds=clock.seconds)
        conflict = _conflict(spec, clock)
    repairs: list[Repair] = []
    complete = True
    try:
        with running(clock):
            repairs.extend(_repairs(spec, conflict, clock))
    except LimitReached:
        complete = False
    return Reason(
        False, _entries(conflict, spec), tuple(repairs), complete=complete, seconds=clock.seconds
    )


def imperfect_conflict_entries(spec: Spec, clock: Clock) -> tuple[dict[str, Any], ...]:
    """The conflict of an infeasible `spec` as JSON; empty if the time does not suffice for one."""
    try:
        with running(clock):
            return tuple(each.to_dict() for each in _entries(_conflict(spec, clock), spec))
    except LimitReached:
        return ()


def some_mapping(spec: Spec, clock: Clock) -> Mapping | None:
    """Some legal mapping of imperfect factors, caps included; None if there is provably none.

    Raises: LimitReached.
    """
    if not caps_of(spec):
        mapping = legal_mapping(spec, clock)
        if mapping is not None:
            return mapping
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    (goal,) = parse_objective("delay").goals
    search = ImperfectSearch(
        Tree(spec, space), goal, 0.0, lambda: search.best is not None or clock.over
    )
    search.run()
    if search.best is None and not search.complete:
        raise LimitReached(
            "the time limit was reached before it was clear whether a mapping exists"
        )
    return None if search.best is None else search.best.mapping


def _conflict(spec: Spec, clock: Clock) -> tuple[Requirement, ...]:
    """What is left if one requirement after the other is dropped, as long as there is no mapping
    all the same. Raises: LimitReached.
    """
    requirements = [each for each in requirements_of(spec) if may_give_way(each, spec)]
    needed: set[Requirement] = set()
    for requirement in sorted(requirements, key=turn):
        without = changed(spec, Change(requirement))
        if some_mapping(without, clock) is None:
            spec = without
        else:
            needed.add(requirement)
    return tuple(each for each in requirements if each in needed)


def _entries(conflict: Sequence[Requirement], spec: Spec) -> tuple[Entry, ...]:
    """Entries without notes, which speak of perfect factors."""
    return tuple(replace(entry_of(each, spec), note="") for each in conflict)


def _repairs(spec: Spec, conflict: Sequence[Requirement], clock: Clock) -> Iterator[Repair]:
    """Single changes of what takes part in `conflict` that make some mapping legal."""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    for requirement in conflict:
        mapping = some_mapping(changed(spec, Change(requirement)), clock)
        if mapping is not None:
            change = Change(requirement, value_of(spec, requirement, mapping), least=False)
            text = advice(change, architecture, problem)
            yield Repair(text, (change,), _entries([requirement], spec))

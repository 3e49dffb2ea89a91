"""From a specification to the reason why no mapping is legal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from solver_mapper.check.mapping import require_legal
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import running
from solver_mapper.errors import LimitReached
from solver_mapper.explain.caps import (
    capped_repairs,
    caps_of,
    raised_caps,
    some_mapping,
    without_caps,
)
from solver_mapper.explain.change import Change, changed
from solver_mapper.explain.conflict import conflict_of, independent_conflicts
from solver_mapper.explain.hardware import implied_by_hardware
from solver_mapper.explain.reason import Entry, Reason, Repair
from solver_mapper.explain.repairs import repair, smallest_lifts
from solver_mapper.explain.wording import (
    advice,
    excluded_by_mapspace,
    location_of,
    text_of,
    what_of,
)
from solver_mapper.mapspace.requirements import Requirement
from solver_mapper.solve.partial_mapping import with_directives
from solver_mapper.solve.session import require_countable


def explain_spec(spec: Spec, clock: Clock, *, every: bool = False) -> Reason:
    """See `api.explain`; `every`: all independent conflicts, not only whether there are more."""
    require_countable(spec.need_problem())
    with running(clock):
        spec = with_directives(spec)
        mapping = some_mapping(spec, clock)
    if mapping is not None:
        require_legal(spec, mapping)
        return Reason(True, mapping=mapping, seconds=clock.seconds)
    with running(clock):
        requirements = conflict_of(spec, clock)
    repairs: list[Repair] = []
    others: list[tuple[Requirement, ...]] = []
    complete, more = True, None
    try:
        with running(clock):
            repairs.extend(_repairs(spec, requirements, clock))
            for other in independent_conflicts(spec, requirements, clock):
                more = True
                if not every:
                    break
                others.append(other)
            else:
                more = bool(others) or (False if set(caps_of(spec)) <= set(requirements) else None)
    except LimitReached:
        complete = False
    return Reason(
        False,
        _entries(requirements, spec),
        tuple(repairs),
        others=tuple(_entries(other, spec) for other in others),
        more=more,
        complete=complete,
        seconds=clock.seconds,
    )


def _entries(conflict: Sequence[Requirement], spec: Spec) -> tuple[Entry, ...]:
    return tuple(entry_of(requirement, spec) for requirement in conflict)


def _repairs(spec: Spec, conflict: Sequence[Requirement], clock: Clock) -> Iterator[Repair]:
    """Repairs one by one, as they are found."""
    if any(isinstance(requirement, MetricConstraint) for requirement in conflict):
        yield from (_in_words(spec, changes) for changes in capped_repairs(spec, conflict, clock))
        return
    for lifted in smallest_lifts(without_caps(spec), conflict, clock):
        found = repair_for(spec, lifted, clock)
        if found is not None:
            yield found


def repair_for(spec: Spec, lifted: Sequence[Requirement], clock: Clock) -> Repair | None:
    """The repair that gives way on `lifted`, and on caps that cannot be met then, in words; None if
    that makes no mapping legal.
    """
    changes = repair(without_caps(spec), lifted, clock)
    if changes is None:
        return None
    after = spec
    for change in changes:
        after = changed(after, change)
    return _in_words(spec, (*changes, *(raised_caps(after, clock) if caps_of(after) else ())))


def _in_words(spec: Spec, changes: tuple[Change, ...]) -> Repair:
    architecture, problem = spec.need_architecture(), spec.need_problem()
    text = ", and ".join(advice(change, architecture, problem) for change in changes)
    return Repair(text, changes, tuple(entry_of(change.requirement, spec) for change in changes))


def entry_of(requirement: Requirement, spec: Spec) -> Entry:
    """A requirement as an entry of a conflict."""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    return Entry(
        what_of(requirement),
        text_of(requirement, architecture, problem),
        location_of(requirement, architecture, problem),
        excluded_by_mapspace(requirement) or implied_by_hardware(requirement, spec),
    )


def conflict_entries(spec: Spec, clock: Clock) -> tuple[dict[str, Any], ...]:
    """The conflict of an infeasible `spec` as JSON; empty if the time does not suffice for one."""
    try:
        with running(clock):
            return tuple(
                entry_of(requirement, spec).to_dict() for requirement in conflict_of(spec, clock)
            )
    except LimitReached:
        return ()

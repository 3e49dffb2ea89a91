"""The number that suffices: how far a requirement must be relaxed while all others hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import (
    FactorConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.spec import Spec
from solver_mapper.explain.change import Change, changed
from solver_mapper.mapspace.requirements import (
    Capacity,
    DimensionBound,
    FanoutRequirement,
    LeastFill,
    Requirement,
    requirements_of,
)
from solver_mapper.solve.legality.loops import RequirementTable
from solver_mapper.solve.legality.model import Legal, legal_model, units_of
from solver_mapper.solve.legality.queries import least, legal_mapping


def number_for(
    spec: Spec, requirement: Requirement, others: Sequence[Requirement], clock: Clock
) -> Change | None:
    """The change of `requirement` that comes closest to what it asks, such that some mapping is
    legal once `others` are lifted as well.

    None if there is no such mapping. Asks without a number are lifted.
    Raises: LimitReached.
    """
    if isinstance(requirement, FactorConstraint | ProductConstraint):
        return _factor(spec, requirement, others, clock)
    if isinstance(requirement, FanoutRequirement):
        return _fanout(spec, requirement, others, clock)
    if isinstance(requirement, SplitConstraint):
        return _split(spec, requirement, others, clock)
    legal = _without(spec, [requirement, *others])
    if isinstance(requirement, DimensionBound):
        table = legal.loops.value(legal.loops.loop_slots([requirement.dim], legal.loops.slots))
        return _change(
            requirement, _nearest(table, spec.need_problem().bounds[requirement.dim], legal, clock)
        )
    if isinstance(requirement, Capacity):
        words = least(legal, legal.storage.used(requirement.level), clock)
        buffer = legal.architecture.levels[requirement.level]
        return (
            None
            if words.read is None
            else Change(requirement, math.ceil(words.value * buffer.multiple_buffering))
        )
    if isinstance(requirement, LeastFill):
        most = least(legal, -legal.storage.used(requirement.level), clock)
        capacity = legal.architecture.levels[requirement.level].capacity or 1
        return None if most.read is None else Change(requirement, Fraction(-most.value, capacity))
    if isinstance(requirement, UtilizationConstraint):
        most = least(legal, -legal.spread().expr, clock)
        return (
            None
            if most.read is None
            else Change(requirement, Fraction(-most.value, units_of(legal.architecture)))
        )
    return None if least(legal, None, clock).read is None else Change(requirement)


def _without(spec: Spec, lifted: Sequence[Requirement]) -> Legal:
    requirements = [
        requirement for requirement in requirements_of(spec) if requirement not in lifted
    ]
    return legal_model(spec.need_architecture(), spec.need_problem(), requirements, lifted=lifted)


def _change(requirement: Requirement, to: int | None) -> Change | None:
    return None if to is None else Change(requirement, to)


def _nearest(table: RequirementTable, wanted: int, legal: Legal, clock: Clock) -> int | None:
    """The value of `table` nearest to `wanted` that some mapping has; of two the larger."""
    answer = least(legal, table.distance(wanted), clock)
    return None if answer.read is None else table.read(answer.read)


def _factor(
    spec: Spec,
    constraint: FactorConstraint | ProductConstraint,
    others: Sequence[Requirement],
    clock: Clock,
) -> Change | None:
    legal = _without(spec, [constraint, *others])
    table = legal.looped(constraint)
    if table is None or constraint.comparison == "!=":
        return (
            None
            if least(legal, None, clock).read is None
            else Change(constraint, 1 if table is None else None)
        )
    to = _nearest(table, constraint.value, legal, clock)
    if to is None:
        return None
    number = to + {"<": 1, ">": -1}.get(constraint.comparison, 0)
    return Change(constraint, number or None)


def _fanout(
    spec: Spec, requirement: FanoutRequirement, others: Sequence[Requirement], clock: Clock
) -> Change | None:
    """A longer mesh along one axis if that is enough, else along both; if it must be used to some
    part, one that is used in full.
    """
    sizes = spec.need_architecture().fanout(requirement.level)
    full = any(
        isinstance(constraint, UtilizationConstraint)
        for constraint in requirements_of(spec)
        if constraint not in others
    )
    for grown in ("",) if full else ("X", "Y", "XY"):
        legal = _without(spec, [requirement, *others])
        tables = [
            table for axis in "XY" if (table := legal.across(requirement.level, axis)) is not None
        ]
        for axis, table, room in zip("XY", tables, sizes, strict=True):
            if grown and axis not in grown:
                legal.model.add(table.expr <= room)
        wanted = [
            table.expr if grown else table.distance(room)
            for table, room in zip(tables, sizes, strict=True)
        ]
        answer = least(legal, cp_model.LinearExpr.sum(wanted), clock)
        if answer.read is not None:
            used = [table.read(answer.read) for table in tables]
            return Change(
                requirement,
                (used[0], used[1]) if full else (max(sizes[0], used[0]), max(sizes[1], used[1])),
            )
    return None


def _split(
    spec: Spec, constraint: SplitConstraint, others: Sequence[Requirement], clock: Clock
) -> Change | None:
    for other in others:
        spec = changed(spec, Change(other))
    positions = range(len(spec.need_problem().dims) + 1)
    for split in sorted(positions, key=lambda each: abs(each - constraint.split)):
        change = Change(constraint, split)
        if legal_mapping(changed(spec, change), clock) is not None:
            return change
    return None

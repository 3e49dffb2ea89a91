"""An irreducible conflict: requirements that no mapping obeys together, though some mapping obeys
any smaller part of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from solver_mapper.check.mapping import require_legal
from solver_mapper.core.clock import Clock
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError
from solver_mapper.explain.caps import capped_conflict, caps_of, without_caps
from solver_mapper.explain.change import Change, changed
from solver_mapper.mapspace.requirements import (
    DimensionBound,
    FanoutRequirement,
    Requirement,
    is_changeable,
    requirements_of,
    with_fanout,
)
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.legality.extract import Read, bound_at, mapping_of
from solver_mapper.solve.legality.model import Legal, legal_model
from solver_mapper.solve.legality.queries import colliding, legal_mapping


def conflict_of(spec: Spec, clock: Clock) -> tuple[Requirement, ...]:
    """The smallest of a few irreducible conflicts of `spec`, which must not have a legal mapping
    within its caps on figures.

    That each smaller part can be obeyed is shown by a mapping, which the exact cost model
    evaluates.
    Raises: LimitReached; ExactnessError if the solver contradicts itself or the exact model.
    """
    if caps_of(spec) and legal_mapping(spec, clock) is not None:
        return capped_conflict(spec, clock)
    spec = without_caps(spec)
    guarded, requirements = _guarded(spec), _changeable(spec)
    found = [
        _irreducible(spec, guarded, order, clock) for order in (requirements, requirements[::-1])
    ]
    best = min(found, key=len)
    return tuple(requirement for requirement in requirements if requirement in best)


def independent_conflicts(
    spec: Spec, conflict: Collection[Requirement], clock: Clock
) -> Iterator[tuple[Requirement, ...]]:
    """Further irreducible conflicts of `spec`, one by one, none of which shares a requirement with
    `conflict` or another of them. Caps on figures take no part.

    Raises: LimitReached; ExactnessError as `conflict_of`.
    """
    spec = without_caps(spec)
    guarded = _guarded(spec)
    left = [requirement for requirement in _changeable(spec) if requirement not in conflict]
    while isinstance(colliding(guarded, left, clock), tuple):
        found = _irreducible(spec, guarded, left, clock)
        yield tuple(requirement for requirement in left if requirement in found)
        left = [requirement for requirement in left if requirement not in found]


def _guarded(spec: Spec) -> Legal:
    """The model of legality in which each requirement can be lifted."""
    return legal_model(
        spec.need_architecture(), spec.need_problem(), requirements_of(spec), guarded=True
    )


def _changeable(spec: Spec) -> tuple[Requirement, ...]:
    return tuple(requirement for requirement in requirements_of(spec) if is_changeable(requirement))


def _irreducible(
    spec: Spec, guarded: Legal, order: Sequence[Requirement], clock: Clock
) -> tuple[Requirement, ...]:
    """Drop what can be dropped, the last of `order` first."""
    core = colliding(guarded, order, clock)
    if not isinstance(core, tuple):
        raise ExactnessError("the solver finds a mapping where it proved that there is none")
    left, needed = (
        [requirement for requirement in order if requirement in core],
        list[Requirement](),
    )
    while left:
        dropped = left.pop()
        answer = colliding(guarded, [*needed, *left], clock)
        if isinstance(answer, tuple):
            left = [requirement for requirement in left if requirement in answer]
        else:
            needed.append(dropped)
            confirm(spec, guarded, answer, [*needed[:-1], *left])
    if not isinstance(colliding(guarded, needed, clock), tuple):
        raise ExactnessError("the solver reported a conflict that does not exist")
    return tuple(needed)


def confirm(spec: Spec, legal: Legal, read: Read, held: Collection[Requirement]) -> None:
    """Let the exact cost model confirm that the mapping which `read` stands for obeys `held`, with
    everything else lifted.

    Raises: ExactnessError if it does not.
    """
    lifted = _lifted(
        spec,
        legal,
        read,
        [
            requirement
            for requirement in requirements_of(spec)
            if requirement not in held and is_changeable(requirement)
        ],
    )
    mapping = mapping_of(
        legal,
        read,
        [
            requirement
            for requirement in requirements_of(spec)
            if requirement in held or not is_changeable(requirement)
        ],
    )
    require_legal(lifted, mapping)


def _lifted(spec: Spec, legal: Legal, read: Read, requirements: Sequence[Requirement]) -> Spec:
    """`spec` with `requirements` lifted, no further than the solution needs."""
    for requirement in requirements:
        if isinstance(requirement, FanoutRequirement):
            across, along = (
                _product(legal, read, legal.loops.dims, [Slot(requirement.level, axis)])
                for axis in "XY"
            )
            spec = replace(
                spec,
                architecture=with_fanout(
                    spec.need_architecture(), requirement.level, across, along
                ),
            )
        elif isinstance(requirement, DimensionBound):
            spec = changed(
                spec,
                Change(requirement, _product(legal, read, [requirement.dim], legal.loops.slots)),
            )
        else:
            spec = changed(spec, Change(requirement))
    return spec


def _product(legal: Legal, read: Read, dims: Collection[str], slots: Collection[Slot]) -> int:
    product = 1
    for slot in slots:
        if slot in legal.loops.slots:
            for dim in dims:
                product *= bound_at(legal, read, dim, slot)
    return product

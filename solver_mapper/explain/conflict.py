"""An irreducible conflict: asks that no mapping obeys together, though some mapping obeys any
smaller part of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from solver_mapper.check.mapping import require_legal
from solver_mapper.core.clock import Clock
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError
from solver_mapper.explain.caps import capped_conflict, caps_of, without_caps
from solver_mapper.explain.change import Change, changed
from solver_mapper.mapspace.requirements import (
    DimensionBound,
    Fanout,
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

    That each smaller part can be obeyed is shown by a mapping, which the exact model judges.
    Raises: LimitReached; ExactnessError if the solver contradicts itself or the exact model.
    """
    if caps_of(spec) and legal_mapping(spec, clock) is not None:
        return capped_conflict(spec, clock)
    spec = without_caps(spec)
    guarded = legal_model(
        spec.need_architecture(), spec.need_problem(), requirements_of(spec), guarded=True
    )
    asks = tuple(ask for ask in requirements_of(spec) if is_changeable(ask))
    found = [_irreducible(spec, guarded, order, clock) for order in (asks, asks[::-1])]
    best = min(found, key=len)
    return tuple(ask for ask in asks if ask in best)


def _irreducible(
    spec: Spec, guarded: Legal, order: Sequence[Requirement], clock: Clock
) -> tuple[Requirement, ...]:
    """Drop what can be dropped, the last of `order` first."""
    core = colliding(guarded, order, clock)
    if not isinstance(core, tuple):
        raise ExactnessError("the solver finds a mapping where it proved that there is none")
    left, needed = [ask for ask in order if ask in core], list[Requirement]()
    while left:
        dropped = left.pop()
        answer = colliding(guarded, [*needed, *left], clock)
        if isinstance(answer, tuple):
            left = [ask for ask in left if ask in answer]
        else:
            needed.append(dropped)
            judge(spec, guarded, answer, [*needed[:-1], *left])
    if not isinstance(colliding(guarded, needed, clock), tuple):
        raise ExactnessError("the solver named a conflict that is none")
    return tuple(needed)


def judge(spec: Spec, legal: Legal, read: Read, held: Collection[Requirement]) -> None:
    """Let the exact model judge that the mapping which `read` stands for obeys `held`, with
    everything else lifted.

    Raises: ExactnessError if it does not.
    """
    lifted = _lifted(
        spec,
        legal,
        read,
        [ask for ask in requirements_of(spec) if ask not in held and is_changeable(ask)],
    )
    mapping = mapping_of(
        legal, read, [ask for ask in requirements_of(spec) if ask in held or not is_changeable(ask)]
    )
    require_legal(lifted, mapping)


def _lifted(spec: Spec, legal: Legal, read: Read, asks: Sequence[Requirement]) -> Spec:
    """`spec` with `asks` lifted, just as far as the solution needs where it needs a number."""
    for ask in asks:
        if isinstance(ask, Fanout):
            across, along = (
                _product(legal, read, legal.loops.dims, [Slot(ask.level, axis)]) for axis in "XY"
            )
            spec = replace(
                spec, architecture=with_fanout(spec.need_architecture(), ask.level, across, along)
            )
        elif isinstance(ask, DimensionBound):
            spec = changed(spec, Change(ask, _product(legal, read, [ask.dim], legal.loops.slots)))
        else:
            spec = changed(spec, Change(ask))
    return spec


def _product(legal: Legal, read: Read, dims: Collection[str], slots: Collection[Slot]) -> int:
    product = 1
    for slot in slots:
        if slot in legal.loops.slots:
            for dim in dims:
                product *= bound_at(legal, read, dim, slot)
    return product

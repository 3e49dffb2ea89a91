"""Legal mappings of a specification, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from solver_mapper.check.constraints import constraint_violations
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.core.verdict import Violation
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.errors import ExactnessError
from solver_mapper.mapspace.size.counter import countable
from solver_mapper.mapspace.size.enumeration import Listing, reordered
from solver_mapper.mapspace.space import Space, build_space
from solver_mapper.solve.legality.listing import other_mappings


def list_mappings(spec: Spec, limit: int | None, orders: bool, clock: Clock) -> Iterator[Mapping]:
    """See `api.enumerate`."""
    space = build_space(spec.need_architecture(), spec.need_problem(), spec.constraints)
    found = Listing(space) if countable(space) else other_mappings(spec, clock)
    return islice(
        (each for mapping in found for each in _within_caps(spec, space, mapping, orders)), limit
    )


def _within_caps(spec: Spec, space: Space, mapping: Mapping, orders: bool) -> Iterator[Mapping]:
    """The orders of `mapping` that keep to the caps on figures: all of them, or the first. Nothing
    else can be wrong with it.

    Raises: ExactnessError if the exact model finds otherwise.
    """
    wrong = [each for each in _wrong(spec, mapping) if not _is_cap(each)]
    if wrong:
        raise ExactnessError(f"an illegal mapping was listed: {wrong[0].message}")
    for each in reordered(space, mapping) if orders or space.caps else (mapping,):
        if not space.caps or not _wrong(spec, each):
            yield each
            if not orders:
                return


def _wrong(spec: Spec, mapping: Mapping) -> tuple[Violation, ...]:
    architecture, problem = spec.need_architecture(), spec.need_problem()
    return (
        *violations(architecture, problem, mapping),
        *constraint_violations(spec.constraints, architecture, problem, mapping),
    )


def _is_cap(violation: Violation) -> bool:
    return isinstance(violation.asked, MetricConstraint)

"""Legal mappings of a specification, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from solver_mapper.check.mapping import all_violations
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.results.verdict import Violation
from solver_mapper.core.spec import Spec
from solver_mapper.errors import ExactnessError
from solver_mapper.mapspace.size.counter import countable
from solver_mapper.mapspace.size.enumeration import Listing, reordered
from solver_mapper.mapspace.space import Space
from solver_mapper.solve.legality.listing import other_mappings
from solver_mapper.solve.session import Session


def list_mappings(session: Session, limit: int | None, orders: bool) -> Iterator[Mapping]:
    """See `api.enumerate`."""
    spec, clock, space = session.spec, session.clock, session.space
    found = Listing(space) if countable(space) else other_mappings(spec, clock)
    return islice(
        (each for mapping in found for each in _within_caps(spec, space, mapping, orders)), limit
    )


def _within_caps(spec: Spec, space: Space, mapping: Mapping, orders: bool) -> Iterator[Mapping]:
    """The orders of `mapping` that keep to the caps on figures: all of them, or the first. Nothing
    else can be wrong with it.

    Raises: ExactnessError if the exact model finds otherwise.
    """
    wrong = [each for each in all_violations(spec, mapping) if not _is_cap(each)]
    if wrong:
        raise ExactnessError(f"an illegal mapping was listed: {wrong[0].message}")
    for each in reordered(space, mapping) if orders or space.caps else (mapping,):
        if not space.caps or not all_violations(spec, each):
            yield each
            if not orders:
                return


def _is_cap(violation: Violation) -> bool:
    return isinstance(violation.constraint, MetricConstraint)

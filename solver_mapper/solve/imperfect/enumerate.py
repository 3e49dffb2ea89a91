"""Legal mappings of imperfect factors, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import Mapping
from solver_mapper.solve.session import Session
from solver_mapper.verify.imperfect import ImperfectMapspace


def list_imperfect_mappings(session: Session, limit: int | None, orders: bool) -> Iterator[Mapping]:
    """See `api.enumerate`. Raises: LimitReached where the time ends."""
    return islice(_legal(session, orders), limit)


def _legal(session: Session, orders: bool) -> Iterator[Mapping]:
    spec = session.spec
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    stores = [space.keeps(name) for name in spec.need_problem().tensor_names]
    for bounds in space.factorizations():
        for keeps in product(*stores):
            for skeleton in space.arrangements(bounds):
                session.clock.check()
                mapping = space.mapping(skeleton, keeps)
                if is_legal(spec, mapping):
                    yield mapping
                    if not orders:
                        break

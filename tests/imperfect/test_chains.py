"""Lists of loop chains: what they say where a dimension has none, or too many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solver_mapper.core.constraints import Constraints, FactorConstraint
from solver_mapper.core.spec import Spec
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect import chains
from solver_mapper.solve.imperfect.chains import chain_tables
from solver_mapper.verify.imperfect import ImperfectMapspace
from tests.imperfect.test_bounds import summing


def mapspace(spec: Spec, *more: FactorConstraint) -> ImperfectMapspace:
    rules = Constraints((*spec.constraints, *more))
    return ImperfectMapspace(spec.need_architecture(), spec.need_problem(), rules)


def more_loops_than_points(spec: Spec) -> FactorConstraint:
    """Five iterations over three points."""
    inner = next(each for each in spec.constraints if each.level == "Sums")
    return FactorConstraint(
        level="Sums",
        text="Sums temporal: factors L=5",
        location=inner.location,
        origin=inner.origin,
        kind="temporal",
        dim="L",
        comparison="==",
        value=5,
        last=None,
    )


def test_all_dimensions_have_chains() -> None:
    tables = chain_tables(mapspace(summing(bandwidth=2)))
    assert tables is not None
    assert [table.dim for table in tables] == list("MNKL")


def test_a_dimension_without_chains_is_told_although_another_one_has_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = summing(bandwidth=2)
    spec = replace(
        spec, problem=replace(spec.need_problem(), bounds={**spec.need_problem().bounds, "M": 1009})
    )
    monkeypatch.setattr(chains, "MOST_VALUES", 50_000)
    with pytest.raises(LimitReached, match="dimension M has more than"):
        chain_tables(mapspace(spec))
    assert chain_tables(mapspace(spec, more_loops_than_points(spec))) is None


def test_chains_of_all_dimensions_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MOST_TOGETHER", 1_000)
    with pytest.raises(LimitReached, match=r"dimensions have more than .* together"):
        chain_tables(mapspace(summing(bandwidth=2)))

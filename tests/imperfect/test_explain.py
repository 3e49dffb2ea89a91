"""Why no mapping of imperfect factors is legal."""

from __future__ import annotations

import pytest

import solver_mapper as sm
from solver_mapper.core.clock import Clock
from solver_mapper.explain.change import Change, changed
from solver_mapper.explain.imperfect import some_mapping
from tests.imperfect.enumeration import legal_mappings
from tests.imperfect.test_against_enumeration import small
from tests.imperfect.test_solve import ARCHITECTURE, gemm


@pytest.mark.parametrize("seed", (122, 124, 127, 132))
def test_an_infeasible_problem_has_a_conflict(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    assert next(legal_mappings(spec), None) is None
    reason = sm.explain(spec, factors="imperfect")
    assert not reason.feasible and reason.conflict
    for repair in reason.repairs:
        after = repair.apply(spec)
        assert some_mapping(after, Clock()) is not None
    assert sm.solve(spec, factors="imperfect").conflict


@pytest.mark.parametrize("seed", (4, 13, 18, 42))
def test_a_feasible_problem_has_a_mapping(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    reason = sm.explain(spec, factors="imperfect")
    assert reason.feasible == (next(legal_mappings(spec), None) is not None)


def test_a_bound_that_is_never_reached_is_the_conflict() -> None:
    given = {"target": "DRAM", "type": "temporal", "factors": "M=8"}
    spec = sm.load(ARCHITECTURE, gemm(7, 3, 2), {"architecture_constraints": [given]})
    reason = sm.explain(spec, factors="imperfect")
    assert [each.text for each in reason.conflict] == ["DRAM temporal: factors M=8"]
    (repair,) = reason.repairs
    assert "instead of M=8 at DRAM temporal" in repair.text


def test_a_last_round_that_perfect_factors_lack_is_no_conflict() -> None:
    given = {"target": "Buf", "type": "temporal", "factors": "M=4,3"}
    spec = sm.load(ARCHITECTURE, gemm(7, 3, 2), {"architecture_constraints": [given]})
    assert not sm.explain(spec).feasible
    assert sm.explain(spec, factors="imperfect").feasible
    with pytest.raises(sm.InputError, match="not supported with imperfect factors"):
        sm.explain(spec, factors="imperfect", every=True)


def test_lifting_a_conflict_leaves_a_mapping() -> None:
    spec = small(132, 1500)
    assert spec is not None
    (entry,) = sm.explain(spec, factors="imperfect").conflict
    (constraint,) = [each for each in spec.constraints if each.text == entry.text][:1]
    assert some_mapping(changed(spec, Change(constraint)), Clock()) is not None

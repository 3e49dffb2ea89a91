"""Beginning with a mapping, and ending before the proof is complete."""

from __future__ import annotations

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import parse_objective
from solver_mapper.solve.session import open_session
from tests.instances import PLAIN, instance
from tests.test_solve_small import ARCH, GEMM

SPEC = sm.load(GEMM, ARCH)
POOR = {
    "mapping": [
        {"target": "DRAM", "type": "temporal", "factors": "M=4 K=6 N=8", "permutation": "KNM"},
        {"target": "RF", "type": "temporal", "factors": "M=1 K=1 N=1"},
        {"target": "DRAM", "type": "spatial", "factors": "M=1"},
    ]
}


def test_an_optimal_start_is_the_answer():
    """Nothing is better, so the given mapping itself comes back, proven in a single run."""
    first = sm.solve(SPEC, "energy")
    again = sm.solve(SPEC.with_mapping(first.mapping), "energy")
    assert (again.status, again.mapping, again.value) == ("optimal", first.mapping, first.value)
    assert again.certificate.proofs[0]["runs"] == 1
    assert "the search began with the given mapping" in again.certificate.checks


def test_a_poor_start_changes_nothing_but_the_way():
    """From any legal mapping the same proven value is reached."""
    spec = sm.load(GEMM, ARCH, POOR)
    assert sm.validate(spec).legal
    for objective in ("energy", "delay", "edp", "last-level-accesses", "delay,energy"):
        assert sm.solve(spec, objective).value == sm.solve(SPEC, objective).value


def test_a_poor_start_gives_way_to_one_of_local_search():
    """A mapping written to be evaluated made proofs take longer than none."""
    solution = sm.solve(sm.load(GEMM, ARCH, POOR), "energy")
    assert solution.certificate.checks[:2] == (
        "the given mapping is not as good as one found by local search",
        "the search began with a mapping found by local search",
    )


def test_the_solver_gets_the_start_as_a_hint_below_a_cap_too():
    """A cap has the model compiled before the mapping is given."""
    cap = {"mapspace_constraints": [{"metrics": {"cycles": "<= 10000"}}]}
    for more in ([], [cap]):
        session = open_session(sm.load(GEMM, ARCH, POOR, *more))
        search = session.search(0.0)
        assert session.spec.mapping is not None
        search.start_from(session.spec.mapping)
        assert search.minimize(parse_objective("energy"))
        assert search.compiled.model.proto.solution_hint.vars


def test_without_time_the_start_is_the_answer():
    """A search that cannot even begin gives the given mapping, unproven."""
    solution = sm.solve(sm.load(GEMM, ARCH, POOR), "energy", time_limit=0)
    assert solution.status == "feasible"
    assert solution.rank == sm.evaluate(sm.load(GEMM, ARCH, POOR)).energy_pj


@pytest.mark.parametrize("factors", ["perfect", "imperfect"])
def test_an_illegal_start_is_named_and_left_aside(factors):
    """A mapping that breaks a constraint is no incumbent: it is not in this mapspace."""
    constraints = {
        "mapspace_constraints": [{"target": "DRAM", "type": "temporal", "factors": "M<=2"}]
    }
    solution = sm.solve(sm.load(GEMM, ARCH, POOR, constraints), "energy", factors=factors)
    alone = sm.solve(sm.load(GEMM, ARCH, constraints), "energy", factors=factors)
    assert solution.value == alone.value
    assert "was not used" in solution.certificate.checks[0]


def test_a_start_whose_reuse_is_switched_off_elsewhere_is_left_aside():
    """A mapping with flags that the mapspace does not have is judged by other constraints, and is
    not of it.
    """
    first = sm.solve(SPEC, "energy")
    constraints = {
        "mapspace_constraints": [
            {"target": "DRAM", "type": "spatial", "no_multicast_no_reduction": ["A", "B"]}
        ]
    }
    flagged = sm.load(GEMM, ARCH, constraints)
    solution = sm.solve(flagged.with_mapping(first.mapping), "energy")
    assert solution.value == sm.solve(flagged, "energy").value
    assert "was not used" in solution.certificate.checks[0]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("objective", ["energy", "edp", "last-level-accesses"])
def test_gap(seed, objective):
    """With a gap, the answer may be unproven, but the optimum lies between its bound and its value,
    and these are close enough.
    """
    spec = instance(seed, 300, PLAIN, wired=False).spec
    best, loose = sm.solve(spec, objective), sm.solve(spec, objective, gap=0.3)
    if best.status == "infeasible":
        assert loose.status == "infeasible"
        return
    assert loose.status in ("optimal", "feasible")
    assert loose.gap <= 0.3
    assert loose.bound_rank <= best.rank <= loose.rank
    assert loose.rank == parse_objective(objective).goals[0].rank(sm.evaluate(spec, loose.mapping))

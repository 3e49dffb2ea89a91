"""`--verify`: every route agrees with true answers, says so, and a false answer is a loud error
with both figures.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.core.clock import Clock
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import TimeUp
from solver_mapper.errors import ExactnessError, InputError
from solver_mapper.io import bundled
from solver_mapper.solve import confirm as verifying
from solver_mapper.solve.confirm import verify_solution
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.route import Route
from tests.instances import PLAIN, instance
from tests.test_solve_small import ARCH, GEMM

ROUTES = ["lower bound", "enumeration", "branch and bound", "second proof"]


def verdicts(solution: Solution) -> dict[str, str]:
    return {each["route"]: each["verdict"] for each in solution.certificate.verification}


@pytest.fixture
def small() -> Spec:
    spec = sm.load(GEMM, ARCH)
    assert isinstance(spec, Spec)
    return spec


@pytest.mark.parametrize("seed", range(24))
def test_all_routes_bear_out_true_answers(seed):
    """Random mapspaces, feasible or not, one goal or several: enumeration and the second proof
    agree, nothing contradicts.
    """
    objective = ("energy", "delay,energy", "edp", "last-level-accesses")[seed % 4]
    solution = sm.solve(instance(seed, 100, PLAIN, wired=False).spec, objective, verify=True)
    found = verdicts(solution)
    assert list(found) == ROUTES
    assert found["enumeration"] == found["branch and bound"] == found["second proof"] == "agrees"


@pytest.mark.parametrize("seed", range(6))
def test_answers_cut_short_are_borne_out_as_far_as_they_go(seed):
    """With windows and networks that charge, and little time: the bound and the value are on both
    sides of the true optimum.
    """
    made = instance(seed, 100)
    solution = sm.solve(made.spec, "energy", time_limit=0.5)
    if solution.status != "unknown":
        found = verdicts(verify_solution(made.spec, solution, Clock(5)))
        assert found["enumeration"] == "agrees"


def worse(spec: Spec, solution: Solution) -> Solution:
    """The claim that a mapping which is not the best is."""
    mapspace = EnumeratedMapspace(spec.need_architecture(), spec.need_problem())
    mapping = mapspace.mapping(next(mapspace.skeletons()), ((True, False),) * 3)
    statistics = sm.evaluate(spec, mapping)
    rank = solution.objective.goals[0].rank(statistics)
    assert solution.rank is not None
    assert rank > solution.rank
    return replace(solution, mapping=mapping, evaluation=statistics, rank=rank, bound_rank=rank)


def only(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routes before this one come to no verdict."""
    if route in ("branch and bound", "second proof"):
        monkeypatch.setattr(verifying, "MOST_NESTS", 0)
    if route == "second proof":
        silent = Route("branch and bound", "", "none", "")
        monkeypatch.setattr(verifying, "_proved", lambda spec, claim, clock: silent)


@pytest.mark.parametrize("route", ["enumeration", "branch and bound", "second proof"])
def test_a_false_optimum_is_an_error_with_both_figures(small, monkeypatch, route):
    only(route, monkeypatch)
    true = sm.solve(small, "energy")
    false = worse(small, true)
    with pytest.raises(ExactnessError) as error:
        verify_solution(small, false, Clock())
    assert route in str(error.value)
    assert f"energy {true.value:.12g}" in str(error.value)
    assert f"energy {false.value:.12g}" in str(error.value)


@pytest.mark.parametrize(
    "route", ["lower bound", "enumeration", "branch and bound", "second proof"]
)
def test_a_false_word_that_there_is_no_mapping(small, monkeypatch, route):
    """If the answer is no and a route finds a mapping, its figures are in the error."""
    only(route, monkeypatch)
    true = sm.solve(small, "energy")
    false = replace(
        true, status="infeasible", mapping=None, evaluation=None, rank=None, bound_rank=None
    )
    if route == "lower bound":
        solution = replace(true, certificate=true.certificate)
        monkeypatch.setattr(verifying.LowerBound, "goal", lambda self, goal: None)
        false = solution
    with pytest.raises(ExactnessError, match=f"by {route}"):
        verify_solution(small, false, Clock())


def test_a_lower_bound_above_the_answer_is_an_error(small, monkeypatch):
    true = sm.solve(small, "energy")
    monkeypatch.setattr(verifying.LowerBound, "goal", lambda self, goal: true.rank + Fraction(1))
    with pytest.raises(
        ExactnessError,
        match=f"no mapping is below energy .* but the answer has energy {true.value:.12g}",
    ):
        verify_solution(small, true, Clock())


@pytest.mark.parametrize("route", ["enumeration", "second proof"])
def test_the_bound_of_an_unfinished_answer_is_verified_too(small, monkeypatch, route):
    """A value that is not the best is fine if it is not claimed to be; a bound above the best is
    not.
    """
    if route == "second proof":
        monkeypatch.setattr(verifying, "MOST_NESTS", 0)
    true = sm.solve(small, "energy")
    unfinished = replace(worse(small, true), status="feasible", bound_rank=true.rank)
    assert verdicts(verify_solution(small, unfinished, Clock()))[route] == "agrees"
    with pytest.raises(ExactnessError, match="bound"):
        verify_solution(
            small, replace(unfinished, bound_rank=true.rank + Fraction(1, 1000)), Clock()
        )


def test_routes_that_get_nowhere_say_so(small, monkeypatch):
    """Without time, or with too many mappings, a route has no verdict and a reason."""

    def routes(clock: Clock) -> dict[str, dict[str, str]]:
        certificate = verify_solution(small, solution, clock).certificate
        return {each["route"]: each for each in certificate.verification}

    solution, over = sm.solve(small, "energy"), Clock()
    over.stop()
    for told in routes(over).values():
        assert (told["did"], told["verdict"]) == ("nothing was done", "none")
        assert "the time limit was reached" in told["found"]
    monkeypatch.setattr(verifying, "MOST_CHAINS", 0)
    told = routes(Clock())["enumeration"]
    assert told["verdict"] == "none"
    assert "loop nests" in told["found"]


def test_without_an_answer_there_is_nothing_to_verify(small):
    solution = sm.solve(small, "energy", time_limit=0, verify=True)
    assert [each["found"] for each in solution.certificate.verification] == [
        "there is no answer to verify"
    ]


def test_the_second_proof_uses_other_parameters(small):
    """Its certificate names every parameter that differs, presolve and seed among them."""
    solution = sm.solve(small, "edp", verify=True)
    did = next(
        each["did"] for each in solution.certificate.verification if each["route"] == "second proof"
    )
    for word in (
        "random_seed 1",
        "cp_model_presolve False",
        "linearization_level 1",
        "use_sat_inprocessing True",
    ):
        assert word in did


def test_command(tmp_path):
    """The terminal tells of each route, the JSON's certificate the same; without the option neither
    says a word.
    """
    case = tmp_path / "case.yaml"
    case.write_text(json.dumps(GEMM | ARCH))
    shown = CliRunner().invoke(app, ["solve", str(case), "--verify"])
    assert shown.exit_code == 0
    assert re.search(r"^verified +enumeration: all", shown.stdout, re.MULTILINE)
    told = json.loads(CliRunner().invoke(app, ["solve", str(case), "--verify", "--json"]).stdout)
    assert [each["route"] for each in told["certificate"]["verification"]] == ROUTES
    plain = json.loads(CliRunner().invoke(app, ["solve", str(case), "--json"]).stdout)
    assert "verification" not in plain["certificate"]
    assert told["certificate"] == plain["certificate"] | {
        "verification": told["certificate"]["verification"]
    }


def test_a_contradiction_ends_the_command_with_the_code_for_internal_errors(tmp_path, monkeypatch):
    case = tmp_path / "case.yaml"
    case.write_text(json.dumps(GEMM | ARCH))
    monkeypatch.setattr(verifying.LowerBound, "goal", lambda self, goal: Fraction(10**30))
    done = CliRunner().invoke(app, ["solve", str(case), "--verify", "--json"])
    assert (done.exit_code, done.stdout) == (70, "")
    assert "the verification contradicts the answer" in done.stderr


def test_a_real_layer():
    """A layer far too large for enumeration is proven again by the second proof."""
    spec = sm.load(*bundled.resolve("eyeriss", "resnet50/layer3.x.conv2_3x3"))
    found = verdicts(sm.solve(spec, "edp", verify=True))
    assert found == {
        "lower bound": "consistent",
        "enumeration": "none",
        "branch and bound": "agrees",
        "second proof": "agrees",
    }


def test_branch_and_bound_says_how_far_it_came(small):
    """Confirmed; confirmed to a gap; not confirmed in the time given; contradicted."""
    true = sm.solve(small, "energy")
    claim = verifying._claim(true)
    assert "confirmed: no mapping is better by more than 0.0001 %" in (
        verifying._proved(small, claim, Clock()).found
    )
    stopped = Clock()
    stopped.stop()
    assert verifying._proved(small, claim, stopped).found.startswith(
        "not confirmed in the time given: some mapping may be better by up to "
    )
    unproven = replace(claim, ranks=(claim.ranks[0] * 2,), proven=False)
    found = verifying._proved(small, unproven, Clock())
    assert found.verdict == "none"
    assert found.found == f"not confirmed: there is a mapping with energy {true.value:.12g}"


@pytest.mark.parametrize(
    ("gap", "text"),
    [(Fraction(1, 10**6), "0.0001 %"), (Fraction(3121, 10**6), "0.32 %"), (Fraction(1, 2), "50 %")],
)
def test_gaps_are_rounded_up(gap, text):
    assert verifying.gap_text(gap) == text


def test_looptree_input_is_not_verified():
    """Said, not ignored."""
    with pytest.raises(InputError, match="verify is not supported for LoopTree input"):
        sm.solve(
            sm.load(
                io.StringIO(
                    "workload: {rank_sizes: {M: 2, N: 2}, bits_per_value: {All: 8}, "
                    "einsums: ['B[m, n] = A[m] * W[n]']}"
                )
            ),
            "energy",
            verify=True,
        )


@pytest.mark.parametrize(
    ("error", "why"), [(TimeUp, "the time limit was reached"), (MemoryError, "it grew too large")]
)
def test_a_route_that_is_cut_short_costs_no_answer(small, monkeypatch, error, why):
    def cut_short(*_):
        raise error

    monkeypatch.setattr(verifying, "_again", cut_short)
    solution = sm.solve(small, verify=True)
    assert solution.status == "optimal"
    last = solution.certificate.verification[-1]
    assert last == {**last, "route": "second proof", "verdict": "none"}
    assert why in str(last)

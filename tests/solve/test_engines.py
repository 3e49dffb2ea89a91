"""The engines of `solve`: what each says of its search, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app
from solver_mapper.deadline import TimeUp
from solver_mapper.solve import run as solve_run
from solver_mapper.solve.branch_and_bound import BoxSearch, Engine, search_boxes
from solver_mapper.solve.session import Session

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = EXAMPLES / "small_glb.yaml"
TREE = EXAMPLES / "fused_matmuls.yaml"


def small(entries: int = 4096) -> sm.Spec:
    """The example with a global buffer of so many words."""
    spec = sm.load(SMALL)
    assert isinstance(spec, sm.Spec)
    return spec.with_attributes({"GLB.entries": entries})


@pytest.mark.parametrize("objective", ["energy", "delay", "edp"])
def test_all_engines_agree(objective: str) -> None:
    values = {
        engine: sm.solve(small(), objective, gap=0, engine=engine)
        for engine in ("cpsat", "branch-and-bound", "both")
    }
    assert {solution.status for solution in values.values()} == {"optimal"}
    assert len({solution.value for solution in values.values()}) == 1


@pytest.mark.parametrize("engine", ["branch-and-bound", "both"])
def test_engines_obey_caps_that_the_first_mapping_breaks(engine: Engine) -> None:
    """The mapping that a search begins with is legal, but may break caps on metrics."""
    least = sm.solve(small(), "delay").value
    assert isinstance(least, int)
    cap = sm.constraints.cycles <= least
    solution = sm.solve(small(), "energy", engine=engine, constraints=cap)
    assert solution.status == "optimal" and solution.evaluation is not None
    assert solution.evaluation.cycles == least
    assert solution.value == sm.solve(small(), "energy", constraints=cap).value
    below = sm.constraints.cycles < least
    assert sm.solve(small(), "energy", engine=engine, constraints=below).status == "infeasible"


def test_branch_and_bound_names_itself_and_breaks_ties() -> None:
    solution = sm.solve(small(), "delay", gap=0, engine="branch-and-bound")
    assert solution.certificate.solver == "branch and bound"
    assert "boxes split" in solution.certificate.proofs[0]["claim"]
    with_ties = sm.solve(small(), "delay", gap=0)
    assert solution.evaluation is not None and with_ties.evaluation is not None
    assert solution.evaluation.energy_pj == with_ties.evaluation.energy_pj
    assert solution.objective.ties == with_ties.objective.ties


def test_a_search_that_is_stopped_has_a_bound_that_holds() -> None:
    best = sm.solve(small(), "energy", gap=0)
    stopped = sm.solve(small(), "energy", gap=0, engine="branch-and-bound", time_limit=0.0)
    assert stopped.status in ("feasible", "unknown")
    assert stopped.bound is None or stopped.bound <= best.value


def test_both_gives_cpsat_what_branch_and_bound_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_run, "FIRST_NODES", 1)
    solution = sm.solve(small(), "energy", gap=0, engine="both")
    assert solution.status == "optimal"
    assert solution.certificate.solver.startswith("OR-Tools")
    assert solution.value == sm.solve(small(), "energy", gap=0).value


def test_branch_and_bound_proves_that_no_mapping_exists() -> None:
    solution = sm.solve(small(1), "energy", engine="branch-and-bound")
    assert solution.status == "infeasible"
    assert solution.conflict


def test_an_answer_of_branch_and_bound_can_be_verified() -> None:
    solution = sm.solve(small(), "energy", gap=0, engine="branch-and-bound", verify=True)
    assert {each["verdict"] for each in solution.certificate.verification} <= {
        "agrees",
        "consistent",
        "none",
    }


def test_an_unknown_engine_is_refused_with_the_likely_name() -> None:
    with pytest.raises(sm.InputError, match="unknown engine 'cp-sat'") as caught:
        sm.solve(small(), engine="cp-sat")  # type: ignore[call-overload]
    assert "cpsat" in str(caught.value)


def test_a_model_hook_needs_the_model() -> None:
    with pytest.raises(sm.InputError, match="model_hook adds to the CP-SAT model"):
        sm.solve(small(), model_hook=lambda model: None, engine="both")


def test_looptree_input_has_no_other_engine() -> None:
    with pytest.raises(sm.InputError, match="engine"):
        sm.solve(sm.load(TREE), "energy", engine="branch-and-bound")


def test_the_command_takes_an_engine_for_one_layer_only() -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["solve", str(SMALL), "--engine", "branch-and-bound"])
    assert done.exit_code == 1 and "branch and bound, seed 0" in done.stdout
    network = runner.invoke(app, ["solve", "eyeriss", "alexnet", "--engine", "both"])
    assert network.exit_code == 2 and "--engine" in network.stderr


def test_the_bound_of_boxes_stands_where_time_ends_before_there_is_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds: list[Fraction | None] = []

    def remembered(*arguments: Any) -> BoxSearch:
        found = search_boxes(*arguments)
        bounds.append(found.bound)
        return found

    def late(*_: Any, **__: Any) -> None:
        raise TimeUp

    monkeypatch.setattr(solve_run, "search_boxes", remembered)
    monkeypatch.setattr(solve_run, "FIRST_NODES", 1)
    monkeypatch.setattr(solve_run, "_without_search", lambda *_: (None, ""))
    monkeypatch.setattr(Session, "search", late)
    solution = sm.solve(small(), "energy", engine="both")
    assert solution.status == "feasible"
    assert solution.bound_rank == bounds[0] is not None

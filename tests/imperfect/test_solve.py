"""What a user sees of imperfect factors: answers, files that carry them, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.check.mapping import is_legal
from solver_mapper.cli.app import app
from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.primes import with_more_divisors
from solver_mapper.core.spec import Spec
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import LimitReached
from solver_mapper.io import bundled
from solver_mapper.solve import run
from solver_mapper.solve.imperfect import run as imperfect_run
from solver_mapper.solve.imperfect import search
from solver_mapper.solve.imperfect.padding import from_more_divisors
from solver_mapper.solve.imperfect.search import EvaluatedMapping
from solver_mapper.solve.session import Session
from solver_mapper.verify.imperfect import ImperfectMapspace

KEEP_ALL = {"target": "Buf", "type": "bypass", "keep": ["A", "B", "Z"]}
ARCHITECTURE: dict[str, Any] = {
    "arch": {
        "arithmetic": {
            "name": "MAC",
            "instances": 16,
            "meshX": 4,
            "meshY": 4,
            "vector-access-energy": 1.0,
        },
        "storage": [
            {"name": "Buf", "entries": 200, "instances": 1, "vector-access-energy": 6.0},
            {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 200.0},
        ],
    },
    "mapspace_constraints": [KEEP_ALL],
}


def gemm(m: int, k: int, n: int) -> dict[str, Any]:
    return {
        "problem": {
            "shape": {
                "name": "gemm",
                "dimensions": ["M", "K", "N"],
                "data-spaces": [
                    {"name": "A", "projection": [[["M"]], [["K"]]]},
                    {"name": "B", "projection": [[["K"]], [["N"]]]},
                    {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
                ],
            },
            "instance": {"M": m, "K": k, "N": n},
        }
    }


def test_prime_sizes_use_the_array() -> None:
    spec = sm.load(ARCHITECTURE, gemm(7, 13, 5))
    perfect = sm.solve(spec, "delay")
    imperfect = sm.solve(spec, "delay", factors="imperfect")
    assert perfect.status == imperfect.status == "optimal"
    assert perfect.value == 7 * 13 * 5
    assert imperfect.value < perfect.value / 10
    assert imperfect.to_dict()["certificate"]["mapspace"]["factors"] == "imperfect"
    assert perfect.to_dict()["certificate"]["mapspace"]["factors"] == "perfect"


def test_sizes_with_few_divisors_begin_with_a_mapping_of_sizes_with_more() -> None:
    """Of 251 x 1021 x 2 points, perfect factors tile only the last dimension."""
    spec = sm.load(ARCHITECTURE, gemm(251, 1021, 2))
    assert isinstance(spec, Spec)
    problem = spec.need_problem()
    space = ImperfectMapspace(spec.need_architecture(), problem, spec.constraints)
    goals = parse_objective("edp")
    perfect = sm.solve(spec, "edp")
    assert perfect.mapping is not None and perfect.evaluation is not None
    first = EvaluatedMapping(perfect.mapping, perfect.evaluation)
    session = Session(spec)
    found = from_more_divisors(session, space, goals, Fraction(0), first)
    assert found.statistics.edp * 4 < first.statistics.edp
    assert space.contains(found.mapping) and is_legal(spec, found.mapping)
    proven = first.statistics.edp
    assert from_more_divisors(session, space, goals, proven, first) is first


def test_the_size_with_the_most_divisors_is_the_least_of_them() -> None:
    assert with_more_divisors(50257, 1 / 150) == 50400
    assert [with_more_divisors(size, 1 / 150) for size in (1, 13, 149, 197)] == [1, 13, 149, 198]
    assert with_more_divisors(96, 0.3) == 120


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_the_mapping_file_has_the_same_statistics(tmp_path: Path, objective: str) -> None:
    spec = sm.load(ARCHITECTURE, gemm(7, 2, 1))
    solution = sm.solve(spec, objective, factors="imperfect")
    assert solution.status == "optimal" and not solution.mapping.perfect
    path = tmp_path / "map.yaml"
    path.write_text(solution.mapping.to_yaml(), encoding="utf-8")
    again = sm.evaluate(sm.load(ARCHITECTURE, gemm(7, 2, 1), path))
    assert again.to_dict() == solution.evaluation.to_dict()


def test_one_input_has_one_answer() -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 2, 1))
    first, second = (sm.solve(spec, "edp", factors="imperfect") for _ in range(2))
    assert first.mapping == second.mapping
    assert first.certificate == second.certificate


def test_constraints_speak_of_the_bound() -> None:
    constraint = {"target": "DRAM", "type": "temporal", "factors": "M=4"}
    spec = sm.load(ARCHITECTURE, gemm(7, 2, 1), {"architecture_constraints": [constraint]})
    assert sm.solve(spec, "delay").status == "infeasible"
    mapping = sm.solve(spec, "delay", factors="imperfect").mapping
    (found,) = [each for each in mapping.levels[0].temporal if each.dim == "M"]
    assert found.bound == 4 and sm.validate(spec, mapping).legal


def test_a_residue_can_be_asked_for() -> None:
    constraint = {"target": "Buf", "type": "temporal", "factors": "M=4,3"}
    spec = sm.load(ARCHITECTURE, gemm(7, 3, 2), {"architecture_constraints": [constraint]})
    mapping = sm.solve(spec, "delay", factors="imperfect").mapping
    (found,) = [each for each in mapping.levels[1].temporal if each.dim == "M"]
    assert (found.bound, found.last) == (4, 3)


def test_what_no_factors_can_do_is_infeasible() -> None:
    constraint = {"target": "DRAM", "type": "temporal", "factors": "M=8"}
    spec = sm.load(ARCHITECTURE, gemm(7, 3, 2), {"architecture_constraints": [constraint]})
    assert sm.solve(spec, "delay", factors="imperfect").status == "infeasible"


def test_goals_one_after_another() -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 2, 1))
    delay = sm.solve(spec, "delay", factors="imperfect")
    both = sm.solve(spec, "delay,energy", factors="imperfect")
    assert both.status == "optimal" and both.value == delay.value
    assert both.evaluation.energy_pj <= delay.evaluation.energy_pj


def test_a_search_that_is_stopped_claims_no_proof() -> None:
    spec = sm.load(ARCHITECTURE, gemm(97, 101, 103))
    clock = Clock(None)
    solution = sm.solve(
        spec, "edp", clock=clock, on_progress=lambda _: clock.stop(), factors="imperfect"
    )
    assert solution.status == "feasible"
    assert solution.bound is None or solution.bound <= solution.value


def test_a_search_with_too_many_open_cells_ends_without_a_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MOST_OPEN", 10)
    spec = sm.load(ARCHITECTURE, gemm(7, 5, 3))
    solution = sm.solve(spec, "edp", factors="imperfect")
    assert solution.status == "feasible" and 0 < solution.bound < solution.value


def test_time_that_ends_before_all_plans_are_bounded_leaves_no_bound() -> None:
    spec = sm.load(ARCHITECTURE, gemm(7, 5, 3))
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem())
    calls = iter([False, True])
    found = search.ImperfectSearch(
        search.Tree(spec, space), parse_objective("edp").goals[0], 1e-6, lambda: next(calls, True)
    )
    found.run()
    assert found.bound is None and not found.complete


def test_a_stopped_clock_ends_the_search() -> None:
    clock = Clock(None)
    clock.stop()
    spec = sm.load(ARCHITECTURE, gemm(97, 101, 103))
    solution = sm.solve(spec, "energy", clock=clock, factors="imperfect")
    assert solution.status in ("feasible", "unknown")


@pytest.mark.parametrize(
    "given",
    [
        {"verify": True},
        {"certificate": "c.json"},
        {"model_hook": lambda model: None},
        {"workers": 2},
    ],
)
def test_solve_refuses_what_imperfect_factors_do_not_support(given: dict[str, Any]) -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 3, 4))
    with pytest.raises(sm.InputError, match="is not supported with imperfect factors"):
        sm.solve(spec, factors="imperfect", **given)


def test_pareto_refuses_workers_with_imperfect_factors() -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 3, 4))
    with pytest.raises(sm.InputError, match="is not supported with imperfect factors"):
        sm.pareto(spec, workers=2, factors="imperfect")


def test_a_front_that_is_stopped_is_partial() -> None:
    clock = Clock(None)
    clock.stop()
    front = sm.pareto(sm.load(ARCHITECTURE, gemm(5, 3, 4)), clock=clock, factors="imperfect")
    assert front.status == "unknown" and not front.points


def test_sizes_that_do_not_divide_use_the_units_that_perfect_factors_leave_idle() -> None:
    """Prime sizes on an array: a mapping of fewer than half of the cycles of one unit is found."""
    spec = sm.load(ARCHITECTURE, gemm(31, 13, 29))
    clock = Clock(None)
    found: list[float] = []

    def stop(progress: sm.Progress) -> None:
        found.append(progress.value)
        if progress.value < 31 * 13 * 29 / 2:
            clock.stop()

    solution = sm.solve(spec, "delay", clock=clock, on_progress=stop, factors="imperfect")
    assert solution.value < 31 * 13 * 29 / 2


@pytest.mark.parametrize("function", [sm.space, sm.suggest])
def test_functions_that_only_know_perfect_factors_say_so(function: Any) -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 3, 4))
    with pytest.raises(sm.InputError, match="only perfect factors"):
        function(spec, factors="imperfect")


def test_commands_that_only_know_perfect_factors_say_so(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(json.dumps(ARCHITECTURE | gemm(5, 3, 4)), encoding="utf-8")
    result = CliRunner().invoke(app, ["space", str(path), "--factors", "imperfect"])
    assert result.exit_code == 2
    assert "only perfect factors" in result.output


def test_validate_needs_suggest_for_factors(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(json.dumps(ARCHITECTURE | gemm(5, 3, 4)), encoding="utf-8")
    result = CliRunner().invoke(app, ["validate", str(path), "--factors", "imperfect"])
    assert result.exit_code == 2 and "is for --suggest" in result.output


def test_unknown_factors_are_refused() -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 3, 4))
    with pytest.raises(sm.InputError, match="unknown factors 'imperfekt'"):
        sm.solve(spec, factors="imperfekt")


def test_energies_below_zero_are_refused() -> None:
    spec = sm.load(ARCHITECTURE, gemm(5, 3, 4))
    outer, buffer = spec.need_architecture().levels
    energy = replace(buffer.energy, read=Fraction(-1))
    levels = (outer, replace(buffer, energy=energy))
    spec = replace(spec, architecture=replace(spec.need_architecture(), levels=levels))
    with pytest.raises(sm.InputError, match="imperfect factors are not supported then"):
        sm.solve(spec, factors="imperfect")


def test_networks_take_imperfect_factors() -> None:
    layers = [("one", 1, gemm(17, 1, 1)), ("two", 2, gemm(1, 2, 1))]
    perfect = sm.solve_network(ARCHITECTURE, layers, "delay")
    imperfect = sm.solve_network(ARCHITECTURE, layers, "delay", factors="imperfect")
    assert imperfect.status == "optimal"
    assert imperfect.totals.cycles < perfect.totals.cycles


def test_the_edp_of_a_network_needs_perfect_factors() -> None:
    with pytest.raises(sm.InputError, match="not supported with imperfect factors"):
        sm.solve_network(
            ARCHITECTURE, [("one", 1, gemm(5, 3, 4))], "network-edp", factors="imperfect"
        )


def test_networks_refuse_what_imperfect_factors_do_not_support() -> None:
    with pytest.raises(sm.InputError, match="verify is not supported with imperfect factors"):
        sm.solve_network(
            ARCHITECTURE, [("one", 1, gemm(5, 3, 4))], verify=True, factors="imperfect"
        )


def test_the_command_prints_the_mapspace(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(json.dumps(ARCHITECTURE | gemm(5, 3, 4)), encoding="utf-8")
    command = ["solve", str(path), "--factors", "imperfect", "--objective", "delay"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    assert "imperfect factors of M=5 K=3 N=4" in result.output


def test_a_residual_factor_in_a_constraint_is_solved_and_perfect_factors_point_to_it() -> None:
    residual = {"target": "Buf", "type": "temporal", "factors": "M=6,4"}
    spec = sm.load({**ARCHITECTURE, "mapspace_constraints": [KEEP_ALL, residual]}, gemm(10, 4, 3))
    assert isinstance(spec, sm.Spec)
    perfect = sm.solve(spec, "energy")
    assert perfect.status == "infeasible"
    assert "'solve --factors imperfect'" in perfect.conflict[0]["note"]
    solution = sm.solve(spec, "energy", factors="imperfect")
    assert solution.status == "optimal" and solution.mapping is not None
    assert "M=6,4" in solution.mapping.to_yaml()
    assert sm.validate(spec, solution.mapping).legal


def test_a_bound_that_needs_no_search_can_be_a_proof() -> None:
    solution = sm.solve(sm.load("simba", "alexnet/fc7"), factors="imperfect")
    assert isinstance(solution, sm.Solution)
    assert solution.status == "optimal"
    assert [proof["cells"] for proof in solution.certificate.proofs] == [0]


def test_a_bound_that_needs_no_search_proves_under_constraints_on_loops() -> None:
    told = {"target": "DRAM", "type": "temporal", "factors": "R=1"}
    spec = sm.load("simba", "alexnet/fc7", {"mapspace_constraints": [told]})
    solution = sm.solve(spec, factors="imperfect")
    assert isinstance(solution, sm.Solution)
    assert solution.status == "optimal"
    assert not any("chains of loops" in note for note in solution.certificate.checks)
    assert [proof["cells"] for proof in solution.certificate.proofs] == [0]


def test_where_chains_are_too_many_to_list_the_bound_has_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_large(*_: object) -> None:
        raise LimitReached("too many chains of loops")

    monkeypatch.setattr(imperfect_run, "LITTLE_EFFORT", 0)
    monkeypatch.setattr(imperfect_run, "Tree", too_large)
    told = {"target": "DRAM", "type": "temporal", "factors": "R=1"}
    spec = sm.load("simba", "resnet50/layer1.0.conv1_1x1", {"mapspace_constraints": [told]})
    solution = sm.solve(spec, factors="imperfect")
    assert isinstance(solution, sm.Solution)
    assert solution.status == "optimal"
    assert any("chains of loops" in note for note in solution.certificate.checks)
    assert [proof["cells"] for proof in solution.certificate.proofs] == [0]


def test_the_joint_bound_meets_mappings_and_proves_them() -> None:
    """The best mapping of perfect factors costs at least 0.1 % more."""
    solution = sm.solve(sm.load("simba", "resnet50/layer2.0.conv1_1x1"), factors="imperfect")
    assert isinstance(solution, sm.Solution)
    assert solution.status == "optimal" and not solution.mapping.perfect


def test_perfect_factors_may_take_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, limits = sm.load("simba", "alexnet/conv5"), []

    def taking_all(session: Session, *others: Any, **options: Any) -> sm.Solution:
        limits.append(session.clock.limit)
        found = run.solve_spec(session, *others, **options)
        session.clock.stop()
        return found

    perfect = sm.solve(spec, "edp")
    monkeypatch.setattr(imperfect_run, "solve_spec", taking_all)
    imperfect = sm.solve(spec, "edp", time_limit=600, factors="imperfect")
    assert limits == [600] and imperfect.value == perfect.value


def test_a_share_of_the_time_ends_with_its_block() -> None:
    spent = [0.0]
    clock = Clock(10.0, 0.0, now=lambda: spent[0])
    with clock.only(0.5):
        spent[0] = 6.0
        assert clock.over
    assert not clock.over and clock.left == 4.0 and clock.wall_left is None


def test_the_search_ends_once_what_was_known_proves_its_best_mapping() -> None:
    spec = sm.load(ARCHITECTURE, gemm(7, 13, 5))
    assert isinstance(spec, sm.Spec)
    goal = parse_objective("edp").goals[0]
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    tree = search.Tree(spec, space)
    plain = search.ImperfectSearch(tree, goal, 0.0, lambda: False)
    plain.run()
    assert plain.complete and plain.best is not None
    least = goal.rank(plain.best.statistics)
    informed = search.ImperfectSearch(tree, goal, 0.0, lambda: False, floor=least)
    informed.run()
    assert informed.complete and informed.bound == least
    assert informed.best is not None and goal.rank(informed.best.statistics) == least
    assert informed.evaluated < plain.evaluated
    known = search.ImperfectSearch(tree, goal, 0.5, lambda: False, plain.best, floor=least * 3 / 4)
    known.run()
    assert known.complete and known.cells == 0 and known.bound == least * 3 / 4


def test_tables_of_chains_look_at_the_clock():
    """They took some seconds beyond the time limit on six levels."""
    spec = sm.load(*bundled.resolve("eyeriss", "resnet50/layer1.x.conv2_3x3"))
    assert isinstance(spec, Spec)
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    clock = Clock(limit=0)
    with running(clock), pytest.raises(TimeUp):
        search.Tree(spec, space)

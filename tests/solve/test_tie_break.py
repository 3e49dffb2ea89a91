"""Ties in a single metric are broken by energy, then delay, unless that is switched off."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import parse_objective
from solver_mapper.deadline import TimeUp
from tests.study.commands import run


@pytest.fixture(scope="module")
def spec() -> sm.Spec:
    loaded = sm.load("eyeriss", "resnet50/layer3.x.conv3_1x1")
    assert isinstance(loaded, sm.Spec)
    return loaded


@pytest.mark.parametrize(
    ("objective", "ties"),
    [
        ("delay", ["energy"]),
        ("energy", ["delay"]),
        ("last-level-accesses", ["energy", "delay"]),
        ("edp", []),
        ("delay,energy", []),
    ],
)
def test_what_is_broken_by_what(objective: str, ties: list[str]) -> None:
    goals = parse_objective(objective).with_tie_break()
    assert [goal.name for goal in goals.ties] == ties
    assert goals.names == parse_objective(objective).names


def test_a_tie_is_broken_as_a_second_goal_would(spec: sm.Spec) -> None:
    """Least delay alone leaves a mapping of several times the energy."""
    broken, listed = sm.solve(spec, "delay"), sm.solve(spec, "delay,energy")
    free = sm.solve(spec, "delay", tie_break=False)
    assert broken.evaluation is not None and listed.evaluation is not None
    assert free.evaluation is not None
    assert broken.status == free.status == "optimal"
    assert broken.value == free.value == listed.evaluation.cycles
    assert broken.evaluation.energy_pj == listed.evaluation.energy_pj < free.evaluation.energy_pj
    assert broken.to_dict()["objective"]["metrics"] == ["delay"]
    assert broken.to_dict()["objective"]["tie_break"] == ["energy"]
    assert "tie_break" not in free.to_dict()["objective"]
    assert "ties broken by" in str(broken) and "ties broken by" not in str(free)


@pytest.mark.parametrize("timely", [False, True])
def test_a_tie_that_is_not_proven_leaves_the_proof_of_the_goal(
    spec: sm.Spec, monkeypatch: pytest.MonkeyPatch, timely: bool
) -> None:
    """The search ends while the tie is searched, by its own limits or with the time: the goal is
    proven, the tie is not.
    """
    from solver_mapper.solve.cpsat.search import Search

    minimize = Search._minimize_goal

    def stopped(self: Search, gap, tie: bool):  # type: ignore[no-untyped-def, type-arg]
        if tie and timely:
            raise TimeUp
        return None if tie else minimize(self, gap, tie)

    monkeypatch.setattr(Search, "_minimize_goal", stopped)
    solution = sm.solve(spec, "delay")
    assert (solution.status, solution.gap) == ("optimal", 0.0)
    assert "tie_break" not in solution.to_dict()["objective"]
    assert "ties broken by  energy, without a proof: " in str(solution)


def test_the_bound_is_that_of_the_first_goal_where_time_ends_with_the_second(
    spec: sm.Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from solver_mapper.solve.cpsat.search import Search

    minimize = Search._minimize_goal

    def stopped(self: Search, gap, tie: bool):  # type: ignore[no-untyped-def, type-arg]
        if gap.goal.name == "energy":
            gap.bound = Fraction(10**9)
            raise TimeUp
        return minimize(self, gap, tie)

    monkeypatch.setattr(Search, "_minimize_goal", stopped)
    solution = sm.solve(spec, ["delay", "energy"])
    assert (solution.status, solution.gap) == ("feasible", 0.0)


def test_a_tie_costs_a_bounded_effort() -> None:
    """The energy of this layer alone takes minutes to prove: the model bounds the energy of many
    mappings too low, and each of these is ruled out by itself.
    """
    spec = sm.load("simba", "tiny/conv_small")
    assert isinstance(spec, sm.Spec)
    solution = sm.solve(spec, "delay")
    assert (solution.status, solution.value) == ("optimal", 55)
    assert solution.evaluation is not None and solution.evaluation.energy_pj < 98_000


def test_the_command_switches_it_off() -> None:
    words = ("solve", "eyeriss", "tiny/mm8", "--objective", "delay", "--json")
    assert json.loads(run(*words)[1])["objective"]["tie_break"] == ["energy"]
    assert "tie_break" not in json.loads(run(*words, "--no-tie-break")[1])["objective"]

"""The answer of `solve` as people read it. The answers are made by hand: what the solver finds is
judged elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import parse_objective
from solver_mapper.io import bundled
from tests import golden

GEMM = ("three_level", "tiny/mm8")
MAPPING = {
    "mapping": [
        {"target": "DRAM", "type": "temporal", "factors": "M=2 K=2", "permutation": "MKN"},
        {"target": "GLB", "type": "bypass", "keep": ["Inputs", "Outputs"], "bypass": ["Weights"]},
        {
            "target": "GLB",
            "type": "spatial",
            "factors": "N=8 M=2",
            "permutation": "NMK",
            "split": 1,
        },
        {"target": "RF", "type": "temporal", "factors": "K=4 M=2", "permutation": "KMN"},
    ]
}
CERTIFICATE = sm.Certificate(
    mapspace={
        "factors": "perfect",
        "levels": 3,
        "dimensions": {"M": 8, "N": 8, "K": 8},
        "orders": "all orders",
        "bypass": "6 bypass choices free",
    },
    solver="OR-Tools CP-SAT 9.15.6755",
    seed=7,
    parameters={"num_workers": 1, "random_seed": 7},
    proofs=(
        {
            "goal": "edp",
            "claim": "no better mapping exists",
            "runs": 2,
            "excluded": 3,
            "tolerance": 1e-8,
        },
    ),
    checks=("legal for hardware and problem", "figures equal to the exact cost model's"),
)
SECONDS = {"compile": 0.25, "solve": 12.5, "check": 0.0, "load": 0.031}


def found() -> sm.Solution:
    spec = sm.load(*bundled.resolve(*GEMM), MAPPING)
    statistics, goals = sm.evaluate(spec), parse_objective("edp,delay")
    assert isinstance(spec, sm.Spec) and isinstance(statistics, sm.Statistics)
    rank = goals.goals[0].rank(statistics)
    return sm.Solution("optimal", goals, spec.mapping, statistics, rank, rank, CERTIFICATE, SECONDS)


def proven() -> sm.Solution:
    return found()


def cut_short() -> sm.Solution:
    whole = found()
    assert whole.rank is not None
    return replace(
        whole,
        status="feasible",
        bound_rank=whole.rank * Fraction(3, 4),
        certificate=replace(CERTIFICATE, proofs=()),
    )


def without_a_bound() -> sm.Solution:
    return replace(
        found(), status="feasible", bound_rank=None, certificate=replace(CERTIFICATE, proofs=())
    )


def nothing(status: sm.solution.Status) -> sm.Solution:
    return replace(
        found(),
        status=status,
        mapping=None,
        evaluation=None,
        rank=None,
        bound_rank=None,
        certificate=replace(CERTIFICATE, proofs=(), checks=()),
    )


def impossible() -> sm.Solution:
    return replace(
        nothing("infeasible"), conflict=({"text": "RF entries 2", "file": "arch.yaml", "line": 11},)
    )


@pytest.mark.parametrize(
    "make", [proven, cut_short, without_a_bound, impossible], ids=lambda make: make.__name__
)
def test_a_solution_reads_as_before(make) -> None:
    golden.check(f"solution_{make.__name__}.txt", f"{make()}\n")


def test_out_of_time_says_that_nothing_is_known() -> None:
    text = str(nothing("unknown"))
    assert (
        text.splitlines()[0]
        == "The search stopped before it found a mapping; it is not proven that none exists"
    )


def test_only_the_last_line_depends_on_the_speed_of_the_machine() -> None:
    quick, slow = found(), replace(found(), seconds={"solve": 999.0})
    assert str(quick).splitlines()[:-1] == str(slow).splitlines()[:-1]
    assert str(slow).splitlines()[-1].split() == ["seconds", "solve", "999.00"]


@pytest.mark.parametrize(
    ("runs", "text"), [(0, "without the solver"), (1, "1 solver call"), (2, "2 solver calls")]
)
def test_a_proof_says_how_often_the_solver_ran(runs: int, text: str) -> None:
    certificate = replace(CERTIFICATE, proofs=({**CERTIFICATE.proofs[0], "runs": runs},))
    shown = " ".join(str(replace(found(), certificate=certificate)).split())
    assert f"no better mapping exists ({text}," in shown


def test_a_proof_over_cells_says_how_many_mappings_were_evaluated() -> None:
    step = {"goal": "edp", "claim": "none is better", "cells": 8, "evaluated": 1200}
    solution = found()
    certificate = replace(solution.certificate, proofs=({**step, "tolerance": 0},))
    text = str(replace(solution, certificate=certificate))
    assert "edp: none is better (8 cells, 1,200 mappings evaluated)" in " ".join(text.split())


def test_goals_that_are_proven_are_told_from_those_that_are_not() -> None:
    text = str(replace(cut_short(), certificate=CERTIFICATE))
    assert (
        "Search stopped early: proven optimal for edp, but among such mappings not for delay"
        in text.splitlines()
    )

"""Whatever `solve` returns under random constraints, `validate` accepts: the specification and the
same as files.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.core.spec import Spec
from tests.campaigns import in_campaigns
from tests.constraints.as_files import write_files
from tests.constraints.random_designs import random_spec


def _solved(spec: Spec, seed: int) -> sm.Solution:
    """The best mapping found in the limit, for the few designs that take minutes to prove; among
    equals any, since only legality is looked at.
    """
    objective = "energy" if spec.need_problem().name == "matmul" else "delay"
    solution = sm.solve(spec, objective, time_limit=60, tie_break=False)
    assert (solution.mapping is None) == (solution.status == "infeasible"), seed
    return solution


def from_records(seeds: range) -> Counter[str]:
    """Status of the answers; all that were found are legal."""
    found: Counter[str] = Counter()
    for seed in seeds:
        spec = random_spec(Random(seed))
        solution = _solved(spec, seed)
        found[solution.status] += 1
        if solution.mapping is not None:
            verdict = sm.validate(spec, solution.mapping)
            assert verdict.legal, f"{seed}: {verdict}"
    return found


def from_files(seeds: range, folder: Path) -> Counter[str]:
    """The same for what files say, with the mapping as the file that is written for it; and how
    many constraints the files have.
    """
    found: Counter[str] = Counter()
    for seed in seeds:
        files = write_files(random_spec(Random(seed)), folder)
        spec = sm.load(*files)
        assert isinstance(spec, Spec)
        solution = _solved(spec, seed)
        found[solution.status] += 1
        found["rules"] += len(spec.constraints)
        if solution.mapping is not None:
            mapping = folder / "map.yaml"
            mapping.write_text(solution.mapping.to_yaml())
            verdict = sm.validate(sm.load(*files, mapping))
            assert verdict.legal, f"{seed}: {verdict}"
    return found


@pytest.mark.parametrize("first", [0, *in_campaigns([20])])
def test_answers_are_legal(first: int) -> None:
    assert from_records(range(first, first + 20))["optimal"] > 7


@pytest.mark.parametrize("first", [100, *in_campaigns([115])])
def test_answers_are_legal_under_the_same_files(first: int, tmp_path: Path) -> None:
    found = from_files(range(first, first + 15), tmp_path)
    assert found["optimal"] > 7 and found["rules"] > 30


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_answers_are_legal_in_two_thousand_designs(first: int) -> None:
    assert from_records(range(first, first + 100))["optimal"] > 40


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(3000, 5000, 100))
def test_answers_are_legal_under_two_thousand_sets_of_files(first: int, tmp_path: Path) -> None:
    found = from_files(range(first, first + 100), tmp_path)
    assert found["optimal"] > 40 and found["rules"] > 200

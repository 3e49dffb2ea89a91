"""Whatever `solve` returns under random rules, `validate` accepts."""

from __future__ import annotations

from random import Random

import pytest

import solver_mapper as sm
from tests.rules.random_designs import random_spec


def _solved(seeds: range) -> int:
    """How many of the designs have a mapping; all that were found are legal."""
    found = 0
    for seed in seeds:
        spec = random_spec(Random(seed))
        solution = sm.solve(spec, "energy" if spec.need_problem().name == "matmul" else "delay")
        assert solution.status in ("optimal", "infeasible"), seed
        if solution.mapping is not None:
            found += 1
            verdict = sm.validate(spec, solution.mapping)
            assert verdict.legal, f"{seed}: {verdict}"
    return found


def test_answers_are_legal() -> None:
    assert _solved(range(100)) > 40


@pytest.mark.campaign
def test_answers_are_legal_in_two_thousand_designs() -> None:
    assert _solved(range(1000, 3000)) > 500

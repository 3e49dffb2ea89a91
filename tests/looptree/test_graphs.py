"""Graphs of Einsums: the search finds what plain enumeration of all trees finds."""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm
from tests.looptree.graph_enumeration import GraphEnumeration, random_graph


def check(seed: int) -> None:
    problem = random_graph(seed)
    solution = sm.solve(sm.load(io.StringIO(problem.text())), objective=problem.objective)
    assert solution.status in ("optimal", "infeasible")
    assert solution.value == GraphEnumeration(problem).optimum()


@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_of_a_graph_equals_enumeration(seed: int) -> None:
    check(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(25, 325))
def test_the_optimum_of_many_graphs_equals_enumeration(seed: int) -> None:
    check(seed)

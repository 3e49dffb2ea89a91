"""Graphs of Einsums: the search finds what plain enumeration of all trees finds."""

from __future__ import annotations

import io

import pytest

import solver_mapper as sm
from tests.campaigns import in_campaigns
from tests.looptree.graph_enumeration import (
    GraphEnumeration,
    Problem,
    random_graph,
    random_spatial_graph,
)


def check(problem: Problem) -> None:
    solution = sm.solve(sm.load(io.StringIO(problem.text())), objective=problem.objective)
    assert solution.status in ("optimal", "infeasible")
    assert solution.value == GraphEnumeration(problem).optimum()


@pytest.mark.parametrize("seed", [*range(10), *in_campaigns(range(10, 25))])
def test_the_optimum_of_a_graph_equals_enumeration(seed: int) -> None:
    check(random_graph(seed))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(25, 325))
def test_the_optimum_of_many_graphs_equals_enumeration(seed: int) -> None:
    check(random_graph(seed))


@pytest.mark.parametrize("seed", [*range(10), *in_campaigns(range(10, 25))])
def test_the_optimum_of_a_graph_on_several_copies_equals_enumeration(seed: int) -> None:
    check(random_spatial_graph(seed))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(25, 425))
def test_the_optimum_of_many_graphs_on_several_copies_equals_enumeration(seed: int) -> None:
    check(random_spatial_graph(seed))

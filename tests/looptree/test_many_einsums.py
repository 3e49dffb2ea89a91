"""Workloads of very many Einsums: what is alive when, and time limits."""

from __future__ import annotations

import io
import time
from itertools import pairwise

import pytest

import solver_mapper as sm
from solver_mapper.cost.looptree.mapping.einsum_path import shared_loops
from solver_mapper.cost.looptree.mapping.prepare import prepare
from solver_mapper.cost.looptree.occupancy import _shared_with
from tests.faults import inputs
from tests.looptree.random_trees import random_case


def test_einsums_share_what_all_neighbours_between_them_share() -> None:
    """The loops that two Einsums share are counted without comparing each pair of branches."""
    seen = 0
    for seed in range(200):
        spec = sm.load(io.StringIO(random_case(seed)))
        branches = prepare(
            spec.need_architecture(), spec.need_workload(), spec.need_mapping()
        ).branches
        after = [shared_loops(one, other) for one, other in pairwise(branches)]
        for position, branch in enumerate(branches):
            pairs = [shared_loops(branch, other) for other in branches]
            found = _shared_with(position, after)
            assert [*found[:position], *found[position + 1 :]] == [
                *pairs[:position],
                *pairs[position + 1 :],
            ]
            seen += len(branches) > 1
    assert seen > 100


@pytest.mark.parametrize("count", [3, 120])
def test_limits_cover_the_exact_evaluation(count: int) -> None:
    """The exact evaluation of what was found belongs to the search; there is an answer, or the
    status is unknown.
    """
    spec = sm.load(io.StringIO(inputs.tree(count)))
    started = time.process_time()
    solution = sm.solve(spec, "energy", max_fused_loops=1, time_limit=0.5)
    assert time.process_time() - started < 1.5
    assert solution.status in ("optimal", "feasible", "unknown")
    assert (solution.mapping is None) == (solution.status == "unknown")
    if solution.mapping is not None:
        assert sm.validate(spec, solution.mapping).legal


def test_evaluating_many_einsums_takes_time_in_proportion() -> None:
    """200 Einsums, whose branches share all nodes above them, are evaluated in a few seconds."""
    spec = sm.load(io.StringIO(inputs.tree(200)))
    solution = sm.solve(spec, "energy", max_fused_loops=0, gap=0.5)
    started = time.process_time()
    assert sm.evaluate(spec, solution.mapping).energy > 0
    assert time.process_time() - started < 5

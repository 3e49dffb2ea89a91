"""Lexicographic objectives: a later one picks among all mappings that tie in the earlier ones."""

from __future__ import annotations

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import parse_objective
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import PLAIN, instance

LISTS = ("edp,delay", "delay,energy", "last-level-accesses,edp", "energy,last-level-accesses,delay")


@pytest.mark.parametrize("seed", range(32))
def test_every_goal_has_the_value_that_enumeration_finds(seed):
    """From a mapping found by local search, which may tie with the optimum from the beginning."""
    made, text = instance(seed, 200, PLAIN, wired=False), LISTS[seed % len(LISTS)]
    objective = parse_objective(text)
    best = Exhaustive(made.mapspace).best([objective])[0]
    solution = sm.solve(made.spec, text)
    if best is None:
        assert solution.status == "infeasible"
    else:
        assert solution.status == "optimal"
        assert [goal.rank(solution.evaluation) for goal in objective.goals] == [
            goal.rank(best[1]) for goal in objective.goals
        ]


@pytest.mark.parametrize("seed", range(8))
def test_a_start_that_ties_in_the_first_goal_does_not_hide_better_ones(seed):
    """Beginning with an optimum of the first goal that is poor in the second."""
    made = instance(seed, 200, PLAIN, wired=False)
    first = sm.solve(made.spec, "delay")
    if first.mapping is not None:
        again = sm.solve(made.spec.with_mapping(first.mapping), "delay,energy")
        assert (
            again.evaluation.energy_pj == sm.solve(made.spec, "delay,energy").evaluation.energy_pj
        )

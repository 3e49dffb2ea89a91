"""The enumeration that judges the solver is itself judged: by the plainest possible loop, on
mapspaces small enough for that.
"""

from __future__ import annotations

from itertools import product

import pytest

from solver_mapper.core.objective import parse_objective
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import Instance, instance

OBJECTIVES = [
    parse_objective(text)
    for text in ("energy", "delay", "edp", "last-level-accesses", "delay,energy")
]


def plainly(made: Instance):
    """Every legal mapping with its figures, one by one."""
    mapspace = made.mapspace
    keeps = [mapspace.keeps(name) for name in made.problem.tensor_names]
    for skeleton in mapspace.skeletons():
        for chosen in product(*keeps):
            mapping = mapspace.mapping(skeleton, chosen)
            if not violations(made.architecture, made.problem, mapping):
                yield mapping, evaluate(made.architecture, made.problem, mapping)


@pytest.mark.parametrize("seed", range(20))
def test_enumeration_agrees_with_evaluating_every_mapping(seed):
    """Remembering contributions, skipping hopeless nests and adding up tensors changes neither the
    best values nor the front.
    """
    made = instance(seed, most=40)
    everything = [statistics for _, statistics in plainly(made)]
    for objective, found in zip(
        OBJECTIVES, Exhaustive(made.mapspace).best(OBJECTIVES), strict=True
    ):
        ranks = [
            tuple(goal.rank(statistics) for goal in objective.goals) for statistics in everything
        ]
        assert (
            None if found is None else tuple(goal.rank(found[1]) for goal in objective.goals)
        ) == min(ranks, default=None)
    pairs = {(statistics.energy_pj, statistics.cycles) for statistics in everything}
    front = sorted(
        p for p in pairs if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in pairs)
    )
    assert [
        (statistics.energy_pj, statistics.cycles)
        for _, statistics in Exhaustive(made.mapspace).front("energy", "delay")
    ] == front


@pytest.mark.parametrize("seed", range(20))
def test_a_mapspace_contains_what_it_enumerates(seed):
    """Membership agrees with enumeration, and counting with both."""
    made = instance(seed, most=60)
    mapspace = made.mapspace
    keeps = tuple(next(iter(mapspace.keeps(name)), ()) for name in made.problem.tensor_names)
    mappings = (
        [mapspace.mapping(skeleton, keeps) for skeleton in mapspace.skeletons()]
        if all(keeps)
        else []
    )
    assert len({mapping.levels for mapping in mappings}) == len(mappings)
    assert all(mapspace.contains(mapping) for mapping in mappings)
    assert mapspace.count(10**6) == len(list(mapspace.skeletons()))
    assert mapspace.count(0) is None or not list(mapspace.skeletons())

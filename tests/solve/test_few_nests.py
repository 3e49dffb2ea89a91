"""Mapspaces of few loop nests are enumerated where CP-SAT would rule out candidates one by one."""

from __future__ import annotations

import pytest

import solver_mapper
from solver_mapper.core.objective import parse_objective
from solver_mapper.solve import session
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import SHAPES, instance


@pytest.mark.enumerates
@pytest.mark.parametrize("name", ["energy", "last-level-accesses"])
@pytest.mark.parametrize("seed", [53, 126])
def test_a_small_mapspace_is_proven_at_once(seed, name):
    made = instance(seed, 500, list(SHAPES))
    nests = made.mapspace.count(session.FEW_NESTS)
    assert nests is not None and nests > 200
    found = solver_mapper.solve(made.spec, name, time_limit=20)
    objective = parse_objective(name)
    (best,) = Exhaustive(made.mapspace).best([objective])
    assert best is not None
    assert (found.status, found.gap) == ("optimal", 0)
    assert found.value == float(objective.goals[0].rank(best[1]))

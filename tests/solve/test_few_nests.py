"""Mapspaces of few loop nests are enumerated where CP-SAT would rule out candidates one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest

import solver_mapper
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.solve import session
from solver_mapper.solve.session import Session
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import SHAPES, instance
from tests.strategies import tensor

ENERGY = AccessEnergy(Fraction(1), Fraction(1), Fraction(1))


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


@pytest.mark.enumerates
def test_a_large_mapspace_is_not_counted():
    """Its factorizations alone would fill the memory."""
    levels = tuple(Buffer(f"L{n}", None, 1, 1, 1, energy=ENERGY) for n in range(8))
    units = Arithmetic("MAC", 1, 1, 1, energy=Fraction(1), leak=Fraction(0))
    tensors = (tensor("A", "M"), tensor("Z", "M", read_write=True))
    problem = Problem("long", ("M",), {"M": 2**20 * 3**10 * 5**5}, tensors)
    made = Session(Spec(Architecture("deep", levels, units), problem))
    assert not made._few_nests

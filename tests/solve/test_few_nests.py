"""Mapspaces of few loop nests are enumerated where CP-SAT would rule out candidates one by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import solver_mapper
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.objective import Limit, parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.solve import session
from solver_mapper.solve.session import Session
from solver_mapper.verify.exhaustive import Exhaustive
from tests.campaigns import in_campaigns
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
@pytest.mark.parametrize("seed", [4002, 4041])
def test_what_walks_do_not_know_is_enumerated_at_last(seed, monkeypatch):
    """Reuse that is switched off, and a tensor indexed in an odd way."""
    monkeypatch.setattr(session, "FEW_NESTS", 0)
    made = instance(seed, 5000)
    found = solver_mapper.solve(made.spec, "energy", time_limit=60)
    (best,) = Exhaustive(made.mapspace).best([parse_objective("energy")])
    assert best is not None
    assert (found.status, found.value) == ("optimal", float(best[1].energy_pj))


@pytest.mark.enumerates
def test_a_large_mapspace_is_not_counted():
    """Its factorizations alone would fill the memory."""
    levels = tuple(Buffer(f"L{n}", None, 1, 1, 1, energy=ENERGY) for n in range(8))
    units = Arithmetic("MAC", 1, 1, 1, energy=Fraction(1), leak=Fraction(0))
    tensors = (tensor("A", "M"), tensor("Z", "M", read_write=True))
    problem = Problem("long", ("M",), {"M": 2**20 * 3**10 * 5**5}, tensors)
    made = Session(Spec(Architecture("deep", levels, units), problem))
    assert not made._has_at_most(session.MANY_NESTS)


@pytest.mark.enumerates
@pytest.mark.parametrize("names", ["delay,energy", "last-level-accesses,edp", "edp,energy"])
def test_each_goal_of_a_list_is_proven(names):
    made = instance(53, 500, list(SHAPES))
    objective = parse_objective(names)
    (best,) = Exhaustive(made.mapspace).best([objective])
    found = solver_mapper.solve(made.spec, names, time_limit=20)
    assert best is not None and found.status == "optimal"
    assert [goal.rank(found.evaluation) for goal in objective.goals] == [
        goal.rank(best[1]) for goal in objective.goals
    ]


@pytest.mark.enumerates
@pytest.mark.parametrize("seed", [53, *in_campaigns([126])])
def test_whether_a_cap_can_be_met_is_proven(seed):
    """The quickest mapping, if it has to take less energy than it would."""
    made = instance(seed, 500, list(SHAPES))
    energy, delay = parse_objective("energy").goals[0], parse_objective("delay")
    (quickest,) = Exhaustive(made.mapspace).best([delay])
    assert quickest is not None
    most = energy.rank(quickest[1])
    (other,) = Exhaustive(made.mapspace, [Limit(energy, most, strict=True)]).best([delay])
    cap = MetricConstraint("", "metrics: energy_pj", "energy_pj", most, strict=True)
    capped = replace(made.spec, constraints=(*made.spec.constraints, cap))
    found = solver_mapper.solve(capped, "delay", time_limit=20)
    if other is None:
        assert found.status == "infeasible"
    else:
        assert found.status == "optimal" and found.evaluation is not None
        assert found.evaluation.cycles == other[1].cycles
        assert found.evaluation.energy_pj < most


@pytest.mark.enumerates
@pytest.mark.parametrize("seed", [53, 126])
def test_a_front_is_complete(seed):
    made = instance(seed, 500, list(SHAPES))
    front = solver_mapper.pareto(made.spec, time_limit=30)
    wanted = Exhaustive(made.mapspace).front("energy", "delay")
    assert front.status == "complete"
    assert [(point.evaluation.energy_pj, point.evaluation.cycles) for point in front.points] == [
        (statistics.energy_pj, statistics.cycles) for _, statistics in wanted
    ]

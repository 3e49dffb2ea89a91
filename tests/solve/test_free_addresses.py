"""A negative energy of address generation asks for Timeloop's built-in adder, which is free."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import solver_mapper
from solver_mapper.core.objective import parse_objective
from solver_mapper.report.timeloop_stats import timeloop_stats
from solver_mapper.solve import session
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.instances import SHAPES, Instance, instance


def with_addresses(made: Instance, energy: Fraction) -> solver_mapper.Spec:
    """The instance with the same energy of address generation at every other level."""
    levels = [
        replace(level, address_energy=energy if number % 2 else Fraction(0))
        for number, level in enumerate(made.architecture.levels)
    ]
    return replace(made.spec, architecture=replace(made.architecture, levels=tuple(levels)))


@pytest.mark.enumerates
@pytest.mark.parametrize("seed", range(60, 72))
def test_the_solver_takes_them_for_free(seed, monkeypatch):
    monkeypatch.setattr(session, "FEW_NESTS", 0)
    monkeypatch.setattr(session, "MANY_NESTS", 0)
    made = instance(seed, 300, list(SHAPES))
    negative, free = (with_addresses(made, Fraction(each)) for each in ("-2.5", "0"))
    mapspace = EnumeratedMapspace(free.need_architecture(), made.problem, made.constraints)
    (best,) = Exhaustive(mapspace).best([parse_objective("energy")])
    found = solver_mapper.solve(negative, "energy", time_limit=10)
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.evaluation is not None and found.bound_rank is not None
    assert found.bound_rank <= best[1].energy_pj
    if found.status == "optimal":
        assert found.evaluation.energy_pj == pytest.approx(best[1].energy_pj, rel=1e-6)
    report = timeloop_stats(found.evaluation)
    assert ": -" not in "".join(each for each in report.splitlines() if "Address Gen" in each)

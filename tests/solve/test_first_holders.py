"""Walks where the outermost level does not hold all tensors: they cost nothing outside their first
holder, which is filled with none.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import solver_mapper as sm
from solver_mapper.core.constraints import Constraints, KeepConstraint
from solver_mapper.core.objective import parse_objective
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.outward import deepening
from solver_mapper.solve.outward.cases import Cases, walk_of
from solver_mapper.solve.outward.deepening import Deepening
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.exhaustive import Exhaustive
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, SCATTERED_SHAPES, Instance, instance
from tests.solve.test_outward import CLOSE, OBJECTIVES, WINDOWS, bare, slow_inside, wrong_claims


def without_outermost(made: Instance, numbers: range) -> Instance:
    """The instance of which some tensors are held by the second level, and not by the first one; or
    the same if it has one level.
    """
    first, *second = made.architecture.level_names[:2]
    names = [made.problem.tensor_names[n % len(made.problem.tensors)] for n in numbers]
    moved = [(level, name) for level in (first, *second) for name in names] if second else []
    kept = [
        each
        for each in made.constraints
        if not (isinstance(each, KeepConstraint) and (each.level, each.tensor) in moved)
    ]
    rules = [KeepConstraint(level, "test", name, level != first) for level, name in moved]
    return replace(made, constraints=Constraints((*kept, *rules)))


@pytest.mark.parametrize("seed", [1, 2, *in_campaigns([17, *range(100, 160)])])
def test_the_least_claim_is_the_best_mapping_where_nothing_else_costs(seed):
    made = without_outermost(bare(instance(seed, 400, PLAIN)), range(seed % 2, 2))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


@pytest.mark.parametrize("seed", [1, 9, *in_campaigns(range(200, 260))])
@pytest.mark.parametrize("how", [bare, slow_inside])
def test_no_claim_is_above_the_best_mapping(seed, how):
    made = how(instance(seed, 400, (*WINDOWS, *SCATTERED_SHAPES)))
    made = without_outermost(made, range(seed % 3, 3))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=False)


def test_mappings_of_walks_do_not_store_more_than_they_may():
    made = without_outermost(bare(instance(5, 400, PLAIN)), range(1))
    name = made.problem.tensor_names[0]
    ends = Walk(made.mapspace, OBJECTIVES[0].goals[0]).ends(float("inf"))
    assert ends.mappings
    assert all(map(made.mapspace.contains, ends.mappings))
    assert not any(name in each.levels[0].keep for each in ends.mappings)


def with_open_holders(made: Instance, numbers: range) -> Instance:
    """The instance of which the outermost level does not hold some tensors: it is open which level
    is the first one that does.
    """
    first, names = made.architecture.level_names[0], made.problem.tensor_names
    moved = {names[n % len(names)] for n in numbers}
    kept = [each for each in made.constraints if getattr(each, "tensor", None) not in moved]
    rules = [KeepConstraint(first, "test", name, keep=False) for name in sorted(moved)]
    return replace(made, constraints=Constraints((*kept, *rules)))


@pytest.mark.parametrize("seed", [1, 304, *in_campaigns([17, *range(300, 304), *range(305, 360)])])
@pytest.mark.parametrize("shapes", [PLAIN, WINDOWS], ids=["plain", "windows"])
def test_claims_of_all_cases_are_those_of_enumeration(seed, shapes):
    made = with_open_holders(bare(instance(seed, 400, shapes)), range(seed % 2, 2))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=shapes is PLAIN)


@pytest.mark.parametrize("seed", [3, 1002, *in_campaigns(range(400, 440))])
@pytest.mark.parametrize("effort", [0.001, 0.02, 1.0])
def test_targets_rise_to_the_optimum_of_all_cases(seed, effort, monkeypatch):
    """Also where the walk of one case ends early, or falls below what another one has found."""
    monkeypatch.setattr(deepening, "FEW", 20)
    monkeypatch.setattr(deepening, "SOME", 10)
    made = with_open_holders(bare(instance(seed, 400, PLAIN)), range(2))
    goal, evaluate = OBJECTIVES[0].goals[0], Evaluator(made.architecture, made.problem).evaluate
    best = Exhaustive(made.mapspace).best([OBJECTIVES[0]])[0]
    if best is None:
        return
    rank, met, bounds = float(goal.rank(best[1])), [float("inf")], [0.0]

    def span() -> tuple[float, float]:
        return max(bounds), min(met) * (1 + CLOSE)

    walks = Deepening(walk_of(made.mapspace, goal))
    while max(bounds) < min(met) * (1 - CLOSE):
        for ends in walks.ends(span, effort):
            met += [float(goal.rank(evaluate(each))) for each in ends.mappings]
            bounds += [min(float(ends.least), *met)] if ends.least is not None else []
        effort *= 2
    assert min(met) == pytest.approx(rank, rel=CLOSE)
    assert max(bounds) <= rank


def test_a_target_that_falls_below_what_another_case_has_found_is_no_proof():
    """The cheaper mapping is in the second case, whose walk ends below a lower target first; walks
    below rising targets go on.
    """

    class Case(Walk):
        def __init__(self, ends):
            self._ends, self.first = iter(ends), False
            self.goal, self.limits = None, ()

        def further(self, _target, **_):
            return next(self._ends)

    found = ("the first one's mapping",)
    first = Case([Ends(found, 7.0)])
    second = Case([Ends((), 5.0, target=5.0), Ends(("the best one",), 6.0)])
    walks = Cases([first, second])
    early, late = walks.further(9.0), walks.further(8.0)
    assert (early.mappings, early.least, early.target) == (found, 5.0, 5.0)
    assert (late.mappings, late.least, late.target) == (("the best one", *found), 6.0, None)


def test_there_are_no_walks_of_too_many_cases():
    made = bare(instance(17, 400, PLAIN))
    made = with_open_holders(made, range(3))
    with pytest.raises(ValueError, match="it is open which level"):
        Walk(made.mapspace, OBJECTIVES[0].goals[0])
    many = deep(made, 4)
    with pytest.raises(ValueError, match="too many choices"):
        walk_of(many.mapspace, OBJECTIVES[0].goals[0])


def deep(made: Instance, levels: int) -> Instance:
    """The instance with so many levels, all but the first as the last one."""
    first, *_, last = made.architecture.levels
    more = [replace(last, name=f"{last.name} {number}") for number in range(1, levels)]
    return replace(made, architecture=replace(made.architecture, levels=(first, *more)))


@pytest.mark.parametrize("workers", [1, 2])
def test_the_answer_is_that_of_enumeration_where_a_level_may_hold_it_or_not(workers):
    made = with_open_holders(bare(instance(17, 400, PLAIN)), range(1))
    best = Exhaustive(made.mapspace).best([parse_objective("energy")])[0]
    assert best is not None
    assert sm.solve(made.spec, "energy", workers=workers).rank == best[1].energy_pj

"""Walks where the outermost level does not hold all tensors: they cost nothing outside their first
holder, which is filled with none.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import solver_mapper as sm
from solver_mapper.core.constraints import Constraints, KeepConstraint
from solver_mapper.core.objective import parse_objective
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.exhaustive import Exhaustive
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, SCATTERED_SHAPES, Instance, instance
from tests.solve.test_outward import OBJECTIVES, WINDOWS, bare, slow_inside, wrong_claims


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


@pytest.mark.parametrize("seed", [1, 2, 17, *in_campaigns(range(100, 160))])
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


def test_the_answer_is_that_of_enumeration_where_a_level_may_hold_it_or_not():
    """Walks leave that to CP-SAT."""
    made = bare(instance(17, 400, PLAIN))
    first, *_ = made.architecture.level_names
    name = made.problem.tensor_names[0]
    rules = [each for each in made.constraints if getattr(each, "tensor", None) != name]
    bypassed = KeepConstraint(first, "test", name, keep=False)
    made = replace(made, constraints=Constraints((*rules, bypassed)))
    with pytest.raises(ValueError, match="open which level"):
        Walk(made.mapspace, OBJECTIVES[0].goals[0])
    best = Exhaustive(made.mapspace).best([parse_objective("energy")])[0]
    assert best is not None
    assert sm.solve(made.spec, "energy").rank == best[1].energy_pj

"""Walks where the hardware lacks a kind of reuse: claims are never above the best mapping, and are
its figure where nothing else costs.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from solver_mapper.core.constraints import Constraints, ReuseConstraint
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.walk import Walk
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, SCATTERED_SHAPES, Instance, instance
from tests.solve.test_outward import OBJECTIVES, WINDOWS, bare, slow_inside, wrong_claims

FLAGS = ("no_temporal_reuse", "no_multicast", "no_link_transfer")
SLIDING = (*WINDOWS, *SCATTERED_SHAPES)


def switched_off(made: Instance) -> Instance:
    """The instance without some kinds of reuse at some levels, for some tensors."""
    random, names = Random(made.seed), made.problem.tensor_names
    flags = [
        ReuseConstraint(level.name, "test", flag, frozenset(random.sample(names, 2)))
        for level in made.architecture.levels
        for flag in FLAGS
        if random.random() < 0.4
    ]
    return replace(made, constraints=Constraints((*made.constraints, *flags)))


@pytest.mark.parametrize("seed", [0, 8, 26, *in_campaigns(range(100, 160))])
@pytest.mark.parametrize("how", [bare, slow_inside])
def test_no_claim_is_above_the_best_mapping(seed, how):
    made = switched_off(how(instance(seed, 400, (PLAIN, SLIDING)[seed % 4 > 0])))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=False)


@pytest.mark.parametrize("seed", [1, 5, *in_campaigns(range(200, 260))])
def test_the_least_claim_is_the_best_mapping_where_nothing_else_costs(seed):
    """Unless neighbours pass on what a level fetches anew in each round."""
    made = switched_off(bare(instance(seed, 400, PLAIN)))
    costs, levels = Costs(made.mapspace), range(len(made.architecture.levels))
    known = all(
        costs.forgets(n, level)
        for n, off in enumerate(costs.off)
        for level in levels[1:]
        if level in off.temporal_reuse
    )
    if known and (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


def test_mappings_of_walks_say_what_is_switched_off():
    """Others would be none of the mapspace."""
    made = switched_off(bare(instance(4, 400, PLAIN)))
    ends = Walk(made.mapspace, OBJECTIVES[0].goals[0]).ends(float("inf"))
    assert any(level.no_multicast for each in ends.mappings for level in each.levels)
    assert all(map(made.mapspace.contains, ends.mappings))

"""Walks where the hardware lacks a kind of reuse: claims are never above the best mapping, and are
its figure where nothing else costs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import (
    Constraints,
    FactorConstraint,
    KeepConstraint,
    ReuseConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward.layouts import MANY
from solver_mapper.solve.outward.walk import Walk
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, SCATTERED_SHAPES, Instance, instance
from tests.solve.test_outward import OBJECTIVES, WINDOWS, bare, slow_inside, wrong_claims
from tests.strategies import tensor

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
    """Claims grant levels to keep a tensor without windows."""
    made = switched_off(bare(instance(seed, 400, PLAIN)))
    outermost, *_ = made.architecture.level_names
    known = not any(
        isinstance(each, ReuseConstraint)
        and each.flag == "no_temporal_reuse"
        and each.level != outermost
        for each in made.constraints
    )
    if known and (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_claims(made, exact=True)


def test_mappings_of_walks_say_what_is_switched_off():
    """Others would be none of the mapspace."""
    made = switched_off(bare(instance(4, 400, PLAIN)))
    ends = Walk(made.mapspace, OBJECTIVES[0].goals[0]).ends(float("inf"))
    assert any(level.no_multicast for each in ends.mappings for level in each.levels)
    assert all(map(made.mapspace.contains, ends.mappings))


def test_what_a_level_that_fetches_anew_sends_is_still_kept_inside():
    """L1 gets W in each round of M, and sends it to L2 once."""
    tensors = (tensor("A", "M", "K"), tensor("W", "K"), tensor("Z", "M", read_write=True))
    levels = (
        Buffer("L0", None, energy=AccessEnergy(*[Fraction(1)] * 3)),
        Buffer("L1", 4, energy=AccessEnergy(*[Fraction(10)] * 3)),
        Buffer("L2", 4, energy=AccessEnergy(*[Fraction(10)] * 3)),
    )
    architecture = Architecture("anew", levels, Arithmetic("MAC", energy=Fraction(0)))
    rules = [
        *(KeepConstraint(level.name, "", "W", keep=True) for level in levels),
        *(KeepConstraint(level, "", each, keep=False) for level in ("L1", "L2") for each in "AZ"),
        *(FactorConstraint(level, "", "temporal", "M", "==", 1) for level in ("L1", "L2")),
        ReuseConstraint("L1", "", "no_temporal_reuse", frozenset("W")),
    ]
    problem = Problem("anew", ("M", "K"), {"M": 4, "K": 2}, tensors)
    assert not wrong_claims(
        Instance(0, architecture, problem, Constraints(tuple(rules))), exact=False
    )


@pytest.mark.parametrize(
    ("side", "flag", "level", "links"),
    [
        (4, "no_temporal_reuse", "PE", True),
        (4, "no_temporal_reuse", "PE", False),
        (5100, "no_multicast", "DRAM", True),
        (100, "no_multicast", "DRAM", True),
    ],
)
def test_windows_that_walks_do_not_know_are_left_to_the_model(side, flag, level, links):
    """Neighbours may pass on what is fetched in each round; or they are too many to look at."""
    tensors = (
        tensor("W", "R"),
        tensor("I", ["P", "R"], "K"),
        tensor("O", "P", "K", read_write=True),
    )
    levels = (
        Buffer("DRAM", None, energy=AccessEnergy(*[Fraction(1)] * 3)),
        Buffer("PE", None, side, side, 1, energy=AccessEnergy(*[Fraction(1)] * 3)),
    )
    units = Arithmetic("MAC", side, side, 1, energy=Fraction(0))
    problem = Problem("window", ("P", "R", "K"), {"P": 3, "R": 4, "K": 1700}, tensors)
    off = [ReuseConstraint(level, "", flag, frozenset("I"))]
    if not links:
        off.append(ReuseConstraint("DRAM", "", "no_link_transfer", frozenset("I")))
    made = Instance(0, Architecture("row", levels, units), problem, Constraints(tuple(off)))
    if links and (flag == "no_temporal_reuse" or side > MANY):
        with pytest.raises(ValueError, match="reuse of I is switched off"):
            Walk(made.mapspace, OBJECTIVES[0].goals[0])
    else:
        Walk(made.mapspace, OBJECTIVES[0].goals[0])

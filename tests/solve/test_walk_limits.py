"""Walks within limits of cycles, energy and their products: no claim is above the best mapping that
keeps to them, and where claims are figures none is below it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import NamedTuple

import pytest

import solver_mapper as sm
from solver_mapper.core.objective import Goal, Limit, parse_objective
from solver_mapper.solve.outward.cases import walk_of
from solver_mapper.verify.exhaustive import Exhaustive
from tests.campaigns import in_campaigns
from tests.instances import PLAIN, SCATTERED_SHAPES, Instance, in_odd_clusters, instance
from tests.solve.test_outward import (
    CLOSE,
    INFINITE,
    SHAPES,
    WINDOWS,
    bare,
    lone,
    networked,
    slow_inside,
)

ENERGY, DELAY, EDP = (parse_objective(text).goals[0] for text in ("energy", "delay", "edp"))


class Point(NamedTuple):
    """The figures of a mapping of which none is as good in both."""

    energy_pj: Fraction
    cycles: int
    last_level_accesses: int = 0


def asked(front: list[Point]) -> Iterator[tuple[Goal, Limit]]:
    """Goals with limits that leave some of the front, or nothing."""
    for before, point in pairwise([*front, *front[-1:]]):
        yield ENERGY, Limit(DELAY, Fraction(before.cycles), strict=True)
        yield EDP, Limit(DELAY, Fraction(point.cycles), strict=False)
        yield EDP, Limit(ENERGY, before.energy_pj, strict=False)
        yield ENERGY, Limit(EDP, EDP.rank(point), strict=False)
        yield DELAY, Limit(ENERGY, before.energy_pj, strict=False)


def wrong_within_limits(made: Instance, *, exact: bool) -> list[str]:
    """What walks say wrongly of the mappings within limits."""
    figures = Exhaustive(made.mapspace).front("energy", "delay")
    front = [Point(each.energy_pj, each.cycles) for _, each in figures]
    wrong = []
    for goal, limit in asked(front):
        try:
            walk = walk_of(made.mapspace, goal)
        except ValueError:
            continue
        ends = walk.toward(goal, [limit]).ends(INFINITE)
        best = min((goal.rank(each) for each in front if limit.admits(each)), default=inf)
        assert ends.least is not None
        if ends.least > best or (exact and ends.least < float(best) * (1 - CLOSE)):
            wrong.append(f"{goal.name}: {ends.least}, not {float(best)}, within {limit} of {made}")
    return wrong


@pytest.mark.parametrize("how", [lambda made: made, slow_inside, in_odd_clusters])
@pytest.mark.parametrize("seed", [104, 113, *in_campaigns(range(114, 134))])
def test_no_claim_is_above_the_best_mapping_within_limits(seed, how):
    assert not wrong_within_limits(how(instance(seed, 400, SHAPES)), exact=False)


@pytest.mark.parametrize("how", [lambda made: made, slow_inside, networked])
@pytest.mark.parametrize("seed", [112, 115, *in_campaigns([113, 155, *range(160, 180)])])
def test_no_claim_is_above_the_best_mapping_within_limits_where_windows_slide(seed, how):
    shapes = WINDOWS if seed % 2 else list(SCATTERED_SHAPES)
    assert not wrong_within_limits(how(instance(seed, 400, shapes)), exact=False)


@pytest.mark.parametrize("how", [bare, slow_inside, lambda made: lone(bare(made))])
@pytest.mark.parametrize("seed", [104, 107, *in_campaigns(range(111, 140))])
def test_the_least_claim_within_limits_is_the_best_mapping_where_nothing_else_costs(seed, how):
    made = how(instance(seed, 400, PLAIN))
    if (made.mapspace.count(4000) or 4001) <= 4000:
        assert not wrong_within_limits(made, exact=True)


@pytest.mark.parametrize("seed", [2, 9, *in_campaigns(range(10, 40))])
def test_fronts_of_walks_are_those_of_enumeration(seed):
    """Also where mapspaces are too large to be enumerated: each point is searched for."""
    made = slow_inside(instance(seed, 150, PLAIN))
    wanted = [
        (each.energy_pj, each.cycles)
        for _, each in Exhaustive(made.mapspace).front("energy", "delay")
    ]
    spec = made.spec
    front = sm.pareto(spec, gap=0)
    assert [(each.evaluation.energy_pj, each.evaluation.cycles) for each in front.points] == wanted


@pytest.mark.parametrize("goal", [ENERGY, EDP])
def test_inner_mappings_that_nothing_may_follow_are_no_numbers_to_reckon_with(goal):
    """They take infinitely many cycles; times no leakage that would be no number."""
    made = in_odd_clusters(instance(9068, 400, PLAIN))
    limits = [Limit(DELAY, Fraction(10**9), strict=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert walk_of(made.mapspace, goal).toward(goal, limits).ends(INFINITE).mappings

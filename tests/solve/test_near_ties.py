"""Near ties in walks outwards: where the best mapping costs more than it claims, all mappings
between the two are looked at, and the best of them is the best of all.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from solver_mapper import solve
from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.exhaustive import Exhaustive
from tests.instances import Instance, instance
from tests.solve import test_walk_bounds
from tests.solve.test_outward import WINDOWS, bare
from tests.strategies import tensor

OBJECTIVES = [parse_objective(text) for text in ("energy", "edp", "energy^2*delay")]
CLOSE = 1e-9


def each_word(price: float) -> AccessEnergy:
    return AccessEnergy(*[Fraction(str(price))] * 3)


def missed(made: Instance, above: float) -> tuple[list[str], int]:
    """Goals of which the best mapping is not among those below a target that lies so far `above`
    it; and of how many goals all mappings below the target were listed.
    """
    evaluate = Evaluator(made.architecture, made.problem).evaluate
    wrong, listed = [], 0
    for objective, best in zip(OBJECTIVES, Exhaustive(made.mapspace).best(OBJECTIVES), strict=True):
        goal = objective.goals[0]
        try:
            walk = Walk(made.mapspace, goal)
        except ValueError:
            continue
        least = walk.ends(float("inf")).least
        if best is None or least is None or least <= 0 or not walk.exact:
            continue
        rank = float(goal.rank(best[1]))
        ties = walk.near_ties(rank * above, float(least))
        if ties.whole:
            listed += 1
            assert ties.least is not None and float(ties.least) <= rank * above
            ranks = [float(goal.rank(evaluate(each))) for each in ties.mappings]
            if not ranks or abs(min(ranks) - rank) > rank * CLOSE:
                wrong.append(f"{goal.name}: {min(ranks, default=None)} instead of {rank} in {made}")
    return wrong, listed


def drawn(seed: int) -> Instance:
    """Levels, meshes and windows; in every second one neighbours have dear registers."""
    return test_walk_bounds.drawn(seed) if seed % 2 else bare(instance(seed, 400, WINDOWS))


def missed_by_many(seeds: range) -> tuple[list[str], int]:
    wrong, listed = [], 0
    for seed in seeds:
        some, number = missed(drawn(seed), Random(seed).choice([1 + 1e-6, 1.01, 1.1]))
        wrong, listed = wrong + some, listed + number
    return wrong, listed


def test_the_best_mapping_is_among_those_that_nearly_tie():
    wrong, listed = missed_by_many(range(40))
    assert not wrong
    assert listed > 40


def test_a_gap_that_rounding_leaves_is_closed():
    """A depthwise layer of MobileNetV2 whose filter rows pass words on: a gap of 0.0018 % was left
    after a minute.
    """
    levels = (
        Buffer("L0", None, 1, 1, 1, energy=each_word(100)),
        Buffer("L1", 79153, 15, 3, 5, energy=each_word(20.7403)),
        Buffer("L2", 5058, 240, 12, 20, energy=each_word(5.2959)),
    )
    units = Arithmetic("MAC", 240, 12, 20, energy=Fraction(1))
    sizes = {"C": 960, "P": 7, "Q": 7, "R": 3, "S": 3}
    tensors = (
        tensor("W", "C", "R", "S"),
        tensor("I", "C", [("P", 1), ("R", 1)], [("Q", 1), ("S", 1)]),
        tensor("Z", "C", "P", "Q", read_write=True),
    )
    problem = Problem("depthwise", tuple(sizes), sizes, tensors)
    solution = solve(Spec(Architecture("three levels", levels, units), problem), "energy")
    assert solution.status == "optimal"
    assert solution.gap is not None and 0 < solution.gap <= 1e-6


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 4000, 100))
def test_the_best_of_many_mapspaces_is(first):
    assert not missed_by_many(range(first, first + 100))[0]

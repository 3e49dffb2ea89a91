"""Temporal loops over dimensions of all tensors: walks let them stand outermost, and lose no better
mapping by that, whatever neighbours pass on and whichever levels are slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints, KeepConstraint
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.instances import Instance
from tests.solve.test_bounds_on_the_way import with_slow_levels
from tests.solve.test_near_ties import ABOVE, missed
from tests.solve.test_outward import wrong_claims
from tests.solve.test_walk_bounds import energy
from tests.strategies import tensor

MOST_NESTS = 3_000
STEPS = ((1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (2, 2))


def channels(
    seed: int, *, slow: bool, kinds: Sequence[Callable[[Random], Problem]] = ()
) -> Instance:
    """A depthwise window, a batched product, or another of these `kinds`, on a mesh: small buffers,
    any prices, and levels that hold what they like.
    """
    random = Random(seed)
    while True:
        problem = random.choice(kinds or [_depthwise, _batched])(random)
        architecture = _architecture(random)
        if slow:
            architecture = with_slow_levels(seed, architecture)
        made = Instance(seed, architecture, problem, Constraints())
        if made.mapspace.count(MOST_NESTS) is not None:
            return made


def _depthwise(random: Random) -> Problem:
    step, gap = random.choice(STEPS)
    sizes = {"C": random.choice([2, 3, 4]), "P": random.choice([2, 3, 4])}
    sizes["R"] = random.choice([2, 2, 3, 4])
    tensors = (
        tensor("W", "C", "R"),
        tensor("I", "C", [("P", step), ("R", gap)]),
        tensor("O", "C", "P", read_write=True),
    )
    return Problem("depthwise", tuple("CPR"), sizes, tensors)


def _batched(random: Random) -> Problem:
    sizes = {dim: random.choice([1, 2, 2, 3, 4]) for dim in "MNK"}
    sizes["B"] = random.choice([2, 3, 4])
    tensors = (
        tensor("A", "B", "M", "K"),
        tensor("V", "B", "K", "N"),
        tensor("Z", "B", "M", "N", read_write=True),
    )
    return Problem("batched", tuple("BMNK"), sizes, tensors)


def _heads(random: Random) -> Problem:
    """Two or three dimensions of all tensors."""
    common = ["H", "B", "G"][: random.choice([2, 2, 3])]
    dims = [*common, "M", "K"]
    random.shuffle(dims)
    sizes = {dim: random.choice([1, 2, 2, 3]) for dim in dims} | {"B": 2, "H": 2}
    tensors = (
        tensor("A", *common, "M", "K"),
        tensor("V", *common, "K"),
        tensor("Z", *common, "M", read_write=True),
    )
    return Problem("heads", tuple(dims), sizes, tensors)


def _architecture(random: Random) -> Architecture:
    x, y = random.choice([(8, 1), (5, 1), (3, 3), (4, 1), (5, 2), (1, 1), (2, 2)])
    levels = [Buffer("L0", None, 1, 1, 1, energy=energy(random.choice([1, 5, 50])))]
    if random.random() < 0.3:
        half = 1 + (x % 2 == 0)
        levels.append(Buffer("Bus", None, half, half, 1, energy=energy(0)))
    entries, read, fill = (random.choice(each) for each in ([2, 4, 6, 12], [0, 3, 20], [0, 5, 50]))
    levels.append(Buffer("PE", entries, x * y, x, y, energy=energy(read, fill)))
    units = Arithmetic("MAC", x * y, x, y, energy=Fraction(0), leak=Fraction(random.choice([0, 5])))
    return Architecture("small", tuple(levels), units)


@pytest.mark.parametrize("seed", [*range(3), *in_campaigns([3, 4])])
def test_no_better_mapping_is_lost(seed):
    assert not wrong_claims(channels(seed, slow=False), exact=False)


@pytest.mark.parametrize("seed", [*range(4), *in_campaigns(range(4, 400))])
def test_no_better_mapping_is_lost_where_several_dimensions_are_of_all_tensors(seed):
    """Batch and heads: none of them waits for the others."""
    assert not wrong_claims(channels(seed, slow=bool(seed % 2), kinds=[_heads]), exact=False)


@pytest.mark.parametrize("seed", [*range(3), *in_campaigns([3, 4])])
def test_no_better_mapping_is_lost_where_levels_are_slow(seed):
    assert not wrong_claims(channels(seed, slow=True), exact=False)


@pytest.mark.parametrize("seed", [*range(3), *in_campaigns([3, 4])])
def test_the_best_mapping_is_among_those_that_nearly_tie(seed):
    wrong, listed = missed(channels(seed, slow=False), 1 + 1e-6)
    assert not wrong
    assert listed


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(100, 2100, 25))
def test_no_better_mapping_is_lost_in_many_mapspaces(first):
    made = [channels(seed, slow=bool(seed % 2)) for seed in range(first, first + 25)]
    assert not [wrong for each in made for wrong in wrong_claims(each, exact=False)]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(100, 1300, 25))
def test_the_best_mapping_is_among_many_that_nearly_tie(first):
    made = [channels(seed, slow=False) for seed in range(first, first + 25)]
    aboves = [Random(each.seed).choice(ABOVE) for each in made]
    assert not [
        wrong for each, above in zip(made, aboves, strict=True) for wrong in missed(each, above)[0]
    ]


def test_loops_over_dimensions_of_all_tensors_stand_outermost():
    """They do unless something depends on where they are: constraints, or least utilization."""
    made = channels(0, slow=False)
    goal = parse_objective("energy").goals[0]
    dims = {dim for dim in "CB" if made.problem.bounds.get(dim, 1) > 1}
    walk = Walk(made.mapspace, goal)
    assert {tuple(made.problem.dims)[dim] for dim in walk.outermost} == dims
    buffer = replace(made.architecture.levels[-1], min_utilization=Fraction(1, 4))
    levels = (*made.architecture.levels[:-1], buffer)
    filled = replace(made.architecture, levels=levels)
    mapspace = EnumeratedMapspace(filled, made.problem, Constraints())
    assert not Walk(mapspace, goal).outermost


def test_gaps_between_steps_of_partial_sums_are_counted_where_the_loop_stands():
    """How many words of O count as read for the first time depends on the part of C inside its
    mesh.
    """
    sizes = {"P": 2, "R": 2, "C": 9, "K": 2}
    tensors = (
        tensor("I", "P", "C", "K"),
        tensor("W", "R", "C", "K"),
        tensor("O", ["P", "R"], [("C", 2)], read_write=True),
    )
    levels = (
        Buffer("L0", None, energy=AccessEnergy(Fraction(1), Fraction(1), Fraction(0))),
        Buffer("L1", None, 3, 3, 1, energy=AccessEnergy(Fraction(10), Fraction(10), Fraction(1))),
    )
    architecture = Architecture("gaps", levels, Arithmetic("MAC", 3, 3, 1, energy=Fraction(1)))
    kept = tuple(KeepConstraint("L1", "test", each, each != "W") for each in "IWO")
    made = Instance(
        0, architecture, Problem("gaps", tuple(sizes), sizes, tensors), Constraints(kept)
    )
    assert not wrong_claims(made, exact=False)

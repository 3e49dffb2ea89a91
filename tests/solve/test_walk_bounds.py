"""Bounds of the walk outwards where prices are unusual: passing words on may cost more than it
spares, small tiles come back, and rounding is a large part of the figures.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from random import Random
from types import SimpleNamespace

import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints, KeepConstraint
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.instances import Instance
from tests.solve.test_outward import wrong_claims
from tests.strategies import each_word, tensor

DIMS = {"no fixed dimension": "PRK", "one fixed dimension": "CPR", "convolution": "KCPR"}
STEPS = ((1, 1), (2, 1), (3, 1), (2, 2), (4, 1))


def energy(read: int, fill: int = 0) -> AccessEnergy:
    return AccessEnergy(Fraction(read), Fraction(fill), Fraction(0))


def drawn(seed: int) -> SimpleNamespace:
    """A one-dimensional window on compute units with registers, whose reads are dear; and now and
    then a level between that holds nothing.
    """
    random = Random(seed)
    dims = DIMS[random.choice(list(DIMS))]
    step, gap = random.choice(STEPS)
    sizes = {"P": random.choice([2, 3, 4]), "R": random.choice([2, 2, 4])}
    sizes = {dim: sizes.get(dim) or random.choice([1, 2]) for dim in dims}
    window = [("P", step), ("R", gap)]
    tensors = (
        tensor("W", *(dim for dim in dims if dim != "P")),
        tensor("I", *(dim for dim in dims if dim == "C"), window),
        tensor("O", *(dim for dim in dims if dim in "KP"), read_write=True),
    )
    x, y = random.choice([(8, 1), (5, 1), (6, 1), (3, 3), (4, 1), (5, 2)])
    levels = [Buffer("L0", None, 1, 1, 1, energy=energy(random.choice([0, 1, 5])))]
    if random.random() < 0.4:
        half = 1 + (x % 2 == 0)
        levels.append(Buffer("Bus", None, half, half, 1, energy=energy(0)))
    entries, read, fill = (random.choice(each) for each in ([2, 3, 4, 6], [3, 10, 20], [0, 5, 50]))
    levels.append(Buffer("PE", entries, x * y, x, y, energy=energy(read, fill)))
    units = Arithmetic("MAC", x * y, x, y, energy=Fraction(0), leak=Fraction(5))
    return made(Problem("window", tuple(dims), sizes, tensors), levels, units)


def made(problem: Problem, levels: list[Buffer], units: Arithmetic) -> SimpleNamespace:
    """A mapspace in which the innermost level holds inputs, and the outermost one all tensors."""
    architecture = Architecture("small", tuple(levels), units)
    kept = (
        KeepConstraint(level.name, "test", name, not n or (name, level) == ("I", levels[-1]))
        for n, level in enumerate(levels)
        for name in problem.tensor_names
    )
    mapspace = EnumeratedMapspace(architecture, problem, Constraints(tuple(kept)))
    return SimpleNamespace(architecture=architecture, mapspace=mapspace, problem=problem)


@pytest.mark.parametrize("seed", [29, 1220, 1675, 0, *in_campaigns([120, 191, 358, 1, 2, 3, 4])])
def test_no_bound_is_above_the_best_mapping_where_passing_words_on_is_dear(seed):
    """The cost model has neighbours pass words on wherever their level sends fewer then. Bounds on
    the way may be below nothing.
    """
    assert not wrong_claims(drawn(seed), exact=False)


@pytest.mark.parametrize("idle", [1, 2])
def test_a_tile_may_come_back_by_the_other_dimension_after_an_idle_loop(idle):
    """The one word of the register stays for two steps of R and P in turn."""
    sizes = {"P": 2, "R": 2, "K": idle}
    tensors = (
        tensor("W", "K", "R"),
        tensor("I", [("P", 1), ("R", 1)]),
        tensor("O", "K", "P", read_write=True),
    )
    levels = [
        Buffer("L0", None, 1, 1, 1, energy=energy(100)),
        Buffer("L1", 1, 1, 1, 1, energy=energy(0)),
    ]
    units = Arithmetic("MAC", 1, 1, 1, energy=Fraction(0), leak=Fraction(0))
    assert not wrong_claims(
        made(Problem("stay", tuple("PRK"), sizes, tensors), levels, units), exact=False
    )


@pytest.mark.parametrize("name", ["energy", "edp"])
@pytest.mark.parametrize("above", [1.001, 1.25])
def test_words_that_a_mesh_may_yet_send_more_often_are_not_priced_as_counted(name, above):
    """L1 hands inputs on, of which its mesh shares more by R than by P and R together."""
    tensors = (
        tensor("W", "K", "R"),
        tensor("I", [("P", 2), ("R", 1)]),
        tensor("O", "K", "P", read_write=True),
    )
    problem = Problem("shared", tuple("PRK"), {"P": 4, "R": 8, "K": 5}, tensors)
    levels = (
        Buffer("L0", None, 1, 1, 1, energy=energy(50)),
        Buffer("L1", None, 16, 4, 4, energy=energy(30)),
        Buffer("PE", 2, 16, 4, 4, energy=energy(0)),
    )
    units = Arithmetic("MAC", 16, 4, 4, energy=Fraction(0), leak=Fraction(1000))
    architecture, holds = Architecture("small", levels, units), ("WIO", "WO", "IO")
    kept = (
        KeepConstraint(level.name, "test", each, each in held)
        for level, held in zip(levels, holds, strict=True)
        for each in "WIO"
    )
    mapspace = EnumeratedMapspace(architecture, problem, Constraints(tuple(kept)))
    best = Mapping(
        (
            LevelMapping("L0", (), (loop("R", 4, "X"), loop("P", 4, "Y")), frozenset("WIO")),
            LevelMapping("L1", (loop("R", 2, ""), loop("K", 5, "")), (), frozenset("WO")),
            LevelMapping("PE", (), (), frozenset("IO")),
        ),
        tuple("PRK"),
        tuple("WIO"),
    )
    goal = parse_objective(name).goals[0]
    rank = float(goal.rank(Evaluator(architecture, problem).evaluate(best)))
    assert mapspace.contains(best)
    least = Walk(mapspace, goal).ends(rank * above).least
    assert least is not None and least <= rank


@pytest.mark.parametrize("far, near", [(20, 1), (1000, 0)])
@pytest.mark.parametrize("p, r", [(3, 3), (5, 3), *in_campaigns([(5, 2), (5, 4), (8, 3)])])
def test_words_that_known_neighbours_pass_on_are_not_asked_for_again(p, r, far, near):
    """R is spread over a row of elements. Each step along P brings new words to all of them, of
    which a bus sends no more than the last one's.
    """
    tensors = (
        tensor("W", "R"),
        tensor("I", [("P", 1), ("R", 1)]),
        tensor("O", "P", read_write=True),
    )
    levels = (
        Buffer("DRAM", None, energy=each_word(far)),
        Buffer("bus", None, energy=each_word(near)),
        Buffer("PE", None, r, r, 1, energy=each_word(0)),
    )
    problem = Problem("row", ("P", "R"), {"P": p, "R": r}, tensors)
    units = Arithmetic("MAC", r, r, 1, energy=Fraction(0))
    architecture = Architecture("row", levels, units)
    assert not wrong_claims(Instance(0, architecture, problem, Constraints()), exact=False)


@pytest.mark.parametrize("dear", [10**6, 10**8, 10**12])
@pytest.mark.parametrize("update", [Fraction(1, 10), Fraction(3, 7), Fraction(11, 13)])
def test_a_price_of_reading_again_that_nobody_pays_hides_no_digits(dear, update):
    """Partial sums are counted as read again, and the first times are taken off."""
    outer = AccessEnergy(dear + Fraction(1, 3), Fraction(0), update, Fraction(0))
    levels = [Buffer("L0", None, energy=outer), Buffer("L1", 64, energy=energy(0))]
    units = Arithmetic("MAC", energy=Fraction(0))
    problem = Problem("sums", ("M", "K"), {"M": 4, "K": 3}, (tensor("O", "M", read_write=True),))
    instance = Instance(0, Architecture("dear", tuple(levels), units), problem, Constraints())
    assert not wrong_claims(instance, exact=False)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 2000, 20))
def test_no_bound_of_many_is(first):
    assert not [
        w for seed in range(first, first + 20) if (w := wrong_claims(drawn(seed), exact=False))
    ]


@pytest.mark.parametrize("seed", [12, 22, 28, 42])
def test_a_claim_is_that_of_one_order_of_the_loops_of_a_mesh(seed):
    """One of these orders has neighbours pass on the most words, another one has them pass on none:
    a claim with the words of the one and the reads of the other would be too low.
    """
    made, objective = drawn(seed), parse_objective("energy")
    evaluator, goal = Evaluator(made.architecture, made.problem), objective.goals[0]
    best = Exhaustive(made.mapspace).best([objective])[0]
    assert best is not None
    ends = Walk(made.mapspace, goal).ends(inf)
    least = float(goal.rank(best[1]))
    assert ends.least == pytest.approx(least, rel=1e-9)
    figures = [float(goal.rank(evaluator.evaluate(each))) for each in ends.mappings]
    assert min(figures) == pytest.approx(least, rel=1e-9)

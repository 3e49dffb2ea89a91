"""What windows cost on their way into levels is never more than the cost model counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.joint.counts import Floats
from solver_mapper.solve.imperfect.joint.fetches import Fetches
from solver_mapper.solve.imperfect.joint.sharing import (
    Along,
    at_the_end,
    distinct,
    far,
    meet,
    places,
)
from solver_mapper.solve.imperfect.joint.walk import Ended, TemporalWalk
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound
from tests.strategies import tensor

ORDERS = 12
"""Orders of loops that are tried for each choice of bounds."""
Bounds = list[dict[str, int]]


@dataclass(frozen=True)
class Loops:
    """Loops of a problem with windows, in no order. The first tensor is the one that is looked at.

    axes: of the spatial loops.
    """

    architecture: Architecture
    problem: Problem
    temporal: Bounds
    spatial: Bounds
    axes: list[dict[str, str]]
    keeps: tuple[tuple[bool, ...], ...]

    def mapping(self, random: Random) -> Mapping:
        """A mapping with these loops in random order."""
        skeleton = []
        for temporal, spatial, axes in zip(self.temporal, self.spatial, self.axes, strict=True):
            loops = [(dim, bound, "") for dim, bound in temporal.items()]
            spread = [(dim, bound, axes[dim]) for dim, bound in spatial.items()]
            random.shuffle(loops)
            random.shuffle(spread)
            spread.sort(key=lambda loop: loop[2] == "X")
            skeleton.append((tuple(loops), tuple(spread)))
        space = ImperfectMapspace(self.architecture, self.problem, Constraints(()))
        return space.mapping(tuple(skeleton), self.keeps)

    def cost(self, random: Random) -> float:
        """The least energy of what enters levels, of some orders."""
        evaluate = Evaluator(self.architecture, self.problem).evaluate
        return min(self._entering(evaluate(self.mapping(random)).levels) for _ in range(ORDERS))

    def _entering(self, levels) -> float:  # type: ignore[no-untyped-def]
        name, total = self.problem.tensors[0].name, 0.0
        held = [level for level, keep in enumerate(self.keeps[0]) if keep]
        for parent, child in pairwise(held):
            outer, inner = self.architecture.levels[parent], self.architecture.levels[child]
            sent, taken = levels[outer.name].tensors[name], levels[inner.name].tensors[name]
            total += sent.reads * sent.instances * float(outer.energy.read)
            total += taken.fills * taken.instances * float(inner.energy.fill)
        return total

    def bounds(self) -> list[float]:
        """The bounds of coarse, of exact, and of fine walks without temporal loops where there are
        none.
        """
        dims = self.problem.dims
        spread = [[level.get(dim, 1) for dim in dims] for level in self.spatial]
        fetches = Fetches(self.architecture, self.problem, self.keeps, spread)
        fetches.parents = {f: level for f, level in fetches.parents.items() if f.tensor == 0}
        fixed = [
            (level, number)
            for level, number in product(range(len(self.temporal)), range(len(dims)))
            if dims[number] not in self.temporal[level]
        ]
        most = dict(enumerate(self.problem.bounds.values()))
        return [
            TemporalWalk(fetches, most, _energy, exact=exact, fine=fine, fixed=fixed).least().energy
            for exact, fine in ((False, False), (True, False), (True, True))
        ]


def _energy(ended: Ended) -> Floats:
    return ended.energy


def drawn(random: Random) -> Loops:
    """Random loops of a random problem on a random architecture."""
    architecture, problem = _architecture(random), _problem(random)
    depth = len(architecture.levels)
    temporal: Bounds = [{} for _ in range(depth)]
    spatial: Bounds = [{} for _ in range(depth)]
    axes: list[dict[str, str]] = [{} for _ in range(depth)]
    left = dict(problem.bounds)
    for level in reversed(range(depth)):
        room = dict(zip("XY", architecture.fanout(level), strict=True))
        for dim in random.sample(problem.dims, len(problem.dims)):
            axis = random.choice("XY")
            most = min(room[axis], left[dim])
            if most > 1 and random.random() < 0.7:
                bound = random.choice([most, random.randint(2, most)])
                room[axis] //= bound
                spatial[level][dim], axes[level][dim] = bound, axis
                left[dim] = -(-left[dim] // bound)
        for dim in problem.dims:
            if left[dim] > 1 and (level == 0 or random.random() < 0.6):
                bound = left[dim] if level == 0 or random.random() < 0.4 else 0
                temporal[level][dim] = bound or random.randint(2, left[dim])
                left[dim] = -(-left[dim] // temporal[level][dim])
    keeps = tuple(
        (True, *(random.random() < 0.7 for _ in range(depth - 2)), each or random.random() < 0.9)
        for each in (True, False)
    )
    return Loops(architecture, problem, temporal, spatial, axes, keeps)


def _problem(random: Random) -> Problem:
    step, gap = random.choice([(1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (3, 2), (4, 1)])
    window = [("P", step), ("R", gap)]
    kind, other = random.choice(["rows", "rows", "both", "three"]), random.choice([1, 2])
    if kind == "rows":
        tensors = tensor("I", "C", window), tensor("O", "K", "P", read_write=True)
        sizes = {"C": (1, 3), "K": (1, 4), "R": (1, 6), "P": (2, 9)}
    elif kind == "both":
        read = tensor("I", "C", window, [("Q", other), ("S", 1)])
        tensors = read, tensor("O", "K", "P", "Q", read_write=True)
        sizes = {"C": (1, 2), "K": (1, 3), "R": (1, 4), "S": (1, 4), "P": (2, 5), "Q": (1, 5)}
    else:
        tensors = tensor("I", [*window, ("T", other)]), tensor("O", "K", "P", read_write=True)
        sizes = {"K": (1, 3), "R": (1, 4), "P": (2, 6), "T": (2, 4)}
    bounds = {dim: random.randint(*ends) for dim, ends in sizes.items()}
    return Problem(kind, tuple(bounds), bounds, tensors)


def _architecture(random: Random) -> Architecture:
    width = height = 1
    levels = []
    depth = random.choice([2, 2, 3])
    for number in range(depth):
        read, fill = Fraction(random.choice([0, 1, 1])), Fraction(random.choice([0, 0, 1]))
        energy = AccessEnergy(read, fill, Fraction(1), Fraction(0))
        levels.append(Buffer(f"L{number}", None, width * height, width, height, energy=energy))
        if number < depth - 1 and random.random() < 0.85:
            width *= random.choice([1, 2, 3, 4, 5, 6, 8])
            height *= random.choice([1, 1, 1, 2, 3])
    units = Arithmetic("MAC", width * height, width, height, energy=Fraction(1))
    return Architecture("random", tuple(levels), units)


def too_dear(seeds: range) -> list[int]:
    """Seeds of loops for which a bound is above what some order costs."""
    wrong = []
    for seed in seeds:
        random = Random(seed)
        loops = drawn(random)
        cost = loops.cost(random)
        if any(bound > cost * (1 + 1e-9) + 1e-6 for bound in loops.bounds() if bound < np.inf):
            wrong.append(seed)
    return wrong


def test_windows_do_not_cost_more_than_counted() -> None:
    assert not too_dear(range(50))


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(n, n + 500) for n in range(0, 8000, 500)])
def test_windows_of_many_problems_do_not_cost_more_than_counted(seeds: range) -> None:
    assert not too_dear(seeds)


def buffers(*meshes: int) -> Architecture:
    """Levels whose reads and fills cost 1 pJ, with so many instances along X below each other."""
    energy = AccessEnergy(Fraction(1), Fraction(1), Fraction(1), Fraction(0))
    levels = [Buffer(f"L{at}", None, n, n, 1, energy=energy) for at, n in enumerate(meshes)]
    units = Arithmetic("MAC", meshes[-1], meshes[-1], 1, energy=Fraction(1))
    return Architecture("given", tuple(levels), units)


def windows(step: int = 1, **sizes: int) -> Problem:
    """A window of P and R, and perhaps T; sums over R are kept for each K."""
    terms = [("P", step), ("R", 1), *([("T", 1)] if "T" in sizes else [])]
    tensors = tensor("I", terms), tensor("O", "K", "P", read_write=True)
    return Problem("windows", tuple(sizes), sizes, tensors)


MORE_IN_PLACE = "more instances find their words in place than fewer had brought"
GIVEN = {
    "a window is back where it was, and instances that share it help each other": Loops(
        buffers(1, 2),
        windows(K=2, R=6, P=2),
        [{"R": 6, "P": 2}, {}],
        [{"K": 2}, {}],
        [{"K": "X"}, {}],
        ((True, True), (True, True)),
    ),
    "a run goes on as idle loops in between start over": Loops(
        buffers(1, 1, 1),
        windows(K=2, P=6, R=4),
        [{"P": 2}, {"K": 2, "P": 4}, {"R": 4}],
        [{}, {}, {}],
        [{}, {}, {}],
        ((True, False, True), (True, False, True)),
    ),
    "another loop lets a window slide in the last round": Loops(
        buffers(1, 1),
        windows(P=6, R=2, T=3, K=1),
        [{"T": 2, "P": 6}, {"R": 2, "T": 2}],
        [{}, {}],
        [{}, {}],
        ((True, True), (True, True)),
    ),
    "a window is back where it was while an idle loop does not run once": Loops(
        buffers(1, 1, 1),
        windows(K=3, R=4, P=2),
        [{"K": 2, "R": 4}, {"P": 2, "K": 2}, {}],
        [{}, {}, {}],
        [{}, {}, {}],
        ((True, True, True), (True, True, True)),
    ),
    MORE_IN_PLACE: Loops(
        buffers(1, 3),
        windows(step=3, K=3, R=4, P=6),
        [{"K": 3, "R": 2, "P": 6}, {}],
        [{"R": 3}, {}],
        [{"R": "X"}, {}],
        ((True, True), (True, True)),
    ),
}


@pytest.mark.parametrize("loops", GIVEN.values(), ids=GIVEN.keys())
def test_reuse_that_few_orders_find_is_granted(loops: Loops) -> None:
    cost = min(loops.cost(Random(seed)) for seed in range(10))
    assert max(bound for bound in loops.bounds() if bound < np.inf) <= cost


@pytest.mark.parametrize(("size", "energy"), [(8, 40), (7, 37)])
def test_runs_leap_over_the_tiles_of_other_instances(size: int, energy: int) -> None:
    """Two instances have windows of 6 words; a move uncovers the 4 words that it leaps over, or 3
    where the last tile is short. Of 19 words, the two take in 9 each, at least.
    """
    loops = Loops(
        buffers(1, 2, 4),
        windows(P=size, R=5, K=1),
        [{"P": 2}, {}, {"R": 5}],
        [{"P": 2}, {"P": 2}, {}],
        [{"P": "X"}, {"P": "X"}, {}],
        ((True, True, False), (True, True, True)),
    )
    assert loops.bounds() == pytest.approx([energy] * 3, abs=1e-3)
    assert loops.cost(Random(0)) == 40


def test_instances_with_short_tiles_are_charged_and_do_not_help_where_windows_never_meet() -> None:
    """R=5 is 3 and 2 points, charged as 3 and 3: runs of 7 words each. Windows are 3 words apart
    and move by 2, so none is ever where another one was.
    """
    loops = Loops(
        buffers(1, 2, 6),
        windows(step=2, P=3, R=5, K=1),
        [{"P": 3}, {}, {}],
        [{"R": 2}, {"R": 3}, {}],
        [{"R": "X"}, {"R": "X"}, {}],
        ((True, True, False), (True, True, True)),
    )
    _, exact, fine = loops.bounds()
    assert exact == fine == pytest.approx(28, abs=1e-3)
    assert loops.cost(Random(0)) == 28


def test_words_in_place_are_granted_by_the_bound_of_each_level_apart() -> None:
    loops = GIVEN[MORE_IN_PLACE]
    space = ImperfectMapspace(loops.architecture, loops.problem, Constraints(()))
    bound = ImperfectLowerBound(space)
    least = bound.boundaries[1].moved(bound.views[0], 0, frozenset())
    assert least.sent.min() + least.filled.min() <= loops.cost(Random(0))


def two(random: Random) -> list[Along]:
    """A random window of two dimensions with tiles of known size."""
    found = []
    for _ in range(2):
        size, step = random.randint(2, 9), random.randint(1, 4)
        tile = random.randint(1, size - 1)
        spread = random.randint(1, -(-size // tile))
        found.append(Along(size, step, spread, np.array([float(tile)]), np.array([float(tile)])))
    return found


def positions(one: Along, other: Along, *, spread: bool) -> Iterator[tuple[int, int, float]]:
    """Tiles or instances along both dimensions, and their place."""
    numbers = [
        range(each.spread if spread else int(-(-each.size // each.smallest[0])))
        for each in (one, other)
    ]
    for first, second in product(*numbers):
        place = one.step * one.smallest[0] * first + other.step * other.smallest[0] * second
        yield first, second, float(place)


@pytest.mark.parametrize("seed", range(100))
def test_places_of_windows(seed: int) -> None:
    window = one, other = two(Random(seed))
    instances = [place for *_, place in positions(one, other, spread=True)]
    assert places(window)[0] == len(set(instances))
    tiles = [place for *_, place in positions(one, other, spread=False)]
    assert meet(window)[0] == (len(set(tiles)) < len(tiles))
    leap = one.step * one.spread * one.smallest[0]
    for times in (1, 2, -1, -3):
        alone = {place for place in instances if place + times * leap not in instances}
        assert at_the_end(window, 0)[0] <= len(alone)
    rounds = np.ceil(np.ceil(one.size / one.smallest[0]) / one.spread)
    if rounds > 1 and far(window, 0)[0]:
        reach = other.step * (other.size - 1)
        last = one.step * (((rounds - 1) * one.spread - one.spread + 1) * one.smallest[0])
        assert last > reach


@pytest.mark.parametrize("seed", range(30))
def test_different_words_of_a_window(seed: int) -> None:
    random = Random(seed)
    sizes = [random.randint(2, 9) for _ in range(3)]
    rank = [(dim, random.randint(1, 4)) for dim in range(random.choice([2, 2, 3]))]
    points = product(*(range(sizes[dim]) for dim, _ in rank))
    words = {sum(s * x for (_, s), x in zip(rank, at, strict=True)) for at in points}
    found = distinct(rank, sizes)
    assert found == len(words) if len(rank) == 2 else found <= len(words)

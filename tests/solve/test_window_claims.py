"""No mapping of sliding windows moves fewer words than the compiled model claims at least, whatever
the order and size of its loops.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import prod
from random import Random

import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.objective import figure
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop import Evaluator
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.cpsat.compile import compile_space
from solver_mapper.solve.cpsat.extract import mapping_of, values_of
from solver_mapper.solve.cpsat.variants import variants
from tests.campaigns import in_campaigns
from tests.solve.test_compiled_model import claimed
from tests.strategies import tensor

MOST = 300
"""Operations of a nest at most."""
MESHES = ((2, 1), (3, 1), (2, 2), (4, 2), (3, 3), (5, 2), (4, 3))
STEPS = ((1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (1, 3))
ORDERS = 2000
"""Orders that are compared for one choice of factors at most."""


def loops_of(
    random: Random, dims: str, mesh: tuple[int, int], left: int
) -> tuple[list[Loop], list[Loop], int]:
    """A level's temporal and spatial loops, outer to inner, and the operations that are left."""
    temporal, spatial = [], []
    for dim in random.sample(dims, len(dims)):
        bound = random.choice([2, 2, 3, 4])
        if random.random() < 0.5 and bound <= left:
            left //= bound
            temporal.append(loop(dim, bound))
    for axis, room in zip("YX", reversed(mesh), strict=True):
        for dim in random.sample(dims, len(dims)):
            bound = random.choice([2, 2, 3, 4])
            if (
                random.random() < 0.6
                and bound <= min(room, left)
                and all(each.dim != dim for each in spatial)
            ):
                left, room = left // bound, room // bound
                spatial.append(loop(dim, bound, axis))
    return temporal, spatial, left


def bandwidths(random: Random) -> dict[str, Fraction]:
    """Those of a level, of which most are slower than one operation a cycle needs."""
    ports = random.choice([[], ["read"], ["shared"], ["read", "write"]])
    return {
        f"{port}_bandwidth": Fraction(random.choice([1, 2, 5]), random.choice([10, 20, 50]))
        for port in ports
    }


def disagreements(seed: int, *, bypass: bool = False, slow: bool = False) -> list[str]:
    """Where the model claims more than a random mapping of one random window costs, or than the
    best order of its loops. With `bypass`, levels further in store the tensors or not; `slow` ones
    may have bandwidths.
    """
    random, stored = Random(seed), Random(f"stored {seed}")
    ports = Random(f"ports {seed}")
    (step, gap), kind = random.choice(STEPS), random.choice(["PR", "PRQS", "PRC"])
    other = random.choice([1, 2])
    ranks = {
        "PR": [[("P", step), ("R", gap)]],
        "PRQS": [[("P", step), ("R", gap)], [("Q", other), "S"]],
        "PRC": ["C", [("P", step), ("R", gap)]],
    }[kind]
    outer, inner = Random(f"prices {seed}").choice([(7, 1), (1, 7)])
    dims, left, levels, buffers, x, y = kind + "K", MOST, [], list[Buffer](), 1, 1
    for number in range(random.choice([2, 3, 3, 4] if bypass else [1, 2, 2, 3])):
        mesh = random.choice(MESHES) if random.random() < 0.6 else (1, 1)
        temporal, spatial, left = loops_of(random, dims, mesh, left)
        keep = frozenset(
            name for name in "IW" if not bypass or not number or stored.random() < 0.35
        )
        levels.append(LevelMapping(f"L{number}", tuple(temporal), tuple(spatial), keep=keep))
        price = Fraction(inner if buffers else outer)
        buffers.append(
            Buffer(
                *(f"L{number}", None, x * y, x, y),
                energy=AccessEnergy(price, price, price),
                **(bandwidths(ports) if slow else {}),
            )
        )
        x, y = x * mesh[0], y * mesh[1]
    bounds = dict.fromkeys(dims, 1)
    for each in (each for level in levels for each in (*level.temporal, *level.spatial)):
        bounds[each.dim] *= each.bound
    problem = Problem("window", tuple(dims), bounds, (tensor("I", *ranks), tensor("W", "K")))
    architecture = Architecture("window", tuple(buffers), Arithmetic("MAC", x * y, x, y))
    mapping = Mapping(tuple(levels), tuple(dims), ("I", "W"))
    space = build_space(architecture, problem, Constraints())
    compiled, evaluator = compile_space(space), Evaluator(architecture, problem)
    values = values_of(compiled, mapping)
    assert values is not None
    known = {variable.index: value for variable, value in values}
    seen = mapping_of(compiled, lambda variable: known.get(variable.index, 0))
    alike = [evaluator.evaluate(each) for each in islice(variants(space, seen), ORDERS)]
    wrong = []
    for metric in ("energy", "last-level-accesses", *(["delay"] if slow else [])):
        claim, exact = (
            claimed(compiled, metric, values),
            figure(evaluator.evaluate(mapping), metric),
        )
        best = min(figure(each, metric) for each in alike)
        if claim is None or claim > exact or best > exact:
            wrong.append(
                f"seed {seed}, {metric}: claims {claim}, best order {best}, this order {exact}:"
                f" {mapping}"
            )
    return wrong


@pytest.mark.parametrize("first", [0, *in_campaigns([10])])
def test_claims_are_lower_bounds(first):
    assert not [wrong for seed in range(first, first + 10) for wrong in disagreements(seed)]


@pytest.mark.parametrize("first", [0, 25, *in_campaigns([5, 10, 15, 20])])
def test_claims_are_lower_bounds_past_bypassed_levels(first):
    seeds = range(first, first + 5)
    assert not [wrong for seed in seeds for wrong in disagreements(seed, bypass=True)]


@pytest.mark.parametrize("first", [0, *in_campaigns([5, 10, 15])])
@pytest.mark.parametrize("bypass", [False, True])
def test_claims_are_lower_bounds_where_levels_are_slow(first, bypass):
    """Cycles, too: reads for neighbours take time, whoever serves whom."""
    seeds = range(first, first + 5)
    assert not [w for seed in seeds for w in disagreements(seed, bypass=bypass, slow=True)]


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1453, id="an order that keeps less of another tensor"),
        pytest.param(
            2684,
            id="what parents send for want of neighbours is passed on by none",
            marks=pytest.mark.campaign,
        ),
        pytest.param(3280, id="a run begins where units of another component were"),
        pytest.param(3370, id="steps skip units further out"),
        pytest.param(3468, id="words from neighbours are spread over other parents' instances"),
        pytest.param(10498, id="an idle loop right outside a run"),
        pytest.param(20540, id="neighbours that differ in two components"),
        pytest.param(50041, id="three loops that cancel, of which one skips units"),
        pytest.param(
            61012, id="a window comes back, and once more when the loop around it advances"
        ),
        pytest.param(
            51194,
            id="a run starts over while another component's loops cancel",
            marks=pytest.mark.campaign,
        ),
    ],
)
def test_claims_that_once_were_too_high(seed):
    assert not disagreements(seed)


SLIDES = (loop("P", 12),), (), (loop("K", 2), loop("R", 3))
FURTHER = (loop("P", 4),), (), (loop("P", 3), loop("R", 3), loop("K", 2))
POINTS = (loop("R", 3), loop("P", 12)), (), (loop("K", 2),)
IN_UNITS = (loop("P", 4),), (loop("P", 3, "X"),), (loop("R", 3), loop("K", 2))


@pytest.mark.parametrize("loops", [SLIDES, FURTHER, POINTS, IN_UNITS])
def test_claims_are_what_a_simple_window_costs(loops):
    """Lower bounds that were far off would be of no use."""
    temporal, spatial, inside = loops
    units, price = prod(each.bound for each in spatial), AccessEnergy(*[Fraction(1)] * 3)
    buffers = Buffer("L0", energy=price), Buffer("L1", None, units, units, 1, energy=price)
    architecture = Architecture("two levels", buffers, Arithmetic("MAC", units, units, 1))
    bounds = {"P": 12, "R": 3, "K": 2}
    tensors = tensor("I", ["P", "R"]), tensor("W", "K")
    problem = Problem("window", tuple(bounds), bounds, tensors)
    keep = frozenset("IW")
    levels = LevelMapping("L0", temporal, spatial, keep), LevelMapping("L1", inside, keep=keep)
    mapping = Mapping(levels, problem.dims, ("I", "W"))
    compiled = compile_space(build_space(architecture, problem, Constraints()))
    claim = claimed(compiled, "last-level-accesses", values_of(compiled, mapping))
    exact = Evaluator(architecture, problem).evaluate(mapping)
    assert claim == figure(exact, "last-level-accesses")


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 4000, 50))
def test_claims_are_lower_bounds_at_length(first):
    assert not [wrong for seed in range(first, first + 50) for wrong in disagreements(seed)]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 4000, 50))
def test_claims_are_lower_bounds_past_bypassed_levels_at_length(first):
    seeds = range(first, first + 50)
    assert not [wrong for seed in seeds for wrong in disagreements(seed, bypass=True)]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_claims_are_lower_bounds_where_levels_are_slow_at_length(first):
    seeds = range(first, first + 50)
    assert not [
        wrong for seed in seeds for wrong in disagreements(seed, bypass=bool(seed % 2), slow=True)
    ]

"""Walks outwards under constraints on loops: the least claim is that of enumeration, no bound on
the way to a mapping that obeys them is above its figure, and nothing on the way to it is dropped.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from solver_mapper.check.constraints import constraint_violations
from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    Comparison,
    Constraint,
    Constraints,
    FactorConstraint,
    ProductConstraint,
    SplitConstraint,
)
from solver_mapper.core.mapping import Loop, Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward.dominance import undominated
from solver_mapper.solve.outward.inner import Outside, joined
from solver_mapper.solve.outward.moves.empty import empty
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.constraints.random_designs import random_constraint
from tests.instances import PLAIN, Instance, instance
from tests.solve.test_bounds_on_the_way import (
    above,
    drawn_architecture,
    drawn_mapping,
    drawn_problem,
    on_the_way,
    with_networks,
)
from tests.solve.test_outward import WINDOWS, bare, lone, networked, slow, wrong_claims

SORTS = (
    *("factor", "factor", "factor", "factor", "product", "product"),
    *("permutation", "permutation", "nesting", "split", "utilization"),
)
"""Kinds of constraints on loops, as often as they are drawn."""
FEW, MANY = 400, 1500
"""Loop nests that are enumerated, at most."""


def constrained(made: Instance, most: int = 4) -> Instance:
    """The instance with some constraints on loops more."""
    random = Random(made.seed)
    more = [
        random_constraint(random, made.architecture, made.problem, SORTS)
        for _ in range(random.randint(1, most))
    ]
    return replace(made, constraints=Constraints((*made.constraints, *more)))


def filled(made: Instance) -> Instance:
    """The instance with levels that have to be filled in part."""
    least = Fraction(made.seed % 3 + 1, 5)
    outer, *levels = made.architecture.levels
    levels = [replace(each, min_utilization=least if each.entries else 0) for each in levels]
    return replace(made, architecture=replace(made.architecture, levels=(outer, *levels)))


def wrong(made: Instance, *, exact: bool, most: int = FEW) -> list[str]:
    """See `wrong_claims`; nothing where there is too much to enumerate."""
    if (made.mapspace.count(most) or most + 1) > most:
        return []
    return wrong_claims(made, exact=exact)


@pytest.mark.parametrize("first", [0, *in_campaigns(range(3, 30, 3))])
def test_the_least_claim_is_the_best_mapping_that_obeys(first):
    for seed in range(first, first + 3):
        assert not wrong(constrained(bare(instance(seed, MANY, PLAIN))), exact=True)


@pytest.mark.parametrize("first", [600, *in_campaigns([603])])
def test_the_least_claim_is_the_best_mapping_that_fills_levels(first):
    for seed in range(first, first + 3):
        assert not wrong(filled(bare(instance(seed, MANY, PLAIN))), exact=True)


@pytest.mark.parametrize("first", [200, *in_campaigns([203, 206])])
def test_the_least_claim_is_the_best_mapping_that_obeys_where_levels_are_slow(first):
    for seed in range(first, first + 3):
        assert not wrong(constrained(slow(instance(seed, MANY, PLAIN))), exact=True)


@pytest.mark.parametrize("first", [300, *in_campaigns([303, 306])])
def test_the_least_claim_is_the_best_mapping_that_obeys_where_networks_charge(first):
    """Claims leave out that constraints order the loops of a mesh."""
    for seed in range(first, first + 3):
        made = constrained(networked(instance(seed, MANY, PLAIN)))
        assert not wrong(made, exact=not orders_meshes(made))


def orders_meshes(made: Instance) -> bool:
    return any(getattr(each, "kind", "") == "spatial" for each in made.constraints) or any(
        isinstance(each, SplitConstraint) for each in made.constraints
    )


@pytest.mark.parametrize("first", [400, *in_campaigns([405])])
def test_the_least_claim_of_windows_is_the_best_mapping_that_obeys_where_nothing_is_spread(first):
    for seed in range(first, first + 5):
        assert not wrong(constrained(lone(bare(instance(seed, MANY, WINDOWS)))), exact=True)


@pytest.mark.parametrize("first", [500, *in_campaigns(range(503, 515, 3))])
def test_no_claim_of_windows_is_above_the_best_mapping_that_obeys(first):
    for seed in range(first, first + 3):
        assert not wrong(constrained(bare(instance(seed, MANY, WINDOWS))), exact=False)


def obeyed(
    random: Random, architecture: Architecture, problem: Problem, mapping: Mapping
) -> Constraints:
    """Some random constraints that a mapping obeys, and factors that are those of its loops."""
    drawn: list[Constraint] = [
        random_constraint(random, architecture, problem, SORTS) for _ in range(12)
    ]
    for level, dim, spatial in product(mapping.levels, problem.dims, (False, True)):
        loops = level.spatial if spatial else level.temporal
        bound = next((each.bound for each in loops if each.dim == dim), 1)
        if random.random() < 0.2:
            kind = "spatial" if spatial else "temporal"
            comparison = random.choice(["==", "<=", ">="])
            drawn.append(FactorConstraint(level.level, "factor", kind, dim, comparison, bound))
    kept = [
        each for each in drawn if not constraint_violations([each], architecture, problem, mapping)
    ]
    return Constraints(tuple(kept))


def too_much(seed: int) -> list[str]:
    """Bounds on the way to random mappings above their figures, with constraints that they obey;
    and inner mappings on the way that would be dropped.
    """
    random = Random(seed)
    problem, architecture = drawn_problem(random), drawn_architecture(random)
    if seed % 4 == 0:
        architecture = with_networks(seed, architecture)
    found = []
    for _ in range(3):
        mapping = drawn_mapping(random, architecture, problem)
        constraints = obeyed(random, architecture, problem, mapping)
        goal = parse_objective(random.choice(["energy", "edp"])).goals[0]
        walk = Walk(EnumeratedMapspace(architecture, problem, constraints), goal)
        if walk.mapspace.contains(mapping):
            found += [f"seed {seed}: {each}" for each in above(walk, mapping)]
            found += [f"seed {seed}: {each}" for each in dropped(walk, mapping)]
    return found


def innermost(mapping: Mapping) -> tuple[Loop, ...]:
    """The innermost loops above compute units along each axis."""
    spatial = mapping.levels[-1].spatial
    along = [[each for each in spatial if each.axis == axis] for axis in "XY"]
    return tuple(each[-1] for each in along if each)


def dropped(walk: Walk, mapping: Mapping) -> list[str]:
    """Where constraints would drop an inner mapping of a mapping that obeys them."""
    loops, found, level = walk.costs.loops, [], walk.costs.depth
    for rows, outside in on_the_way(walk, mapping, innermost(mapping)):
        if outside == Outside(level - 1, level - 1):
            level -= 1
        if not len(loops.completable(rows, outside)):
            found.append(f"dropped at {outside}: {mapping} {walk.mapspace.constraints}")
        if -1 in rows.laid:
            found.append(f"must not stand like that at {outside}: {mapping}")
    return found


@pytest.mark.parametrize("first", [0, *in_campaigns(range(6, 102, 6))])
def test_no_bound_on_the_way_is_above_a_mapping_that_obeys(first):
    assert not [each for seed in range(first, first + 6) for each in too_much(seed)]


@pytest.mark.parametrize(
    ("comparison", "products", "kept"),
    [
        (">=", (1, 2), 2),
        (">=", (2, 1), 1),
        (">=", (2, 2), 1),
        ("<=", (1, 2), 1),
        ("<=", (2, 1), 2),
        ("==", (1, 2), 2),
        ("==", (2, 2), 1),
    ],
)
def test_what_costs_less_is_no_better_if_limits_leave_it_less(
    comparison: Comparison, products: tuple[int, int], kept: int
) -> None:
    """Two inner mappings without loops, of which only the second one costs anything so far."""
    made = bare(instance(103, FEW, PLAIN))
    level = made.architecture.level_names[0]
    loops = frozenset((level, "temporal", dim) for dim in made.problem.dims)
    limit = ProductConstraint("", "product", loops, comparison, 2)
    mapspace = replace(made, constraints=Constraints((limit,))).mapspace
    walk = Walk(mapspace, parse_objective("energy").goals[0])
    start = empty(walk.costs)
    both = [
        replace(start, energy=np.array([energy]), products=np.array([[each]]))
        for energy, each in zip((0.0, 1.0), products, strict=True)
    ]
    outside = Outside(walk.costs.depth, walk.costs.depth)
    found = undominated(walk.outer, joined(both), outside, cycles_count=False)
    assert len(found) == kept


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 4000, 50))
def test_no_bound_on_the_way_to_many(first):
    assert not [each for seed in range(first, first + 50) for each in too_much(seed)]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 3001, 3))
def test_claims_of_many_that_obey(first):
    for seed in range(first, first + 3):
        plain, windows = instance(seed, MANY, PLAIN), instance(seed, MANY, WINDOWS)
        assert not wrong(constrained(bare(plain)), exact=True, most=2 * FEW)
        assert not wrong(constrained(slow(plain), 2), exact=True, most=2 * FEW)
        made = constrained(networked(plain), 2)
        assert not wrong(made, exact=not orders_meshes(made), most=2 * FEW)
        assert not wrong(constrained(bare(windows)), exact=False, most=2 * FEW)
        assert not wrong(constrained(lone(bare(windows))), exact=True, most=2 * FEW)

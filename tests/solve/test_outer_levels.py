"""Tables of what levels further out cost: what is known of a tile is never more than of one that it
may become before there is a temporal loop, nor than of one with another next loop.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import Constraints, KeepConstraint
from solver_mapper.core.objective import parse_objective
from solver_mapper.solve.outward import outer_levels
from solver_mapper.solve.outward.inner import Floats, Outside
from solver_mapper.solve.outward.lattice import Lattice
from solver_mapper.solve.outward.walk import Walk
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.solve.test_bounds_on_the_way import drawn_architecture, drawn_problem

NOISE = 1e-5
"""Of figures in single precision."""


def narrow(random: Random, architecture: Architecture) -> Architecture:
    """The architecture with little room at most levels."""
    first, *others = architecture.levels
    rooms = [random.choice([2, 3, 6, 12, None]) for _ in others]
    levels = [replace(each, entries=room) for each, room in zip(others, rooms, strict=True)]
    return replace(architecture, levels=(first, *levels))


def not_above(some: Floats, others: Floats) -> bool:
    return bool((some <= np.maximum(others * (1 + NOISE), others * (1 - NOISE))).all())


@pytest.mark.parametrize("seed", [*range(30), *in_campaigns(range(30, 80))])
def test_tiles_below_a_mesh_may_become_those_above_it(seed):
    random = Random(seed)
    problem, architecture = drawn_problem(random), narrow(random, drawn_architecture(random))
    mapspace = EnumeratedMapspace(architecture, problem, Constraints())
    walk = Walk(mapspace, parse_objective("energy").goals[0])
    levels, costs = walk.outer, walk.costs
    tiles, every = levels.lattice.tiles, range(len(costs.sizes))
    kinds = [None, *(kind for kind, _ in costs.kinds)]
    for holders in range(1, costs.depth + 1):
        spread = random.randrange(len(costs.order) + 1)
        below, above = Outside(holders, holders, spread), Outside(holders, holders - 1)
        left = [dim for dim in costs.order[spread:] if costs.sizes[dim] > 1]
        others = [dim for dim in every if dim not in left]
        for kind in kinds:
            may = np.array([[random.random() < 0.5 for _ in costs.tensors]] * len(tiles))
            for stays in (None, may):
                inner = levels.least(tiles, below, kind, stays)
                outer = levels.least(tiles, above, kind, stays)
                whatever = levels.least(tiles, below)
                assert not_above(whatever, inner)
                if max(costs.sides[holders - 1]) == 1:
                    continue
                for place, tile in enumerate(tiles):
                    further = (tiles % tile == 0).all(axis=1)
                    further &= (tiles[:, others] == tile[others]).all(axis=1)
                    least = outer[..., further].min(axis=-1)
                    assert not_above(inner[..., place], least)


@pytest.mark.parametrize("seed", [*range(30), *in_campaigns(range(30, 80))])
def test_choices_of_suppliers_that_constraints_leave_cost_what_they_did(seed):
    """Some levels have to hold tensors, others must not; figures of the choices that are left are
    no lower than without constraints, and no level is a supplier that must not hold a tensor, or
    stands outside one that has to.
    """
    random = Random(seed)
    problem, architecture = drawn_problem(random), narrow(random, drawn_architecture(random))
    kept = {
        (level.name, tensor): random.choice([True, False, None])
        for level in architecture.levels[1:]
        for tensor in problem.tensor_names
    }
    chosen = tuple(
        KeepConstraint(level, "", tensor, keep)
        for (level, tensor), keep in kept.items()
        if keep is not None
    )
    goal = parse_objective("energy").goals[0]
    free, bound = (
        Walk(EnumeratedMapspace(architecture, problem, Constraints(each)), goal)
        for each in ((), chosen)
    )
    tiles = free.outer.lattice.tiles
    for holders in range(1, free.costs.depth + 1):
        outside, left = Outside(holders, holders - 1), []
        for n, tensor in enumerate(problem.tensor_names):
            left.append(bound.costs.suppliers(n, holders))
            inside = [kept.get((each.name, tensor)) for each in architecture.levels[:holders]]
            assert all(inside[level] is not False for level in left[-1])
            assert True not in inside[left[-1][0] + 1 :]
        every = free.outer.least(tiles, outside)[np.ix_(*left)]
        some = bound.outer.least(tiles, outside)
        assert some.shape == every.shape and not_above(every, some)


def test_too_many_tiles_are_refused_before_they_are_made():
    """Twelve dimensions of 12 have 6 ** 12 tiles, for which no machine has room."""
    with pytest.raises(ValueError, match="there are too many tiles: 2176782336"):
        Lattice(np.full(12, 12), outer_levels.MOST_FIGURES)


def test_no_figure_is_rounded_up():
    figures = np.random.default_rng(1).normal(size=10_000) * 1e6
    figures = np.append(figures, [0.0, np.inf, 1e-30, -1e-30])
    single = outer_levels._rounded_down(figures).astype(np.float32).astype(np.float64)
    assert (single <= figures).all()
    assert np.allclose(single, figures, rtol=1e-6)

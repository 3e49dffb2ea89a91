"""Tables of what levels further out cost: what is known of a tile is never more than of one that it
may become before there is a temporal loop, nor than of one with another next loop.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.objective import parse_objective
from solver_mapper.solve.outward import outer_levels
from solver_mapper.solve.outward.inner import Floats, Outside
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


def test_no_figure_is_rounded_up():
    figures = np.random.default_rng(1).normal(size=10_000) * 1e6
    figures = np.append(figures, [0.0, np.inf, 1e-30, -1e-30])
    single = outer_levels._rounded_down(figures).astype(np.float32).astype(np.float64)
    assert (single <= figures).all()
    assert np.allclose(single, figures, rtol=1e-6)

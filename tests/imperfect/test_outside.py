"""What enters a level and those further out is at most what tiles that hold each other cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from solver_mapper.solve.imperfect.joint.outside import EnteringByTile
from tests.campaigns import in_campaigns

SIZES = (7, 5)
LEVELS = 3
"""Levels that something enters."""


def entering(random: Random) -> EnteringByTile:
    """Random costs of each tile of each level; some tiles stand together, some do not fit."""
    fewest, most = [], []
    for size in SIZES:
        rounds = sorted({-(-size // tile) for tile in range(1, size + 1)})
        cuts = [0, *(at for at in range(1, len(rounds)) if random.random() < 0.7), len(rounds)]
        parts = [rounds[a:b] for a, b in pairwise(cuts)]
        fewest.append(np.array([part[0] for part in parts]))
        most.append(np.array([part[-1] for part in parts]))
    shape = [len(each) for each in fewest]
    number = int(np.prod(shape))
    least = [
        np.array(random.choices([0.0, 1.0, 2.0, 5.0, 20.0, np.inf], k=number)).reshape(shape)
        for _ in range(LEVELS)
    ]
    return EnteringByTile(list(SIZES), fewest, most, least)


def nested(size: int, spread: list[int]) -> Iterator[tuple[int, ...]]:
    """Tiles of all levels along a dimension, outer to inner, that temporal loops and these spatial
    ones lead to.
    """
    for inner in range(1, size + 1):
        for bounds in product(range(1, 4), repeat=LEVELS - 1):
            tiles = [inner]
            for along, bound in zip(reversed(spread), bounds, strict=True):
                tiles.append(tiles[-1] * along * bound)
            yield tuple(reversed(tiles))


@pytest.mark.parametrize("seed", [*range(10), *in_campaigns(range(10, 24))])
def test_tiles_that_hold_each_other_cost_at_least_as_much(seed: int) -> None:
    random = Random(seed)
    costs = entering(random)
    between = [[random.choice([1, 2, 3]) for _ in SIZES] for _ in range(LEVELS - 1)]
    spread = [[1] * len(SIZES), *between, [1] * len(SIZES)]
    chains = [
        list(nested(size, [level[dim] for level in between])) for dim, size in enumerate(SIZES)
    ]
    for tiles in product(*chains):
        rounds = [
            [-(-size // tile[level]) for size, tile in zip(SIZES, tiles, strict=True)]
            for level in range(LEVELS)
        ]
        places = [
            tuple(
                int(np.flatnonzero(few <= n)[-1]) for few, n in zip(costs.fewest, row, strict=True)
            )
            for row in rounds
        ]
        cost = sum(float(costs.least[level][places[level]]) for level in range(LEVELS))
        row = [np.array([n]) for n in rounds[-1]]
        assert costs.at(spread[:LEVELS], row, held=True)[0] <= cost
        assert costs.at(spread[:LEVELS], row)[0] <= cost
        assert costs.whole(spread) <= cost
        more = [np.array([n + random.randint(0, 2)]) for n in rounds[-1]]
        assert costs.at(spread[:LEVELS], more)[0] <= cost

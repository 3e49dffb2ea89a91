"""How much instances further out may share, and how often tiles of windows stay where they are: by
trying out all ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest

from solver_mapper.core.primes import divisors, factorize
from solver_mapper.solve.outward.lattice import Lattice
from solver_mapper.solve.outward.packing import most_side_by_side
from solver_mapper.solve.outward.sliding import fewest_places
from solver_mapper.solve.outward.tile_chains import Rank, Windows, staying


def tried(rounds: list[int], done: list[int], meshes: list[tuple[int, int]]) -> int:
    """The most elements that loops along axes of meshes can use, over all ways to choose them."""
    sides = [side for mesh in meshes for side in mesh]
    best = 0
    ways = [
        list(along(each, meshes, first))
        for some, first in ((rounds, 0), (done, 1))
        for each in some
    ]
    for chosen in product(*ways):
        used = (
            [prod(bounds) for bounds in zip(*chosen, strict=True)] if chosen else [1] * len(sides)
        )
        if all(one <= side for one, side in zip(used, sides, strict=True)):
            best = max(best, prod(used))
    return best


def along(rounds: int, meshes: list[tuple[int, int]], first: int) -> Iterator[tuple[int, ...]]:
    """Loops over one dimension, on one axis of each mesh from the `first` one on."""
    if not meshes:
        yield ()
        return
    for bound in divisors(rounds) if first <= 0 else (1,):
        for here in {(bound, 1), (1, bound)}:
            for further in along(rounds // bound, meshes[1:], first - 1):
                yield (*here, *further)


@pytest.mark.parametrize("seed", range(200))
def test_a_dimension_lies_along_one_axis_of_each_mesh(seed):
    random = Random(seed)
    sizes = [1, 2, 3, 4, 6, 7, 8, 12]
    rounds, done = (random.choices(sizes, k=random.randint(0, 2)) for _ in range(2))
    meshes = [(random.randint(1, 8), random.randint(1, 6)) for _ in range(random.randint(1, 2))]
    found = most_side_by_side(tuple(rounds), tuple(done), tuple(meshes))
    assert found == tried(rounds, done, meshes)


def test_of_further_meshes_the_product_counts():
    """8 and 9 lie along one axis each; that of the third mesh is not known."""
    assert most_side_by_side((64,), (), ((8, 8),)) == 8
    assert most_side_by_side((64,), (), ((1, 1), (8, 8))) == 8
    assert most_side_by_side((64,), (), ((1, 1), (1, 1), (8, 8))) == 8
    assert most_side_by_side((64,), (), ((2, 1), (1, 2), (4, 4))) == 64


def share_staying(loops: list[tuple[int, int, int, int]]) -> Fraction:
    """The share of rounds that leave a tile where it is: loops inner to outer, each with its rank,
    its side, its bound and the step by which it moves the tile, less what loops inside move it
    back.
    """
    back = [0, 0]
    total, stays = 1, Fraction(0)
    whole = prod(bound for _, _, bound, _ in loops)
    for rank, _, bound, step in loops:
        forth = [step if each == rank else 0 for each in range(2)]
        total *= bound
        if forth == back:
            stays += Fraction((bound - 1) * (whole // total), whole)
        back[rank] += (bound - 1) * step
    return stays


def orders(random: Random, left: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Loops over all dimensions of windows, prime by prime, in any order."""
    primes = [
        (rank, side, prime)
        for rank, rounds in enumerate(left)
        for side in (0, 1)
        for prime, times in factorize(rounds[side])
        for _ in range(times)
    ]
    random.shuffle(primes)
    steps = {(rank, side): random.randint(1, 6) for rank in range(len(left)) for side in (0, 1)}
    found = []
    for rank, side, prime in primes:
        found.append((rank, side, prime, steps[rank, side]))
        steps[rank, side] *= prime
    return found


@pytest.mark.parametrize("seed", range(40))
def test_loops_over_windows_leave_a_tile_where_it_is_no_more_often_than_that(seed):
    random = Random(seed)
    seen = Fraction(0)
    for _ in range(400):
        left = [
            (random.choice([1, 2, 3, 4, 5, 6, 8]), random.choice([1, 2, 3, 4, 5, 6, 9]))
            for _ in range(random.choice([1, 2]))
        ]
        share = share_staying(orders(random, left))
        rests = [np.array([each], dtype=float) for each in left]
        whole = prod(map(prod, left))
        assert float(1 - share) * whole >= float(fewest_places(rests)[0]) - 1e-9
        seen = max(seen, share)
    assert seen > 0


@pytest.mark.parametrize("seed", range(40))
def test_the_innermost_loop_bounds_how_often_a_tile_stays(seed):
    random = Random(seed)
    for _ in range(400):
        left = (random.choice([1, 2, 3, 4, 6, 7, 8]), random.choice([1, 2, 3, 4, 5, 6, 9]))
        loops = orders(random, [left])
        if loops:
            first = loops[0][1]
            most = staying(np.array([left[first]]), np.array([left[1 - first]]))[0]
            assert float(share_staying(loops)) <= most + 1e-12


def test_three_rows_of_a_filter_stay_where_two_pixels_move_by_one():
    """P moves a tile by 1, twice; then R moves it forth by what P moved it back, and twice of six
    rounds it is where it was.
    """
    assert share_staying([(0, 0, 2, 1), (0, 1, 3, 1)]) == Fraction(1, 3)
    assert staying(np.array([2]), np.array([3]))[0] == pytest.approx(1 / 3)
    assert share_staying([(0, 0, 2, 1), (0, 1, 2, 1), (0, 0, 2, 2)]) == Fraction(3, 8)
    assert staying(np.array([4]), np.array([2]))[0] == 1 / 2


@pytest.mark.parametrize("seed", range(300))
def test_the_last_elements_along_the_other_dimension_have_nobody_to_get_words_from(seed):
    """Elements that a loop over a dimension of a window moves to where another one was."""
    random = Random(seed)
    steps, extents, counts, rounds = (
        [random.choice(some) for _ in range(2)]
        for some in ((1, 1, 2, 3), (1, 1, 2, 3), (1, 2, 3, 4), (2, 3))
    )
    sizes = [e * n * r for e, n, r in zip(extents, counts, rounds, strict=True)]
    windows = Windows((Rank((0, 1), (steps[0], steps[1]), (sizes[0], sizes[1])),), frozenset(), 2)
    apart = [step * extent for step, extent in zip(steps, extents, strict=True)]
    places = [a * apart[0] + b * apart[1] for a in range(counts[0]) for b in range(counts[1])]
    for dim in (0, 1):
        shift = apart[dim] * counts[dim]
        served = sum(place + shift in places for place in places) / len(places)
        at_once, later = windows.met(np.array([extents]), dim)
        assert served <= at_once[0] + 1e-12
        assert later[0] or not served


@pytest.mark.parametrize("sizes", [(12, 5, 6), (1, 8), (1, 1)])
def test_figures_of_larger_tiles(sizes):
    """Those of all multiples, of multiples along some dimensions, and of the next larger tiles."""
    lattice, random = Lattice(np.array(sizes)), np.random.default_rng(1)
    figures, tiles = random.random((2, len(lattice))), lattice.tiles
    whole = lattice.least_outside(figures)
    one = lattice.least_outside(figures, [0])
    further = lattice.further(figures, 1)
    for place, tile in enumerate(tiles):
        fits = (tiles % tile == 0).all(axis=1)
        along_one = fits & (tiles[:, 1:] == tile[1:]).all(axis=1)
        ratio = tiles[:, 1] / tile[1]
        others = [dim for dim in range(len(sizes)) if dim != 1]
        once_more = (tiles[:, others] == tile[others]).all(axis=1) & np.isin(ratio, [2, 3, 5, 7])
        assert (whole[:, place] == figures[:, fits].min(axis=1)).all()
        assert (one[:, place] == figures[:, along_one].min(axis=1)).all()
        assert (further[:, place] == figures[:, once_more].min(axis=1, initial=np.inf)).all()

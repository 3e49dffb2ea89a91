"""How often loops over windows leave tiles where they are or move them on, and which elements have
nobody to get words from: by trying out many ways.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import numpy as np
import pytest

from solver_mapper.core.primes import factorize
from solver_mapper.solve.outward.lattice import Lattice
from solver_mapper.solve.outward.sliding import fewest_places
from solver_mapper.solve.outward.tile_chains import Rank, Windows, staying


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


@pytest.mark.parametrize("seed", range(60))
def test_loops_over_both_dimensions_move_a_tile_on_only_where_that_is_said(seed):
    """Loops side by side and temporal ones, prime by prime, in any order: those that come by the
    shift of the first temporal one.
    """
    random = Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(400):
        steps, extents, rounds = (
            [random.choice(some) for _ in range(2)]
            for some in ((1, 1, 2, 3), (1, 1, 2, 3, 4, 6), (1, 2, 3, 4, 6, 8))
        )
        sizes = [extent * left for extent, left in zip(extents, rounds, strict=True)]
        rank = Rank((0, 1), (steps[0], steps[1]), (sizes[0], sizes[1]))
        windows = Windows((rank,), frozenset(), 2)
        first, slides = slides_on(random, steps, list(extents), rounds)
        if first is not None:
            said = windows.slide_on(first, (extents[0], extents[1]))
            assert said or not slides
            seen[said] += slides or not said
    assert all(seen.values())


def slides_on(
    random: Random, steps: list[int], extents: list[int], rounds: list[int]
) -> tuple[int | None, bool]:
    """The dimension of the first temporal loop, and whether one over the other dimension moves
    tiles by as much.
    """
    primes = [
        (dim, prime) for dim in (0, 1) for prime, n in factorize(rounds[dim]) for _ in range(n)
    ]
    random.shuffle(primes)
    first, shift, back, slides = None, 0, 0, False
    for dim, prime in primes:
        if random.random() < 0.6:
            forth = steps[dim] * extents[dim]
            if first is None:
                first, shift = dim, forth
            slides |= dim != first and forth - back == shift
            back += (prime - 1) * forth
        extents[dim] *= prime
    return first, slides


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

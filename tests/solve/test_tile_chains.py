"""Tiles of sliding windows in the walk outwards: what loops spare, and what neighbours pass on, is
what the cost model counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from math import prod
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.fetches import fetched_words
from solver_mapper.cost.timeloop.multicast_groups import multicast_groups
from solver_mapper.cost.timeloop.projection import Projection, code_of, project
from solver_mapper.cost.timeloop.spatial_elements import Grid, lay_out, links
from solver_mapper.cost.timeloop.tiles import PlacedLoop
from solver_mapper.solve.outward import layouts, mesh_sharing
from solver_mapper.solve.outward.layouts import APART, OTHER, Placed, Vector
from solver_mapper.solve.outward.mesh_sharing import (
    ANY,
    Link,
    Links,
    all_links,
    fewest_sent,
    least_sharing,
    sharing_by_order,
)
from solver_mapper.solve.outward.tile_chains import Rank, Windows
from tests.strategies import tensor

DIMS = "CKPRQS"
IDLE = 1
RANKS = ((2, 3), (4, 5))
"""P and R, Q and S."""


def projection(random: Random) -> tuple[Projection, tuple[Rank, ...]]:
    """An input with two windows of random steps."""
    steps = [(random.choice([1, 1, 2, 3]), random.choice([1, 1, 2, 3])) for _ in RANKS]
    windows = [
        [(DIMS[dim], step) for dim, step in zip(dims, each, strict=True)]
        for dims, each in zip(RANKS, steps, strict=True)
    ]
    problem = Problem("random", tuple(DIMS), dict.fromkeys(DIMS, 8), (tensor("I", "C", *windows),))
    ranks = tuple(Rank(dims, each, (8, 8)) for dims, each in zip(RANKS, steps, strict=True))
    return project(problem, problem.tensors[0]), ranks


@pytest.mark.parametrize("seed", range(300))
def test_loops_spare_what_the_cost_model_does_not_fetch(seed):
    random = Random(seed)
    sums, ranks = projection(random)
    extents = [random.choice([1, 1, 2, 3]) for _ in DIMS]
    temporal = [
        (random.randrange(len(DIMS)), random.choice([2, 2, 3, 4]))
        for _ in range(random.randint(1, 6))
    ]
    sizes = [
        extent * prod(bound for each, bound in temporal if each == dim)
        for dim, extent in enumerate(extents)
    ]
    ranks = tuple(
        rank._replace(sizes=(sizes[a], sizes[b])) for rank, (a, b) in zip(ranks, RANKS, strict=True)
    )
    windows = Windows(ranks, frozenset([0]), depth=2)
    (state, *_), *_ = windows.mesh_filled(windows.start, 1, (1, 1), 1)
    state = state._replace(extents=tuple((extents[a], extents[b]) for a, b in RANKS))
    (state, *_), *_ = windows.mesh_filled(windows.held(state, 1), 0, (1, 1), 1)
    loops: list[PlacedLoop] = []
    tiles, grown = 1.0, list(extents)
    for dim, bound in temporal:
        state, spared = windows.repeated(state, dim, bound)
        tiles = tiles * bound - spared[-1].fetched
        loops.insert(0, PlacedLoop(dim, bound, bound, grown[dim], ""))
        grown[dim] *= bound
    words = fetched_words(loops, sums, tuple(extents), reuse=True)
    assert tiles * sums.words(extents) == pytest.approx(words, rel=1e-12)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_no_loops_to_come_spare_more_than_they_may(first):
    """Whatever stands on the mesh above a holder, and whichever loop is the next one."""
    assert sum(spared_with_mesh(Random(seed)) for seed in range(first, first + 50))


def spared_with_mesh(random: Random) -> bool:
    """Whether loops outside a holder with a mesh spare anything; no more than was possible."""
    _, ranks = projection(random)
    extents = [random.choice([1, 1, 2, 3]) for _ in DIMS]
    spatial = [
        (random.randrange(1, len(DIMS)), random.choice([2, 2, 3]), axis)
        for axis in (0, 1)
        if random.random() < 0.7
    ]
    temporal = [
        (random.randrange(1, len(DIMS)), random.choice([2, 2, 3, 4]))
        for _ in range(random.randint(1, 5))
    ]
    sizes = list(extents)
    for dim, bound, *_ in (*spatial, *temporal):
        sizes[dim] *= bound
    ranks = tuple(
        rank._replace(sizes=(sizes[a], sizes[b])) for rank, (a, b) in zip(ranks, RANKS, strict=True)
    )
    windows = Windows(ranks, frozenset([0]), depth=2)
    (state, *_), *_ = windows.mesh_filled(windows.start, 1, (1, 1), 1)
    state = state._replace(extents=tuple((extents[a], extents[b]) for a, b in RANKS))
    on_the_way, used = [windows.held(state, 1)], [1, 1]
    for dim, bound, axis in spatial:
        state, _ = windows.spread(on_the_way[-1], 0, dim, bound, axis, used[axis])
        used[axis] *= bound
        on_the_way.append(state)
    width = used[0] + random.choice([0, 0, 1])
    (state, *_), *_ = windows.mesh_filled(on_the_way[-1], 0, (used[0], used[1]), width)
    on_the_way.append(state)
    rounds, spared = prod(bound for _, bound in temporal), [0.0]
    for place, (dim, bound) in enumerate(temporal):
        outside = prod(bound for _, bound in temporal[place + 1 :])
        state, each = windows.repeated(state, dim, bound)
        spared.append(each[-1].sent * outside)
        on_the_way.append(state)
    meshes = len(on_the_way) - len(temporal)
    for number, state in enumerate(on_the_way[:-1]):
        done = max(number - meshes + 1, 0)
        left = rounds // prod(bound for _, bound in temporal[:done])
        inside = rounds // left
        may = windows.possible(state, temporal[done][0])[-1]
        assert sum(spared[done + 1 :]) <= may.sent * left * inside + 1e-9, (state, temporal)
    return sum(spared) > 0


def link(links: Links, shift: Vector) -> Link:
    nothing = Link(shift, rest=1.0, most=0.0)
    return next((each for each in links if each.shift in (shift, ANY)), nothing)


class Mesh(NamedTuple):
    """Loops of the cost model, and the same ones as the walk sees them; `innermost` along each axis
    where that is known.
    """

    sums: Projection
    loops: tuple[PlacedLoop, ...]
    seen: tuple[Placed, ...]
    innermost: tuple[PlacedLoop, ...]

    def orders(self) -> Iterator[list[PlacedLoop]]:
        """The loops in each order that may be, outer to inner."""
        along = [
            [
                order
                for order in permutations(loop for loop in self.loops if loop.axis == axis)
                if not self.innermost or not order or order[-1] in self.innermost
            ]
            for axis in "YX"
        ]
        for outer, inner in product(*along):
            yield [*outer, *inner]


def drawn_mesh(random: Random, width: int, height: int) -> Mesh:
    """At most three loops along each axis, over different dimensions."""
    sums, ranks = projection(random)
    units = random.random() < 0.5
    loops: list[PlacedLoop] = []
    seen: list[Placed] = []
    innermost: list[PlacedLoop] = []
    grown = [random.choice([1, 1, 2]) for _ in DIMS]
    for axis, side in enumerate((width, height)):
        used = 1
        for dim in random.sample(range(len(DIMS)), random.randint(0, 3)):
            bound = random.choice([2, 2, 3, 4])
            if used * bound > side or any(each.dim == dim for each in loops):
                continue
            loops.append(PlacedLoop(dim, bound, bound, grown[dim], "XY"[axis]))
            side = layouts.IDLE if dim == IDLE else APART
            place = Placed(OTHER, side, 0, bound, axis)
            for rank, dims in enumerate(RANKS):
                if dim in dims:
                    step = ranks[rank].steps[dims.index(dim)] * grown[dim]
                    place = Placed(rank, dims.index(dim), step, bound, axis)
            first = units and used == 1
            innermost += [loops[-1]] if first else []
            seen.append(place._replace(inner=int(first)))
            grown[dim] *= bound
            used *= bound
    return Mesh(sums, tuple(loops), tuple(sorted(seen)), tuple(innermost))


def passed_on(
    random: Random, width: int, height: int
) -> tuple[list[tuple[Vector, float, float]], bool]:
    """Of a random mesh, shifts with the least share of words that neighbours do not pass on, by the
    cost model in all orders of its loops, and by the walk; and whether the walk should know it
    exactly. In each order the elements that neighbours serve are between those that it grants, and
    no fewer words are sent than it says; and one kind of orders is granted all that this one does.
    """
    mesh = drawn_mesh(random, width, height)
    windows = tuple(each for each in mesh.seen if each.rank != OTHER)
    if not windows:
        return [], True
    x, y = (prod(each.bound for each in mesh.seen if each.axis == axis) for axis in (0, 1))
    mesh_grid = layouts.Grid((x, y), width)
    given = windows if mesh_grid.filled and random.random() < 0.5 else mesh.seen
    least = least_sharing(given, len(RANKS), mesh_grid)
    loose, fewest = all_links(given, len(RANKS)), fewest_sent(windows, len(RANKS))
    window_elements = prod(each.bound for each in windows)
    # Words of one element, by loops that are given or not: all but those that share no word.
    apart = prod(each.bound for each in mesh.loops if each.dim == 0)
    idle = prod(each.bound for each in mesh.loops if each.dim == IDLE)
    grid, shares, ratios = Grid(width, height, hops=False), {}, []
    kinds = sharing_by_order(mesh.seen, len(RANKS), mesh_grid, (1,) * len(RANKS))
    for order in mesh.orders():
        able = list(kinds)
        elements = lay_out(order, mesh.sums.codes)
        every = range(len(elements.offsets))
        groups = sum(each.scatter for each in multicast_groups(elements, every, True, grid))
        ratios.append(groups / apart)
        linked_by = links(elements, elements, grid)
        for shift in [(a, b) for a in range(-9, 10) for b in range(-9, 10)]:
            linked = set(linked_by.get(code_of((0, *shift)), []))
            rest = multicast_groups(elements, set(every) - linked, True, grid)
            share = sum(each.scatter for each in rest) / groups
            served = len(linked) / len(elements.offsets) if share < 1 else 0.0
            for granted in (link(loose, shift), link(least.links, shift)):
                if any(shift) or given == mesh.seen:
                    assert granted.rest <= share + 1e-12
                    assert granted.fewest - 1e-12 <= served <= granted.most + 1e-12
            able = [
                kind
                for kind in able
                for granted in [link(kind.links, shift)]
                if granted.rest <= share + 1e-12
                and granted.fewest - 1e-12 <= served <= granted.most + 1e-12
            ]
            receivers = sum(each.scatter * each.multicast for each in rest)
            if share < 1 and receivers:
                ratios.append(share * groups / receivers * window_elements * idle)
            shares[shift] = min(share, shares.get(shift, 1.0))
        assert able or not (mesh_grid.filled or mesh_grid.few)
    assert max(least.sent, fewest) <= min(ratios) + 1e-9
    complete = given == mesh.seen and (mesh_grid.filled or mesh_grid.few)
    if complete:
        assert least.sent == pytest.approx(min(ratios))
    moved = [(shift, share, link(least.links, shift).rest) for shift, share in shares.items()]
    return [each for each in moved if complete or any(each[0])], complete


@pytest.mark.parametrize("seed", range(300))
def test_neighbours_pass_on_no_more_than_the_walk_says(seed):
    random = Random(seed)
    width, height = random.choice([(1, 8), (8, 1), (4, 4), (3, 5), (5, 3), (12, 2), (6, 6)])
    found, exact = passed_on(random, width, height)
    for shift, share, walked in found:
        assert walked <= share + 1e-12, shift
        if exact:
            assert walked == pytest.approx(share), shift


@pytest.fixture
def forgetful():
    """Nothing that was known of a mesh before is used, nor what is found out now."""

    def forget() -> None:
        for each in vars(mesh_sharing).values():
            getattr(each, "cache_clear", lambda: None)()

    forget()
    yield forget
    forget()


@pytest.fixture
def coarse(forgetful, monkeypatch):
    """Meshes count as large, on which elements are not looked at one by one."""
    for module in (layouts, mesh_sharing):
        monkeypatch.setattr(module, "MANY", 2)
    monkeypatch.setattr(layouts, "MOST_ELEMENTS", 2)


def test_an_array_of_tens_of_thousands_of_units_is_laid_out():
    """200 rows of 250 units on a grid 256 wide: units side by side have another K, and so has the
    one in the next row; so no two neighbours share any rows of a filter.
    """
    loops = (
        Placed(OTHER, APART, 0, 25, 0, 1),
        Placed(0, 0, 1, 10, 0, 25),
        Placed(OTHER, APART, 0, 200, 1, 1),
    )
    assert all_links(loops, 1)
    assert not least_sharing(loops, 1, layouts.Grid((250, 200), 256), (1,)).links


@pytest.mark.parametrize("width", [12, 13])
def test_words_may_lie_as_far_apart_as_dimensions_are_large(width):
    """Rows and columns of windows that go on by 2^30 words."""
    loops = (
        Placed(OTHER, APART, 0, 2, 0, 1),
        *(Placed(0, side, step, bound, 0) for side, step, bound in ((0, 2**30 + 1, 2), (1, 1, 3))),
        *(Placed(1, side, step, bound, 1) for side, step, bound in ((0, 2**30 + 3, 2), (1, 1, 3))),
    )
    assert least_sharing(loops, 2, layouts.Grid((12, 6), width), (1, 1)).sent <= 72


def test_it_does_not_matter_how_many_orders_of_a_mesh_are_looked_at_at_once(forgetful, monkeypatch):
    loops = (
        Placed(OTHER, APART, 0, 2, 1),
        Placed(OTHER, IDLE, 0, 2, 0),
        Placed(0, 0, 2, 4, 0),
        Placed(0, 1, 1, 3, 0),
        Placed(1, 0, 1, 2, 1),
    )
    grid = layouts.Grid((24, 4), 27)
    together = least_sharing(loops, 2, grid)
    assert together.links
    forgetful()
    monkeypatch.setattr(layouts, "AT_ONCE", 100)
    assert least_sharing(loops, 2, grid) == together


@pytest.mark.parametrize("seed", range(100))
def test_neighbours_on_large_meshes_pass_on_no_more_than_the_walk_says(seed, coarse):
    random = Random(seed)
    width, height = random.choice([(1, 8), (8, 1), (4, 4), (3, 5), (5, 3), (12, 2), (6, 6)])
    for shift, share, walked in passed_on(random, width, height)[0]:
        assert walked <= share + 1e-12, shift


@pytest.mark.parametrize("seed", range(200))
def test_no_more_elements_meet_at_a_place_than_the_walk_says(seed):
    """All loops over both dimensions of a window rank, spread over meshes."""
    random = Random(seed)
    begun, rest = ([random.choice([1, 1, 2, 3, 4, 6, 8]) for _ in "PR"] for _ in "12")
    sizes = tuple(extent * more for extent, more in zip(begun, rest, strict=True))
    steps = random.choice([1, 1, 2, 3]), random.choice([1, 1, 2, 3])
    rank, tile = Rank((0, 1), steps, (sizes[0], sizes[1])), np.array([begun])
    often = Counter(
        sum(step * extent * place for step, extent, place in zip(steps, begun, places, strict=True))
        for places in product(*map(range, rest))
    )
    assert max(often.values()) <= rank.most_shared(tile, tile)[0]

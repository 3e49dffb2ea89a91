"""How many words of sliding windows the elements of a mesh get together, and what neighbours pass
on, over all orders of the loops of the mesh.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.inner import Ints
from solver_mapper.solve.outward.layouts import (
    APART,
    IDLE,
    MANY,
    OTHER,
    Grid,
    Helped,
    Placed,
    Vector,
    extent,
    helped,
    orders,
)

ANY: Vector = ()
"""Any shift but none at all."""


MOST_KINDS = 24
"""Kinds of orders that are told apart: as many as four loops have."""


class Link(NamedTuple):
    """What neighbours do when tiles come by `shift`, a displacement between some, or by ANY.

    rest: the share of the different words that they do not pass on, at least.
    fewest, most: the share of the elements that they serve.
    """

    shift: Vector
    rest: float
    fewest: float = 0.0
    most: float = 1.0


Links = tuple[Link, ...]


def _in_units(loops: tuple[Placed, ...], ranks: int) -> tuple[tuple[Placed, ...], Vector]:
    """The loops with steps in units as large as possible along each rank, and these in words."""
    units = tuple(
        gcd(*(loop.step for loop in loops if loop.rank == rank)) or 1 for rank in range(ranks)
    )
    return tuple(loop._replace(step=loop.step // units[loop.rank]) for loop in loops), units


def _times(found: Links, units: Vector) -> Links:
    def in_words(shift: Vector) -> Vector:
        return tuple(step * unit for step, unit in zip(shift, units, strict=True))

    return tuple(
        each if each.shift == ANY else each._replace(shift=in_words(each.shift)) for each in found
    )


class Sharing(NamedTuple):
    """What the loops of a mesh share, in the best of their orders.

    sent: how many times as many words the mesh gets as one of its elements, by the loops over
          dimensions of windows, and idle ones that are given. `always`: whether that is so in all
          orders, and whatever neighbours do.
    links: by how much the words of neighbours differ, and what these do then. `certain`: whether
           they do so in all orders.
    """

    sent: float
    links: Links
    always: bool = False
    certain: bool = False


@lru_cache(maxsize=100_000)
def least_sharing(
    loops: tuple[Placed, ...],
    ranks: int,
    grid: Grid,
    moves: Vector | None = None,
    *,
    multicast: bool = True,
) -> Sharing:
    """The least over all orders of the loops along each axis, but for innermost ones that are
    known; and the most and the fewest elements that neighbours serve if all loops are given.

    Where rows are filled, loops over dimensions that are not in a window may be left out. They may
    as well stand outside the others: elsewhere, fewer elements have neighbours along this axis that
    agree in all other loops, and no more words are passed on to all who want them than without any
    neighbours along it.

    A mesh above one whose level holds nothing sends so many words as those of its own elements that
    neighbours do not serve want, over their number (`cost/timeloop/accesses.py`, `bypass`).

    moves: in words along each rank, of what temporal loops move tiles by multiples; 0 if they do
           not. Any number of words, if nothing is given.
    multicast: whether a word is sent once to all that want it. If not, each of these counts as a
               different one, and all loops have to be given, of a grid that is `Grid.few`.
    """
    small, units = _in_units(loops, ranks)
    moves = moves or (1,) * ranks
    in_units = tuple(step // gcd(step, unit) for step, unit in zip(moves, units, strict=True))
    found = _least_sharing(small, ranks, grid, in_units, multicast)
    return found._replace(links=_times(found.links, units))


def sharing_by_order(
    loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector, *, multicast: bool = True
) -> tuple[Sharing, ...]:
    """The same for each kind of orders in which neighbours do the same, where all loops are given;
    for all orders together if there are many kinds.
    """
    small, units = _in_units(loops, ranks)
    in_units = tuple(step // gcd(step, unit) for step, unit in zip(moves, units, strict=True))
    found = _sharing_by_order(small, ranks, grid, in_units, multicast)
    return tuple(each._replace(links=_times(each.links, units)) for each in found)


@lru_cache(maxsize=10_000)
def _sharing_by_order(
    loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector, multicast: bool
) -> tuple[Sharing, ...]:
    least = _least_sharing(loops, ranks, grid, moves, multicast)
    if least.certain or not least.links or grid.used != extent(loops):
        return (least,)
    wanted = _wanted_from_above(loops, ranks, grid, moves, ((0, 1),), multicast)
    if wanted is None:
        return (least,)
    elements, kinds = prod(grid.used), set[Links]()
    for words, rest in wanted:
        served = {shift: 1 - who / elements for shift, (_, who) in rest.items()}
        kinds.add(
            tuple(
                Link(shift, left / words, served[shift], served[shift])
                for shift, (left, _) in sorted(rest.items())
                if left < words
            )
        )
        if len(kinds) > MOST_KINDS:
            return (least,)
    return tuple(least._replace(links=links, certain=True) for links in sorted(kinds))


@lru_cache(maxsize=10_000)
def _least_sharing(
    loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector, multicast: bool
) -> Sharing:
    used = extent(loops)
    ways: tuple[tuple[int, ...], ...] = ((0, 1),)
    known = grid.used == used
    if not known and grid.filled:
        grid, ways = Grid(used, used[0]), ((), (0,), (1,), (0, 1))
    wanted = _wanted_from_above(loops, ranks, grid, moves, ways, multicast)
    if wanted is None:
        return Sharing(fewest_sent(loops, ranks), all_links(loops, ranks))
    found: dict[Vector, list[Link]] = defaultdict(list)
    ratios, looked = set[float](), len(wanted)
    elements = prod(grid.used)
    for words, rest in wanted:
        ratios.add(words / elements)
        for shift, (left, who) in rest.items():
            if left < words:
                served = 1 - who / elements
                found[shift].append(Link(shift, left / words, served, served))
            if 0 < left < words:
                ratios.add(left / who)
    near = []
    for shift, some in sorted(found.items()):
        link = Link(shift, min(one.rest for one in some))
        if known:
            always = len(some) == looked
            fewest = min(one.fewest for one in some) if always else 0.0
            link = link._replace(fewest=fewest, most=max(one.most for one in some))
        near.append(link)
    sharing = prod(loop.bound for loop in loops if (loop.rank, loop.side) != (OTHER, APART))
    return Sharing(
        min(ratios) * sharing,
        tuple(near),
        always=known and len(ratios) == 1,
        certain=known
        and all(len(some) == looked == some.count(some[0]) for some in found.values()),
    )


@lru_cache(maxsize=16)
def _wanted_from_above(
    loops: tuple[Placed, ...],
    ranks: int,
    grid: Grid,
    moves: Vector,
    ways: tuple[tuple[int, ...], ...],
    multicast: bool,
) -> tuple[Helped, ...] | None:
    """What `helped` says of each order of the loops; without multicast each element wants words of
    its own. None if there are too many orders or elements.
    """
    ordered = orders(loops)
    if ordered is None or not (grid.filled or grid.few):
        return None
    found = tuple(helped(ordered, ranks, grid, moves, ways))
    if multicast:
        return found
    return tuple(
        Helped(prod(grid.used), {shift: (who, who) for shift, (_, who) in each.rest.items()})
        for each in found
    )


class _Wanted(NamedTuple):
    """What elements of a mesh want along one window rank: different `words`, and in how many
    elements each occurs, apart from other ranks.
    """

    words: Ints
    often: Ints

    def served(self) -> dict[int, int]:
        """By the shift: of how many words the ones so many further on are there as well."""
        apart = self.words[None, :] - self.words[:, None]
        shifts, number = np.unique(apart, return_counts=True)
        return dict(zip(shifts.tolist(), number.tolist(), strict=True))


def _wanted(loops: tuple[Placed, ...], rank: int) -> _Wanted:
    words: Ints = np.zeros(1, dtype=np.int64)
    often: Ints = np.ones(1, dtype=np.int64)
    for loop in loops:
        if loop.rank == rank:
            moved = words[:, None] + loop.step * np.arange(loop.bound)
            words, where = np.unique(moved, return_inverse=True)
            grown = np.repeat(often, loop.bound)
            often = np.bincount(where.reshape(-1), weights=grown).astype(np.int64)
    return _Wanted(words, often)


def all_links(loops: tuple[Placed, ...], ranks: int) -> Links:
    """What `links` could be at least, if all elements were neighbours."""
    small, units = _in_units(loops, ranks)
    return _times(_all_links(small, ranks), units)


@lru_cache(maxsize=10_000)
def _all_links(loops: tuple[Placed, ...], ranks: int) -> Links:
    wanted = [_wanted(loops, rank) for rank in range(ranks)]
    number = prod(len(each.words) for each in wanted)
    once = prod(int((each.often == 1).sum()) for each in wanted)
    if any((loop.rank, loop.side) == (OTHER, IDLE) for loop in loops):
        once = 0
    stays = [Link((0,) * ranks, once / number)] if once < number else []
    if max(len(each.words) for each in wanted) > MANY:
        return (*stays, Link(ANY, 0.0))
    served = [each.served() for each in wanted]
    if prod(map(len, served)) > MANY:
        return (*stays, Link(ANY, 1 - _most_served(served) / number))
    moves = [
        Link(shift, 1 - prod(some[step] for some, step in zip(served, shift, strict=True)) / number)
        for shift in product(*served)
        if any(shift)
    ]
    return tuple(sorted([*stays, *moves]))


def least_rest(loops: tuple[Placed, ...], ranks: int) -> float:
    """The least `rest` of all links, if all elements were neighbours; 1 if there are none."""
    return _least_rest(_in_units(loops, ranks)[0], ranks)


@lru_cache(maxsize=10_000)
def _least_rest(loops: tuple[Placed, ...], ranks: int) -> float:
    wanted = [_wanted(loops, rank) for rank in range(ranks)]
    number = prod(len(each.words) for each in wanted)
    if max(len(each.words) for each in wanted) > MANY:
        return 0.0
    idle = any((loop.rank, loop.side) == (OTHER, IDLE) for loop in loops)
    once = 0 if idle else prod(int((each.often == 1).sum()) for each in wanted)
    return min(once, number - _most_served([each.served() for each in wanted])) / number


def _most_served(served: Sequence[dict[int, int]]) -> int:
    """For how many words at most the ones further on by any one shift are there as well."""
    number = prod(each[0] for each in served)
    return max(
        max((times for step, times in each.items() if step), default=0) * (number // each[0])
        for each in served
    )


def fewest_sent(loops: tuple[Placed, ...], ranks: int) -> float:
    """How many times as many words as one element the mesh gets at least, if any elements were
    neighbours: those that many elements want are left. A tile that stays brings no words.
    """
    return _fewest_sent(_in_units(loops, ranks)[0], ranks)


@lru_cache(maxsize=10_000)
def _fewest_sent(loops: tuple[Placed, ...], ranks: int) -> float:
    wanted = [_wanted(loops, rank) for rank in range(ranks)]
    often: Ints = np.ones(1, dtype=np.int64)
    for each in wanted:
        often = (often[:, None] * each.often).reshape(-1)
    number, elements = len(often), int(often.sum())
    if max(len(each.words) for each in wanted) > MANY:
        served = number - 1
    else:
        served = _most_served([each.served() for each in wanted])
    # What the fewest elements want is passed on first.
    gone = np.concatenate([[0], np.cumsum(np.sort(often))])[: served + 1]
    left = number - np.arange(served + 1)
    return float((left / (elements - gone)).min() * elements)


@lru_cache(maxsize=10_000)
def sent_words(loops: tuple[Placed, ...], exact: bool) -> float:
    """How many times as many words a mesh gets as one of its elements, by its loops over one window
    rank: different sums of their places; or at least, if not `exact`.
    """
    often = _wanted(tuple(loop._replace(rank=0) for loop in loops), 0).often
    return float(len(often) if exact else often.sum() / often.max())

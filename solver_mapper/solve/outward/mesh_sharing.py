"""Elements of a mesh that want the same words of a sliding window, and neighbours that pass words
on, as the cost model has them (`cost/timeloop/spatial_elements.py`, `multicast_groups.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations, product
from math import prod
from typing import NamedTuple

import numpy as np

Vector = tuple[int, ...]
"""Words along each window rank."""


class Placed(NamedTuple):
    """A spatial loop of a mesh, over dimension `side` of a rank: the words of its elements are
    `step` apart. Above compute units `inner` elements stand inside it along its axis; elsewhere it
    may stand anywhere along it (0).
    """

    rank: int
    side: int
    step: int
    bound: int
    axis: int = 0
    inner: int = 0


@lru_cache(maxsize=10_000)
def links(
    loops: tuple[Placed, ...], ranks: int, used: tuple[int, int], width: int
) -> tuple[tuple[Vector, float], ...]:
    """The displacements between neighbours on a mesh, and for each the share of the different words
    that neighbours cannot pass on when tiles come by it; or less.

    Elements fill the grid, of `width` columns, row by row. They count as neighbours only if they
    agree in all loops but `loops`, unless the `used` columns leave rows ragged. Words count as
    passed on if all elements that want them have such a neighbour; where rows are not filled, if
    one has.
    """
    filled = used[1] == 1 or width == used[0]
    words, helped = _helped(loops, ranks, used, width)
    found = []
    for shift, elements in sorted(helped.items()):
        served = {words[each] for each in elements}
        if filled:
            served -= {words[each] for each in range(len(words)) if each not in elements}
        found.append((shift, 1 - len(served) / len(set(words))))
    return tuple((shift, rest) for shift, rest in found if rest < 1)


def _helped(
    loops: tuple[Placed, ...],
    ranks: int,
    used: tuple[int, int],
    width: int,
    axes: tuple[int, ...] = (0, 1),
) -> tuple[list[Vector], dict[Vector, set[int]]]:
    """The displacement of each element's words; and by shift, which elements have a neighbour along
    one of the `axes` that has their words.
    """
    number = np.arange(used[0] * used[1])
    others = np.stack([number % used[0], number // used[0]])
    offsets = np.zeros((len(number), ranks), dtype=np.int64)
    for loop in loops:
        place = (number % used[0], number // used[0])[loop.axis] // loop.inner % loop.bound
        offsets[:, loop.rank] += loop.step * place
        others[loop.axis] -= place * loop.inner
    ragged = used[1] > 1 and width % used[0] > 0
    words = [tuple(each) for each in offsets.tolist()]
    helped: dict[Vector, set[int]] = defaultdict(set)
    in_row, in_column = number % width < width - 1, number >= 0
    for axis in axes:
        apart, possible = ((1, in_row), (width, in_column))[axis]
        near = number[possible & (number + apart < len(number))]
        if not ragged:
            near = near[(others[:, near] == others[:, near + apart]).all(axis=0)]
        for one in near.tolist():
            forth = tuple(b - a for a, b in zip(words[one], words[one + apart], strict=True))
            helped[forth].add(one)
            helped[tuple(-step for step in forth)].add(one + apart)
    return words, helped


class Sharing(NamedTuple):
    """What the loops of a mesh share, wherever they stand along their axes, at least.

    sent: how many times as many words the mesh gets as one of its elements. `links`: as the
    function of this name gives them.
    """

    sent: float
    links: tuple[tuple[Vector, float], ...]


@lru_cache(maxsize=10_000)
def least_sharing(
    loops: tuple[Placed, ...], ranks: int, used: tuple[int, int], width: int
) -> Sharing:
    """The least over all orders of the loops along each axis, on `used` columns and rows of a grid
    of `width` columns.

    Loops over other dimensions, if there are any, stand outside these, or between or inside them.
    Where rows are filled, fewer elements have neighbours along this axis then that agree in all
    other loops; no more words are passed on to all who want them than without any neighbours along
    it. Where rows are not filled either, all elements are taken to be neighbours.

    A mesh above one whose level holds nothing sends so many words as those of its own elements that
    neighbours do not serve want, over their number (`cost/timeloop/accesses.py`, `bypass`).
    """
    extent = _extent(loops)
    alone = used == extent
    if not alone and used[1] > 1 and used[0] < width:
        along = [tuple(loop for loop in loops if loop.rank == n) for n in range(ranks)]
        sent = prod(sent_words(each, exact=len(each) < 2) for each in along)
        return Sharing(sent, all_links(loops, ranks))
    rests: dict[Vector, float] = {}
    fewest = 1.0
    for axes in ((0, 1),) if alone else ((), (0,), (1,), (0, 1)):
        for order in _orders(loops):
            words, helped = _helped(order, ranks, extent, width if alone else extent[0], axes)
            groups = len(set(words))
            fewest = min(fewest, groups / len(words))
            for shift, elements in helped.items():
                rest = [one for place, one in enumerate(words) if place not in elements]
                share = len(set(rest)) / groups
                rests[shift] = min(rests.get(shift, 1.0), share)
                if rest and share < 1:
                    fewest = min(fewest, len(set(rest)) / len(rest))
    near = tuple((shift, rest) for shift, rest in sorted(rests.items()) if rest < 1)
    return Sharing(fewest * prod(extent), near)


def _orders(loops: tuple[Placed, ...]) -> Iterator[tuple[Placed, ...]]:
    """The loops in each order along their axes."""
    along = [[loop for loop in loops if loop.axis == axis] for axis in (0, 1)]
    for orders in product(*map(permutations, along)):
        yield tuple(loop for order in orders for loop in _stacked(order))


def _stacked(loops: Iterable[Placed]) -> Iterator[Placed]:
    """The loops of an axis, inner to outer."""
    inner = 1
    for loop in loops:
        yield loop._replace(inner=inner)
        inner *= loop.bound


def _extent(loops: tuple[Placed, ...]) -> tuple[int, int]:
    """Columns and rows that the loops use."""
    x, y = (prod(loop.bound for loop in loops if loop.axis == axis) for axis in (0, 1))
    return x, y


@lru_cache(maxsize=10_000)
def all_links(loops: tuple[Placed, ...], ranks: int) -> tuple[tuple[Vector, float], ...]:
    """What `links` could be at least, wherever the loops stand."""
    sums: dict[Vector, int] = defaultdict(int)
    for places in product(*(range(loop.bound) for loop in loops)):
        total = [0] * ranks
        for loop, place in zip(loops, places, strict=True):
            total[loop.rank] += loop.step * place
        sums[tuple(total)] += 1
    found: dict[Vector, int] = defaultdict(int)
    for here, often in sums.items():
        for there in sums:
            if here != there or often > 1:
                found[tuple(b - a for a, b in zip(here, there, strict=True))] += 1
    return tuple((shift, 1 - served / len(sums)) for shift, served in sorted(found.items()))


def sent_words(loops: tuple[Placed, ...], exact: bool) -> float:
    """How many times as many words a mesh gets as one of its elements, by its loops over one window
    rank: different sums of their places; or at least, if not `exact`.
    """
    often = _sums(tuple((loop.step, loop.bound) for loop in loops))
    if exact:
        return float(len(often))
    return prod(loop.bound for loop in loops) / max(often)


@lru_cache(maxsize=10_000)
def _sums(loops: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """How often each sum of places occurs."""
    found: dict[int, int] = {}
    for places in product(*(range(bound) for _, bound in loops)):
        total = sum(step * place for (step, _), place in zip(loops, places, strict=True))
        found[total] = found.get(total, 0) + 1
    return tuple(found.values())

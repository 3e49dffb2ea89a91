"""The least that enters a level and those further out, for tiles that hold a given one.

`ImperfectLowerBound` looks at all tiles of each level apart. But the tile of a level is part of
that of the next one further out, as often as spatial loops stand in between: of n tiles of a level,
spatial loops of bound S leave ceil(n / S) of the next level at most. So from the outermost level
inwards the least of each tile is what enters there with the least of all tiles that may be outside
of it. Tiles that stand together there have the fewest rounds of the largest of them; all that may
be outside the smallest one are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from solver_mapper.solve.imperfect.joint.counts import Floats, Ints, TileCounts
from solver_mapper.verify.bound import Keeps, Rates
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound

MOST_TABLES = 200
"""Tables that are kept."""
SHORT = 8
"""Entries along an axis that are walked through in turn, which is quicker."""


class _Tables(NamedTuple):
    """For each tile of a level, what enters this and all further out at least: if the level holds
    this one, and if it holds this or a larger one.
    """

    held: Floats
    larger: Floats


@dataclass
class EnteringByTile:
    """What enters each level at least, by its tile: arrays with an axis for each dimension, of
    rising numbers of tiles.

    fewest: for each dimension, the numbers of tiles along it, at least.
    most: the same, at most.
    least: by level, from the second outermost one on, in pJ.
    """

    sizes: list[int]
    fewest: list[Ints]
    most: list[Ints]
    least: list[Floats]
    _tables: dict[tuple[tuple[int, ...], ...], _Tables] = field(default_factory=dict)

    def whole(self, spread: Sequence[Sequence[int]]) -> float:
        """What enters all levels at least, with these spatial loops."""
        innermost = len(spread) - 1
        if not innermost:
            return 0.0
        tiles = [-(-size // each) for size, each in zip(self.sizes, spread[-1], strict=True)]
        return float(self.at(spread[:innermost], [np.array(number) for number in tiles]))

    def at(
        self, spread: Sequence[Sequence[int]], tiles: Sequence[Ints], *, held: bool = False
    ) -> Floats:
        """What enters a level and those further out, which have these spatial loops, at least,
        where so many tiles stand outside the spatial loops below it. Those of the level itself may
        be larger, unless they are `held` like this.
        """
        if not spread:
            return np.zeros(1)
        places = [self._place(dim, number) for dim, number in enumerate(tiles)]
        tables = self._table(spread)
        return (tables.held if held else tables.larger)[tuple(places)]

    def _place(self, dim: int, tiles: Ints) -> Ints:
        """The last entry that may stand for as many tiles, or fewer."""
        return self.fewest[dim].searchsorted(tiles, side="right") - 1

    def _table(self, spread: Sequence[Sequence[int]]) -> _Tables:
        """The tables of a level. `spread`: of levels further out."""
        key = tuple(tuple(each) for each in spread)
        if key in self._tables:
            return self._tables[key]
        level, held = len(spread), self.least[len(spread) - 1]
        if level > 1:
            held = held + self._around(spread)
        larger = held
        for axis in range(held.ndim):
            larger = _least_so_far(larger, axis)
        if len(self._tables) >= MOST_TABLES:
            self._tables.clear()
        self._tables[key] = _Tables(held, larger)
        return self._tables[key]

    def _around(self, spread: Sequence[Sequence[int]]) -> Floats:
        """For each tile of a level, what enters those further out at least. Where no spatial loop
        stands in between, the tile itself is the smallest that holds it.
        """
        outer = self._table(spread[:-1]).larger
        for dim, along in enumerate(spread[-1]):
            if along > 1:
                outer = outer.take(self._place(dim, -(-self.most[dim] // along)), axis=dim)
        return outer


def _least_so_far(values: Floats, axis: int) -> Floats:
    """The least of the entries up to each one along an axis. A short axis is walked through."""
    number = values.shape[axis]
    if number == 1:
        return values
    if number > SHORT:
        return np.minimum.accumulate(values, axis=axis)
    found = values.copy()
    rows = np.moveaxis(found, axis, 0)
    for at in range(1, number):
        np.minimum(rows[at], rows[at - 1], out=rows[at])
    return found


@dataclass(frozen=True)
class LeastOutside:
    """The same for given spatial loops; `parts` are added up, each at a price."""

    spread: Sequence[Sequence[int]]
    parts: Sequence[tuple[float, EnteringByTile]]

    def at(self, level: int, counts: Mapping[int, TileCounts], *, held: bool = False) -> Floats:
        """What enters a level and those further out at least, in states of the walk: (states, ...).
        See `EnteringByTile`.
        """
        one = np.ones(1, dtype=np.int64)
        dims = range(len(self.spread[0]))
        return self._sum(level, [counts[dim].tiles if dim in counts else one for dim in dims], held)

    def fewest(self, level: int, counts: Mapping[int, TileCounts], dim: int, most: float) -> int:
        """The fewest tiles along a dimension with which so much at most may enter a level and those
        further out, where there may be all that there are along the others; one more than any if
        there is no such number. More tiles leave more to choose from.
        """
        one = np.ones(1, dtype=np.int64)
        tiles = [
            np.array([counts[each].tiles.max()]) if each in counts else one
            for each in range(len(self.spread[0]))
        ]
        last, every = int(tiles[dim][0]), self.parts[0][1].fewest[dim]
        tiles[dim] = every[every <= last]
        least = np.broadcast_to(self._sum(level, tiles, False), tiles[dim].shape)
        some = np.flatnonzero(least <= most)
        return int(tiles[dim][some[0]]) if len(some) else last + 1

    def _sum(self, level: int, tiles: Sequence[Ints], held: bool) -> Floats:
        outer = self.spread[:level]
        return sum(
            (price * part.at(outer, tiles, held=held) for price, part in self.parts), np.zeros(1)
        )


def entering_by_tile(
    bound: ImperfectLowerBound, keeps: Keeps, rates: list[Rates] | None = None
) -> EnteringByTile:
    """What `ImperfectLowerBound` knows of each level, for one choice of who holds what; or what
    other rates make of it.
    """
    sizes = list(bound.mapspace.problem.bounds.values())
    levels = range(1, bound.depth)
    if not levels:
        ones = [np.ones(1, dtype=np.int64) for _ in sizes]
        return EnteringByTile(sizes, ones, ones, [])
    room = bound.boundaries[1]
    tiles = [np.unique(each)[::-1] for each in room.inside]
    fewest = [np.unique(each) for each in room.outside]
    most = [-(-size // each) for size, each in zip(sizes, tiles, strict=True)]
    shape = [len(each) for each in tiles]
    least = [np.flip(bound.entering_each(keeps, n, rates).reshape(shape)) for n in levels]
    return EnteringByTile(sizes, fewest, most, least)

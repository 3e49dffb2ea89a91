"""Tiles of one dimension, by how many there are: what chains of loops over it can lead to.

Going outwards from the compute units, a spatial loop of bound S makes ceil(n / S) tiles of n, and
so does a temporal loop. Chains that lead to as many tiles are one state; of what they differ in,
each state has the least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """States from which loops lead to other states; both are (pairs,), sorted by `target`."""

    source: Ints
    target: Ints


class Steps(NamedTuple):
    """How many temporal iterations of the first instance are allowed over a dimension: at most
    `most`, where spatial loops make up `inside` points of a tile and `outside` instances of it.
    """

    inside: int
    outside: int
    most: float

    def allowed(self, points: Floats, tiles: Ints) -> NDArray[np.bool_]:
        """Whether tiles of so many points may be reached."""
        passed: NDArray[np.bool_] = points / self.inside * -(-tiles // self.outside) <= self.most
        return passed


@dataclass(frozen=True)
class Since:
    """What has come since some level, counted along the dimension. Arrays are (states,).

    copies: instances of the level in one tile.
    last: instances of the level in the last tile, at least.
    fewest, most: tiles of the level, if no temporal loop has come; infinite and 0 where one must
        have.
    """

    copies: int
    last: Floats
    fewest: Floats
    most: Floats


@dataclass(frozen=True)
class TileCounts:
    """States of a dimension of `size` points. Arrays are (states,).

    tiles: how many, rising.
    points: of a tile, at least.
    since: by level.
    """

    size: int
    tiles: Ints
    points: Floats
    since: dict[int, Since]

    def stored(self, level: int) -> TileCounts:
        """The same at the place where `level` holds its tile."""
        tiles, ones = self.tiles.astype(np.float64), np.ones(len(self.tiles))
        return replace(self, since=self.since | {level: Since(1, ones, tiles, tiles)})

    def spread(self, bound: int) -> tuple[TileCounts, Pairs] | None:
        """States after a spatial loop, which needs as many tiles; None if no state has them."""
        rows = np.flatnonzero(self.tiles >= bound)
        if not len(rows):
            return None
        tiles, target = _ranked(-(-self.tiles[rows] // bound))
        order = np.argsort(target, kind="stable")
        rows, target = rows[order], target[order]
        left = self.tiles[rows] - (tiles[target] - 1) * bound
        since = {
            level: Since(
                each.copies * bound,
                _least((left - 1) * each.copies + each.last[rows], target),
                _least(each.fewest[rows], target),
                -_least(-each.most[rows], target),
            )
            for level, each in self.since.items()
        }
        points = _least(self.points[rows] * bound, target)
        return TileCounts(self.size, tiles, points, since), Pairs(rows, target)

    def repeated(self, steps: Steps) -> tuple[TileCounts, Pairs] | None:
        """States after any temporal loop or none, and where the states so far are among them; None
        if all need too many steps.
        """
        kept = np.flatnonzero(steps.allowed(self.points, self.tiles))
        if not len(kept):
            return None
        source, bounds = self._loops(steps, kept)
        new = -(-self.tiles[source] // bounds)
        stays = bounds == 1
        lone = (self.tiles[source] - (new - 1) * bounds == 1) & (new > 1)
        tiles, target = _ranked(new)
        order = np.argsort(target, kind="stable")
        source, target, bounds = source[order], target[order], bounds[order]
        stays, lone = stays[order], lone[order]
        since = {
            level: Since(
                each.copies,
                _least(np.where(stays | lone, each.last[source], each.copies), target),
                _least(np.where(stays, each.fewest[source], np.inf), target),
                -_least(-np.where(stays, each.most[source], 0.0), target),
            )
            for level, each in self.since.items()
        }
        points = _least(self.points[source] * bounds, target)
        found = TileCounts(self.size, tiles, points, since)
        return found, Pairs(kept, np.searchsorted(tiles, self.tiles[kept]))

    def loops(self, steps: Steps) -> tuple[Pairs, Pairs]:
        """Temporal loops that lead from state to state: those that run at least twice in their last
        round, and those that run once there.
        """
        source, bounds = self._loops(steps, np.arange(len(self.tiles)))
        some = bounds > 1
        source, bounds = source[some], bounds[some]
        new = -(-self.tiles[source] // bounds)
        lone = (self.tiles[source] - (new - 1) * bounds == 1) & (new > 1)
        target = np.searchsorted(self.tiles, new)
        found = []
        for rows in (~lone, lone):
            key = np.unique(target[rows] * len(self.tiles) + source[rows])
            found.append(Pairs(key % len(self.tiles), key // len(self.tiles)))
        return found[0], found[1]

    def _loops(self, steps: Steps, kept: Ints) -> tuple[Ints, Ints]:
        """States and bounds of temporal loops (1 for none) that may follow."""
        most = self.tiles[kept]
        source = np.repeat(kept, most)
        bounds = np.arange(len(source)) - np.repeat(np.cumsum(most) - most, most) + 1
        new = -(-self.tiles[source] // bounds)
        rows = steps.allowed(self.points[source] * bounds, new)
        return source[rows], bounds[rows]


def whole(size: int) -> TileCounts:
    """A dimension below which there are no loops."""
    return TileCounts(size, np.array([size]), np.ones(1), {})


def _ranked(values: Ints) -> tuple[Ints, Ints]:
    """Different values, rising, and where each is among them."""
    found, where = np.unique(values, return_inverse=True)
    return found, where.reshape(-1)


def _least(values: Floats, target: Ints) -> Floats:
    """The least value for each target; targets are sorted and none is left out."""
    starts = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
    found: Floats = np.minimum.reduceat(values, starts)
    return found

"""Tiles of one dimension, by how many there are: what chains of loops over it can lead to.

Going outwards from the compute units, a spatial loop of bound S makes ceil(n / S) tiles of n, and
so does a temporal loop. Chains that lead to as many tiles are one state; of what they differ in,
each state has the least. In `exact` counts tiles of other sizes, or with other charges, are other
states; where levels are `told` apart, so are chains that differ in the tiles there. From one state
to as many tiles only the loop of the least bound is looked at then, unless a spatial loop may come:
its tile is the smallest, and all that comes outside is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LARGE = 1 << 20
"""Dimensions of so many points or more: what is charged for the last tile makes no other states."""
TELLING = 1 << 12
"""The same for dimensions whose tiles at several levels make other states."""
PARTS = ("last", "fewest", "most", "smallest", "largest", "charged")
"""What `Since` has of each state."""


class Pairs(NamedTuple):
    """States from which loops lead to other states; both are (pairs,), sorted by `target`."""

    source: Ints
    target: Ints

    def only(self, rows: NDArray[np.bool_]) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.source[rows], self.target[rows])


class Steps(NamedTuple):
    """How many temporal iterations of the first instance are allowed over a dimension: at most
    `most`, where spatial loops make up `inside` points of a tile and `outside` instances of it.
    There have to be `fewest` tiles at least.
    """

    inside: int
    outside: int
    most: int
    fewest: int = 1

    def allowed(self, points: Ints, tiles: Ints) -> NDArray[np.bool_]:
        """Whether tiles of so many points may be reached. The first instance takes whole ones,
        apart from the very last.
        """
        whole, rounds = points / self.inside, -(-tiles // self.outside)
        least = np.where((rounds == 1) & (tiles > 1), whole, (rounds - 1) * whole + 1)
        passed: NDArray[np.bool_] = (least < self.most + 0.5) & (tiles >= self.fewest)
        return passed


@dataclass(frozen=True)
class Since:
    """What has come since some level, counted along the dimension. Arrays are (states,).

    copies: instances of the level in one tile.
    last: instances of the level in the last tile, at least. Those below another instance of the
        level outside count like those below the first one.
    fewest, most: tiles of the level, if no temporal loop has come; infinite and 0 where one must
        have.
    smallest, largest: points of a tile of the level.
    charged: points of the last tile, at least, where each instance of the level counts like the
        first one.
    """

    copies: int
    last: Floats
    fewest: Floats
    most: Floats
    smallest: Floats
    largest: Floats
    charged: Floats

    def only(self, rows: Ints) -> Since:
        """Some of the states."""
        return Since(self.copies, *(getattr(self, name)[rows] for name in PARTS))


class _Picked(Mapping[int, Since]):
    """Some of the states, picked when a level is asked for."""

    def __init__(self, since: Mapping[int, Since], rows: Ints):
        self._since, self._rows = since, rows
        self._known: dict[int, Since] = {}

    def __getitem__(self, level: int) -> Since:
        if level not in self._known:
            self._known[level] = self._since[level].only(self._rows)
        return self._known[level]

    def __contains__(self, level: object) -> bool:
        return level in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)


@dataclass(frozen=True)
class TileCounts:
    """States of a dimension of `size` points, by tiles, then by points. Arrays are (states,).

    tiles: how many.
    points: of a tile, at least.
    steps: temporal iterations of the first instance in the last tile, at least.
    charged: operations along the dimension that are charged for the last tile, at least: those of
        the first instance of the innermost level, for each instance of it.
    inside: instances that spatial loops make up so far.
    since: by level.
    told: levels whose tiles make other states.
    held: a number for the tiles of these levels.
    """

    size: int
    exact: bool
    tiles: Ints
    points: Ints
    steps: Floats
    charged: Floats
    inside: int
    since: Mapping[int, Since]
    told: frozenset[int]
    held: Ints

    def keys(self, tiles: Ints, points: Ints, charged: Floats, held: Ints) -> Ints:
        """Numbers that are equal in one state, in the order of the states."""
        if not self.exact:
            return tiles
        if self.told:
            key: Ints = (tiles << 48) + (points << 34) + (charged.astype(np.int64) << 20) + held
            return key
        if self.size >= LARGE:
            return (tiles << 32) + points
        return (tiles << 42) + (points << 21) + charged.astype(np.int64)

    def only(self, rows: Ints) -> TileCounts:
        """Some of the states."""
        return TileCounts(
            self.size,
            self.exact,
            self.tiles[rows],
            self.points[rows],
            self.steps[rows],
            self.charged[rows],
            self.inside,
            _Picked(self.since, rows),
            self.told,
            self.held[rows],
        )

    def stored(self, level: int) -> TileCounts:
        """The same at the place where `level` holds its tile."""
        held = self.held
        if level in self.told:
            held = np.unique((held << 34) + self.points, return_inverse=True)[1].reshape(-1)
        return replace(self, since={**self.since, level: self.here}, held=held)

    @cached_property
    def here(self) -> Since:
        """What is known of a level that holds its tile here. Of n tiles, all but the last have as
        many points, and n - 1 of them do not make up the dimension.
        """
        tiles, ones = self.tiles.astype(np.float64), np.ones(self.tiles.shape)
        if self.exact:
            smallest = largest = self.points.astype(np.float64)
        else:
            smallest = np.ceil(self.size / tiles)
            largest = np.where(tiles > 1, (self.size - 1) // np.maximum(tiles - 1, 1), self.size)
        left = self.size - (tiles - 1) * largest
        return Since(1, ones, tiles, tiles, smallest, largest, left)

    def spread(self, bound: int, below: int, *, innermost: bool) -> tuple[TileCounts, Pairs] | None:
        """States after a spatial loop over instances of the level `below`, which needs as many
        tiles; None if no state has them. `innermost`: over compute units.
        """
        rows = np.flatnonzero(self.tiles >= bound)
        if not len(rows):
            return None
        tiles, points = -(-self.tiles[rows] // bound), self.points[rows] * bound
        left = self.tiles[rows] - (tiles - 1) * bound
        charged = np.where(left > 1, self.points[rows], self.charged[rows])
        charged = charged * (left if innermost else bound)
        order, target, firsts = _ranked(self.keys(tiles, points, charged, self.held[rows]))
        rows, tiles, points = rows[order], tiles[order][firsts], points[order]
        left, charged, whole = left[order], charged[order], self.points[rows]

        def last(level: int, each: Since) -> Floats:
            if level == below:
                return (left - 1) * each.copies + each.last[rows]
            return np.where(left > 1, each.copies, each.last[rows]) * bound

        since = {
            level: Since(
                each.copies * bound,
                *_extremes(
                    [
                        last(level, each),
                        each.fewest[rows],
                        -each.most[rows],
                        each.smallest[rows],
                        -each.largest[rows],
                        np.where(left > 1, whole, each.charged[rows]) * bound,
                    ],
                    target,
                ),
            )
            for level, each in self.since.items()
        }
        steps = np.where(left > 1, whole / self.inside, self.steps[rows])
        found = TileCounts(
            self.size,
            self.exact,
            tiles,
            _least(points, target),
            _least(steps, target),
            _least(charged, target),
            self.inside * bound,
            since,
            self.told,
            self.held[rows][firsts],
        )
        return found, Pairs(rows, target)

    def more(self, bound: int) -> Floats:
        """How many times as much as in all tiles is in those that a spatial loop has, if each
        instance has as many as the first one, at least. The last tile has no more than any other.
        Only if the first instance has it, other instances have one less in the last round.
        """
        rounds = -(-self.tiles // bound)
        lone = self.tiles - (rounds - 1) * bound == 1
        return np.where(lone, 1.0, rounds * bound / self.tiles)

    def repeated(self, steps: Steps) -> tuple[TileCounts, Pairs] | None:
        """States after any temporal loop or none, and where the states so far are among them; None
        if all need too many steps.
        """
        kept = np.flatnonzero(steps.allowed(self.points, self.tiles))
        if not len(kept):
            return None
        loops = self._loops(steps, kept)
        order, target, firsts = _ranked(self._keys(loops))
        source, stays = loops.source[order], loops.bounds[order] == 1
        points, tiles = loops.points[order], loops.tiles[order][firsts]
        whole, left = self.points[source], loops.left[order] - 1
        same = stays | loops.lone[order]
        since = {
            level: Since(
                each.copies,
                *_extremes(
                    [
                        np.where(same, each.last[source], each.copies),
                        np.where(stays, each.fewest[source], np.inf),
                        -np.where(stays, each.most[source], 0.0),
                        each.smallest[source],
                        -each.largest[source],
                        left * whole + each.charged[source],
                    ],
                    target,
                ),
            )
            for level, each in self.since.items()
        }
        found = TileCounts(
            self.size,
            self.exact,
            tiles,
            _least(points, target),
            _least(left * (whole / self.inside) + self.steps[source], target),
            _least(loops.charged[order], target),
            self.inside,
            since,
            self.told,
            self.held[source][firsts],
        )
        return found, Pairs(source[stays], target[stays])

    def loops(self, steps: Steps) -> tuple[Pairs, Pairs]:
        """Temporal loops that lead from state to state: those that run at least twice in their last
        round, and those that run once there.
        """
        loops = self._loops(steps, np.arange(len(self.tiles)))
        states = self.keys(self.tiles, self.points, self.charged, self.held)
        wanted = self._keys(loops)
        target = np.minimum(np.searchsorted(states, wanted), len(states) - 1)
        some = (loops.bounds > 1) & (states[target] == wanted)
        found = []
        for rows in (some & ~loops.lone, some & loops.lone):
            key = np.unique(target[rows] * len(states) + loops.source[rows])
            found.append(Pairs(key % len(states), key // len(states)))
        return found[0], found[1]

    def short(self, step: int) -> NDArray[np.bool_]:
        """Whether there are three tiles or more, of which the last is shorter by two words or more
        of a window that a point moves by `step`.
        """
        if not self.exact:
            return np.zeros(len(self.tiles), dtype=bool)
        last = self.size - (self.tiles - 1) * self.points
        found: NDArray[np.bool_] = (self.tiles >= 3) & (step * (self.points - last) >= 2)
        return found

    def bound(self, source: int, target: int, *, lone: bool) -> int:
        """The least bound of a temporal loop that leads from one state to another."""
        tiles, wanted = int(self.tiles[source]), int(self.tiles[target])
        points = int(self.points[target]) if self.exact else None
        return next(
            bound
            for bound in range(2, tiles + 1)
            if -(-tiles // bound) == wanted
            and lone == (wanted > 1 and tiles - (wanted - 1) * bound == 1)
            and points in (None, int(self.points[source]) * bound)
        )

    def _keys(self, loops: _Loops) -> Ints:
        """The numbers of the states to which loops lead."""
        return self.keys(loops.tiles, loops.points, loops.charged, self.held[loops.source])

    def _loops(self, steps: Steps, kept: Ints) -> _Loops:
        """Temporal loops (of bound 1 for none) that may follow states."""
        most = self.tiles[kept]
        source = np.repeat(kept, most)
        bounds = np.arange(len(source)) - np.repeat(np.cumsum(most) - most, most) + 1
        tiles = -(-self.tiles[source] // bounds)
        left = self.tiles[source] - (tiles - 1) * bounds
        lone = (left == 1) & (tiles > 1)
        rows = steps.allowed(self.points[source] * bounds, tiles)
        if self.exact and steps.outside == 1:
            key = (source * (int(most.max()) + 1) + tiles) * 2 + lone
            firsts = np.zeros(len(key), dtype=bool)
            firsts[np.unique(key, return_index=True)[1]] = True
            rows &= firsts
        source, bounds = source[rows], bounds[rows]
        points, left = self.points[source] * bounds, left[rows]
        charged = (left - 1) * self.points[source] + self.charged[source]
        return _Loops(source, bounds, tiles[rows], points, charged, left, lone[rows])


class _Loops(NamedTuple):
    """Temporal loops: from which states, to how many tiles of how many points. Arrays are (loops,).

    charged: see `TileCounts`.
    left: tiles in the last round.
    lone: whether a loop runs once in its last round.
    """

    source: Ints
    bounds: Ints
    tiles: Ints
    points: Ints
    charged: Floats
    left: Ints
    lone: NDArray[np.bool_]


def whole(size: int, *, exact: bool, told: frozenset[int] = frozenset()) -> TileCounts:
    """A dimension below which there are no loops. Too large ones are not told apart."""
    one, none = np.ones(1), np.zeros(1, dtype=np.int64)
    told = told if exact and size < TELLING else frozenset()
    return TileCounts(size, exact, np.array([size]), np.array([1]), one, one, 1, {}, told, none)


def _ranked(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """The order that sorts keys; then for each of them the rank of its key, and the first of each
    key.
    """
    order = np.argsort(keys, kind="stable")
    _, firsts, target = np.unique(keys[order], return_index=True, return_inverse=True)
    return order, target.reshape(-1), firsts


Numbers = TypeVar("Numbers", Floats, Ints)


def _least(values: Numbers, target: Ints) -> Numbers:
    """The least value for each target; targets are sorted and none is left out."""
    starts = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
    return np.minimum.reduceat(values, starts)


def _extremes(values: Sequence[Floats], target: Ints) -> list[Floats]:
    """The parts of `Since` for each target: the least of all values, but that of the third and the
    fifth, which are given below zero, the most.
    """
    starts = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
    last, fewest, most, smallest, largest, charged = np.minimum.reduceat(
        np.stack(values), starts, axis=1
    )
    return [last, fewest, -most, smallest, -largest, charged]

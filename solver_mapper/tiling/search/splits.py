"""How a loop may be split into pieces, and what each way costs the tensors that follow the loop.

Pieces are uniform with a shorter last one, aligned or not; along windows they are also as long as a
limit on the window's reach allows, so that pieces at a border, where part of the reach is padding,
do more iterations than others. Splits that another one beats in every respect are left out.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from solver_mapper.core.dominance import undominated_rows
from solver_mapper.errors import InputError
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.tensors import SAME, RankProjection, Span, padded

MOST_ITERATIONS, MOST_WINDOWS = 1 << 20, 1 << 16
"""The longest loops that are split, without and with windows along them."""


@dataclass(frozen=True)
class Follower:
    """A rank that follows the loop. `unit` is its alignment: more than 1 only for the last rank of
    its tensor.
    """

    tensor: str
    projection: RankProjection
    unit: int

    def length(self, piece: Span) -> int:
        """Storage of what a piece touches along this rank."""
        return padded(self.projection.span(piece).size, self.unit)

    def measure(self, way: Cutting) -> tuple[int, int]:
        """The longest and the summed storage of the pieces."""
        if self.projection == SAME and way.custom is None:
            short = way.size - (way.trips - 1) * way.length
            long = padded(way.length, self.unit)
            return long, long * (way.trips - 1) + padded(short, self.unit)
        lengths = [self.length(piece) for piece in way.pieces]
        return max(lengths), sum(lengths)


@dataclass(frozen=True)
class Cutting:
    """How `size` iterations are cut: into pieces of `length` and a shorter last one, or into
    `custom` pieces.
    """

    size: int
    length: int
    custom: tuple[Span, ...] | None = None

    @property
    def trips(self) -> int:
        """Number of pieces."""
        return -(-self.size // self.length) if self.custom is None else len(self.custom)

    @property
    def pieces(self) -> tuple[Span, ...]:
        """The pieces in order, which cover all iterations."""
        if self.custom is not None:
            return self.custom
        return tuple(
            Span(start, min(self.length, self.size - start))
            for start in range(0, self.size, self.length)
        )


@dataclass(frozen=True)
class LoopSplit:
    """A way to cut a loop. `largest[i]` and `total[i]` are the longest and the summed storage of
    the pieces along follower i.
    """

    way: Cutting
    trips: int
    largest: tuple[int, ...]
    total: tuple[int, ...]

    @property
    def pieces(self) -> tuple[Span, ...]:
        """The pieces in order, which cover all iterations."""
        return self.way.pieces

    @property
    def costs(self) -> tuple[int, ...]:
        """Everything that should be small."""
        return (self.trips, *self.largest, *self.total)


def followers(operator: Operator, loop: str, alignment: int) -> tuple[Follower, ...]:
    """The ranks of all tensors that follow a loop."""
    return tuple(
        Follower(
            tensor.name, rank.projection, alignment if position == len(tensor.ranks) - 1 else 1
        )
        for tensor in operator.tensors
        for position, rank in enumerate(tensor.ranks)
        if rank.loop == loop
    )


@lru_cache(maxsize=4096)
def splits(size: int, along: tuple[Follower, ...]) -> tuple[LoopSplit, ...]:
    """The ways to split a loop of `size` iterations that are worth considering, fewest pieces
    first.

    Raises: InputError for a loop that is too long.
    """
    most = (
        MOST_WINDOWS if any(follower.projection != SAME for follower in along) else MOST_ITERATIONS
    )
    if size > most:
        raise InputError(
            f"a loop of {size} iterations is too long for the traffic objective, {most} is the"
            " limit"
        )
    ways = {Cutting(size, length) for length in _lengths(size, along)}
    for window in along:
        if window.projection != SAME:
            ways |= {_way(size, pieces) for pieces in _reaching(size, window)}
    return _front(_split(way, along) for way in ways)


def _way(size: int, pieces: tuple[Span, ...]) -> Cutting:
    """A uniform way as such, so that equal ways are one."""
    plain = Cutting(size, pieces[0].size)
    return (
        plain
        if plain.trips == len(pieces) and plain.pieces == pieces
        else Cutting(size, pieces[0].size, pieces)
    )


def _lengths(size: int, along: tuple[Follower, ...]) -> set[int]:
    """The shortest length for each number of pieces, and that rounded up to each alignment."""
    shortest = set()
    length = size
    while length >= 1:
        trips = -(-size // length)
        shortest.add(-(-size // trips))
        length = -(-size // trips) - 1
    units = {follower.unit for follower in along}
    return shortest | {min(padded(length, unit), size) for length in shortest for unit in units}


def _reaching(size: int, window: Follower) -> Iterator[tuple[Span, ...]]:
    """Pieces as long as a limit on the window's reach allows: for every number of pieces, the
    shortest reach that suffices.
    """
    reaches = sorted(
        {
            window.length(Span(start, length))
            for length in range(1, size + 1)
            for start in (0, min(1, size - length), size - length)
        }
    )
    ways = [_Lazy(size, window, reach) for reach in reaches]
    index = len(ways)
    while index > 0 and ways[index - 1].pieces is not None:
        trips = ways[index - 1].trips
        index = bisect.bisect_left(ways, -trips, hi=index, key=lambda way: -way.trips)
        longest = ways[index].pieces or ()
        yield longest
        interior = (
            max(piece.size for piece in longest[1:-1]) if len(longest) > 2 else longest[-1].size
        )
        for limit in range(interior, longest[0].size):
            yield _greedy(size, window, reaches[index], limit) or longest


@dataclass
class _Lazy:
    """The pieces under a limit on the reach, worked out when asked for: fewer, the longer the
    reach.
    """

    size: int
    window: Follower
    reach: int

    @cached_property
    def pieces(self) -> tuple[Span, ...] | None:
        return _greedy(self.size, self.window, self.reach, self.size)

    @property
    def trips(self) -> int:
        return self.size + 1 if self.pieces is None else len(self.pieces)


def _greedy(size: int, window: Follower, reach: int, limit: int) -> tuple[Span, ...] | None:
    """Pieces of at most `limit` iterations that reach over at most `reach` indices, each as long as
    can be.
    """
    pieces, start = [], 0
    while start < size:
        low, high = 0, min(limit, size - start)
        while low < high:
            middle = (low + high + 1) // 2
            if window.length(Span(start, middle)) <= reach:
                low = middle
            else:
                high = middle - 1
        if low == 0:
            return None
        pieces.append(Span(start, low))
        start += low
    return tuple(pieces)


def _split(way: Cutting, along: tuple[Follower, ...]) -> LoopSplit:
    measured = [follower.measure(way) for follower in along]
    return LoopSplit(
        way,
        way.trips,
        tuple(largest for largest, _ in measured),
        tuple(total for _, total in measured),
    )


def _front(ways: Iterable[LoopSplit]) -> tuple[LoopSplit, ...]:
    """The splits that no other beats, one of each cost."""
    by_cost = {split.costs: split for split in sorted(ways, key=_plainness)}
    distinct = [by_cost[costs] for costs in sorted(by_cost)]
    rows = np.array([split.costs for split in distinct])
    return tuple(distinct[at] for at in undominated_rows(rows))


def _plainness(split: LoopSplit) -> tuple[bool, int, tuple[Span, ...]]:
    """Of splits that cost the same the last is kept: uniform rather than custom, short pieces
    rather than long ones.
    """
    return split.way.custom is None, -split.way.length, split.way.custom or ()

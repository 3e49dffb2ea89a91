"""Combinations of states of all dimensions, and the least energy of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.counts import Floats, Ints, Pairs, TileCounts

MOST_POINTS = 3_000_000
"""Combinations that are looked at together."""
MOST_KEPT = 100_000
"""Combinations for all of which figures are worked out once."""


class TooManyStates(LimitReached):
    """There are too many combinations of states to look at together."""


Counts = Mapping[int, TileCounts]
"""By dimension."""


class Points(NamedTuple):
    """where: numbers of combinations, rising; the last dimension varies fastest.
    value: energy in pJ.
    """

    where: Ints
    value: Floats


class Axis(NamedTuple):
    """The place of a dimension in the numbers of combinations: its states before and after a step,
    and the combinations of states of the dimensions behind it.
    """

    before: int
    after: int
    behind: int


class CountsAt(Counts):
    """Counts of dimensions at some points: arrays have an entry for each point."""

    def __init__(self, counts: Counts, index: Ints):
        self._counts, self._index = counts, index
        self._known: dict[int, TileCounts] = {}

    def __getitem__(self, dim: int) -> TileCounts:
        if dim not in self._known:
            behind = prod(sizes(self._counts)[list(self._counts).index(dim) + 1 :])
            here = self._counts[dim]
            self._known[dim] = here.only(self._index // behind % len(here.tiles))
        return self._known[dim]

    def __contains__(self, dim: object) -> bool:
        return dim in self._counts

    def __iter__(self) -> Iterator[int]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)


class Place:
    """Counts after some loops, and figures that are known there: of all combinations, if they are
    `few`.
    """

    def __init__(self, counts: Counts, few: int = MOST_KEPT):
        self.counts, self._few = counts, few
        self._number = prod(sizes(counts))
        self._known: dict[Hashable, Floats] = {}
        self._where: Ints | None = None

    def at(self, where: Ints) -> CountsAt:
        """Counts at some combinations."""
        if self._where is not where:
            self._where, self._here = where, CountsAt(self.counts, where)
            self._known_here = dict[Hashable, Floats]()
        return self._here

    def figures(self, key: Hashable, where: Ints, work_out: Callable[[Counts], Floats]) -> Floats:
        """Figures of some combinations."""
        if self._number > self._few:
            here = self.at(where)
            if key not in self._known_here:
                self._known_here[key] = np.broadcast_to(work_out(here), where.shape)
            return self._known_here[key]
        if key not in self._known:
            every = np.broadcast_to(work_out(self._all), (1, *sizes(self.counts)))
            self._known[key] = every.reshape(-1)
        return self._known[key][where]

    @cached_property
    def _all(self) -> Counts:
        """Counts at all combinations: arrays have an axis for each dimension."""
        found, numbers = dict[int, TileCounts](), sizes(self.counts)
        for place, (dim, here) in enumerate(self.counts.items()):
            behind = len(numbers) - place - 1
            found[dim] = here.only(np.arange(numbers[place]).reshape(-1, *[1] * behind))
        return found


def sizes(counts: Counts) -> list[int]:
    """How many states each dimension has.

    Raises: TooManyStates if combinations cannot be numbered.
    """
    found = [len(each.tiles) for each in counts.values()]
    if prod(found) >= 2**62:
        raise TooManyStates("there are too many combinations of tiles")
    return found


def led(points: Points, axis: Axis, pairs: Pairs) -> Points:
    """Where states of a dimension lead.

    Raises: TooManyStates for more than `MOST_POINTS`.
    """
    sources, targets = pairs
    if not _rising(sources):
        order = sources.argsort(kind="stable")
        sources, targets = sources[order], targets[order]
    here = points.where // axis.behind % axis.before
    first = sources.searchsorted(here, side="left")
    ways = sources.searchsorted(here, side="right") - first
    if ways.sum() > MOST_POINTS:
        raise TooManyStates(f"there are more than {MOST_POINTS:,} combinations of tiles")
    at = np.arange(len(here)).repeat(ways)
    step = np.arange(len(at)) - (ways.cumsum() - ways).repeat(ways)
    target = targets[first[at] + step]
    front = points.where[at] // (axis.before * axis.behind)
    index = (front * axis.after + target) * axis.behind + points.where[at] % axis.behind
    return least_of(index, points.value[at])


def least_of(index: Ints, value: Floats) -> Points:
    """The least value of each number."""
    if _rising(index):
        return Points(index, value)
    order = index.argsort(kind="stable")
    index, value = index[order], value[order]
    starts = np.concatenate([[True], index[1:] != index[:-1]]).nonzero()[0]
    return Points(index[starts], np.minimum.reduceat(value, starts))


def _rising(numbers: Ints) -> bool:
    """Whether each number is above the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


def merged(one: Points, other: Points) -> Points:
    """The least value of each number in either."""
    if not len(other.where):
        return one
    return least_of(
        np.concatenate([one.where, other.where]), np.concatenate([one.value, other.value])
    )


def only(points: Points, kept: NDArray[np.bool_]) -> Points:
    """Some of the points."""
    return points if kept.all() else Points(points.where[kept], points.value[kept])


def value_at(points: Points, index: int) -> float:
    """The value of one combination; infinite where there is none."""
    at = int(np.searchsorted(points.where, index))
    found = at < len(points.where) and points.where[at] == index
    return float(points.value[at]) if found else float("inf")


def sources_of(points: Points, axis: Axis, pairs: Pairs, index: int) -> Sequence[tuple[float, int]]:
    """Combinations that lead to one, with their values."""
    front, here = divmod(index // axis.behind, axis.after)
    found = []
    for source in pairs.source[pairs.target == here].tolist():
        before = (front * axis.before + source) * axis.behind + index % axis.behind
        value = value_at(points, before)
        if value < float("inf"):
            found.append((value, before))
    return found

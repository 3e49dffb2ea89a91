"""A lower bound for mappings of imperfect factors, level by level: `LowerBound` with tiles of any
size.

A tile of t points makes at least ceil(D / t) rounds over a dimension of size D, counted over all
instances, and the smallest tile of equal rounds takes the least room; so one tile for each number
of rounds is looked at. Where there are too many combinations, tiles of similar size stand together:
with the room of the smallest and the rounds of the largest.

What holds for perfect factors (`boundary.py`) holds here, but for two points. Where the loop that
moves a tile runs once in its last round, the tile stays, and the rounds of idle loops outside cost
nothing: among v >= 3 positions along a dimension, at the last one. And shares of partial sums whose
first reads are elided may be up to twice as large along each dimension that is spread unevenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from solver_mapper.core.problem import Problem
from solver_mapper.deadline import check_time
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.boundary import Boundary, Ints, Moved
from solver_mapper.verify.views import View

MOST_POINTS = 60_000
"""Combinations of tiles that are looked at for one level."""


@dataclass(frozen=True)
class ImperfectBoundary(Boundary):
    """All combinations of tiles at level `child`; `outside[dim]` are rounds of all instances."""

    def moved(
        self, view: View, parent: int, spared: frozenset[int], passing: bool = False
    ) -> Moved:
        """The least words of a tensor between `parent` and the child; see `Boundary`."""
        ones = np.ones(len(self.inside[0]))
        steady = not self.feeds_compute_units or self.helpers
        rounds = ones
        for dim in sorted(view.idle - spared if steady else view.idle):
            rounds = rounds * self.outside[dim]
        if steady:
            rounds = 1 + (rounds - 1) * self._moving(view)
        below, instances = self.below(parent), self.instances
        direct = parent == self.child - 1 and not passing
        if view.plain or (steady and direct):
            words, sent, filled = view.words, np.maximum(rounds / below, 1), rounds
        elif steady:
            words = view.fixed_words
            sent = filled = np.maximum(rounds / instances, 1)
        else:
            words, sent, filled = 1, ones * (self.problem.macs // below), 0 * ones
        sent_again = filled_again = 0 * ones
        if view.plain:
            often = np.maximum(rounds / instances, 1)
            sent_again = sent - 1 if parent == 0 else often - self._shares(view, parent)
            filled_again = often - self._shares(view, self.child)
        levels = self.architecture.levels
        lost = [levels[parent].instances, 0 if self.feeds_compute_units else self._filled]
        return Moved(
            _counted(words * sent, lost[0]),
            _counted(words * sent_again, lost[0]),
            _counted(words * filled, lost[1]),
            _counted(words * filled_again, lost[1]),
        )

    @property
    def _filled(self) -> int:
        return self.architecture.levels[self.child].instances

    def _moving(self, view: View) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """At least the share of a tile's positions at which a loop moves it in each round."""
        share = np.ones(len(self.inside[0]))
        for dim in view.fixed:
            size, tile = self.problem.bounds[self.problem.dims[dim]], self.inside[dim]
            places = -(-size // (tile * self.instances))
            some = 1 - 1 / np.maximum(places, 3)
            share = np.where(2 * tile < size, np.minimum(share, some), share)
        return share

    def _shares(self, view: View, level: int) -> int:
        """How often an instance of a level may elide the first read of a word, at most."""
        if not any(max(self.architecture.fanout(outer)) > 1 for outer in range(level)):
            return 1
        sizes = [self.problem.bounds[self.problem.dims[dim]] for dim in view.fixed]
        return int(prod(2 for size in sizes if size > 2))


def _counted(words: np.ndarray[tuple[int], np.dtype[np.float64]], instances: int) -> Ints:
    """Whole words, rounded down, less one for each instance that rounds its share."""
    found: Ints = np.maximum(np.floor(words * (1 - 1e-9)) - instances, 0).astype(np.int64)
    return found


class ImperfectLowerBound(LowerBound):
    """Lower bounds of all figures of all mappings of imperfect factors."""

    @cached_property
    def boundaries(self) -> dict[int, Boundary]:
        """The boundary above each level, by its number."""
        problem, found = self.mapspace.problem, dict[int, Boundary]()
        for child in range(1, self.depth + 1):
            check_time()
            inside, outside = _tiles(problem, child == self.depth)
            ones = tuple(np.ones_like(each) for each in inside)
            found[child] = ImperfectBoundary(
                self.mapspace.architecture, problem, child, True, inside, ones, outside
            )
        return found


def _tiles(problem: Problem, single: bool) -> tuple[tuple[Ints, ...], tuple[Ints, ...]]:
    """Combinations of tiles and their rounds; of single points only if `single`."""
    columns = []
    for size in problem.bounds.values():
        sizes = [1] if single else sorted({-(-size // parts) for parts in range(1, size + 1)})
        columns.append([(tile, -(-size // tile)) for tile in sizes])
    while prod(map(len, columns)) > MOST_POINTS:
        longest = max(range(len(columns)), key=lambda dim: len(columns[dim]))
        rows = columns[longest]
        columns[longest] = [
            (rows[at][0], rows[min(at + 1, len(rows) - 1)][1]) for at in range(0, len(rows), 2)
        ]
    picks = np.indices([len(rows) for rows in columns]).reshape(len(columns), -1)
    tables = [
        np.array(rows, dtype=np.int64)[pick] for rows, pick in zip(columns, picks, strict=True)
    ]
    return tuple(each[:, 0] for each in tables), tuple(each[:, 1] for each in tables)

"""The least words that must cross into one level, whatever the mapping.

Take any legal mapping and a level c (or the compute units, which hold one point each). Every
dimension of size n splits into n = inside * spatial * outside: its loops at c and further in, its
spatial loops outside c, and its temporal loops outside c. The inside extents give the tiles of c,
which must fit; the spatial factors multiply to at most the instances of c. Let tensor T be held at
c, its next outer holder be p, and

    C = product of the spatial factors of the dimensions idle for T,       the copies of each word
    among all instances of c; B = instances of c below one instance of p; U = product of the outside
    factors of the idle dimensions that are not spared (`sparings` in `views.py`).

Then at least `words * C * U` words enter c and at least `words * max(1, C / B) * U` leave p:

- A level remembers no more than its last tile, and so do the neighbours that could pass it on. When
  a loop over a fixed dimension advances or starts over, the new tile of every instance lies at
  places along that dimension where none of the instances that share its other coordinates had been
  the step before: a step in time along a dimension leaps over all its spatial loops.
- So each round of an idle loop that stands outside a loop over a fixed dimension fetches all words
  of its sweep anew. Loops over idle dimensions further in may cost nothing, and are counted as if
  they did. The tile of a round counts each distinct word once.
- A multicast reaches instances that differ in idle dimensions (or in windows) only, at most B of
  them from one instance of p.

For a `plain` tensor words * C * U is the cost model's own count with the spared dimensions as they
are, and of partial sums all but the first round are read again: `words * C * (U - 1)`. For others
the model rounds per instance: one word each is taken off. With a window and a level between p and c
that does not hold T, Timeloop's cost model scales what a level passes on by the multicast of
another one; then only the fixed dimensions' words are counted, once. Compute units remember
nothing: without neighbours to help, each operation asks for its operands, and only a multicast
saves words.

What p sends to a level further in than c may be counted at c as well: the loops outside that level
are those outside c and more inside them, so that no more is spared of the ones outside c.

Where there are too many ways to split, the spatial factors are left out (`coarse`): C * U is then
at least the product of spatial * outside over the idle dimensions not spared, and U at least that
over all instances of c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem
from solver_mapper.deadline import check_time
from solver_mapper.verify.views import View

Ints = npt.NDArray[np.int64]
_MOST_FILLED = 10_000_000
"""Products of instances in use that are looked at."""
MOST_POINTS = 400_000
"""Splits that are looked at for one boundary; above that, coarsely."""


class Moved(NamedTuple):
    """Words that leave the parent and enter the child; `again` are those of partial sums that are
    not written first.
    """

    sent: Ints
    sent_again: Ints
    filled: Ints
    filled_again: Ints


@dataclass(frozen=True)
class Boundary:
    """All ways to split the dimensions at level `child`, one entry of the arrays each:
    `inside[dim]`, and so on.
    """

    architecture: Architecture
    problem: Problem
    child: int
    coarse: bool
    inside: tuple[Ints, ...]
    spatial: tuple[Ints, ...]
    outside: tuple[Ints, ...]

    @cached_property
    def instances(self) -> int:
        """Instances of the child below the outermost level."""
        return self.below(0)

    def below(self, parent: int) -> int:
        """Instances of the child below one instance of a parent."""
        return prod(x * y for x, y in map(self.architecture.fanout, range(parent, self.child)))

    @property
    def feeds_compute_units(self) -> bool:
        """Whether compute units lie below, not a level."""
        return self.child == len(self.architecture.levels)

    def fitting(self, views: Sequence[View]) -> npt.NDArray[np.bool_]:
        """Where the tiles of `views` fit into the child together."""
        fits = np.ones(len(self.inside[0]), dtype=bool)
        capacity = (
            None if self.feeds_compute_units else self.architecture.levels[self.child].capacity
        )
        if capacity is not None:
            fits = (
                sum([self.tile(each) for each in views], np.zeros(len(fits), dtype=np.int64))
                <= capacity
            )
        return fits

    def tile(self, view: View) -> Ints:
        """Words of the tensor's tile: a bounding box (`Projection.words`)."""
        total = np.ones(len(self.inside[0]), dtype=np.int64)
        for dim in view.projection.plain:
            total = total * self.inside[dim]
        for rank in view.projection.wide:
            total = total * (
                1 + sum(coefficient * (self.inside[dim] - 1) for dim, coefficient in rank)
            )
        return total

    @cached_property
    def helpers(self) -> bool:
        """Whether units side by side could pass operands on."""
        return max(self.architecture.fanout(self.child - 1)) > 1

    def moved(
        self, view: View, parent: int, spared: frozenset[int], passing: bool = False
    ) -> Moved:
        """The least words of a tensor between `parent` and the child, for every split.

        `passing`: the child does not hold the tensor, a level further in does; only what is sent is
                   meant then.
        """
        ones = np.ones(len(self.inside[0]), dtype=np.int64)
        steady = not self.feeds_compute_units or self.helpers
        paid = view.idle - spared if steady else view.idle
        copies = _product(ones, self.spatial, view.idle)
        rounds = _product(ones, self.outside, paid)
        if self.coarse:
            entered = rounds
            rounds = -(-rounds // self.instances)
            left = -(-entered // self.below(parent))
            again = (rounds - 1, rounds - 1)
        else:
            each = -(-copies // self.below(parent))
            entered, left = copies * rounds, each * rounds
            again = (each * (rounds - 1), copies * (rounds - 1))
        if view.plain:
            return Moved(
                view.words * left,
                view.words * again[0],
                view.words * entered,
                view.words * again[1],
            )
        return self._loose(view, parent, rounds, left, entered, steady, passing)

    def _loose(
        self,
        view: View,
        parent: int,
        rounds: Ints,
        left: Ints,
        entered: Ints,
        steady: bool,
        passing: bool,
    ) -> Moved:
        """The same for a tensor that is not plain."""
        none = np.zeros_like(rounds)
        if not steady:
            shared = np.full_like(rounds, self.below(parent))
            if not self.coarse:
                shared = np.minimum(
                    shared,
                    _product(
                        none + 1, self.spatial, frozenset(range(len(self.spatial))) - view.fixed
                    ),
                )
            sent, filled = self.problem.macs // shared, none
        elif parent == self.child - 1 and not passing:
            sent, filled = view.words * left, view.words * entered
        else:
            sent = filled = view.fixed_words * rounds
        levels = self.architecture.levels
        rounding = none if self.feeds_compute_units else none + levels[self.child].instances
        return Moved(
            np.maximum(sent - levels[parent].instances, 0),
            none,
            np.maximum(filled - rounding, 0),
            none,
        )


def boundary(
    architecture: Architecture, problem: Problem, child: int, fine: int | None = None
) -> Boundary:
    """The splits at level `child`, or at the compute units if that is the number of levels;
    coarsely above `fine` of them (None: as many as `MOST_POINTS`).

    Raises: ValueError if even coarsely there are more than `MOST_POINTS`.
    """
    meshes = [size for level in range(child) for size in architecture.fanout(level)]
    room = prod(meshes)
    within = 1 if child == len(architecture.levels) else None
    for coarse in (False, True):
        splits = [
            _splits(problem.bounds[dim], within, 1 if coarse else room) for dim in problem.dims
        ]
        points = _combine(splits, room, MOST_POINTS if coarse or fine is None else fine)
        if points is not None:
            break
    if points is None:
        raise ValueError("there are too many ways to split the dimensions")
    used = np.prod(np.array(points[1]), axis=0)
    fits = np.isin(used, _filled(meshes))
    return Boundary(
        architecture,
        problem,
        child,
        coarse,
        *(tuple(each[fits] for each in part) for part in points),
    )


def _filled(meshes: Sequence[int]) -> list[int]:
    """How many instances whole numbers along each of the meshes' sides can make up."""
    found = {1}
    for size in meshes:
        check_time()
        if len(found) * size > _MOST_FILLED:
            raise ValueError("there are too many instances")
        found = {value * used for value in found for used in range(1, size + 1)}
    return sorted(found)


def _splits(size: int, within: int | None, room: int) -> list[tuple[int, int, int]]:
    return [
        (inside, spatial, size // inside // spatial)
        for inside in divisors(size)
        if inside <= (within or size)
        for spatial in divisors(size // inside)
        if spatial <= room
    ]


def _combine(
    splits: list[list[tuple[int, int, int]]], room: int, most: int
) -> tuple[list[Ints], list[Ints], list[Ints]] | None:
    """All combinations whose spatial factors fit into `room`; None if they are more than `most`."""
    columns: list[Ints] = []
    used = np.ones(1, dtype=np.int64)
    for each in splits:
        check_time()
        table = np.array(each, dtype=np.int64)
        if len(used) * len(table) > 8 * most:
            return None
        together = used[:, None] * table[None, :, 1]
        rows, picks = np.nonzero(together <= room)
        if len(rows) > most:
            return None
        columns = [column[rows] for column in columns] + [picks]
        used = together[rows, picks]
    tables = [
        np.array(each, dtype=np.int64)[column] for each, column in zip(splits, columns, strict=True)
    ]
    return [t[:, 0] for t in tables], [t[:, 1] for t in tables], [t[:, 2] for t in tables]


def _product(start: Ints, factors: Sequence[Ints], dims: frozenset[int]) -> Ints:
    for dim in sorted(dims):
        start = start * factors[dim]
    return start

"""How many instances of a level a word of a sliding window serves, at most.

The level above sends words once to all instances below that want just these, and a neighbour passes
on just what it took in one step earlier. So what counts is at how many places the windows of all
instances are, and at which steps the shift from the words of the step before is the distance of two
instances. Say that a loop over a dimension d moves the tile next, twice at least in each round:

- Where idle loops stand further in, nothing comes at the step before, so nothing is passed on.
- If d is no part of a window, each step leaps over all instances along d, and no shift is such a
  distance. Nothing is passed on.
- If d is part of a window, so it is along d. As long as no other loop moves this window, the
  instances at the end that it moves to get no help (`at_the_end`). So it is where others move it
  only as the whole of d starts over, if that moves the window further than they do (`far`). Unless
  windows meet, as below, no instance gets help.
- Otherwise two windows at different positions of loops and instances have to meet (`meet`). Of the
  instances along this window, at least one gets no help at a step. But as a run over d begins, all
  instances may get the same words from others as came at the step before. At all other steps of the
  run as many come for each instance, or more, and only this window moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.solve.imperfect.joint.counts import Floats

Rank = Sequence[tuple[int, int]]
"""Dimensions and their coefficients."""


class Along(NamedTuple):
    """A dimension of a window: its size and coefficient, the instances along it below one instance
    of the level above, and how many points of it a tile has.
    """

    size: int
    step: int
    spread: int
    smallest: Floats
    largest: Floats


def distinct(rank: Rank, sizes: Sequence[int]) -> int:
    """Different values of a rank over all points, at least: see `places`."""
    if len(rank) == 2:
        (one, step), (other, stride) = rank
        common = gcd(step, stride)
        same = max(sizes[one] - stride // common, 0) * max(sizes[other] - step // common, 0)
        return sizes[one] * sizes[other] - same
    return 1 + sum(sizes[dim] - 1 for dim, _ in rank)


def places(window: Sequence[Along]) -> Floats:
    """Different places of the windows of all instances, at least.

    Sums of an element of each of several sets are at least as many as the elements of all sets,
    less one for each set but the first. With two dimensions, instances at (i, j) and (k, l) share a
    place only if their distances i - k and l - j are the same multiple of the two steps without
    their common divisor, exchanged.
    """
    spread = [each for each in window if each.spread > 1]
    if len(spread) != 2:
        return np.full(1, 1.0 + sum(each.spread - 1 for each in spread))
    one, other = spread
    near = np.maximum(one.spread - _apart(other, one), 0)
    same: Floats = near * np.maximum(other.spread - _apart(one, other), 0)
    return one.spread * other.spread - same


def meet(window: Sequence[Along]) -> NDArray[np.bool_]:
    """Whether windows at different positions along two dimensions may be at the same place: see
    `places`.
    """
    tiled = [each for each in window if (each.smallest < each.size).any()]
    if len(tiled) != 2:
        return np.full(1, len(tiled) > 2)
    one, other = tiled
    found: NDArray[np.bool_] = (_apart(other, one) < np.ceil(one.size / one.smallest)) & (
        _apart(one, other) < np.ceil(other.size / other.smallest)
    )
    return found


def far(window: Sequence[Along], by: int) -> NDArray[np.bool_]:
    """Whether no window in the last of several rounds of a dimension, at any instance, is where one
    in the first round may be. The last of several tiles begins behind the middle.
    """
    along, others = window[by], [each for number, each in enumerate(window) if number != by]
    left = along.size - (2 * along.spread - 1) * along.largest
    if along.spread == 1:
        left = np.maximum(left, along.size / 2)
    found: NDArray[np.bool_] = along.step * left > sum(
        each.step * (each.size - 1) for each in others
    )
    return found


def at_the_end(window: Sequence[Along], by: int) -> Floats:
    """Places of instances that get no help where windows leap over all instances along `by`, at
    least: places less than the leap away from the last of all, of those that are last along all
    dimensions but one.
    """
    along = window[by]
    leap, count = along.step * along.spread * along.smallest, np.full(1, float(along.spread))
    for number, each in enumerate(window):
        if number != by:
            near = np.ceil(leap / (each.step * each.largest))
            count = np.maximum(count, np.minimum(each.spread, near))
    return count


def _apart(one: Along, other: Along) -> Floats:
    """The step of `one` without the divisor that it has in common with that of the other, at
    least.
    """
    step, steps = one.step * one.smallest, other.step * other.largest
    known = (one.smallest == one.largest) & (other.smallest == other.largest)
    common = np.gcd(step.astype(np.int64), steps.astype(np.int64))
    return np.maximum(np.where(known, step / np.maximum(common, 1), np.ceil(step / steps)), 1)


def most_alike(ranks: Sequence[Rank], spread: Mapping[int, int] | Sequence[int]) -> int:
    """Instances whose windows have the same place, at most: of those along one dimension, whatever
    the others, one.
    """
    total = 1
    for rank in ranks:
        along = [spread[dim] for dim, _ in rank]
        total *= prod(along) // max(along)
    return total

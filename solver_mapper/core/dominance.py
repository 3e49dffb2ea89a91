"""Keeping what nothing else equals or beats: the one Pareto filter, of things under any relation
and of rows of figures.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Rows = NDArray[Any]
"""Numbers, or Python integers of any size (dtype object); less is better."""
Positions = NDArray[np.int64]

_CHUNK = 512


def undominated(candidates: Iterable[T], beats: Callable[[T, T], bool]) -> list[T]:
    """The candidates that no other one beats, in their order.

    `beats(one, other)`: `one` is as good in all that counts, a transitive relation. Of candidates
    that beat each other the first is kept, so those that are likely to be kept should come first.
    """
    kept: list[T] = []
    for candidate in candidates:
        if not any(beats(other, candidate) for other in kept):
            kept = [other for other in kept if not beats(candidate, other)]
            kept.append(candidate)
    return kept


def undominated_rows(
    rows: Rows, keys: Positions | None = None, poll: Callable[[], None] | None = None
) -> Positions:
    """Positions of the rows that no other row equals or beats in all columns, in order of the keys
    and then of the columns.

    Args: `rows` (rows x at least 1 column); `keys` (rows x any number): only rows of the same key
    are compared; `poll`, called now and then, which may raise to end the work. Of equal rows the
    first is kept.
    """
    number = np.arange(len(rows))
    if keys is None:
        keys = np.empty((len(rows), 0), dtype=np.int64)
    order = np.lexsort((number, *rows.T[::-1], *keys.T[::-1]))
    keys, rows = keys[order], rows[order]
    changes = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    starts = [0, *changes.tolist(), len(rows)]
    kept = [
        start + _of_sorted(rows[start:end], poll)
        for start, end in itertools.pairwise(starts)
        if end > start
    ]
    result: Positions = order[np.concatenate(kept)] if kept else order
    return result


def some_row_beats(front: Rows, rows: Rows) -> NDArray[np.bool_]:
    """Which of `rows` some row of `front` equals or beats in all columns."""
    result = np.ones((len(rows), len(front)), dtype=bool)
    for one, other in zip(front.T, rows.T, strict=True):
        np.logical_and(result, one[None, :] <= other[:, None], out=result)
    return np.asarray(result.any(axis=1), dtype=np.bool_)


def _of_sorted(rows: Rows, poll: Callable[[], None] | None) -> Positions:
    """The same for rows in the order of their columns, in which no row beats an earlier one."""
    columns = rows.shape[1]
    if columns == 1:
        return np.zeros(1, dtype=np.int64)
    if columns == 2:
        least = np.minimum.accumulate(rows[:, 1])
        return np.flatnonzero(np.concatenate([[True], rows[1:, 1] < least[:-1]]))
    if columns == 3:
        return _of_triples(rows)
    front = rows[:0]
    positions: list[Positions] = []
    for start in range(0, len(rows), _CHUNK):
        if poll is not None:
            poll()
        chunk = rows[start : start + _CHUNK]
        left = ~some_row_beats(front, chunk) if len(front) else np.ones(len(chunk), dtype=bool)
        chunk = chunk[left]
        earlier = np.tri(len(chunk), k=-1, dtype=bool)
        for column in chunk.T:
            earlier &= column[None, :] <= column[:, None]
        alone = np.flatnonzero(~earlier.any(axis=1))
        positions.append(start + np.flatnonzero(left)[alone])
        front = np.vstack([front, chunk[alone]])
    return np.concatenate(positions)


def _of_triples(rows: Rows) -> Positions:
    """A sweep that keeps the staircase of the last two columns so far: a triple on or above it is
    beaten by one that came before, and nothing that comes later beats what is kept.
    """
    rising: list[Any] = []
    falling: list[Any] = []
    kept: list[int] = []
    for number, (width, height) in enumerate(
        zip(rows[:, 1].tolist(), rows[:, 2].tolist(), strict=True)
    ):
        at = bisect_right(rising, width)
        if at and falling[at - 1] <= height:
            continue
        start = end = bisect_left(rising, width)
        while end < len(rising) and falling[end] >= height:
            end += 1
        rising[start:end], falling[start:end] = [width], [height]
        kept.append(number)
    return np.array(kept, dtype=np.int64)

"""Keeping what nothing else equals or beats."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from solver_mapper.solve.fused.stopping import Poll, never
from solver_mapper.solve.fused.terms import Floats

_CHUNK = 512


def front(keys: NDArray[np.int64], columns: Floats, poll: Poll = never) -> NDArray[np.int64]:
    """Positions of the rows that no other row with the same key equals or beats in all columns, in
    order of the keys.

    Args: `keys` (rows x any number), `columns` (rows x at least 1), less is better; `poll`,
    called now and then. Of equal rows the first is kept.
    """
    order = np.lexsort((np.arange(len(columns)), *columns.T[::-1], *keys.T[::-1]))
    keys, columns = keys[order], columns[order]
    changes = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    starts = [0, *changes.tolist(), len(columns)]
    kept = [
        start + _front(columns[start:end], poll)
        for start, end in itertools.pairwise(starts)
        if end > start
    ]
    result: NDArray[np.int64] = order[np.concatenate(kept)] if kept else order
    return result


def _front(columns: Floats, poll: Poll) -> NDArray[np.int64]:
    """The same for rows of one key, sorted by their columns."""
    if columns.shape[1] == 1:
        return np.array([0])
    if columns.shape[1] == 2:
        least = np.minimum.accumulate(columns[:, 1])
        return np.flatnonzero(np.concatenate([[True], columns[1:, 1] < least[:-1]]))
    kept = np.empty((0, columns.shape[1]))
    positions: list[NDArray[np.int64]] = []
    for start in range(0, len(columns), _CHUNK):
        poll()
        chunk = columns[start : start + _CHUNK]
        left = ~beaten(kept, chunk) if len(kept) else np.ones(len(chunk), dtype=bool)
        chunk = chunk[left]
        own = np.tri(len(chunk), k=-1, dtype=bool)
        for column in chunk.T:
            own &= column[None, :] <= column[:, None]
        alone = np.flatnonzero(~own.any(axis=1))
        positions.append(start + np.flatnonzero(left)[alone])
        kept = np.vstack([kept, chunk[alone]])
    return np.concatenate(positions)


def beaten(front_columns: Floats, columns: Floats) -> NDArray[np.bool_]:
    """Which rows some row of the front equals or beats."""
    result = np.ones((len(columns), len(front_columns)), dtype=bool)
    for one, other in zip(front_columns.T, columns.T, strict=True):
        np.logical_and(result, one[None, :] <= other[:, None], out=result)
    return np.asarray(result.any(axis=1), dtype=np.bool_)

"""Bound curves: Pareto fronts of buffer size against accesses, each step with a code that says
where it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver_mapper.deadline import check_time

Ints = NDArray[Any]
"""int64 where every value provably fits, else Python integers in an object array."""

LARGEST = 2**62


@dataclass(frozen=True)
class BoundCurve:
    """`buffers` strictly rise, `accesses` strictly fall. `codes[i]` is the caller's example mapping
    of step i.
    """

    buffers: Ints
    accesses: Ints
    codes: Ints

    def __len__(self) -> int:
        return len(self.buffers)

    def merged(self, buffers: Ints, accesses: Ints, codes: Ints) -> BoundCurve:
        """The bound curve of these points and new ones. Of equal points the earlier stays."""
        check_time()
        fresh = self.better(buffers, accesses)
        if not fresh.any():
            return self
        return strict(
            np.concatenate([self.buffers, buffers[fresh]]),
            np.concatenate([self.accesses, accesses[fresh]]),
            np.concatenate([self.codes, codes[fresh]]),
        )

    def better(self, buffers: Ints, accesses: Ints) -> NDArray[np.bool_]:
        """Which of the given points no step reaches with as small a buffer and as few accesses."""
        if not len(self):
            return np.ones(len(buffers), dtype=bool)
        below = np.searchsorted(self.buffers, buffers, side="right")
        best = self.accesses[np.maximum(below - 1, 0)]
        return np.asarray((below == 0) | (accesses < best), dtype=bool)


EMPTY = BoundCurve(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def strict(buffers: Ints, accesses: Ints, codes: Ints) -> BoundCurve:
    """The bound curve of arbitrary points: those that no other point beats or equals in both
    respects.
    """
    order = (
        np.lexsort((accesses, buffers))
        if buffers.dtype != object
        else np.array(
            sorted(range(len(buffers)), key=lambda i: (buffers[i], accesses[i])), dtype=np.int64
        )
    )
    buffers, accesses, codes = buffers[order], accesses[order], codes[order]
    if not len(buffers):
        return BoundCurve(buffers, accesses, codes)
    lowest = np.minimum.accumulate(accesses)
    keep = np.ones(len(buffers), dtype=bool)
    keep[1:] = accesses[1:] < lowest[:-1]
    return BoundCurve(buffers[keep], accesses[keep], codes[keep])

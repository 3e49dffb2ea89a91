"""How many words a window touches along one rank."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def distinct_sums(terms: Iterable[tuple[int, int]]) -> int:
    """How many different values `sum(coefficient * index)` takes, with each index from 0 up to its
    size. `terms` are pairs of a coefficient and a size.

    Going from the smallest stride to the largest, the values so far lie within `extent` places.
    A stride of at least that many sets copies apart from each other; if the values leave no hole,
    a smaller one makes the interval longer. Only where copies of values with holes overlap are
    they listed.
    """
    strides = sorted((abs(coefficient), size) for coefficient, size in terms if coefficient)
    count = extent = 1
    for stride, size in strides:
        if size == 1:
            continue
        if stride >= extent:
            count *= size
        elif count == extent:
            count += stride * (size - 1)
        else:
            return _listed(strides)
        extent += stride * (size - 1)
    return count


def _listed(strides: list[tuple[int, int]]) -> int:
    values = np.zeros(1, dtype=np.int64)
    for stride, size in strides:
        values = np.unique(np.add.outer(values, stride * np.arange(size, dtype=np.int64)))
    return len(values)

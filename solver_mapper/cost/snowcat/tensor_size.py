"""How many words of a tensor an operation touches at all."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from solver_mapper.core.problem import Tensor, Term


def touched_words(tensor: Tensor, bounds: Mapping[str, int]) -> int:
    """Words that some iteration touches, each counted once. Holes that strides leave do not count.

    Ranks that share no dimension are independent, so counts multiply. A dimension that indexes
    several ranks (a diagonal) ties them; the smallest count that this can leave is then the largest
    count of a single rank.
    """
    counts = [touched_indices(rank, bounds) for rank in tensor.ranks]
    uses = [term.dim for rank in tensor.ranks for term in rank]
    if len(uses) == len(set(uses)):
        return math.prod(counts)
    return max(counts)


def touched_indices(rank: tuple[Term, ...], bounds: Mapping[str, int]) -> int:
    """Distinct values of `sum(coefficient * dim)` over the box `bounds`.

    Every prefix of terms, smallest stride first, is a set of values; as soon as it is an interval
    at least as long as the next stride, the next set is an interval too, which covers the usual
    windows without a list.
    """
    terms = sorted(
        (abs(term.coefficient), bounds[term.dim])
        for term in rank
        if bounds[term.dim] > 1 and term.coefficient
    )
    reach = 1
    for position, (stride, bound) in enumerate(terms):
        if stride > reach:
            return _listed(reach, terms[position:])
        reach += stride * (bound - 1)
    return reach


def _listed(interval: int, terms: list[tuple[int, int]]) -> int:
    """Distinct sums of a value below `interval` and multiples of the strides in `terms`."""
    values = np.zeros(1, dtype=np.int64)
    for stride, bound in terms:
        values = np.unique(np.add.outer(values, stride * np.arange(bound, dtype=np.int64)))
    gaps = np.minimum(np.diff(values), interval)
    return int(gaps.sum()) + interval

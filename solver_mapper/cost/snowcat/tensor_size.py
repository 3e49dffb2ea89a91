"""How many words of a tensor an operation touches at all."""

from __future__ import annotations

import math
from collections.abc import Mapping

from solver_mapper.core.index_sums import distinct_sums
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
    """Distinct values of `sum(coefficient * dim)` over the box `bounds`."""
    return distinct_sums((term.coefficient, bounds[term.dim]) for term in rank)

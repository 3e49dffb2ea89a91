"""The least that any tiling moves."""

from __future__ import annotations

import math

from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.tensors import SAME, Rank, Span, Tensor, padded


def algorithmic_minimum(operator: Operator, alignment: int) -> int:
    """Elements that every tiling moves: each one that is needed once in, each output once out, with
    alignment padding.

    A stride larger than the window skips elements; what no window reads is not counted.
    """
    return sum(needed(operator, tensor, alignment) for tensor in operator.tensors)


def needed(operator: Operator, tensor: Tensor, alignment: int) -> int:
    """Elements of one tensor that its operator touches, the last rank padded."""
    *outer, last = (touched(operator, rank) for rank in tensor.ranks)
    return math.prod(outer) * padded(last, alignment)


def touched(operator: Operator, rank: Rank) -> int:
    """Indices of a rank that some iteration touches."""
    if rank.loop is None or rank.projection == SAME:
        return rank.size
    count, end = 0, 0
    for iteration in range(operator.loops[rank.loop]):
        span = rank.span(Span(iteration, 1))
        count += max(span.stop - max(span.start, end), 0)
        end = max(end, span.stop)
    return count

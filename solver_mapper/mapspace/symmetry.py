"""Dimensions that can trade places without changing any figure, such as the rows and columns of a
square convolution.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.space import Space

Swaps = tuple[tuple[str, str], ...]


def symmetries(space: Space) -> list[Swaps]:
    """Sets of at most two disjoint swaps that map problem and constraints onto themselves, smallest
    first.

    Every mapping then has a twin of equal cost, so one of each pair of twins may be left out.
    """
    bounds = space.problem.bounds
    pairs = [pair for pair in combinations(space.dims, 2) if bounds[pair[0]] == bounds[pair[1]]]
    found: list[Swaps] = []
    for swaps in [(pair,) for pair in pairs] + list(combinations(pairs, 2)):
        names = [dim for pair in swaps for dim in pair]
        covered = any(set(known) <= set(swaps) for known in found)
        if len(set(names)) == len(names) and not covered and _holds(space, swaps):
            found.append(swaps)
    return found


def _holds(space: Space, swaps: Swaps) -> bool:
    other = {a: b for pair in swaps for a, b in (pair, pair[::-1])}
    ordered = {
        dim
        for pairs in (*space.temporal_orders.values(), *space.spatial_orders.values())
        for pair in pairs
        for dim in pair
    }
    if ordered & set(other):
        return False
    for (level, kind, dim), allowed in space.factors.items():
        if dim in other and space.allowed(level, kind, other[dim]) != allowed:
            return False
    for constraint in space.products:
        if {
            (level, kind, other.get(dim, dim)) for level, kind, dim in constraint.loops
        } != constraint.loops:
            return False
    return all(_same(tensor, other) for tensor in space.problem.tensors)


def _same(tensor: Tensor, other: dict[str, str]) -> bool:
    def ranks(rename: dict[str, str]) -> Counter[frozenset[tuple[str, int]]]:
        return Counter(
            frozenset((rename.get(t.dim, t.dim), t.coefficient) for t in rank)
            for rank in tensor.ranks
        )

    return ranks({}) == ranks(other)

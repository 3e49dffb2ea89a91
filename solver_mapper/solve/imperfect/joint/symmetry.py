"""Dimensions that stand for each other."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, prod

from solver_mapper.core.problem import Problem

MOST_ORDERS = 1000
"""Ways to exchange dimensions that are looked at."""


def symmetries(problem: Problem) -> list[list[int]]:
    """All ways to exchange dimensions of equal size that leave each tensor what it is; the one that
    exchanges none is among them.
    """
    sizes = list(problem.bounds.values())
    groups = [[dim for dim, each in enumerate(sizes) if each == size] for size in set(sizes)]
    if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
        return [list(range(len(sizes)))]
    found = []
    for chosen in product(*(permutations(group) for group in groups)):
        order = list(range(len(sizes)))
        for group, exchanged in zip(groups, chosen, strict=True):
            for dim, other in zip(group, exchanged, strict=True):
                order[dim] = other
        if _indexed(problem, order) == _indexed(problem, list(range(len(sizes)))):
            found.append(order)
    return found


def _indexed(problem: Problem, order: list[int]) -> list[list[tuple[tuple[int, int], ...]]]:
    """For each tensor its ranks, in any order, with these dimensions instead of the first ones."""
    dims = list(problem.dims)
    return [
        sorted(
            tuple(sorted((order[dims.index(term.dim)], term.coefficient) for term in rank))
            for rank in tensor.ranks
        )
        for tensor in problem.tensors
    ]

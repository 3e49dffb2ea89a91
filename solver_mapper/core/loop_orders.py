"""What order constraints say, as pairs (inner, outer) of dimensions: the loop over `inner` lies
inside the loop over `outer`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from solver_mapper.core.constraints import (
    Constraint,
    Kind,
    NestingConstraint,
    PermutationConstraint,
)

Pair = tuple[str, str]


def order_of(constraint: Constraint, dims: Collection[str]) -> tuple[Kind, frozenset[Pair]] | None:
    """The kind of loops and the pairs whose order `constraint` fixes, of the problem's `dims`; None
    for a constraint of another sort.

    Where one of the two loops has bound 1 nothing is asked.
    """
    if isinstance(constraint, PermutationConstraint):
        return constraint.kind, ordered_pairs(constraint, dims)
    if isinstance(constraint, NestingConstraint):
        return "temporal", frozenset(
            (inner, outer)
            for inner in constraint.inside
            for outer in constraint.outside
            if inner != outer
        )
    return None


def pairs_at(
    constraints: Iterable[object], level: str, kind: Kind, dims: Collection[str]
) -> frozenset[Pair]:
    """The order that all `constraints` together give the loops of one kind at a level."""
    found: frozenset[Pair] = frozenset()
    for constraint in constraints:
        if isinstance(constraint, Constraint) and constraint.level == level:
            order = order_of(constraint, dims)
            found |= order[1] if order is not None and order[0] == kind else frozenset()
    return found


def ordered_pairs(constraint: PermutationConstraint, dims: Collection[str]) -> frozenset[Pair]:
    """All pairs whose order a permutation fixes."""
    listed = {*constraint.inner, *constraint.outer}
    free = [dim for dim in dims if dim not in listed]
    pairs = {
        (dim, later)
        for index, dim in enumerate(constraint.inner)
        for later in constraint.inner[index + 1 :]
    }
    pairs |= {
        (dim, later)
        for index, dim in enumerate(constraint.outer)
        for later in constraint.outer[index + 1 :]
    }
    pairs |= {(dim, later) for dim in (*constraint.inner, *free) for later in constraint.outer}
    if not constraint.gaps:
        pairs |= {(dim, later) for dim in constraint.inner for later in free}
    return frozenset(pairs)


def inside(dims: Iterable[str], pairs: Collection[Pair]) -> frozenset[str]:
    """`dims` and everything that must lie inside one of them, directly or through others."""
    return _reach(dims, {(outer, inner) for inner, outer in pairs})


def outside(dims: Iterable[str], pairs: Collection[Pair]) -> frozenset[str]:
    """`dims` and everything that must lie outside one of them."""
    return _reach(dims, pairs)


def _reach(dims: Iterable[str], steps: Collection[Pair]) -> frozenset[str]:
    found = set(dims)
    grown = True
    while grown:
        more = {end for start, end in steps if start in found} - found
        found |= more
        grown = bool(more)
    return frozenset(found)

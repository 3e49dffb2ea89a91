"""What order rules say, as pairs (inner, outer) of dimensions: the loop over `inner` lies inside the loop over `outer`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from solver_mapper.spec.constraints import PermutationRule

Pair = tuple[str, str]


def ordered_pairs(rule: PermutationRule, dims: Collection[str]) -> frozenset[Pair]:
    """All pairs whose order the rule fixes, of the problem's `dims`. Where one of the two loops has bound 1 nothing is asked."""
    listed = {*rule.inner, *rule.outer}
    free = [dim for dim in dims if dim not in listed]
    pairs = {(dim, later) for index, dim in enumerate(rule.inner) for later in rule.inner[index + 1:]}
    pairs |= {(dim, later) for index, dim in enumerate(rule.outer) for later in rule.outer[index + 1:]}
    pairs |= {(dim, later) for dim in (*rule.inner, *free) for later in rule.outer}
    if not rule.gaps:
        pairs |= {(dim, later) for dim in rule.inner for later in free}
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

"""What order rules say, as pairs (inner, outer) of dimensions: the loop over `inner` lies inside the loop over `outer`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from solver_mapper.spec.constraints import Kind, NestingRule, PermutationRule, Rule

Pair = tuple[str, str]


def order_of(rule: Rule, dims: Collection[str]) -> tuple[Kind, frozenset[Pair]] | None:
    """The kind of loops and the pairs whose order `rule` fixes, of the problem's `dims`; None for a rule of another sort.

    Where one of the two loops has bound 1 nothing is asked.
    """
    if isinstance(rule, PermutationRule):
        return rule.kind, ordered_pairs(rule, dims)
    if isinstance(rule, NestingRule):
        return "temporal", frozenset((inner, outer) for inner in rule.inside for outer in rule.outside if inner != outer)
    return None


def pairs_at(rules: Iterable[object], level: str, kind: Kind, dims: Collection[str]) -> frozenset[Pair]:
    """The order that all `rules` together give the loops of one kind at a level."""
    found: frozenset[Pair] = frozenset()
    for rule in rules:
        if isinstance(rule, Rule) and rule.level == level:
            order = order_of(rule, dims)
            found |= order[1] if order is not None and order[0] == kind else frozenset()
    return found


def ordered_pairs(rule: PermutationRule, dims: Collection[str]) -> frozenset[Pair]:
    """All pairs whose order a permutation fixes."""
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

"""Which loop orders the constraints of one level allow, checked order by order from the
constraints' meaning.

Loops of bound 1 do not exist: a constraint orders the others among themselves. Positions that a
split refers to are those of a full permutation, loops of bound 1 included, which the user may place
as they like where no constraint names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations

from solver_mapper.core.constraints import NestingConstraint, PermutationConstraint
from solver_mapper.deadline import check_time

FEW = 7
"""Of so many dimensions all permutations are listed once; those of more are gone through."""
Order = tuple[str, ...]
"""Dimensions, innermost first."""


def obeys(order: Sequence[str], constraint: PermutationConstraint | NestingConstraint) -> bool:
    """Whether an order, innermost first, agrees with a constraint."""
    if isinstance(constraint, NestingConstraint):
        return not any(
            out in constraint.outside and within in constraint.inside
            for at, out in enumerate(order)
            for within in order[at + 1 :]
        )
    inner = [dim for dim in constraint.inner if dim in order]
    outer = [dim for dim in constraint.outer if dim in order]
    if list(order[len(order) - len(outer) :]) != outer:
        return False
    if constraint.gaps:
        return [dim for dim in order if dim in inner] == inner
    return list(order[: len(inner)]) == inner


def temporal_orders(
    dims: Sequence[str], constraints: Sequence[PermutationConstraint | NestingConstraint]
) -> list[Order]:
    """All orders of the loops over `dims` that agree with all constraints."""
    return list(_completions(dims, constraints))


def is_temporal_order(
    order: Order,
    dims: Sequence[str],
    constraints: Sequence[PermutationConstraint | NestingConstraint],
) -> bool:
    """Whether `order` is one of `temporal_orders`, of which there may be too many to list."""
    return sorted(order) == sorted(dims) and all(
        obeys(order, constraint) for constraint in constraints
    )


def spatial_orders(
    along_x: Sequence[str],
    along_y: Sequence[str],
    constraints: Sequence[PermutationConstraint | NestingConstraint],
    split: int | None,
    dims: Sequence[str],
) -> list[tuple[Order, Order]]:
    """All orders of the loops along X and along Y, where those along X lie inside.

    With a `split`, loops at positions below it in some full permutation of `dims` that agrees with
    the constraints lie along X.
    """
    return [
        (inner, outer)
        for inner in permutations(along_x)
        for outer in permutations(along_y)
        if _laid_out(inner, outer, constraints, split, dims)
    ]


def is_spatial_order(
    layout: tuple[Order, Order],
    along_x: Sequence[str],
    along_y: Sequence[str],
    constraints: Sequence[PermutationConstraint | NestingConstraint],
    split: int | None,
    dims: Sequence[str],
) -> bool:
    """Whether `layout` is one of `spatial_orders`."""
    inner, outer = layout
    complete = (sorted(inner), sorted(outer)) == (sorted(along_x), sorted(along_y))
    return complete and _laid_out(inner, outer, constraints, split, dims)


def _laid_out(
    inner: Order,
    outer: Order,
    constraints: Sequence[PermutationConstraint | NestingConstraint],
    split: int | None,
    dims: Sequence[str],
) -> bool:
    check_time()
    return all(obeys((*inner, *outer), constraint) for constraint in constraints) and (
        split is None or _splits(inner, outer, tuple(constraints), split, tuple(dims))
    )


@lru_cache(maxsize=4096)
def _splits(
    inner: Order,
    outer: Order,
    constraints: tuple[PermutationConstraint | NestingConstraint, ...],
    split: int,
    dims: Order,
) -> bool:
    """Whether some full permutation that agrees with the constraints splits into these loops."""
    listed = _listed(dims, constraints) if len(dims) <= FEW else _completions(dims, constraints)
    return any(_placed(full, inner, outer, split) for full in listed)


@lru_cache(maxsize=64)
def _listed(
    dims: Order, constraints: tuple[PermutationConstraint | NestingConstraint, ...]
) -> tuple[Order, ...]:
    return tuple(_completions(dims, constraints))


def _completions(
    dims: Sequence[str], constraints: Sequence[PermutationConstraint | NestingConstraint]
) -> Iterator[Order]:
    for full in permutations(dims):
        check_time()
        if all(obeys(full, constraint) for constraint in constraints):
            yield full


def _placed(full: Order, inner: Order, outer: Order, split: int) -> bool:
    """Whether the full permutation has `inner` in its order below the split, and `outer` from there
    on.
    """
    loops = {*inner, *outer}
    return (
        tuple(dim for dim in full[: max(split, 0)] if dim in loops) == inner
        and tuple(dim for dim in full[max(split, 0) :] if dim in loops) == outer
    )

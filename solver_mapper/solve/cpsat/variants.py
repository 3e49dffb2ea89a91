"""Mappings that the decisions of the model do not tell apart, but the exact count of sliding
windows does.

The order of spatial loops along an axis decides who is whose neighbour; the order of temporal loops
behind the decisive ones decides how a window moves when one loop starts over and the next advances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, permutations, product, takewhile
from math import factorial, prod

from solver_mapper.core.loop_orders import Pair
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import shape_of
from solver_mapper.mapspace.space import Space
from solver_mapper.solve.cpsat.networks import beyond_entries

Signature = tuple[object, ...]
Kept = tuple[frozenset[str], ...]
"""For each tensor, the innermost loops that leave it alone."""


def variants(space: Space, mapping: Mapping) -> Iterator[Mapping]:
    """`mapping` and its variants, the given one first."""
    choices = [list(_orders(space, index, level)) for index, level in enumerate(mapping.levels)]
    for chosen in product(*choices):
        yield replace(mapping, levels=chosen)


def some_variants(space: Space, mapping: Mapping, most: int) -> tuple[list[Mapping], bool]:
    """At most so many variants, and whether these are all."""
    found = list(islice(variants(space, mapping), most + 1))
    return found[:most], len(found) <= most


def all_orders(space: Space, mapping: Mapping, most: int) -> list[Mapping] | None:
    """`mapping` with its loops in every order that obeys the constraints; None if there are more
    than `most`.
    """
    choices = [
        [
            replace(level, temporal=tuple(by_dim[dim] for dim in reversed(order)), spatial=spatial)
            for by_dim in ({each.dim: each for each in level.temporal},)
            for order in _allowed(space, index, tuple(reversed(list(by_dim))))
            for spatial in _spatial(space, index, level.spatial)
        ]
        for index, level in enumerate(mapping.levels)
        if _factorial_at_most(level, most)
    ]
    if len(choices) < len(mapping.levels) or prod(map(len, choices)) > most:
        return None
    return [replace(mapping, levels=chosen) for chosen in product(*choices)]


def _factorial_at_most(level: LevelMapping, most: int) -> bool:
    return factorial(len(level.temporal)) * factorial(len(level.spatial)) <= most


def _orders(space: Space, index: int, level: LevelMapping) -> Iterator[LevelMapping]:
    """The level with its loops in other orders, the given ones first."""
    for temporal, spatial in product(
        _temporal(space, index, level.temporal), _spatial(space, index, level.spatial)
    ):
        yield replace(level, temporal=temporal, spatial=spatial)


def _spatial(space: Space, index: int, loops: tuple[Loop, ...]) -> Iterator[tuple[Loop, ...]]:
    pairs = space.spatial_orders.get(index, frozenset())
    by_axis = [[each for each in loops if each.axis == axis] for axis in "YX"]
    for outer, inner in product(permutations(by_axis[0]), permutations(by_axis[1])):
        if _obeys((*outer, *inner), pairs):
            yield (*outer, *inner)


def _temporal(space: Space, index: int, loops: tuple[Loop, ...]) -> Iterator[tuple[Loop, ...]]:
    """One order for each way in which windows can move: of those alike in that, the one that keeps
    most of the other tensors.

    Where networks charge for the way, words from neighbours may cost more than those that are
    fetched anew, and each order counts that keeps anything else.
    """
    sliding = [
        tensor
        for tensor in space.problem.tensors
        if any(c.sliding for c in shape_of(tensor, space.dims).components)
    ]
    charged = beyond_entries(space.architecture)
    if not (sliding or charged) or len(loops) < 2:
        yield loops
        return
    others = [tensor for tensor in space.problem.tensors if tensor not in sliding]
    by_dim, seen = {each.dim: each for each in loops}, dict[Signature, list[Kept]]()
    for order in _by_merit(space, index, tuple(each.dim for each in reversed(loops))):
        better = seen.setdefault(tuple(_signature(space, tensor, order) for tensor in sliding), [])
        kept = tuple(_kept(tensor, order) for tensor in others)
        if kept not in better if charged else not any(_within(kept, each) for each in better):
            better.append(kept)
            yield tuple(by_dim[dim] for dim in reversed(order))


def _by_merit(space: Space, level: int, order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Orders that keep at least what `order` keeps, it first, and then those that keep no more than
    it, the ones that keep most first.

    The model does not tell these from `order`: patterns that keep less are left out
    (`mapspace/order_patterns.py`).
    """
    yield from _similar_orders(space, level, order)
    most = _kept_by_all(space, order)
    lesser = [
        (kept, each)
        for kept, each in (
            (_kept_by_all(space, each), each) for each in _allowed(space, level, order)
        )
        if _within(kept, most)
    ]
    yield from (each for _, each in sorted(lesser, key=lambda pair: -sum(map(len, pair[0]))))


def _similar_orders(space: Space, level: int, order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Orders of the level's temporal loops, innermost first, that obey the constraints and keep at
    least what `order` keeps; it first.
    """
    kept = _kept_by_all(space, order)
    for each in _allowed(space, level, order):
        if _within(kept, _kept_by_all(space, each)):
            yield each


def _allowed(space: Space, level: int, dims: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Orders that obey the constraints, `dims` first if it does."""
    pairs = space.temporal_orders.get(level, frozenset())
    for each in permutations(dims):
        if not any(
            (outer, inner) in pairs for i, inner in enumerate(each) for outer in each[i + 1 :]
        ):
            yield each


def _obeys(loops: tuple[Loop, ...], pairs: frozenset[Pair]) -> bool:
    return not any(
        (outside.dim, inside.dim) in pairs
        for i, outside in enumerate(loops)
        for inside in loops[i + 1 :]
    )


def _kept(tensor: Tensor, order: tuple[str, ...]) -> frozenset[str]:
    """The innermost loops that leave the tensor alone."""
    return frozenset(takewhile(lambda dim: dim not in tensor.dims, order))


def _kept_by_all(space: Space, order: tuple[str, ...]) -> Kept:
    return tuple(_kept(tensor, order) for tensor in space.problem.tensors)


def _within(one: Kept, other: Kept) -> bool:
    return all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def _signature(space: Space, tensor: Tensor, order: tuple[str, ...]) -> Signature:
    """The order as far as the tensor's windows see it: idle loops in a row are a set; past the
    first plain dimension nothing counts.
    """
    plain, seen, idle = shape_of(tensor, space.dims).plain, list[object](), set[str]()
    for dim in order:
        if dim in tensor.dims:
            seen += [frozenset(idle), dim in plain or dim]
            idle = set()
        else:
            idle.add(dim)
        if dim in plain:
            break
    return tuple(seen)

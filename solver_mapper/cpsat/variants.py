"""Mappings that the decisions of the model do not tell apart, but the exact account of sliding windows does.

The order of spatial loops along an axis decides who is whose neighbour; the order of temporal loops behind the decisive ones decides
how a window moves when one loop starts over and the next advances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, permutations, product, takewhile

from solver_mapper.mapping import LevelMapping, Loop, Mapping
from solver_mapper.space.shapes import shape_of
from solver_mapper.space.space import Space
from solver_mapper.spec.ordering import Pair
from solver_mapper.spec.problem import Tensor

Signature = tuple[object, ...]


def variants(space: Space, mapping: Mapping) -> Iterator[Mapping]:
    """`mapping` and its variants, the given one first."""
    choices = [list(_orders(space, index, level)) for index, level in enumerate(mapping.levels)]
    for chosen in product(*choices):
        yield replace(mapping, levels=chosen)


def some_variants(space: Space, mapping: Mapping, most: int) -> tuple[list[Mapping], bool]:
    """At most so many variants, and whether these are all."""
    found = list(islice(variants(space, mapping), most + 1))
    return found[:most], len(found) <= most


def _orders(space: Space, index: int, level: LevelMapping) -> Iterator[LevelMapping]:
    """The level with its loops in other orders, the given ones first."""
    for temporal, spatial in product(_temporal(space, index, level.temporal), _spatial(space, index, level.spatial)):
        yield replace(level, temporal=temporal, spatial=spatial)


def _spatial(space: Space, index: int, loops: tuple[Loop, ...]) -> Iterator[tuple[Loop, ...]]:
    pairs = space.spatial_orders.get(index, frozenset())
    by_axis = [[each for each in loops if each.axis == axis] for axis in "YX"]
    for outer, inner in product(permutations(by_axis[0]), permutations(by_axis[1])):
        if _obeys((*outer, *inner), pairs):
            yield (*outer, *inner)


def _temporal(space: Space, index: int, loops: tuple[Loop, ...]) -> Iterator[tuple[Loop, ...]]:
    """One order for each way in which windows can move, among those that keep what the given one keeps."""
    sliding = [tensor for tensor in space.problem.tensors if any(c.sliding for c in shape_of(tensor, space.dims).components)]
    if not sliding or len(loops) < 2:
        yield loops
        return
    by_dim, seen = {each.dim: each for each in loops}, set[Signature]()
    for order in similar_orders(space, index, tuple(each.dim for each in reversed(loops))):
        signature = tuple(_signature(space, tensor, order) for tensor in sliding)
        if signature not in seen:
            seen.add(signature)
            yield tuple(by_dim[dim] for dim in reversed(order))


def similar_orders(space: Space, level: int, order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Orders of the level's temporal loops, innermost first, that obey the rules and keep at least what `order` keeps; it first."""
    pairs = space.temporal_orders.get(level, frozenset())
    kept = [_kept(tensor, order) for tensor in space.problem.tensors]
    for each in permutations(order):
        same = order[0] not in space.sliding or each[0] == order[0]
        if (same and all(old <= _kept(tensor, each) for old, tensor in zip(kept, space.problem.tensors, strict=True))
                and not any((outer, inner) in pairs for i, inner in enumerate(each) for outer in each[i + 1:])):
            yield each


def _obeys(loops: tuple[Loop, ...], pairs: frozenset[Pair]) -> bool:
    return not any((outside.dim, inside.dim) in pairs for i, outside in enumerate(loops) for inside in loops[i + 1:])


def _kept(tensor: Tensor, order: tuple[str, ...]) -> frozenset[str]:
    """The innermost loops that leave the tensor alone."""
    return frozenset(takewhile(lambda dim: dim not in tensor.dims, order))


def _signature(space: Space, tensor: Tensor, order: tuple[str, ...]) -> Signature:
    """The order as far as the tensor's windows see it: idle loops in a row are a set; past the first plain dimension nothing counts."""
    plain, seen, idle = shape_of(tensor, space.dims).plain, list[object](), set[str]()
    for dim in order:
        if dim in plain:
            break
        if dim in tensor.dims:
            seen += [frozenset(idle), dim]
            idle = set()
        else:
            idle.add(dim)
    return tuple(seen)

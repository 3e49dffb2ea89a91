"""From values of the decision variables to a mapping, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from ortools.sat.python import cp_model

from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.mapspace.order_patterns import Pattern, arrange
from solver_mapper.mapspace.space import Slot, Space
from solver_mapper.solve.cpsat.compile import CompiledSpace

Read = Callable[[cp_model.IntVar], int]
Values = list[tuple[cp_model.IntVar, int]]


def mapping_of(compiled: CompiledSpace, read: Read) -> Mapping:
    """The mapping that variable values stand for. Loops of bound 1 are left out."""
    variables, space = compiled.variables, compiled.variables.space
    bounds: dict[tuple[str, Slot], int] = {}
    for (dim, prime, slot), variable in variables.power.items():
        bounds[dim, slot] = bounds.get((dim, slot), 1) * prime ** read(variable)
    levels = []
    for level, buffer in enumerate(space.architecture.levels):
        chosen = next(k for k, literal in enumerate(variables.pattern[level]) if read(literal))
        levels.append(
            LevelMapping(
                buffer.name,
                _temporal_loops(space, level, space.patterns[level][chosen], bounds),
                _spatial_loops(space, level, bounds),
                frozenset(t for t in space.problem.tensor_names if read(variables.keep[t, level])),
                _flagged(space, "no_temporal_reuse", level),
                _flagged(space, "no_multicast", level),
                _flagged(space, "no_link_transfer", level),
            )
        )
    return Mapping(tuple(levels), space.problem.dims, space.problem.tensor_names)


def _flagged(space: Space, flag: str, level: int) -> frozenset[str]:
    return frozenset(tensor for tensor, where in space.flags.get(flag, ()) if where == level)


def _temporal_loops(
    space: Space,
    level: int,
    pattern: Pattern,
    bounds: dict[tuple[str, Slot], int],
) -> tuple[Loop, ...]:
    """Temporal loops outer to inner, in an order that has the pattern and obeys the constraints."""
    used = [dim for dim in space.dims if bounds.get((dim, Slot(level)), 1) > 1]
    first = [dim for dim in pattern.order if dim in used]
    order = (
        *first,
        *arrange(
            [dim for dim in used if dim not in first], space.temporal_orders.get(level, frozenset())
        ),
    )
    return tuple(loop(dim, bounds[dim, Slot(level)]) for dim in reversed(order))


def _spatial_loops(
    space: Space, level: int, bounds: dict[tuple[str, Slot], int]
) -> tuple[Loop, ...]:
    """Spatial loops outer to inner: Y outside X, each in the order that constraints or else the
    problem give.
    """
    order = []
    for axis in "XY":
        used = [dim for dim in space.dims if bounds.get((dim, Slot(level, axis)), 1) > 1]
        order += [
            loop(d, bounds[d, Slot(level, axis)], axis)
            for d in arrange(used, space.spatial_orders.get(level, frozenset()))
        ]
    return tuple(reversed(order))


def values_of(compiled: CompiledSpace, mapping: Mapping) -> Values | None:
    """Values of the decision variables under which the model sees `mapping`; None if they cannot
    express it.

    Orders that cost the same share a pattern, so `mapping_of` may return a mapping that differs
    from this one in what changes no figure, or that reuses more. Capacities, meshes and constraints
    are left to the exact cost model.
    """
    variables, space = compiled.variables, compiled.variables.space
    bounds: dict[tuple[str, Slot], int] = {}
    for level, each in enumerate(mapping.levels):
        for found in (*each.temporal, *each.spatial):
            key = (found.dim, Slot(level, found.axis))
            if found.bound > 1 and (
                key in bounds or key[1] not in space.slots or not found.perfect
            ):
                return None
            bounds[key] = found.bound
    values: Values = []
    for (dim, prime, slot), variable in variables.power.items():
        values.append((variable, _multiplicity(bounds.get((dim, slot), 1), prime)))
    for level, each in enumerate(mapping.levels):
        chosen = _pattern_of(
            space,
            space.patterns[level],
            [loop.dim for loop in reversed(each.temporal) if loop.bound > 1],
        )
        if chosen is None:
            return None
        values += [
            (literal, int(k == chosen)) for k, literal in enumerate(variables.pattern[level])
        ]
        values += [
            (variables.keep[tensor, level], int(tensor in each.keep))
            for tensor in space.problem.tensor_names
        ]
        values += [
            (variables.on_x[level, loop.dim], int(loop.axis == "X"))
            for loop in each.spatial
            if loop.bound > 1 and (level, loop.dim) in variables.on_x
        ]
    return values


def _multiplicity(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return count


def _pattern_of(space: Space, patterns: tuple[Pattern, ...], order: list[str]) -> int | None:
    """The first pattern that keeps at least what loops in `order` (innermost first) keep."""
    kept = {
        tensor.name: set(takewhile(space.irrelevant(tensor).__contains__, order))
        for tensor in space.problem.tensors
    }
    for k, pattern in enumerate(patterns):
        if pattern.unit.isdisjoint(order) and all(
            dims <= pattern.reused(name) for name, dims in kept.items()
        ):
            return k
    return None

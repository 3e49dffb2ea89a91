"""From values of the decision variables to a mapping, and back."""

from __future__ import annotations

from collections.abc import Callable

from ortools.sat.python import cp_model

from solver_mapper.cpsat.compile import Compiled
from solver_mapper.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.space.orders import OrderRule, Pattern
from solver_mapper.space.space import Slot, Space

Read = Callable[[cp_model.IntVar], int]


def mapping_of(compiled: Compiled, read: Read) -> Mapping:
    """The mapping that variable values stand for. Loops to 1 are left out."""
    variables, space = compiled.variables, compiled.variables.space
    bounds: dict[tuple[str, Slot], int] = {}
    for (dim, prime, slot), variable in variables.power.items():
        bounds[dim, slot] = bounds.get((dim, slot), 1) * prime ** read(variable)
    levels = []
    for level, buffer in enumerate(space.architecture.levels):
        chosen = next(k for k, literal in enumerate(variables.pattern[level]) if read(literal))
        order = complete_order(space, space.patterns[level][chosen], space.temporal_orders.get(level, OrderRule()))
        temporal = [loop(d, bounds[d, Slot(level)]) for d in reversed(order) if bounds.get((d, Slot(level)), 1) > 1]
        levels.append(LevelMapping(
            buffer.name, tuple(temporal), _spatial_loops(space, level, bounds),
            frozenset(t for t in space.problem.tensor_names if read(variables.keep[t, level])),
            _flagged(space, "no_temporal_reuse", level),
            _flagged(space, "no_multicast", level), _flagged(space, "no_link_transfer", level),
        ))
    return Mapping(tuple(levels), space.problem.dims, space.problem.tensor_names)


def _flagged(space: Space, flag: str, level: int) -> frozenset[str]:
    return frozenset(tensor for tensor, where in space.flags.get(flag, ()) if where == level)


def complete_order(space: Space, pattern: Pattern, rule: OrderRule) -> tuple[str, ...]:
    """A full order, innermost first, that begins with a pattern and obeys the rule."""
    listed = [*pattern.order]
    rest = [d for d in space.dims if d not in listed]
    if rule.gaps:
        return _merge_gaps(listed, rest, rule)
    inner = [d for d in rule.inner if d in space.dims]
    outer = [d for d in rule.outer if d in space.dims]
    free = [d for d in listed if d not in inner and d not in outer] + [d for d in rest if d not in inner and d not in outer]
    return (*inner, *free, *outer)


def _merge_gaps(listed: list[str], rest: list[str], rule: OrderRule) -> tuple[str, ...]:
    fixed = [d for d in rule.inner if d in rest]
    return (*listed, *fixed, *[d for d in rest if d not in fixed])


def _spatial_loops(space: Space, level: int, bounds: dict[tuple[str, Slot], int]) -> tuple[Loop, ...]:
    """Spatial loops outer to inner: Y outside X, each in the order that rules or else the problem give."""
    rule = space.spatial_rules.get(level)
    order = list(space.dims)
    if rule is not None:
        inner = [d for d in rule.order.inner if d in space.dims]
        outer = [d for d in rule.order.outer if d in space.dims]
        order = inner + [d for d in order if d not in inner and d not in outer] + outer
    loops = [loop(d, bounds[d, Slot(level, axis)], axis) for axis in "XY" for d in order if bounds.get((d, Slot(level, axis)), 1) > 1]
    return tuple(reversed(loops))

"""From values of the decision variables to a mapping, and back."""

from __future__ import annotations

from collections.abc import Callable

from ortools.sat.python import cp_model

from solver_mapper.cpsat.compile import Compiled
from solver_mapper.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.space.orders import Pattern, arrange
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
        levels.append(LevelMapping(
            buffer.name, _temporal_loops(space, level, space.patterns[level][chosen], bounds), _spatial_loops(space, level, bounds),
            frozenset(t for t in space.problem.tensor_names if read(variables.keep[t, level])),
            _flagged(space, "no_temporal_reuse", level),
            _flagged(space, "no_multicast", level), _flagged(space, "no_link_transfer", level),
        ))
    return Mapping(tuple(levels), space.problem.dims, space.problem.tensor_names)


def _flagged(space: Space, flag: str, level: int) -> frozenset[str]:
    return frozenset(tensor for tensor, where in space.flags.get(flag, ()) if where == level)


def _temporal_loops(space: Space, level: int, pattern: Pattern, bounds: dict[tuple[str, Slot], int]) -> tuple[Loop, ...]:
    """Temporal loops outer to inner, in an order that begins with the pattern and obeys the rules."""
    used = [dim for dim in space.dims if bounds.get((dim, Slot(level)), 1) > 1]
    first = [dim for dim in pattern.order if dim in used]
    rest = arrange([dim for dim in used if dim not in first], space.temporal_orders.get(level, frozenset()))
    return tuple(loop(dim, bounds[dim, Slot(level)]) for dim in reversed((*first, *rest)))


def _spatial_loops(space: Space, level: int, bounds: dict[tuple[str, Slot], int]) -> tuple[Loop, ...]:
    """Spatial loops outer to inner: Y outside X, each in the order that rules or else the problem give."""
    order = []
    for axis in "XY":
        used = [dim for dim in space.dims if bounds.get((dim, Slot(level, axis)), 1) > 1]
        order += [loop(d, bounds[d, Slot(level, axis)], axis) for d in arrange(used, space.spatial_orders.get(level, frozenset()))]
    return tuple(reversed(order))

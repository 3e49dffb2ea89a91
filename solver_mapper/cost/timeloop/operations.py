"""Operations that the compute units are charged for."""

from __future__ import annotations

from solver_mapper.cost.timeloop.shift_automaton import Stream, TimeLoop
from solver_mapper.cost.timeloop.spatial_elements import lay_out
from solver_mapper.cost.timeloop.tiles import Nest


def charged_operations(nest: Nest, macs: int) -> int:
    """Operations of all used compute units, each charged like those below instance 0 of the
    innermost level.

    Equal to `macs` for perfect factors. Residual spatial factors leave some compute units with less
    to do, which this rule (that of Timeloop) ignores: see docs/reference/conventions.md.
    """
    if nest.perfect:
        return macs
    inner = nest.spatial[-1]
    loops = tuple(
        TimeLoop(each.dim, each.bound, each.last, 0, bool(each.axis))
        for each in nest.outside(nest.depth)
    )
    uneven = frozenset(loop.dim for loop in inner if loop.bound != loop.last)
    steps = Stream(loops, lambda flags: ((), ()), uneven, reuse=False, follow_links=False).count()
    positions: set[int] = set()
    operations = 0
    for event, number in steps.items():
        elements = lay_out(inner, (0,) * len(nest.tiles[0]), event.flags)
        positions.update(elements.positions)
        operations += number * len(elements.positions)
    return operations * nest.instances[-1] // len(positions)

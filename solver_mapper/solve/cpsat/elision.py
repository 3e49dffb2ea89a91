"""First reads that need not happen: the distinct words of windows that are written
(docs/explanation/model.md "Reads, fills, updates").

Each word's first update needs no read of an old value. The cost model counts those words by
dividing the whole tensor over the instances, mesh by mesh, and rounding down; here one mesh is
divided by, and rounded up, so the number is never too small.
"""

from __future__ import annotations

import math

from solver_mapper.mapspace.components import RankComponent
from solver_mapper.solve.cpsat.selection import LookupTable, ProductFactor, Tuple
from solver_mapper.solve.cpsat.sliding_windows.table_axes import Layout
from solver_mapper.solve.cpsat.variables import Variables, highest, slots_where


def elided(variables: Variables, component: RankComponent, level: int) -> ProductFactor:
    """A component's factor of the distinct words that all instances of `level` together ever hold,
    at most.
    """
    space = variables.space
    meshes = [outer for outer in range(level) if _spread(variables, component, outer)]
    layout = Layout(variables, component)
    if len(meshes) == 1:
        layout.add("tile", component.dims, slots_where(space, below=meshes[0] + 1))
    for mesh in meshes:
        layout.add(
            f"mesh{mesh}",
            component.dims,
            slots_where(space, temporal=False, below=mesh, above=mesh + 1),
        )
    selection = variables.tables.select(
        layout.axes, None, None, ("elided", component, level), layout.points()
    )
    whole = component.footprint(space.problem.bounds)

    def words(point: Tuple) -> int:
        units = [layout.read(f"mesh{mesh}", point) for mesh in meshes]
        copies = math.prod(factor for each in units for factor in each.values())
        if len(meshes) != 1:
            return whole * copies
        tile = layout.read("tile", point)
        together = {dim: tile[dim] * units[0][dim] for dim in component.dims}
        return -(-whole * component.footprint(tile) // component.footprint(together)) * copies

    return variables.tables.factor(
        LookupTable(selection, tuple(words(point) for point in selection.points))
    )


def _spread(variables: Variables, component: RankComponent, level: int) -> bool:
    """Whether a dimension of the component can be spatial below the level."""
    space = variables.space
    slots = slots_where(space, temporal=False, below=level, above=level + 1)
    return any(
        highest(space, dim, prime, slot)
        for slot in slots
        for dim in component.dims
        for prime, _ in space.primes[dim]
    )

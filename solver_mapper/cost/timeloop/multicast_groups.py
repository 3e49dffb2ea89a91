"""Multicast groups of an evenly filled array in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from solver_mapper.cost.timeloop.projection import Projection
from solver_mapper.cost.timeloop.spatial_elements import Grid, Group, lay_out, multicast_groups
from solver_mapper.cost.timeloop.tiles import PlacedLoop


def even_groups(
    loops: Sequence[PlacedLoop], projection: Projection, multicast: bool, grid: Grid
) -> list[Group]:
    """Groups of all elements of a perfect spatial nest.

    Without a sliding window across two of the loops' dimensions, the groups are a product of what
    happens along X and along Y; if moreover the array fills the grid row by row in step with its
    loops, so are their hops. Otherwise elements are listed.
    """
    mixed = multicast and projection.mixes([loop.dim for loop in loops])
    if mixed or (grid.hops and not fills_rows(loops, grid)):
        elements = lay_out(loops, projection.codes)
        return multicast_groups(elements, range(len(elements.offsets)), multicast, grid)
    shared = alone = 1
    for loop in loops:
        if multicast and not projection.codes[loop.dim]:
            shared *= loop.bound
        else:
            alone *= loop.bound
    return [
        Group(shared, alone, _double_hops(loops, projection, multicast, grid) if grid.hops else 0)
    ]


def _double_hops(
    loops: Sequence[PlacedLoop], projection: Projection, multicast: bool, grid: Grid
) -> int:
    """Twice the hops of one word to every group of an array that fills its rows.

    Along X a group starts at the sum of its fixed loops' positions and reaches over all its free
    (shared) loops; in each of its columns a wire runs up and down from the middle row.
    """
    columns, rows = [0], [0]
    reach = rise = 0
    used_x = used_y = shared_x = 1
    for loop in reversed(loops):
        free = multicast and not projection.codes[loop.dim]
        if loop.axis == "Y":
            if free:
                rise += (loop.bound - 1) * used_y
            else:
                rows = [row + index * used_y for index in range(loop.bound) for row in rows]
            used_y *= loop.bound
        else:
            if free:
                reach += (loop.bound - 1) * used_x
                shared_x *= loop.bound
            else:
                columns = [
                    column + index * used_x for index in range(loop.bound) for column in columns
                ]
            used_x *= loop.bound
    middle = grid.height - 1
    vertical = sum([max(0, middle - 2 * row) + max(0, 2 * (row + rise) - middle) for row in rows])
    horizontal = 2 * (sum(columns) + reach * len(columns))
    return len(rows) * horizontal + len(columns) * shared_x * vertical


def displacements(loops: Sequence[PlacedLoop], projection: Projection, grid: Grid) -> set[int]:
    """Codes by which the data of neighbouring elements differ."""
    offsets = lay_out(loops, projection.codes).offsets
    found = set(map(sub, offsets[grid.width :], offsets)) if grid.height > 1 else set()
    for start in range(0, len(offsets), grid.width):
        row = offsets[start : start + grid.width]
        found.update(map(sub, row[1:], row))
    return found | {-step for step in found}


def fills_rows(loops: Sequence[PlacedLoop], grid: Grid) -> bool:
    """Whether the loops along X number the columns of one row, and the loops along Y, all outside
    them, the rows.
    """
    used_x = 1
    above = False
    for loop in reversed(loops):
        if loop.axis == "Y":
            above = True
        elif above:
            return False
        else:
            used_x *= loop.bound
    return not above or used_x == grid.width

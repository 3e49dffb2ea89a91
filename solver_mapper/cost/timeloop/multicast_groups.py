"""Multicast: spatial elements that want the same words receive them by one access of the level
above.

`multicast_groups` compares listed elements. `even_groups` has the same groups of an evenly filled
array in closed form. `movement.py` counts the words that each group receives, `accesses.py` the
accesses, and `network_energy.py` has the energy of the wires.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from solver_mapper.cost.timeloop.even_mesh import even_mesh
from solver_mapper.cost.timeloop.projection import Projection
from solver_mapper.cost.timeloop.spatial_elements import Elements, Grid
from solver_mapper.cost.timeloop.tiles import PlacedLoop


class MulticastGroup(NamedTuple):
    """`scatter` groups of `multicast` elements; each group receives one copy of every word.

    `double_hops` is twice the wire hops of one word to each of these groups, summed (0 if hops are
    of no interest).
    """

    multicast: int
    scatter: int
    double_hops: int


def multicast_groups(
    elements: Elements, chosen: Iterable[int], multicast: bool, grid: Grid
) -> list[MulticastGroup]:
    """Groups of the `chosen` elements (indices) that want the same words; without `multicast` every
    element stands alone.
    """
    if not grid.hops:
        sizes = (
            Counter(elements.offsets[index] for index in chosen).values()
            if multicast
            else [1 for _ in chosen]
        )
        return [MulticastGroup(size, number, 0) for size, number in sorted(Counter(sizes).items())]
    together: dict[int, list[int]] = defaultdict(list)
    for index in chosen:
        together[elements.offsets[index] if multicast else index].append(elements.positions[index])
    hops: dict[int, list[int]] = defaultdict(list)
    for members in together.values():
        hops[len(members)].append(double_hops(members, grid))
    return [MulticastGroup(size, len(each), sum(each)) for size, each in sorted(hops.items())]


def double_hops(members: Sequence[int], grid: Grid) -> int:
    """Twice the wire hops of one multicast: in at the middle of the left edge, along X as far as
    needed, then up and down.

    Timeloop's rule (nest-analysis.cpp, ComputeAccurateMulticastedAccesses).
    """
    centre = grid.height - 1
    columns: dict[int, tuple[int, int]] = {}
    for position in members:
        row, column = divmod(position, grid.width)
        low, high = columns.get(column, (row, row))
        columns[column] = (min(low, row), max(high, row))
    vertical = sum(
        max(0, centre - 2 * low) + max(0, 2 * high - centre) for low, high in columns.values()
    )
    return 2 * max(columns) + vertical


def even_groups(
    loops: Sequence[PlacedLoop], projection: Projection, multicast: bool, grid: Grid
) -> list[MulticastGroup]:
    """Groups of all elements of a perfect spatial nest.

    Without a sliding window across two of the loops' dimensions, the groups are a product of what
    happens along X and along Y; if moreover the array fills the grid row by row in step with its
    loops, so are their hops. Otherwise elements are listed.
    """
    mixed = multicast and projection.mixes([loop.dim for loop in loops])
    if mixed or (grid.hops and not fills_rows(loops, grid)):
        elements = even_mesh(tuple(loops), projection, grid).elements
        return multicast_groups(elements, range(len(elements.offsets)), multicast, grid)
    shared = alone = 1
    for loop in loops:
        if multicast and not projection.codes[loop.dim]:
            shared *= loop.bound
        else:
            alone *= loop.bound
    return [
        MulticastGroup(
            shared, alone, _double_hops(loops, projection, multicast, grid) if grid.hops else 0
        )
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

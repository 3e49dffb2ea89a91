"""The spatial elements below one instance of a level: their positions on the grid, and who shares a
word with whom.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from solver_mapper.cost.timeloop.tiles import PlacedLoop


class Grid(NamedTuple):
    """The physical X and Y extent on which elements are laid, row by row. `hops`: whether wire hops
    are of interest.
    """

    width: int
    height: int
    hops: bool = True


class Group(NamedTuple):
    """`scatter` groups of `multicast` elements; each group receives one copy of every word.

    `double_hops` is twice the wire hops of one word to each of these groups, summed (0 if hops are
    of no interest).
    """

    multicast: int
    scatter: int
    double_hops: int


class Elements(NamedTuple):
    """The data of the element at linear position `positions[i]` is displaced by the code
    `offsets[i]` from element 0's.
    """

    positions: Sequence[int]
    offsets: Sequence[int]


def lay_out(
    loops: Sequence[PlacedLoop], codes: Sequence[int], final: frozenset[int] = frozenset()
) -> Elements:
    """Elements of a spatial nest, outer loop first. `final`: dimensions whose loops outside are all
    in their last round.
    """
    if not final:
        return _lay_out_evenly(loops, codes)
    compact = _equal_ends(loops, final)
    elements = [(0, 0, final)]
    for loop in loops:
        step = codes[loop.dim] * loop.stride
        grown = []
        for position, offset, flags in elements:
            end = loop.last if loop.dim in flags else loop.bound
            base = position * (end if compact else loop.bound)
            for index in range(end):
                inner = flags if index == end - 1 else flags - {loop.dim}
                grown.append((base + index, offset + index * step, inner))
        elements = grown
    return Elements([e[0] for e in elements], [e[1] for e in elements])


def _lay_out_evenly(loops: Sequence[PlacedLoop], codes: Sequence[int]) -> Elements:
    offsets = [0]
    for loop in loops:
        step = codes[loop.dim] * loop.stride
        moves = range(0, loop.bound * step, step) if step else [0] * loop.bound
        offsets = [offset + move for offset in offsets for move in moves]
    return Elements(range(len(offsets)), offsets)


def _equal_ends(loops: Sequence[PlacedLoop], final: frozenset[int]) -> bool:
    """Whether all elements see the same loop ends; positions then count only the elements that are
    there.
    """
    spread: set[int] = set()
    for loop in loops:
        if loop.dim in final:
            if loop.dim in spread and loop.bound != loop.last:
                return False
            if loop.last > 1:
                spread.add(loop.dim)
    return True


def multicast_groups(
    elements: Elements, chosen: Iterable[int], multicast: bool, grid: Grid
) -> list[Group]:
    """Groups of the `chosen` elements (indices) that want the same words; without `multicast` every
    element stands alone.
    """
    if not grid.hops:
        sizes = (
            Counter(elements.offsets[index] for index in chosen).values()
            if multicast
            else [1 for _ in chosen]
        )
        return [Group(size, number, 0) for size, number in sorted(Counter(sizes).items())]
    together: dict[int, list[int]] = defaultdict(list)
    for index in chosen:
        together[elements.offsets[index] if multicast else index].append(elements.positions[index])
    hops: dict[int, list[int]] = defaultdict(list)
    for members in together.values():
        hops[len(members)].append(double_hops(members, grid))
    return [Group(size, len(each), sum(each)) for size, each in sorted(hops.items())]


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


def linked_elements(now: Elements, before: Elements, step: int, grid: Grid) -> list[int]:
    """Indices of the elements of `now` whose words a neighbour received one step earlier.

    `step` is the code of the shift of element 0's words from then to now. Neighbours are the four
    adjacent positions of the grid.
    """
    earlier = dict(zip(before.positions, before.offsets, strict=True))
    linked = []
    for index, (position, offset) in enumerate(zip(now.positions, now.offsets, strict=True)):
        wanted = offset + step
        if any(earlier.get(near) == wanted for near in neighbours(position, grid)):
            linked.append(index)
    return linked


def neighbours(position: int, grid: Grid) -> list[int]:
    """Positions one step away along X or Y on a grid numbered row by row."""
    row, column = divmod(position, grid.width)
    positions = []
    if row > 0:
        positions.append(position - grid.width)
    if row + 1 < grid.height:
        positions.append(position + grid.width)
    if column > 0:
        positions.append(position - 1)
    if column + 1 < grid.width:
        positions.append(position + 1)
    return positions

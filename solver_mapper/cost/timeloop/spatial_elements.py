"""The spatial elements below one instance of a level: their positions on the grid, the data that
each wants, and the neighbours that may pass it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from solver_mapper.cost.timeloop.tiles import PlacedLoop


class Grid(NamedTuple):
    """The physical X and Y extent on which elements are laid, row by row. `hops`: whether wire hops
    are of interest.
    """

    width: int
    height: int
    hops: bool = True


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


def links(now: Elements, before: Elements, grid: Grid) -> dict[int, list[int]]:
    """By the code of the shift of element 0's words from one step to the next: indices of the
    elements of `now` whose words a neighbour received at that earlier step, laid out as `before`.

    Neighbours are the four adjacent positions of the grid.
    """
    earlier = dict(zip(before.positions, before.offsets, strict=True))
    found: dict[int, list[int]] = {}
    near = _all_neighbours(grid)
    for index, (position, offset) in enumerate(zip(now.positions, now.offsets, strict=True)):
        for step in {earlier[each] - offset for each in near[position] if each in earlier}:
            found.setdefault(step, []).append(index)
    return found


@lru_cache(maxsize=64)
def _all_neighbours(grid: Grid) -> list[list[int]]:
    return [neighbours(position, grid) for position in range(grid.width * grid.height)]


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

"""The spatial elements below one instance of a level: their places on the grid, and who shares a word with whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpatialLoop:
    """One loop over elements: `shift` is how far its data moves per iteration, in words along each rank of the tensor."""

    dim: str
    bound: int
    last: int
    shift: Vector


@dataclass(frozen=True, slots=True)
class Group:
    """`scatter` groups of `multicast` elements, each group receiving one copy of every word; `hops` summed over the groups."""

    multicast: int
    scatter: int
    hops: Fraction


@dataclass(frozen=True)
class Grid:
    """The physical X and Y extent that elements are laid on, row by row."""

    width: int
    height: int


@dataclass(frozen=True)
class Elements:
    """`offsets[i]` is where the data of the element at linear position `positions[i]` lies, relative to element 0."""

    positions: tuple[int, ...]
    offsets: tuple[Vector, ...]
    grid: Grid


def lay_out(loops: tuple[SpatialLoop, ...], final: frozenset[str], ranks: int, grid: Grid) -> Elements:
    """Elements of a spatial nest, outer loop first. `final` names the dimensions whose loops outside are in their last round."""
    uniform = _uniform_ends(loops, final)
    elements: list[tuple[int, Vector, frozenset[str]]] = [(0, (0,) * ranks, final)]
    for loop in loops:
        grown = []
        for position, offset, flags in elements:
            end = loop.last if loop.dim in flags else loop.bound
            base = position * (end if uniform else loop.bound)
            for index in range(end):
                inner = flags if loop.dim not in flags or index == end - 1 else flags - {loop.dim}
                moved = tuple(o + index * s for o, s in zip(offset, loop.shift, strict=True))
                grown.append((base + index, moved, inner))
        elements = grown
    return Elements(tuple(e[0] for e in elements), tuple(e[1] for e in elements), grid)


def _uniform_ends(loops: tuple[SpatialLoop, ...], final: frozenset[str]) -> bool:
    """Whether all elements see the same loop ends. Positions then count the elements that are there."""
    seen: set[str] = set()
    for loop in loops:
        if loop.dim in seen and loop.bound != loop.last and loop.dim in final:
            return False
        seen.add(loop.dim)
    return True


def multicast_groups(elements: Elements, chosen: Iterable[int], multicast: bool) -> tuple[Group, ...]:
    """Groups of the `chosen` elements (indices) that want the same words; without `multicast` every element stands alone."""
    chosen = list(chosen)
    together: dict[object, list[int]] = defaultdict(list)
    for index in chosen:
        together[elements.offsets[index] if multicast else index].append(elements.positions[index])
    sums: dict[int, list[Fraction]] = defaultdict(list)
    for members in together.values():
        sums[len(members)].append(hop_count(members, elements.grid))
    return tuple(Group(size, len(hops), sum(hops, Fraction(0))) for size, hops in sorted(sums.items()))


def hop_count(members: list[int], grid: Grid) -> Fraction:
    """Wire hops of one multicast: in at the middle of the left edge, along the row as far as needed, then up and down.

    Timeloop's rule (nest-analysis.cpp, ComputeAccurateMulticastedAccesses).
    """
    centre = grid.height - 1
    columns: dict[int, tuple[int, int]] = {}
    for position in members:
        column, row = position % grid.width, 2 * (position // grid.width)
        low, high = columns.get(column, (row, row))
        columns[column] = (min(low, row), max(high, row))
    vertical = sum(max(0, centre - low) + max(0, high - centre) for low, high in columns.values())
    return max(columns) + Fraction(vertical, 2)


def linked_elements(now: Elements, before: Elements, step: Vector) -> tuple[int, ...]:
    """Indices of the elements of `now` whose words a neighbour received one step earlier.

    `step` is the shift of element 0's words from then to now. Neighbours are the four adjacent places of the grid.
    """
    width, height = now.grid.width, now.grid.height
    earlier = dict(zip(before.positions, before.offsets, strict=True))
    linked = []
    for index, (position, offset) in enumerate(zip(now.positions, now.offsets, strict=True)):
        column, row = position % width, position // width
        wanted = tuple(o + s for o, s in zip(offset, step, strict=True))
        neighbours = (
            (row > 0, position - width),
            (row + 1 < height, position + width),
            (column > 0, position - 1),
            (column + 1 < width, position + 1),
        )
        if any(there and earlier.get(place) == wanted for there, place in neighbours):
            linked.append(index)
    return tuple(linked)

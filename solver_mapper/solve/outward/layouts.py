"""Compute units and other elements of a mesh, laid out in each order of its loops: which of them
have neighbours that could pass words of sliding windows on, as the cost model has them
(`cost/timeloop/spatial_elements.py`, `multicast_groups.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.inner import Flags, Ints

Vector = tuple[int, ...]
"""Words along each window rank."""


OTHER = -1
"""The rank of loops over dimensions that are not in a window."""
APART, IDLE = 0, 1
"""Their sides: elements at different places share no word, or want the same ones."""
MOST_ELEMENTS = 300_000
"""So many elements of a mesh are laid out: those of an array of 512 x 512, say."""
MANY = 5_000
"""So many words along a rank, or shifts between elements."""
AT_ONCE = 200_000
"""Elements in all orders together that are looked at."""
FEW_VALUES = 100_000
"""Numbers in a range of so many are sorted by a table of them."""
LARGEST = 1 << 60
"""Numbers that tell elements apart are below, so that sums and differences fit 64 bits."""
MOST_ORDERS = 1_000
"""So many orders of the loops of a mesh."""


class Placed(NamedTuple):
    """A spatial loop of a mesh, over dimension `side` of a rank: the words of its elements are
    `step` apart. `inner` elements stand inside it along its axis; 0 if that is not known, and it is
    not the innermost one of an axis of compute units. `rank` is OTHER for a loop over another
    dimension, of which APART or IDLE is the `side`.
    """

    rank: int
    side: int
    step: int
    bound: int
    axis: int = 0
    inner: int = 0


class Grid(NamedTuple):
    """A mesh of which `used` columns and rows are in use, row by row of a grid `width` wide."""

    used: tuple[int, int]
    width: int

    @property
    def filled(self) -> bool:
        """Whether rows are."""
        return self.used[1] == 1 or self.used[0] == self.width

    @property
    def few(self) -> bool:
        """Whether its elements can be looked at one by one."""
        return prod(self.used) <= MOST_ELEMENTS


def extent(loops: tuple[Placed, ...]) -> tuple[int, int]:
    """Columns and rows that the loops use."""
    x, y = (prod(loop.bound for loop in loops if loop.axis == axis) for axis in (0, 1))
    return x, y


def orders(loops: tuple[Placed, ...]) -> list[tuple[Placed, ...]] | None:
    """The loops in each order along their axes, the innermost first if that is known; None if there
    are too many, or numbers that tell the words of elements apart would be too large.
    """
    if _largest_number(loops) >= LARGEST:
        return None
    along = []
    for axis in (0, 1):
        mine = [loop for loop in loops if loop.axis == axis]
        first = [loop for loop in mine if loop.inner == 1]
        free = [loop for loop in mine if loop.inner != 1]
        if factorial(len(free)) > MOST_ORDERS:
            return None
        along.append([(*first, *order) for order in sorted(set(permutations(free)))])
    if prod(map(len, along)) > MOST_ORDERS:
        return None
    return [tuple(_stacked(x)) + tuple(_stacked(y)) for x, y in product(*along)]


def _largest_number(loops: Sequence[Placed]) -> int:
    """Numbers that tell elements apart by place and words are below this (`_radices`, `_codes`)."""
    most: dict[int, int] = defaultdict(int)
    for loop in loops:
        if loop.rank != OTHER:
            most[loop.rank] += abs(loop.step) * (loop.bound - 1)
    places = prod(loop.bound for loop in loops)
    return places**2 * prod(2 * words + 1 for words in most.values())


def _stacked(loops: Iterable[Placed]) -> Iterator[Placed]:
    """The loops of an axis, inner to outer."""
    inner = 1
    for loop in loops:
        yield Placed(*loop[:-1], inner)
        inner *= loop.bound


class Helped(NamedTuple):
    """Which elements neighbours may help.

    words: how many different ones all elements want.
    rest: by the shift, how many different words neighbours do not pass on, if the elements wanted
          those that are so many words further back just before; and how many elements want them
          from the level above.
    """

    words: int
    rest: dict[Vector, tuple[int, int]]


def helped(
    loops: Sequence[tuple[Placed, ...]],
    ranks: int,
    grid: Grid,
    moves: Vector,
    ways: Sequence[tuple[int, ...]],
) -> Iterator[Helped]:
    """For each order of the loops of a mesh, with their places, and where rows are filled, for
    neighbours along these axes alone.

    moves: of what temporal loops move tiles by multiples; there are no other shifts.
    """
    if not grid.filled:
        yield from _in_ragged_rows(loops, ranks, grid, moves)
        return
    for axes, order in product(ways, loops):
        check_time()
        yield _in_filled_rows(order, ranks, grid, moves, axes)


def _in_filled_rows(
    loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector, axes: tuple[int, ...]
) -> Helped:
    radices = _radices(loops, ranks, grid)
    along = [
        _axis(tuple(each for each in loops if each.axis == axis), grid.used[axis], radices[axis])
        for axis in (0, 1)
    ]
    near = [each if axis in axes else each._replace(by_shift={}) for axis, each in enumerate(along)]
    rest = {}
    for shift in {shift for axis in near for shift in axis.by_shift}:
        if _multiple(shift, moves):
            x, y = (axis.left(shift) for axis in near)
            rest[shift] = _different(x, y), len(x) * len(y)
    x, y = (each.codes for each in along)
    return Helped(_different(x, y), rest)


class _Axis(NamedTuple):
    """One axis of a mesh of which rows are filled: what stands along it moves the words of all
    elements alike.

    codes: of each place, numbers whose sums over both axes tell words apart. `by_shift`: which
    places have a neighbour whose words are so many further on.
    """

    codes: Ints
    by_shift: dict[Vector, Flags]

    def left(self, shift: Vector) -> Ints:
        """The codes of places that have no such neighbour."""
        helped = self.by_shift.get(shift)
        return self.codes if helped is None else self.codes[~helped]


def _radices(loops: tuple[Placed, ...], ranks: int, grid: Grid) -> tuple[Vector, Vector]:
    """For each axis, what a word along each rank counts in codes; and what a place along dimensions
    does that share no word.
    """
    most = [0] * ranks
    for loop in loops:
        if loop.rank != OTHER:
            most[loop.rank] += abs(loop.step) * (loop.bound - 1)
    values = [prod(each + 1 for each in most[:rank]) for rank in range(ranks + 1)]
    return tuple(values), (*values[:-1], values[-1] * grid.used[0])


@lru_cache(maxsize=10_000)
def _axis(loops: tuple[Placed, ...], length: int, radices: Vector) -> _Axis:
    place: Ints = np.arange(length, dtype=np.int64)
    words, apart = _along(loops, place, len(radices) - 1)
    codes = words @ np.array(radices[:-1], dtype=np.int64) + apart * radices[-1]
    alike = np.flatnonzero(apart[1:] == apart[:-1])
    steps = words[alike + 1] - words[alike]
    # Twice as much for each further rank: steps may be negative.
    keys = steps @ (np.array(radices[:-1], dtype=np.int64) << np.arange(len(radices) - 1))
    by_shift: dict[Vector, Flags] = {}
    for key, first in zip(*np.unique(keys, return_index=True), strict=True):
        step, pairs = steps[first], alike[keys == key]
        for shift, helped in ((step, pairs), (-step, pairs + 1)):
            found = by_shift.setdefault(tuple(shift.tolist()), np.zeros(length, dtype=bool))
            found[helped] = True
    return _Axis(codes, by_shift)


def _along(loops: Iterable[Placed], place: Ints, ranks: int) -> tuple[Ints, Ints]:
    """How many words loops of one axis move each place along each rank (places, ranks), and which
    places dimensions tell apart that share no word.
    """
    words, apart = np.zeros((len(place), ranks), dtype=np.int64), np.zeros_like(place)
    for loop in loops:
        digit = place // loop.inner % loop.bound
        if loop.rank != OTHER:
            words[:, loop.rank] += loop.step * digit
        elif loop.side == APART:
            apart += digit * loop.inner
    return words, apart


def _different(x: Ints, y: Ints) -> int:
    """How many different sums there are of one of either."""
    return len(np.unique(np.unique(x)[:, None] + np.unique(y)))


class _Codes(NamedTuple):
    """Numbers for what each loop does to the words of an element in one round: sums of them tell
    elements apart that want different words, and differences say by how much.

    radices: of each window rank. `within`: differences of so much at most are words of windows.
    values: of each loop, in the order of `_sorted`. `known`: all sums, in ascending order.
    """

    radices: Vector
    within: int
    values: tuple[int, ...]
    known: Ints

    def shift(self, code: int) -> Vector:
        """The words along each window rank of a difference."""
        found = []
        for radix in self.radices:
            words = (code + radix // 2) % radix - radix // 2
            found.append(words)
            code = (code - words) // radix
        return tuple(found)


def _sorted(loops: Iterable[Placed]) -> list[Placed]:
    """Loops in one order, wherever they stand along their axes."""
    return sorted(loops, key=lambda loop: loop[:-1])


@lru_cache(maxsize=1_000)
def _codes(loops: tuple[Placed, ...], ranks: int) -> _Codes:
    """The codes of loops, which are in the order of `_sorted`."""
    most = [
        sum(loop.step * (loop.bound - 1) for loop in loops if loop.rank == n) for n in range(ranks)
    ]
    radices = [2 * each + 1 for each in most]
    apart, values = prod(radices), []
    known: Ints = np.zeros(1, dtype=np.int64)
    for loop in loops:
        value = loop.step * prod(radices[: loop.rank]) if loop.rank != OTHER else 0
        if (loop.rank, loop.side) == (OTHER, APART):
            value, apart = apart, apart * loop.bound
        values.append(value)
        known = np.unique(known[:, None] + value * np.arange(loop.bound))
    return _Codes(tuple(radices), prod(radices) // 2, tuple(values), known)


def _in_ragged_rows(
    loops: Sequence[tuple[Placed, ...]], ranks: int, grid: Grid, moves: Vector
) -> Iterator[Helped]:
    """Neighbours stand beside each other in rows of the grid, whatever is used of them."""
    elements = prod(grid.used)
    most = max(AT_ONCE // elements, 1)
    for start in range(0, len(loops), most):
        check_time()
        yield from _laid_out(loops[start : start + most], ranks, grid, moves)


def _laid_out(
    loops: Sequence[tuple[Placed, ...]], ranks: int, grid: Grid, moves: Vector
) -> Iterator[Helped]:
    """The same of some orders: arrays are (orders, elements)."""
    ordered = list(map(_sorted, loops))
    codes = _codes(tuple(each._replace(inner=0) for each in ordered[0]), ranks)
    along: list[Ints] = [np.zeros((len(loops), used), dtype=np.int64) for used in grid.used]
    for number, (loop, value) in enumerate(zip(ordered[0], codes.values, strict=True)):
        inner = np.array([[order[number].inner] for order in ordered])
        along[loop.axis] += np.arange(grid.used[loop.axis]) // inner % loop.bound * value
    x, y = along
    code = (x[:, None, :] + y[:, :, None]).reshape(len(loops), -1)
    by_shift: dict[Vector, Flags] = {}
    column = np.arange(code.shape[1]) % grid.width
    for step, possible in ((1, column < grid.width - 1), (grid.width, column >= 0)):
        apart = code[:, step:] - code[:, :-step]
        near = possible[:-step] & (np.abs(apart) <= codes.within)
        for difference in _values(apart[near]):
            shift = codes.shift(difference)
            if not _multiple(shift, moves):
                continue
            pairs = near & (apart == difference)
            back = tuple(-each for each in shift)
            for moved, some in ((shift, slice(None, -step)), (back, slice(step, None))):
                by_shift.setdefault(moved, np.zeros(code.shape, dtype=bool))[:, some] |= pairs
    number_of_words = len(codes.known)
    words = np.searchsorted(codes.known, code)
    words += number_of_words * np.arange(len(loops))[:, None]
    rest = {}
    for shift, served in by_shift.items():
        wanted = np.zeros(number_of_words * len(loops), dtype=bool)
        wanted[words[~served]] = True
        different = wanted.reshape(len(loops), -1).sum(axis=1)
        rest[shift] = zip(different.tolist(), (~served).sum(axis=1).tolist(), strict=True)
    for _ in loops:
        yield Helped(number_of_words, {shift: next(each) for shift, each in rest.items()})


def _values(numbers: Ints) -> list[int]:
    """The different ones, in ascending order."""
    if not len(numbers):
        return []
    least = int(numbers.min())
    if int(numbers.max()) - least > FEW_VALUES:
        return [int(each) for each in np.unique(numbers)]
    there = np.zeros(int(numbers.max()) - least + 1, dtype=bool)
    there[numbers - least] = True
    return [int(each) + least for each in np.flatnonzero(there)]


def _multiple(shift: Vector, moves: Vector) -> bool:
    """Whether a shift is what loops move tiles by, multiples of `moves` along each rank."""
    return not any(step % unit if unit else step for step, unit in zip(shift, moves, strict=True))

"""Elements of a mesh that want the same words of a sliding window, and neighbours that pass words
on, as the cost model has them (`cost/timeloop/spatial_elements.py`, `multicast_groups.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from math import factorial, gcd, prod
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
ANY: Vector = ()
"""Any shift but none at all."""
MANY = 2_000
"""So many elements, words along a rank, or shifts between elements, are looked at one by one."""
FEW_VALUES = 100_000
"""Numbers in a range of so many are sorted by a table of them."""
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
        return prod(self.used) <= MANY


class Link(NamedTuple):
    """What neighbours do when tiles come by `shift`, a displacement between some, or by ANY.

    rest: the share of the different words that they do not pass on, at least.
    fewest, most: the share of the elements that they serve.
    """

    shift: Vector
    rest: float
    fewest: float = 0.0
    most: float = 1.0


Links = tuple[Link, ...]


def _in_units(loops: tuple[Placed, ...], ranks: int) -> tuple[tuple[Placed, ...], Vector]:
    """The loops with steps in units as large as possible along each rank, and these in words."""
    units = tuple(
        gcd(*(loop.step for loop in loops if loop.rank == rank)) or 1 for rank in range(ranks)
    )
    return tuple(loop._replace(step=loop.step // units[loop.rank]) for loop in loops), units


def _times(found: Links, units: Vector) -> Links:
    def in_words(shift: Vector) -> Vector:
        return tuple(step * unit for step, unit in zip(shift, units, strict=True))

    return tuple(
        each if each.shift == ANY else each._replace(shift=in_words(each.shift)) for each in found
    )


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


class _Filled(NamedTuple):
    """Elements in filled rows: neighbours along either axis may help."""

    along: tuple[_Axis, _Axis]
    number: int

    @property
    def shifts(self) -> set[Vector]:
        """Displacements between neighbours."""
        return {shift for axis in self.along for shift in axis.by_shift}

    def rest(self, shift: Vector) -> tuple[int, int]:
        """How many different words neighbours do not pass on, if the elements wanted those that are
        so many words further back just before; and how many elements want them from the level
        above.
        """
        x, y = (axis.left(shift) for axis in self.along)
        return _different(x, y), len(x) * len(y)


class _Ragged(NamedTuple):
    """Elements in rows that are not filled. `words`: of each element, numbered from 0. `by_shift`:
    which elements have a neighbour whose words are so many further on, as loops may move them.
    """

    words: Ints
    by_shift: dict[Vector, Flags]

    @property
    def number(self) -> int:
        """How many different words there are."""
        return int(self.words.max()) + 1

    @property
    def shifts(self) -> set[Vector]:
        """See `_Filled.shifts`."""
        return set(self.by_shift)

    def rest(self, shift: Vector) -> tuple[int, int]:
        """See `_Filled.rest`."""
        rest = self.words[~self.by_shift[shift]]
        return int(np.count_nonzero(np.bincount(rest, minlength=1))), len(rest)


def _helped(
    loops: tuple[Placed, ...],
    ranks: int,
    grid: Grid,
    moves: Vector,
    axes: tuple[int, ...] = (0, 1),
) -> _Filled | _Ragged:
    """Which elements neighbours may help; along the `axes`, where rows are filled. `loops`: all of
    the mesh, with their places.
    """
    if not grid.filled:
        return _ragged(loops, ranks, grid, moves)
    radices = _radices(loops, ranks, grid)
    x, y = (
        _axis(tuple(each for each in loops if each.axis == axis), grid.used[axis], radices[axis])
        for axis in (0, 1)
    )
    near = x if 0 in axes else x._replace(by_shift={}), y if 1 in axes else y._replace(by_shift={})
    return _Filled(near, _different(x.codes, y.codes))


def _radices(loops: tuple[Placed, ...], ranks: int, grid: Grid) -> tuple[Vector, Vector]:
    """For each axis, what a word along each rank counts in codes; and what a place along dimensions
    does that share no word.
    """
    most = [0] * ranks
    for loop in loops:
        if loop.rank != OTHER:
            most[loop.rank] += loop.step * (loop.bound - 1)
    values = [prod(each + 1 for each in most[:rank]) for rank in range(ranks + 1)]
    return tuple(values), (*values[:-1], values[-1] * grid.used[0])


@lru_cache(maxsize=10_000)
def _axis(loops: tuple[Placed, ...], length: int, radices: Vector) -> _Axis:
    place: Ints = np.arange(length, dtype=np.int64)
    words, apart = _along(loops, place, len(radices) - 1)
    codes = words @ np.array(radices[:-1], dtype=np.int64) + apart * radices[-1]
    by_shift: dict[Vector, Flags] = {}
    alike = np.flatnonzero(apart[1:] == apart[:-1])
    for one, other in ((alike, alike + 1), (alike + 1, alike)):
        for element, shift in zip(one, map(tuple, words[other] - words[one]), strict=True):
            by_shift.setdefault(shift, np.zeros(length, dtype=bool))[element] = True
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
    return sorted(loops, key=lambda loop: loop._replace(inner=0))


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


def _ragged(loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector) -> _Ragged:
    ordered = _sorted(loops)
    codes = _codes(tuple(each._replace(inner=0) for each in ordered), ranks)
    places = [np.arange(used, dtype=np.int64) for used in grid.used]
    x, y = (np.zeros_like(each) for each in places)
    for loop, value in zip(ordered, codes.values, strict=True):
        (x, y)[loop.axis][:] += places[loop.axis] // loop.inner % loop.bound * value
    code = (x + y[:, None]).reshape(-1)
    number = np.arange(len(code))
    by_shift: dict[Vector, Flags] = {}
    for step, possible in ((1, number % grid.width < grid.width - 1), (grid.width, number >= 0)):
        apart = code[step:] - code[:-step]
        near = possible[:-step] & (np.abs(apart) <= codes.within)
        for difference in _values(apart[near]):
            shift = codes.shift(difference)
            if not _multiple(shift, moves):
                continue
            one = np.flatnonzero(near & (apart == difference))
            for element, moved in ((one, shift), (one + step, tuple(-each for each in shift))):
                flags = by_shift.setdefault(moved, np.zeros(len(number), dtype=bool))
                flags[element] = True
    return _Ragged(np.searchsorted(codes.known, code), by_shift)


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


class Sharing(NamedTuple):
    """What the loops of a mesh share, in the best of their orders.

    sent: how many times as many words the mesh gets as one of its elements, by the loops over
          dimensions of windows, and idle ones that are given. `always`: whether that is so in all
          orders, and whatever neighbours do.
    links: by how much the words of neighbours differ, and what these do then. `certain`: whether
           they do so in all orders.
    """

    sent: float
    links: Links
    always: bool = False
    certain: bool = False


@lru_cache(maxsize=100_000)
def least_sharing(
    loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector | None = None
) -> Sharing:
    """The least over all orders of the loops along each axis, but for innermost ones that are
    known; and the most and the fewest elements that neighbours serve if all loops are given.

    Where rows are filled, loops over dimensions that are not in a window may be left out. They may
    as well stand outside the others: elsewhere, fewer elements have neighbours along this axis that
    agree in all other loops, and no more words are passed on to all who want them than without any
    neighbours along it.

    A mesh above one whose level holds nothing sends so many words as those of its own elements that
    neighbours do not serve want, over their number (`cost/timeloop/accesses.py`, `bypass`).

    moves: in words along each rank, of what temporal loops move tiles by multiples; 0 if they do
           not. Any number of words, if nothing is given.
    """
    small, units = _in_units(loops, ranks)
    moves = moves or (1,) * ranks
    in_units = tuple(step // gcd(step, unit) for step, unit in zip(moves, units, strict=True))
    found = _least_sharing(small, ranks, grid, in_units)
    return found._replace(links=_times(found.links, units))


@lru_cache(maxsize=10_000)
def _least_sharing(loops: tuple[Placed, ...], ranks: int, grid: Grid, moves: Vector) -> Sharing:
    extent = _extent(loops)
    ways: list[tuple[int, ...]] = [(0, 1)]
    known = grid.used == extent
    if not known and grid.filled:
        grid, ways = Grid(extent, extent[0]), [(), (0,), (1,), (0, 1)]
    orders = _orders(loops)
    if orders is None or not (grid.filled or grid.few):
        return Sharing(fewest_sent(loops, ranks), all_links(loops, ranks))
    found: dict[Vector, list[Link]] = defaultdict(list)
    ratios, looked = set[float](), 0
    for axes, order in product(ways, orders):
        check_time()
        helped, looked = _helped(order, ranks, grid, moves, axes), looked + 1
        words, elements = helped.number, prod(grid.used)
        ratios.add(words / elements)
        for shift in helped.shifts:
            if not _multiple(shift, moves):
                continue
            left, who = helped.rest(shift)
            if left < words:
                served = 1 - who / elements
                found[shift].append(Link(shift, left / words, served, served))
            if 0 < left < words:
                ratios.add(left / who)
    near = []
    for shift, some in sorted(found.items()):
        link = Link(shift, min(one.rest for one in some))
        if known:
            always = len(some) == looked
            fewest = min(one.fewest for one in some) if always else 0.0
            link = link._replace(fewest=fewest, most=max(one.most for one in some))
        near.append(link)
    sharing = prod(loop.bound for loop in loops if (loop.rank, loop.side) != (OTHER, APART))
    return Sharing(
        min(ratios) * sharing,
        tuple(near),
        always=known and len(ratios) == 1,
        certain=known
        and all(len(some) == looked == some.count(some[0]) for some in found.values()),
    )


def _orders(loops: tuple[Placed, ...]) -> list[tuple[Placed, ...]] | None:
    """The loops in each order along their axes, the innermost first if that is known; None if there
    are too many.
    """
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


def _stacked(loops: Iterable[Placed]) -> Iterator[Placed]:
    """The loops of an axis, inner to outer."""
    inner = 1
    for loop in loops:
        yield loop._replace(inner=inner)
        inner *= loop.bound


def _extent(loops: tuple[Placed, ...]) -> tuple[int, int]:
    """Columns and rows that the loops use."""
    x, y = (prod(loop.bound for loop in loops if loop.axis == axis) for axis in (0, 1))
    return x, y


class _Wanted(NamedTuple):
    """What elements of a mesh want along one window rank: different `words`, and in how many
    elements each occurs, apart from other ranks.
    """

    words: Ints
    often: Ints

    def served(self) -> dict[int, int]:
        """By the shift: of how many words the ones so many further on are there as well."""
        apart = self.words[None, :] - self.words[:, None]
        shifts, number = np.unique(apart, return_counts=True)
        return dict(zip(shifts.tolist(), number.tolist(), strict=True))


def _wanted(loops: tuple[Placed, ...], rank: int) -> _Wanted:
    words: Ints = np.zeros(1, dtype=np.int64)
    often: Ints = np.ones(1, dtype=np.int64)
    for loop in loops:
        if loop.rank == rank:
            moved = words[:, None] + loop.step * np.arange(loop.bound)
            words, where = np.unique(moved, return_inverse=True)
            grown = np.repeat(often, loop.bound)
            often = np.bincount(where.reshape(-1), weights=grown).astype(np.int64)
    return _Wanted(words, often)


def all_links(loops: tuple[Placed, ...], ranks: int) -> Links:
    """What `links` could be at least, if all elements were neighbours."""
    small, units = _in_units(loops, ranks)
    return _times(_all_links(small, ranks), units)


@lru_cache(maxsize=10_000)
def _all_links(loops: tuple[Placed, ...], ranks: int) -> Links:
    wanted = [_wanted(loops, rank) for rank in range(ranks)]
    number = prod(len(each.words) for each in wanted)
    once = prod(int((each.often == 1).sum()) for each in wanted)
    if any((loop.rank, loop.side) == (OTHER, IDLE) for loop in loops):
        once = 0
    stays = [Link((0,) * ranks, once / number)] if once < number else []
    if max(len(each.words) for each in wanted) > MANY:
        return (*stays, Link(ANY, 0.0))
    served = [each.served() for each in wanted]
    if prod(map(len, served)) > MANY:
        return (*stays, Link(ANY, 1 - _most_served(served) / number))
    moves = [
        Link(shift, 1 - prod(some[step] for some, step in zip(served, shift, strict=True)) / number)
        for shift in product(*served)
        if any(shift)
    ]
    return tuple(sorted([*stays, *moves]))


def least_rest(loops: tuple[Placed, ...], ranks: int) -> float:
    """The least `rest` of all links, if all elements were neighbours; 1 if there are none."""
    return _least_rest(_in_units(loops, ranks)[0], ranks)


@lru_cache(maxsize=10_000)
def _least_rest(loops: tuple[Placed, ...], ranks: int) -> float:
    wanted = [_wanted(loops, rank) for rank in range(ranks)]
    number = prod(len(each.words) for each in wanted)
    if max(len(each.words) for each in wanted) > MANY:
        return 0.0
    idle = any((loop.rank, loop.side) == (OTHER, IDLE) for loop in loops)
    once = 0 if idle else prod(int((each.often == 1).sum()) for each in wanted)
    return min(once, number - _most_served([each.served() for each in wanted])) / number


def _most_served(served: Sequence[dict[int, int]]) -> int:
    """For how many words at most the ones further on by any one shift are there as well."""
    number = prod(each[0] for each in served)
    return max(
        max((times for step, times in each.items() if step), default=0) * (number // each[0])
        for each in served
    )


def fewest_sent(loops: tuple[Placed, ...], ranks: int) -> float:
    """How many times as many words as one element the mesh gets at least, if any elements were
    neighbours: those that many elements want are left. A tile that stays brings no words.
    """
    return _fewest_sent(_in_units(loops, ranks)[0], ranks)


@lru_cache(maxsize=10_000)
def _fewest_sent(loops: tuple[Placed, ...], ranks: int) -> float:
    wanted = [_wanted(loops, rank) for rank in range(ranks)]
    often: Ints = np.ones(1, dtype=np.int64)
    for each in wanted:
        often = (often[:, None] * each.often).reshape(-1)
    number, elements = len(often), int(often.sum())
    if max(len(each.words) for each in wanted) > MANY:
        served = number - 1
    else:
        served = _most_served([each.served() for each in wanted])
    # What the fewest elements want is passed on first.
    gone = np.concatenate([[0], np.cumsum(np.sort(often))])[: served + 1]
    left = number - np.arange(served + 1)
    return float((left / (elements - gone)).min() * elements)


@lru_cache(maxsize=10_000)
def sent_words(loops: tuple[Placed, ...], exact: bool) -> float:
    """How many times as many words a mesh gets as one of its elements, by its loops over one window
    rank: different sums of their places; or at least, if not `exact`.
    """
    often = _wanted(tuple(loop._replace(rank=0) for loop in loops), 0).often
    return float(len(often) if exact else often.sum() / often.max())

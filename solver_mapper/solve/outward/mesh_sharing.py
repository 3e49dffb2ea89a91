"""Elements of a mesh that want the same words of a sliding window, and neighbours that pass words
on, as the cost model has them (`cost/timeloop/spatial_elements.py`, `multicast_groups.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations, product
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.inner import Flags, Ints

Vector = tuple[int, ...]
"""Words along each window rank."""


OTHER = -1
"""The rank of loops over dimensions that are not in a window."""


class Placed(NamedTuple):
    """A spatial loop of a mesh, over dimension `side` of a rank: the words of its elements are
    `step` apart. Above compute units `inner` elements stand inside it along its axis; elsewhere it
    may stand anywhere along it (0). `rank` is OTHER for a loop over another dimension.
    """

    rank: int
    side: int
    step: int
    bound: int
    axis: int = 0
    inner: int = 0


class Grid(NamedTuple):
    """A mesh of which `used` columns and rows are in use, row by row of a grid of `width` columns.

    one_fixed: whether all loops that are not over a dimension of a window are over one dimension,
               along which tiles share no word.
    """

    used: tuple[int, int]
    width: int
    one_fixed: bool

    @property
    def filled(self) -> bool:
        """Whether rows are."""
        return self.used[1] == 1 or self.used[0] == self.width

    @property
    def ragged(self) -> bool:
        """Whether elements of one column do not stand in one column of the grid."""
        return self.used[1] > 1 and self.width % self.used[0] > 0


class _Help(NamedTuple):
    """words: of each element, as numbers. `by_shift`: which elements have a neighbour that had the
    words that they want, if these are so many words further on.
    """

    words: Ints
    by_shift: dict[Vector, Flags]

    def rest(self, shift: Vector, *, all_have: bool) -> tuple[int, int]:
        """How many different words neighbours do not pass on, and how many elements want them from
        the level above. Words are passed on if all elements that want them have such a neighbour,
        or if one has, unless `all_have`.
        """
        helped = self.by_shift[shift]
        rest = self.words[~helped]
        if not all_have:
            rest = rest[~np.isin(rest, self.words[helped])]
        return len(np.unique(rest)), len(rest)


class Link(NamedTuple):
    """What neighbours do when tiles come by `shift`, a displacement between some.

    rest: the share of the different words that they do not pass on, at least.
    fewest, most: the share of the elements that they serve.
    """

    shift: Vector
    rest: float
    fewest: float = 0.0
    most: float = 1.0


Links = tuple[Link, ...]


def links(loops: tuple[Placed, ...], ranks: int, grid: Grid) -> Links:
    """The displacements between neighbours on the mesh of the compute units, and for each what the
    neighbours do.

    Elements count as neighbours only if they agree in all loops but `loops`, unless rows are ragged
    and there may be loops that leave the words alone. Words count as passed on if all elements that
    want them have such a neighbour; where rows are not filled, if one has.
    """
    small, units = _in_units(loops, ranks)
    return _times(_links(small, ranks, grid), units)


def _in_units(loops: tuple[Placed, ...], ranks: int) -> tuple[tuple[Placed, ...], Vector]:
    """The loops with steps in units as large as possible along each rank, and these in words."""
    units = tuple(
        gcd(*(loop.step for loop in loops if loop.rank == rank)) or 1 for rank in range(ranks)
    )
    return tuple(loop._replace(step=loop.step // units[loop.rank]) for loop in loops), units


def _times(found: Links, units: Vector) -> Links:
    def in_words(shift: Vector) -> Vector:
        return tuple(step * unit for step, unit in zip(shift, units, strict=True))

    return tuple(each._replace(shift=in_words(each.shift)) for each in found)


@lru_cache(maxsize=10_000)
def _links(loops: tuple[Placed, ...], ranks: int, grid: Grid) -> Links:
    helped = _helped(loops, ranks, grid)
    number = len(np.unique(helped.words))
    exact = grid.filled or grid.one_fixed
    found = [Link(s, helped.rest(s, all_have=exact)[0] / number) for s in sorted(helped.by_shift)]
    return tuple(each for each in found if each.rest < 1)


def _helped(
    loops: tuple[Placed, ...], ranks: int, grid: Grid, axes: tuple[int, ...] = (0, 1)
) -> _Help:
    """Which elements neighbours along the `axes` may help."""
    number = np.arange(grid.used[0] * grid.used[1])
    place = np.stack([number % grid.used[0], number // grid.used[0]])
    others = place.copy()
    words = np.zeros((len(number), ranks), dtype=np.int64)
    for loop in loops:
        digit = place[loop.axis] // loop.inner % loop.bound
        if loop.rank != OTHER:
            words[:, loop.rank] += loop.step * digit
            others[loop.axis] -= digit * loop.inner
    alike = not grid.ragged or grid.one_fixed
    pairs = []
    for axis in axes:
        apart, possible = ((1, number % grid.width < grid.width - 1), (grid.width, number >= 0))[
            axis
        ]
        near = number[possible & (number + apart < len(number))]
        if alike:
            near = near[(others[:, near] == others[:, near + apart]).all(axis=0)]
        pairs += [(near, near + apart), (near + apart, near)]
    code = _code(words, 2 * words.max(axis=0) + 1)
    by_shift: dict[Vector, Flags] = {}
    for one, other in pairs:
        _, first, where = np.unique(code[other] - code[one], return_index=True, return_inverse=True)
        shifts = words[other[first]] - words[one[first]]
        for kind, shift in enumerate(map(tuple, shifts.tolist())):
            flags = by_shift.setdefault(shift, np.zeros(len(number), dtype=bool))
            flags[one[where == kind]] = True
    if grid.one_fixed:
        code = _code(np.column_stack([code, *others]), np.array([1, *grid.used]))
    return _Help(np.unique(code, return_inverse=True)[1], by_shift)


def _code(columns: Ints, radices: Ints) -> Ints:
    """A number for each row, of which the first column may be any and others are below theirs."""
    number = columns[:, 0]
    for column, radix in zip(columns.T[1:], radices[1:], strict=True):
        number = number * radix + column
    return np.asarray(number)


class Sharing(NamedTuple):
    """What the loops of a mesh share, wherever they stand along their axes, at least.

    sent: how many times as many words the mesh gets as one of its elements, by these loops.
    `links`: as the function of this name gives them.
    """

    sent: float
    links: Links


def least_sharing(loops: tuple[Placed, ...], ranks: int, grid: Grid) -> Sharing:
    """The least over all orders of the loops along each axis, and the most and the fewest elements
    that neighbours serve if the mesh has no other loops, or all these are over one fixed dimension.

    Where rows are filled, loops over other dimensions may as well stand outside these: elsewhere,
    fewer elements have neighbours along this axis that agree in all other loops, and no more words
    are passed on to all who want them than without any neighbours along it.

    A mesh above one whose level holds nothing sends so many words as those of its own elements that
    neighbours do not serve want, over their number (`cost/timeloop/accesses.py`, `bypass`).
    """
    small, units = _in_units(loops, ranks)
    found = _least_sharing(small, ranks, grid)
    return found._replace(links=_times(found.links, units))


@lru_cache(maxsize=10_000)
def _least_sharing(loops: tuple[Placed, ...], ranks: int, grid: Grid) -> Sharing:
    extent = _extent(loops)
    ways: list[tuple[int, ...]] = [(0, 1)]
    known = grid.used == extent or grid.one_fixed
    if not known:
        if not grid.filled:
            return Sharing(fewest_sent(loops, ranks), all_links(loops, ranks))
        grid = Grid(extent, extent[0], one_fixed=True)
        ways = [(), (0,), (1,), (0, 1)]
    found: dict[Vector, list[Link]] = defaultdict(list)
    each, orders = 1.0, 0
    for axes in ways:
        for order in _orders(loops, grid.used):
            helped, orders = _helped(order, ranks, grid, axes), orders + 1
            words, elements = len(np.unique(helped.words)), len(helped.words)
            each = min(each, words / elements)
            for shift in helped.by_shift:
                left, who = helped.rest(shift, all_have=True)
                if left < words:
                    served = 1 - who / elements
                    found[shift].append(Link(shift, left / words, served, served))
                if 0 < left < words:
                    each = min(each, left / who)
    near = []
    for shift, some in sorted(found.items()):
        link = Link(shift, min(one.rest for one in some))
        if known:
            always = len(some) == orders
            fewest = min(one.fewest for one in some) if always else 0.0
            link = link._replace(fewest=fewest, most=max(one.most for one in some))
        near.append(link)
    return Sharing(each * prod(extent), tuple(near))


def _orders(loops: tuple[Placed, ...], used: tuple[int, int]) -> Iterator[tuple[Placed, ...]]:
    """The loops in each order along their axes, among one over another dimension that takes what
    else is in use there.
    """
    along = []
    for axis, extent in enumerate(_extent(loops)):
        mine = [loop for loop in loops if loop.axis == axis]
        rest = used[axis] // extent
        along.append([*mine, *([Placed(OTHER, 0, 0, rest, axis)] if rest > 1 else [])])
    for orders in product(*map(permutations, along)):
        yield tuple(loop for order in orders for loop in _stacked(order))


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
    """words: the displacements that occur among a mesh's elements, (words, ranks). `often`: in how
    many elements each one does. `code`: a number for each, so that differences tell shifts apart.
    """

    words: Ints
    often: Ints
    code: Ints

    def elsewhere(self) -> tuple[Ints, Ints, Ints]:
        """All pairs of words of different elements: the shift from one to the other as a number,
        which the one is, and which the other, by shift and by how often the one occurs.
        """
        here, there = np.nonzero((self.often[:, None] > 1) | ~np.eye(len(self.code), dtype=bool))
        shift = self.code[there] - self.code[here]
        order = np.lexsort((self.often[here], shift))
        return shift[order], here[order], there[order]


def _wanted(loops: tuple[Placed, ...], ranks: int) -> _Wanted:
    bounds = [loop.bound for loop in loops]
    places = np.indices(bounds).reshape(len(loops), prod(bounds))
    words = np.zeros((places.shape[1], ranks), dtype=np.int64)
    for loop, place in zip(loops, places, strict=True):
        words[:, loop.rank] += loop.step * place
    code = _code(words, 2 * words.max(axis=0) + 1)
    code, first, often = np.unique(code, return_index=True, return_counts=True)
    return _Wanted(words[first], often, code)


def all_links(loops: tuple[Placed, ...], ranks: int) -> Links:
    """What `links` could be at least, if all elements were neighbours."""
    small, units = _in_units(loops, ranks)
    return _times(_all_links(small, ranks), units)


@lru_cache(maxsize=10_000)
def _all_links(loops: tuple[Placed, ...], ranks: int) -> Links:
    wanted = _wanted(loops, ranks)
    shifts, here, there = wanted.elsewhere()
    _, first, served = np.unique(shifts, return_index=True, return_counts=True)
    vectors = wanted.words[there[first]] - wanted.words[here[first]]
    rests = 1 - served / len(wanted.words)
    return tuple(sorted(map(Link, map(tuple, vectors.tolist()), rests.tolist())))


def fewest_sent(loops: tuple[Placed, ...], ranks: int) -> float:
    """How many times as many words as one element the mesh gets at least, if any elements were
    neighbours: those that many elements want are left. A tile that stays brings no words.
    """
    return _fewest_sent(_in_units(loops, ranks)[0], ranks)


@lru_cache(maxsize=10_000)
def _fewest_sent(loops: tuple[Placed, ...], ranks: int) -> float:
    wanted = _wanted(loops, ranks)
    number, elements = len(wanted.words), int(wanted.often.sum())
    least = number / elements
    shifts, here, _ = wanted.elsewhere()
    moves = shifts != 0
    shifts, often = shifts[moves], wanted.often[here[moves]]
    if len(shifts):
        starts = np.flatnonzero(np.concatenate([[True], shifts[1:] != shifts[:-1]]))
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(shifts))))
        total = np.cumsum(often)
        gone = total - (total - often)[starts][group]
        left = number - 1 - (np.arange(len(shifts)) - starts[group])
        some = left > 0
        least = min(least, float((left[some] / (elements - gone[some])).min(initial=np.inf)))
    return least * elements


@lru_cache(maxsize=10_000)
def sent_words(loops: tuple[Placed, ...], exact: bool) -> float:
    """How many times as many words a mesh gets as one of its elements, by its loops over one window
    rank: different sums of their places; or at least, if not `exact`.
    """
    often = _wanted(tuple(loop._replace(rank=0) for loop in loops), 1).often
    return float(len(often) if exact else often.sum() / often.max())

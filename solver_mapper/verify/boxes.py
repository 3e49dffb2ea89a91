"""Boxes of mappings, and how decisions split them: what an optimality certificate is about.

A specification is put into whole numbers here: loop slots, the factorizations of each dimension,
tensors, energies, choices of levels that store a tensor. Nothing here is shared with the CP-SAT
engine.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, pairwise, permutations, product
from math import lcm, prod
from operator import mul
from typing import Any, NamedTuple

from solver_mapper.core import constraints as rules
from solver_mapper.core.loop_orders import pairs_at
from solver_mapper.core.mapping import Loop, Mapping, loop
from solver_mapper.core.primes import divisors
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.energy import leakage
from solver_mapper.verify.certificate_format import assembled

Pairs = list[tuple[int, int]]
NONE = -1
"""Stands for the innermost loop of a level without temporal loops."""
MOST_TILES = 4000
"""Combinations of extents that are looked at one by one; above that, room is not considered."""


@dataclass(frozen=True, eq=False)
class BoxTensor:
    """`own` dimensions move its tiles, `free` ones do not. `plain`: each rank is a dimension of its
    own; `window`: some rank has several. `words`: different words, at least."""

    name: str
    written: bool
    ranks: tuple[dict[int, int], ...]
    own: frozenset[int]
    free: frozenset[int]
    plain: bool
    window: bool
    words: int


class Chains:
    """The loop bounds that one dimension may have: all ways from the whole size to 1. `steps[s]`
    has pairs of points, those that the loops from slot s on cover and those that the loops inside
    of it cover; each pair is on some way. `extents[p]` are the values at position p, `bounds[s]`
    the loop bounds at slot s, both ascending."""

    def __init__(self, steps: list[Pairs], before: Chains | None = None):
        self.steps = steps
        new = [not before or step is not before.steps[s] for s, step in enumerate(steps)]
        old = before or self
        self.bounds: list[list[int]] = [
            sorted({outer // inner for outer, inner in step}) if new[s] else old.bounds[s]
            for s, step in enumerate(steps)
        ]
        self.extents: list[list[int]] = [
            sorted({outer for outer, _ in step}) if new[s] else old.extents[s]
            for s, step in enumerate(steps)
        ]
        self.extents.append([1])
        self.part = lru_cache(None)(self._part)

    def _part(self, kind: str, p: int, most: int, holds: bool) -> Chains | None:
        """Ways with at most so many points at position p ("extent"), or at most such a loop bound
        at slot p ("loop"); or the others."""
        of = [outer if kind == "extent" else outer // inner for outer, inner in self.steps[p]]
        left = [pair for pair, x in zip(self.steps[p], of, strict=True) if (x <= most) == holds]
        if len(left) == len(self.steps[p]):
            return self
        steps = [*self.steps[:p], left, *self.steps[p + 1 :]]
        for s in range(p + 1, len(steps)):  # outer ends are what is left of the inner ends before
            points = {inner for _, inner in steps[s - 1]}
            if len(points) == len(self.extents[s]):
                break
            steps[s] = [pair for pair in steps[s] if pair[0] in points]
        for s in reversed(range(p)):
            points = {outer for outer, _ in steps[s + 1]}
            if len(points) == len(self.extents[s + 1]):
                break
            steps[s] = [pair for pair in steps[s] if pair[1] in points]
        return Chains(steps, self) if left else None


class Box(NamedTuple):
    """`chains[d]` of dimension d, `stores[t]`: choices of levels that store tensor t,
    `innermost[l]`: what the innermost temporal loop of level l may be: d (over dimension d, inside
    of others), d + the number of dimensions (over d, the only one), NONE."""

    chains: tuple[Chains, ...]
    stores: tuple[tuple[tuple[bool, ...], ...], ...]
    innermost: tuple[frozenset[int], ...]


class Room(NamedTuple):
    """What a level has room for: so many `words` of the tensors `stored`, in tiles of at least the
    extents `least` and `copies` of those of a tile inside."""

    words: int
    stored: tuple[BoxTensor, ...]
    least: tuple[int, ...]
    copies: tuple[int, ...]


class Mapspace:
    """A specification in numbers. Slots are where loops stand: outer to inner, temporal before
    spatial. Position p lies just outside of slot p."""

    def __init__(self, spec: Spec):
        self.spec, self.architecture = spec, spec.need_architecture()
        self.problem, self.levels = spec.need_problem(), self.architecture.levels
        self.sizes = [self.problem.bounds[dim] for dim in self.problem.dims]
        self.dims, self.depth = range(len(self.sizes)), len(self.levels)
        self.fanouts = [self.architecture.fanout(level) for level in range(self.depth)]
        kinds: tuple[rules.Kind, ...] = ("temporal", "spatial")
        self.slots = [
            (level, kind)
            for level in range(self.depth)
            for kind in kinds
            if kind == "temporal" or max(self.fanouts[level]) > 1
        ]
        self.temporal = [self.slots.index((level, "temporal")) for level in range(self.depth)]
        self.spatial = [
            self.slots.index((level, "spatial")) if max(self.fanouts[level]) > 1 else None
            for level in range(self.depth)
        ]
        self.tile = [*self.temporal, len(self.slots)]
        self.tensors = [self._tensor(number) for number in range(len(self.problem.tensors))]
        least = [each.least for each in self.all(rules.UtilizationConstraint)]
        self.least_used = max(least, default=0) * prod(x * y for x, y in self.fanouts)
        self._set_energies()
        self.layouts, self.tiles = lru_cache(None)(self._layouts), lru_cache(None)(self._tiles)
        self.off = lru_cache(None)(self._off)

    def all(self, record: type, /, **wanted: object) -> list[Any]:
        """The constraints of a kind with these attributes."""
        found = [each for each in self.spec.constraints if isinstance(each, record)]
        return [x for x in found if all(getattr(x, name) == v for name, v in wanted.items())]

    def _off(self, flag: str, level: int, t: BoxTensor) -> bool:
        """Whether a constraint switches a kind of reuse off."""
        named = self.all(rules.ReuseConstraint, flag=flag, level=self.levels[level].name)
        return any(t.name in each.tensors for each in named)

    def _tensor(self, number: int) -> BoxTensor:
        given, dims = self.problem.tensors[number], self.problem.dims
        ranks = tuple(
            {d: x.coefficient for x in rank if self.sizes[d := dims.index(x.dim)] > 1}
            for rank in given.ranks
        )
        ranks = tuple(rank for rank in ranks if rank)
        words, seen = 1, set[int]()
        for rank in ranks:
            places = _places((abs(step), self.sizes[d]) for d, step in rank.items())
            words *= 1 if seen & set(rank) else places
            seen |= set(rank)
        plain = all(list(rank.values()) == [1] for rank in ranks) and len(seen) == len(ranks)
        window, free = any(len(rank) > 1 for rank in ranks), frozenset(self.dims) - seen
        own = frozenset(seen)
        return BoxTensor(given.name, given.read_write, ranks, own, free, plain, window, words)

    def _set_energies(self) -> None:
        """`prices[l]`: of a word read, of a partial sum read, of a fill, of an update; at least."""
        rows = []
        for level in self.levels:
            block, address = level.block_size, level.address_price
            each = (level.energy.read, level.energy.read, level.energy.fill, level.energy.update)
            paid = (address, Fraction(0), address, address)
            rows.append(
                [(x / block + y) * level.least_share for x, y in zip(each, paid, strict=True)]
            )
        leak = leakage(self.architecture)
        work = Fraction(self.problem.macs * self.architecture.arithmetic.energy)
        self.unit = lcm(*(Fraction(x).denominator for x in (leak, work, *chain(*rows))))
        self.prices = [[int(value * self.unit) for value in row] for row in rows]
        self.leak, self.work = int(leak * self.unit), int(work * self.unit)

    def _allowed(self, d: int, level: int, kind: str, bound: int) -> bool:
        """Whether constraints and the mesh allow the bound of a loop."""
        if kind == "spatial" and bound > max(self.fanouts[level]):
            return False
        name, dim = self.levels[level].name, self.problem.dims[d]
        return all(
            rules.HOLDS[x.comparison](
                bound, self.sizes[d] if (x.comparison, x.value) == ("==", 0) else x.value
            )
            for x in self.all(rules.FactorConstraint, dim=dim, level=name, kind=kind)
        )

    def _ways(self, d: int) -> Chains | None:
        """The loop bounds of a dimension that constraints and the mesh allow."""
        points, steps = {self.sizes[d]}, list[Pairs]()
        for level in range(self.depth):
            for kind in ("temporal", "spatial"):
                good = {b for b in divisors(self.sizes[d]) if self._allowed(d, level, kind, b)}
                if (level, kind) in self.slots:
                    steps.append([(x, x // b) for x in points for b in good if x % b == 0])
                    points = {inner for _, inner in steps[-1]}
                elif 1 not in good:
                    return None
        ends: Pairs = [(1, 1)]
        for s in reversed(range(len(steps))):
            ends = steps[s] = [pair for pair in steps[s] if pair[1] in {x for x, _ in ends}]
        return Chains(steps) if ends else None

    def root(self) -> Box | None:
        """The box of all mappings of perfect factors; None if there is none."""
        chains = [self._ways(d) for d in self.dims]
        stores = []
        for name in self.problem.tensor_names:
            each: list[tuple[bool, ...]] = []
            for number, buffer in enumerate(self.levels):
                said = [
                    x.keep for x in self.all(rules.KeepConstraint, tensor=name, level=buffer.name)
                ]
                may = (True,) if number == 0 else (False,) if buffer.entries == 0 else (False, True)
                each.append(tuple(said[-1:]) or may)
            stores.append(tuple(choice for choice in product(*each) if any(choice)))
        innermost = (frozenset(range(NONE, 2 * len(self.dims))),) * self.depth
        if not all(chains) or not all(stores):
            return None
        return self._narrowed(chains, stores, innermost)

    def _narrowed(self, chains: list[Any], stores: Any, innermost: Any) -> Box | None:
        """A box without chains and innermost loops that contradict each other; None if empty."""
        number, left = len(self.dims), []
        for slot, codes in zip(self.temporal, innermost, strict=True):
            over = {code % number for code in codes if code != NONE}
            several = any(0 <= code < number for code in codes)
            for d in self.dims:
                if d not in over and not several:
                    chains[d] = chains[d] and chains[d].part("loop", slot, 1, True)
                elif over == {d} and NONE not in codes:
                    chains[d] = chains[d] and chains[d].part("loop", slot, 1, False)
        if not all(chains) or not all(stores):
            return None
        for slot, codes in zip(self.temporal, innermost, strict=True):
            may = {d for d in self.dims if chains[d].bounds[slot][-1] > 1}
            must = {d for d in self.dims if chains[d].bounds[slot][0] > 1}
            fits = {d for d in may if len(may) > 1} | {d + number for d in may if must <= {d}}
            left.append(codes & (fits if must else fits | {NONE}))
        return Box(tuple(chains), tuple(stores), tuple(left)) if all(left) else None

    def split(self, box: Box, decision: tuple[Any, ...]) -> list[Box | None]:
        """The parts of a box for which a decision holds and does not; together they are the box."""
        kind, x, y = decision[:3]
        parts = []
        for holds in (True, False):
            chains, stores, innermost = map(list, box)
            if kind in ("extent", "loop"):
                chains[x] = chains[x].part(kind, y, decision[3], holds)
            elif kind == "store":
                stores[x] = tuple(choice for choice in stores[x] if choice[y] == holds)
            else:
                innermost[x] = frozenset(d for d in innermost[x] if (d in y) == holds)
            parts.append(self._narrowed(chains, stores, innermost))
        return parts

    def words(self, t: BoxTensor, extents: Sequence[int]) -> int:
        """Words of a tile: of the box around them."""
        if t.plain:
            return prod([extents[d] for d in t.own])
        return prod(1 + sum(abs(k) * (extents[d] - 1) for d, k in rank.items()) for rank in t.ranks)

    def _layouts(self, level: int, bounds: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
        """Bounds of spatial loops that can be laid along X and Y, those that cannot be raised."""
        width, height = self.fanouts[level]
        found: dict[tuple[int, ...], set[tuple[int, int]]] = {(): {(1, 1)}}
        for choices in bounds:
            more = {
                (*row, b): {
                    (x, y)
                    for at in places
                    for x, y in ((at[0] * b, at[1]), (at[0], at[1] * b))
                    if x <= width and y <= height
                }
                for row, places in found.items()
                for b in choices
            }
            found = {row: places for row, places in more.items() if places}
        return _raised(set(found), bounds)

    def _tiles(self, rooms: tuple[Room, ...], values: Any) -> list[tuple[int, ...]]:
        """Extents of tiles for which there is room, those that cannot be raised: for each choice of
        the others the largest extent of the dimension `last` that fits."""
        last = max(self.dims, key=lambda d: len(values[d]))
        most, some = tuple(each[-1] for each in values), list(values)
        some[last], top = values[last][:1], values[last][-1]
        tight = [room for room in rooms if self._limit(room, most, last) < top]
        if not tight or prod(map(len, some)) > MOST_TILES:
            return [most]
        found = {}
        for row in product(*some):
            fit = top
            for room in tight:
                fit = min(fit, self._limit(room, row, last))
            if fit:
                found[row] = values[last][bisect(values[last], fit) - 1]
        after = [dict(pairwise(each)) for each in some]
        return [
            (*row[:last], e, *row[last + 1 :])
            for row, e in found.items()
            if not any(
                x in after[d] and found.get((*row[:d], after[d][x], *row[d + 1 :]), 0) >= e
                for d, x in enumerate(row)
            )
        ]

    def _limit(self, room: Room, extents: tuple[int, ...], d: int) -> int:
        """The largest extent of d in tiles of otherwise these extents for which there is room; 0 if
        there is none for these. Words grow at least linearly."""
        around = [*map(max, room.least, map(mul, room.copies, extents))]
        used = sum([self.words(t, around) for t in room.stored])
        if used > room.words:
            return 0
        around[d] += 1
        more = sum([self.words(t, around) for t in room.stored]) - used
        fit = around[d] - 1 + (room.words - used) // more if more else self.sizes[d]
        return fit // room.copies[d]


def _places(terms: Iterable[tuple[int, int]]) -> int:
    """Different sums of multiples of each stride, up to its size, at least. A stride that is no
    less than the extent so far sets copies apart; a smaller one makes an interval without holes
    longer; elsewhere |A + B| >= |A| + |B| - 1."""
    places = extent = 1
    for stride, size in sorted(terms):
        longer = (stride if places == extent else 1) * (size - 1)
        places = places * size if stride >= extent else places + longer
        extent += stride * (size - 1)
    return places


def _raised(found: set[tuple[int, ...]], values: Any) -> list[tuple[int, ...]]:
    """Rows of which no entry alone can be raised."""
    after = [dict(pairwise(each)) for each in values]
    return [
        row
        for row in found
        if not any(
            e in after[i] and (*row[:i], after[i][e], *row[i + 1 :]) in found
            for i, e in enumerate(row)
        )
    ]


def loop_choices(space: Mapspace, box: Box) -> list[list[list[Loop]]]:
    """For each slot the loops that mappings of a box with single loop bounds may have: all orders
    that constraints allow, and all placements along X and Y, those along Y outside.

    Raises: ValueError while loop bounds are open.
    """
    if any(len(step) > 1 for each in box.chains for step in each.steps):
        raise ValueError("mappings of a box with open loop bounds cannot be listed")
    choices, names = [], space.problem.dims
    for slot, (level, kind) in enumerate(space.slots):
        bounds = [each.bounds[slot][0] for each in box.chains]
        found, (width, height), name = [], space.fanouts[level], space.levels[level].name
        inside = pairs_at(space.spec.constraints, name, kind, names)
        for order in permutations(d for d in space.dims if bounds[d] > 1):
            if any((names[x], names[y]) in inside for x, y in combinations(order, 2)):
                continue
            only = len(space.dims) if len(order) == 1 else 0
            code = order[-1] + only if order else NONE
            if kind == "temporal" and code not in box.innermost[level]:
                continue
            for axes in product(("",) if kind == "temporal" else "YX", repeat=len(order)):
                loops = [
                    loop(names[d], bounds[d], axis) for d, axis in zip(order, axes, strict=True)
                ]
                along = {x: prod(each.bound for each in loops if each.axis == x) for x in "XY"}
                if "XY" not in "".join(axes) and along["X"] <= width and along["Y"] <= height:
                    found.append(loops)
        choices.append(found)
    return choices


def mappings(space: Mapspace, box: Box) -> Iterator[Mapping]:
    """All mappings of a box with single loop bounds."""
    choices = loop_choices(space, box)
    for stores in product(*box.stores):
        kept = [
            [t.name for t, x in zip(space.tensors, stores, strict=True) if x[level]]
            for level in range(space.depth)
        ]
        for chosen in product(*choices):
            spatial: list[list[Loop]] = [
                [] if slot is None else chosen[slot] for slot in space.spatial
            ]
            yield assembled(space.spec, [chosen[slot] for slot in space.temporal], spatial, kept)

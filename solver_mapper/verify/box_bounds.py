"""Least figures of the mappings of a box: the arguments behind the leaves of a certificate.

docs/explanation/certificate.md has them in words and numbers, in the same order. Everything is
computed in whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, prod
from operator import getitem
from typing import Any, NamedTuple

from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.verify.boxes import NONE, Box, BoxTensor, Mapspace, Room
from solver_mapper.verify.target import Least

MOST_PAIRS = 4000
"""Pairs of a tile and a layout of spatial loops that are looked at one by one."""


class BoundTerm(NamedTuple):
    """Energy of x words, where x is at least `least`, and at least `words` / (`points` * product of
    the extents of `free` in a tile * product of the spatial loops over `sharing`) - `lost`; tiles
    of `level`, spatial loops just outside of them. `price`: of each word, of each word above
    `first`, and `first`."""

    level: int
    least: int
    words: int
    points: int
    free: frozenset[int]
    sharing: frozenset[int]
    lost: int
    price: tuple[int, int, int]

    def energy(self, x: int) -> int:
        """Energy of at least x words."""
        each, more, first = self.price
        return each * x + more * max(0, x - first)


class Bound:
    """Least figures of the mappings of a box."""

    def __init__(self, space: Mapspace, box: Box):
        self.space, self.box = space, box
        pairs = list(zip(space.tensors, box.stores, strict=True))
        self.stored = [
            tuple(t for t, each in pairs if all(choice[level] for choice in each))
            for level in range(space.depth)
        ]
        self.tiles, self.spread = lru_cache(None)(self._tiles), lru_cache(None)(self._spread)
        self.layouts, self.rooms = lru_cache(None)(self._layouts), lru_cache(None)(self._rooms)

    def _rooms(self, level: int) -> tuple[Room, ...]:
        """The room of a level, and of each level outside, which has a tile around its tiles."""
        space, chains, rooms = self.space, self.box.chains, []
        copies = [1 for _ in space.dims]
        for outer in reversed(range(min(level + 1, space.depth))):
            slots = range(space.tile[outer], space.tile[min(outer + 1, level)])
            copies = [x * self.loops(slots, [d], 0) for d, x in enumerate(copies)]
            words = space.levels[outer].capacity
            if words is not None and self.stored[outer]:
                least = tuple([each.extents[space.tile[outer]][0] for each in chains])
                rooms.append(Room(words, self.stored[outer], least, tuple(copies)))
        return tuple(rooms)

    def _tiles(self, level: int, dims: frozenset[int]) -> list[tuple[int, ...]]:
        """Extents of tiles of a level, as large in `dims` as there is room, the others least."""
        rows = [each.extents[self.space.tile[level]] for each in self.box.chains]
        values = tuple([tuple(row if d in dims else row[:1]) for d, row in enumerate(rows)])
        return self.space.tiles(self.rooms(level), values)

    def largest(self, dims: frozenset[int], level: int) -> int:
        """The largest product of extents of `dims` in a tile of a level."""
        return max((prod(e[d] for d in dims) for e in self.tiles(level, dims)), default=1)

    def _layouts(self, level: int) -> list[tuple[int, ...]]:
        """Bounds of the spatial loops of a level, as large as the mesh allows."""
        slot = self.space.spatial[level]
        bounds = [(1,) if slot is None else tuple(each.bounds[slot]) for each in self.box.chains]
        return self.space.layouts(level, tuple(bounds))

    def _spread(self, level: int, dims: frozenset[int]) -> int:
        """The largest product of bounds of spatial loops over `dims`; 0 if none can be laid."""
        return max((prod(row[d] for d in dims) for row in self.layouts(level)), default=0)

    def loops(self, slots: Iterable[int | None], dims: Iterable[int], which: int) -> int:
        """The least (0) or largest (-1) product of loop bounds."""
        some = [self.box.chains[d].bounds for d in dims]
        return prod([each[slot][which] for slot in slots if slot is not None for each in some])

    def sharing(self, t: BoxTensor, level: int) -> frozenset[int]:
        """Dimensions whose spatial loops may reach equal words: of the loops over one rank the one
        of the largest bound moves the tile."""
        slot, moving, seen = self.space.spatial[level], set[int](), set[int]()
        if slot is None or self.space.off("no_multicast", level, t):
            return frozenset()
        for rank in t.ranks if t.window else ():
            new = [d for d in rank if d not in seen]
            moving |= {max(new, key=lambda d: self.loops([slot], [d], -1))} if new else set()
            seen |= set(rank)
        return (t.own | t.free) - (moving if t.window else t.own)

    def shared(self, t: BoxTensor, levels: Iterable[int], dims: frozenset[int]) -> int:
        """How many instances one multicast reaches through spatial loops over `dims`, at most."""
        return prod([self.spread(level, dims & self.sharing(t, level)) for level in levels])

    def flow(self, t: BoxTensor, o: int, i: int) -> tuple[int, int, list[tuple[int, int]]]:
        """Least words of t, over all instances, that level o sends to level i, the next that stores
        it (compute units: the number of levels), and that arrive there. With the pairs n, q that
        follow, at least n / (q * free extents) arrive: extents of tiles of i, and of o + 1."""
        space, end, empty, cases = self.space, i, True, []
        forgets = i == space.depth or space.off("no_temporal_reuse", i, t)
        links = self.linked(t, i)
        if forgets and links and t.window:
            cases.append((0, 0, 0, 1, i))
        for level in reversed(range(0 if not forgets or (links and not t.window) else i, i)):
            codes, slot = self.box.innermost[level], space.temporal[level]
            inner = {code % len(space.dims) for code in codes if code != NONE}
            if t.window and empty:
                cases += [self.slide(t, o, i, d, level, links) for d in sorted(inner & t.own)]
            if not inner & t.free and NONE not in codes:
                break
            empty, end = empty and NONE in codes, level
            if self.moved(t, level, i) or not any(self.idle(t, slot, c) for c in codes):
                break
        if end < i or not cases:
            cases.append(self.rest(t, o, i, end))
        # each word comes from o once, whatever neighbours pass on then
        sent, arrive = (max(t.words, min(case[side] for case in cases)) for side in (0, 1))
        lost = self.lost(t, o, i)
        pairs = [
            [(n, q * self.loops(space.temporal[start:r], t.free, -1)) for *_, n, q, start in cases]
            for r in (i, o + 1)
        ]
        weakest = [min(each, key=lambda pair: Fraction(*pair)) for each in pairs]
        return max(0, sent - lost[0]), max(0, arrive - lost[1]), weakest

    def lost(self, t: BoxTensor, o: int, i: int) -> tuple[int, int]:
        """Words sent and arrived that the cost model may lose where it rounds for each instance."""
        levels = self.space.levels
        if not t.window or (o == i - 1 and not self.linked(t, i)):
            return 0, 0
        return levels[o].instances, levels[min(i, self.space.depth - 1)].instances

    def linked(self, t: BoxTensor, i: int) -> bool:
        """Whether instances of level i may pass words of t on to neighbours."""
        flag = "no_link_transfer"
        return self.space.spatial[i - 1] is not None and not self.space.off(flag, i - 1, t)

    def moved(self, t: BoxTensor, level: int, i: int) -> bool:
        """Whether a temporal loop of a level or inside of it certainly moves the tile of level i:
        the tile and the mesh alone cannot make up for the extents outside of the level."""
        slot, inner, outside = self.space.temporal[level], self.space.tile[i], 1
        if self.loops([slot], t.own, 0) > 1:
            return True
        for d in t.own:
            extents = self.box.chains[d].extents
            outside *= extents[slot][0]
            spread = self.loops(self.space.spatial[level:i], [d], -1)
            if extents[slot][0] > extents[inner][-1] * spread:
                return True
        spread = prod([self.spread(each, t.own) for each in range(level, i)])
        return outside > self.largest(t.own, i) * spread

    def idle(self, t: BoxTensor, slot: int, code: int) -> bool:
        """Whether all loops of a level may leave t's tile, if its innermost loop is `code`."""
        dims = len(self.space.dims)
        if 0 <= code < dims:
            return code in t.free and self.loops([slot], t.free - {code}, -1) > 1
        return code == NONE or code - dims in t.free

    def rest(self, t: BoxTensor, o: int, i: int, end: int) -> tuple[int, int, int, int, int]:
        """The innermost loops outside i's tile, from level `end` on, do not move it. Those inside
        of a level r >= end count as part of its tile, the others as spared."""
        space, sent, arrive = self.space, 0, 0
        words, points = self.ratio(t, i)
        words *= space.problem.macs
        if t.window and end < i and any(len(self.movers(rank, i)) > 1 for rank in t.ranks):
            points *= 2
        for r in {i, end}:
            spared = points * self.loops(space.temporal[end:r], t.free, -1)
            share = spared * self.largest(t.free, r)
            arrive = max(arrive, words * self.loops(space.spatial[r:i], t.free, 0) // share)
            share *= self.shared(t, range(o, r), t.own | t.free)
            share *= self.shared(t, range(max(o, r), i), t.own)
            sent = max(sent, words * self.loops(space.spatial[r:o], t.free, 0) // share)
        return sent, arrive, words, points, end

    def movers(self, rank: Iterable[int], i: int) -> set[int]:
        """Dimensions of a rank that may have a temporal loop outside level i."""
        return {d for d in rank if self.loops(self.space.temporal[:i], [d], -1) > 1}

    def slide(
        self, t: BoxTensor, o: int, i: int, d: int, level: int, links: bool
    ) -> tuple[int, int, int, int, int]:
        """The innermost loop outside i's tile is over d, at `level`, and slides a window."""
        space, mesh, turns = self.space, self.space.spatial[i - 1], 0
        rank = min((r for r in t.ranks if d in r), key=lambda r: len(self.movers(r, i) - {d}))
        sure = self.movers(rank, i) <= {d}
        step = abs(rank[d]) * self.loops(space.spatial[level:i], [d], 0)
        if sure:  # one run of turns ends where another loop moves the tile
            turns = self.loops([space.temporal[level]], [d], -1)
            while level and self.loops([space.temporal[level]], t.own - {d}, 0) == 1:
                level -= 1
                turns *= self.loops([space.temporal[level]], [d], -1)
        words, points = self.ratio(t, i, (rank, d, step, turns))
        if links and not (sure and self.loops([mesh], rank.keys() - {d}, -1) == 1):
            points *= max(self.loops([mesh], r, -1) for r in t.ranks if len(r) > 1)
            points *= 1 if sure else 2
        words, share = words * space.problem.macs, points * self.largest(t.free, i)
        apart = self.shared(t, range(o, i), t.own | t.free)
        return words // (share * apart), words // share, words, points, i

    def ratio(self, t: BoxTensor, i: int, slide: Any = (None, 0, 0, 0)) -> tuple[int, int]:
        """Least words fetched for so many points of i's tile, apart from free dimensions. With one
        extent open, every choice is a / extent + b, so that the least stands at a corner."""
        if t.plain:
            return 1, 1
        p, seen, total = self.space.tile[i], set[int](), Fraction(1)
        low = [each.extents[p][0] for each in self.box.chains]
        along, moved, step, turns = slide
        for rank in t.ranks:
            own, corners = [d for d in rank if d not in seen], []
            seen |= set(own)
            for corner in product(*({low[d], self.box.chains[d].extents[p][-1]} for d in own)):
                at = dict(zip(own, corner, strict=True))
                words = 1 + sum(abs(k) * (at.get(d, low[d]) - 1) for d, k in rank.items())
                points = prod(corner)
                if rank is along:
                    new = min(words, step * at.get(moved, low[moved]))
                    words = new * (turns - 1) + words if turns else new
                    points *= turns or 1
                corners.append(Fraction(words, points))
            total *= min(corners)
        return total.numerator, total.denominator

    def unfit(self) -> str | None:
        """What is too small for all mappings of the box; None if some may fit."""
        space, used = self.space, 1
        for level, buffer in enumerate(space.levels):
            used *= self.spread(level, frozenset(space.dims))
            lowest = tuple(each.extents[space.tile[level]][0] for each in self.box.chains)
            words = sum(space.words(t, lowest) for t in self.stored[level])
            if not used or (buffer.capacity is not None and words > buffer.capacity):
                return f"{'capacity' if used else 'fanout'} of {buffer.name}"
        return "utilization" if used < space.least_used else None

    def least(self) -> Iterator[Least]:
        """Least figures of mappings of the box, found in ways that take ever more time."""
        space, energy, last_level = self.space, self.space.work, 0
        words, terms = Counter[tuple[int, str]](), []
        for t, choices in zip(space.tensors, self.box.stores, strict=True):
            costs = [self.cost(t, choice) for choice in choices]
            last_level += min(each[0, "read"] + each[0, "write"] for each, _ in costs)
            if len(costs) == 1:
                words.update(costs[0][0])
                terms += costs[0][1]
            else:
                energy += min(sum(x.energy(x.least) for x, _ in each) for _, each in costs)
        cycles = self.cycles(words)
        energy += space.leak * cycles
        yield Least(energy + sum(x.energy(x.least) for x, _ in terms), cycles, last_level)
        ways = {tuple(x for x, _ in terms), tuple(x for _, x in terms)}
        for way in sorted(ways):
            each = [[x for x in way if x.level == level] for level in range(1, space.depth + 1)]
            most = sum(self.together(level, some) for level, some in enumerate(each, 1))
            yield Least(energy + most, cycles, last_level)

    def cost(self, t: BoxTensor, choice: tuple[bool, ...]) -> tuple[Counter[Any], list[Any]]:
        """Words read and written at each level, and terms of the energy, each in two forms."""
        space, terms, words = self.space, [], Counter[tuple[int, str]]()
        held = [level for level in range(space.depth) if choice[level]]
        for o, i in zip(held, [*held[1:], space.depth], strict=True):
            sent, arrive, ((n, q), (more, spared)) = self.flow(t, o, i)
            lost, none = self.lost(t, o, i), frozenset[int]()
            read, reread, _, update = space.prices[o]
            fill = space.prices[i][2] if i < space.depth else 0
            paid, refill = (read, 0, 0), (fill, 0, 0)
            if t.written:  # the first partial sum of each instance is not read before
                first = t.words * prod(self.spread(level, t.free) for level in range(o))
                then = first * prod(self.spread(level, t.free) for level in range(o, i))
                first, then = (first, then) if t.plain else (sent, arrive)
                paid, refill = (update, reread * t.plain, first), (0, fill * t.plain, then)
            meshes = [
                level
                for level in range(o, i)
                if space.spatial[level] is not None and not space.off("no_multicast", level, t)
            ]
            apart, level, free = 1, i, t.free
            if meshes:
                apart = self.shared(t, meshes[:-1], t.own | t.free)
                level, free = meshes[-1] + 1, t.free if meshes[-1] == i - 1 else none
                apart *= 1 if free else self.largest(t.free, i)
            sharing = self.sharing(t, level - 1) if meshes else none
            form = BoundTerm(level, sent, n, q * apart, free, sharing, lost[0], paid)
            other = form
            if o + 1 < i:  # all free loops inside of the next level count as part of its tile
                spared *= self.shared(t, range(o + 1, i), t.own)
                sharing = self.sharing(t, o)
                other = BoundTerm(o + 1, sent, more, spared, t.free, sharing, lost[0], paid)
            terms.append((form, other))
            terms.append((BoundTerm(i, arrive, n, q, t.free, none, lost[1], refill),) * 2)
            words[o, "read"] += max(0, sent - paid[2])
            words[o, "write"] += sent if t.written else 0
            words[i, "write"] += max(0, arrive - refill[2])
        return words, terms

    def together(self, level: int, terms: list[BoundTerm]) -> int:
        """Least energy of terms that compete for the room of a level and the mesh above it: for the
        best of all tiles and layouts."""
        apart = sum(term.energy(term.least) for term in terms)
        terms = [term for term in terms if term.words and any(term.price[:2])]
        fixed = apart - sum(term.energy(term.least) for term in terms)
        tiles = self.tiles(level, frozenset[int]().union(*(x.free for x in terms)))
        layouts = self.layouts(level - 1)
        rows = {tuple([prod([e[d] for d in x.free]) for x in terms]) for e in tiles}
        columns = {tuple([prod([e[d] for d in x.sharing]) for x in terms]) for e in layouts}
        if not terms or len(rows) * len(columns) > MOST_PAIRS:
            return apart
        best = []
        for column in columns:
            tables = [
                {
                    e: x.energy(max(x.least, x.words // (x.points * e * v) - x.lost))
                    for e in set(extents)
                }
                for x, v, extents in zip(terms, column, zip(*rows, strict=True), strict=True)
            ]
            best += [sum(map(getitem, tables, row)) for row in rows]
        return fixed + min(best, default=0)

    def cycles(self, words: Counter[tuple[int, str]]) -> int:
        """Least cycles: of the operations on all instances that can be used, and of the words that
        each level moves."""
        space = self.space
        spread = [self.spread(level, frozenset(space.dims)) for level in range(space.depth)]
        cycles = -(-space.problem.macs // prod(spread))
        for number, level in enumerate(space.levels):
            read, written = words[number, "read"], words[number, "write"]
            used = prod(spread[:number])
            widths = (level.read_bandwidth, level.write_bandwidth, level.shared_bandwidth)
            for moved, width in zip((read, written, read + written), widths, strict=True):
                cycles = max(cycles, ceil(moved / (width * used)) if width else 0)
        return cycles + latency(space.architecture)

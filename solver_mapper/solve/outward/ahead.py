"""What may follow inner mappings, and what that costs at least.

Three things hold for all tensors at once: they share the instances further out (`Costs.shares`),
one loop is the next temporal one, and whoever waits for words gets them from the cheapest level
that is left and may hold the tile, which itself is filled once.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.aim import Aim, least_cycles, rank
from solver_mapper.solve.outward.bandwidth import cycles_of, rounded
from solver_mapper.solve.outward.clusters import idling_energy
from solver_mapper.solve.outward.costs import ENDS, NOISE, Costs
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Ints, Outside
from solver_mapper.solve.outward.moves.network_charges import hopping, linking
from solver_mapper.solve.outward.outer_levels import OuterLevels, Spared, spared_by
from solver_mapper.solve.outward.sharing import Share, largest, most_shared
from solver_mapper.solve.outward.sliding import ROUNDED
from solver_mapper.solve.outward.supplies import (
    SparedWords,
    Supply,
    spared_windows,
    supplied,
    waiting,
    windows_supplied,
)

Key = tuple[int, tuple[int, ...], int]
"""A tensor, how many instances may share its words, and the kind of the next temporal loop."""
AT_ONCE = 400_000
"""Figures that are added and compared at once."""


class GoingOn(NamedTuple):
    """What follows if the next temporal loop leaves the tensors `spared` alone; None if there is
    none.

    possible: (rows,), whether rows may go on so. `supplies`: of each tensor, what its next supply
    costs in pJ (shares, suppliers, rows), by how many instances share its words.
    """

    spared: Spared | None
    possible: Flags
    supplies: list[Floats]


class Ahead:
    """What may follow inner mappings.

    A way to go on is how many instances share each tensor's words, and the kind of the next
    temporal loop for each tensor. As long as the mesh of the compute units is not filled, any word
    that a unit asks for may yet come from the unit beside it.

    Args:
        spared: of tensors with windows, what loops to come may spare, by the kind of the next one,
            if that is known already.
    """

    def __init__(
        self,
        outer: OuterLevels,
        rows: InnerMappings,
        outside: Outside,
        spared: dict[int, dict[int, SparedWords]] | None = None,
    ):
        self.costs, self.rows, self.outside = outer.costs, rows, outside
        self._levels, self._left = outer, self.costs.left(outside, rows.meshes)
        self.settled = settled_energy(self.costs, rows, outside)
        self.kinds = self._next_loops()
        self._begun = {each.number: each.begun(rows) for each in self.costs.sliding}
        self._most: dict[int, Floats] = {}
        self._sliding = {each.number: each for each in self.costs.sliding}
        self._spared = spared or {
            n: spared_windows(self.costs, rows, each, self._helped[:, n])
            for n, each in self._sliding.items()
        }
        spread = self.costs.order[: outside.spread]
        self._beside = {n: each.sharers(rows, spread) for n, each in self._sliding.items()}
        self._suppliers: dict[tuple[int, tuple[int, ...]], Supply] = {}
        self._supplies: dict[Key, Floats] = {}
        self._words: dict[int, dict[int, Floats]] = {}

    def take(self, some: Ints | Flags) -> Ahead:
        """What may follow some of the rows."""
        spared = {
            n: {kind: words.take(some) for kind, words in by_kind.items()}
            for n, by_kind in self._spared.items()
        }
        return Ahead(self._levels, self.rows.take(some), self.outside, spared)

    def together(self) -> Floats:
        """The least energy in pJ of a whole mapping, over all ways to go on."""
        best = np.full(len(self.rows), np.inf)
        lefts, where = self._lefts
        if len(lefts) > 1:
            for number in range(len(lefts)):
                some = np.flatnonzero(where == number)
                best[some] = self.take(some).together()
            return best
        shares = list(zip(*self._ways_to_share(), strict=True))
        values = [tuple(sorted(set(each))) for each in shares]
        which = [tuple(map(known.index, each)) for known, each in zip(values, shares, strict=True)]
        for kind, possible in self.kinds:
            keys = zip(range(len(shares)), values, kind, strict=True)
            supplies = [self._supply(*key) for key in keys]
            least = _least_together(self._further_out(kind), supplies, which)
            best = np.minimum(best, np.where(possible, least, np.inf))
        return np.asarray(self.settled + best)

    def going_on(self, shares: list[Ints]) -> list[GoingOn]:
        """What may follow, if so many instances at most share the words of each tensor that each
        level sends (shares, holders); of tensors with windows, also with how many may use them
        (shares, 2 * holders).
        """
        holders = self.outside.holders
        supplies = [
            self._from(
                n, each[:, :holders, None], each[:, holders:, None] if n in self._sliding else None
            )
            for n, each in enumerate(shares)
        ]
        return [
            GoingOn(
                None if ENDS in kind else spared_by(kind),
                possible,
                [self._supplied(*each) for each in zip(supplies, kind, strict=True)],
            )
            for kind, possible in self.kinds
        ]

    @cached_property
    def _helped(self) -> Flags:
        """See `Costs.may_be_helped`."""
        return self.costs.may_be_helped(self.outside, self.rows)

    @cached_property
    def unmoved(self) -> Flags:
        """Whether idle loops may still spare each tensor's outermost holder; (rows, tensors). Units
        that take words from each other are sent fewer than all of these where they move.
        """
        found: Flags = self.rows.open & (self.rows.anew == 0)
        for number, sliding in self._sliding.items():
            found[:, number] = sliding.unmoved(self.rows)
        return found

    def apart(self) -> Floats:
        """The same where each tensor goes on in the way that is the cheapest one for itself."""
        total = self._further_out()
        for n in reversed(range(len(self.costs.tensors))):
            total = (total + self._cheapest[n]).min(axis=-2)
        return np.asarray(self.settled + total)

    def least_rank(self, aim: Aim) -> Floats:
        """The least rank of a whole mapping where each tensor goes on in the way that is best for
        itself, and levels that supply tensors need time for what they send.
        """
        cycles = least_cycles(self.costs, aim.latency, self.rows, self.outside)
        outer = self._further_out()
        best = np.empty(len(self.rows))
        step = max(AT_ONCE // outer[..., 0].size, 1)
        for start in range(0, len(best), step):
            some = slice(start, start + step)
            energy = self.settled[some] + outer[..., some]
            for n, each in enumerate(self._cheapest):
                energy = energy + self._by_choice(n, each[:, some])
            waits = np.ceil(self._slowest(some) * (1 - NOISE)) + aim.latency
            ranks = rank(self.costs, aim, np.maximum(cycles[some], waits), energy)
            best[some] = ranks.reshape(-1, ranks.shape[-1]).min(axis=0)
        return best

    def _by_choice(self, n: int, figures: Floats) -> Floats:
        """Figures of a tensor by its supplier (suppliers, rows), for all choices of suppliers: to
        be added to what is (suppliers, ..., rows).
        """
        sides = [1] * len(self.costs.tensors)
        sides[n] = len(figures)
        return figures.reshape(*sides, figures.shape[-1])

    def _slowest(self, some: slice) -> Floats:
        """The cycles that the level needs which takes the longest, for all choices of suppliers of
        some rows (suppliers, ..., rows).
        """
        costs, needed = self.costs, np.zeros(1)
        for level in filter(costs.slowness, range(self.outside.holders)):
            room, none = costs.room(level), np.zeros(1)
            reads, writes = none, none
            for n, (tensor, (sent, again)) in enumerate(
                zip(costs.tensors, self._fewest, strict=True)
            ):
                suppliers = costs.suppliers(n, self.outside.holders)
                if level < costs.first_holder[n] or level not in suppliers:
                    continue
                place = suppliers.index(level)
                words, read = np.zeros((2, *sent[:, some].shape))
                words[place] = rounded(sent[place, some], room)
                if not tensor.written:
                    reads = reads + self._by_choice(n, words)
                    continue
                mine = again[place, some]
                read[place] = mine if tensor.exact else rounded(mine, room)
                writes = writes + self._by_choice(n, words)
                reads = reads + self._by_choice(n, read)
            for each in cycles_of(costs, level, reads, writes):
                needed = np.maximum(needed, each / room)
        return np.asarray(needed)

    @cached_property
    def _fewest(self) -> list[tuple[Floats, Floats]]:
        """For each tensor, the fewest words that its next holder sends, and of partial sums the
        fewest that it reads again; (suppliers, rows).
        """
        found = []
        for n, tensor in enumerate(self.costs.tensors):
            supply = self._from(n, self._most_sharing[n])
            words, fewest = self._waiting(n), np.full(len(self.rows), np.inf)
            for kind, possible in self.kinds:
                fewest = np.minimum(fewest, np.where(possible, words[kind[n]], np.inf))
            sent = supply.sent(fewest, self._beside.get(n, 1))
            again = supply.read_again(sent) if tensor.read_again else np.zeros_like(sent)
            found.append((sent, again))
        return found

    @cached_property
    def _cheapest(self) -> list[Floats]:
        """For each tensor, its cheapest supply (suppliers, rows), whatever loops share."""
        found = []
        for n in range(len(self.costs.tensors)):
            supply = self._from(n, self._most_sharing[n])
            best = np.full((len(supply.levels), len(self.rows)), np.inf)
            for kind, possible in self.kinds:
                energy = self._supplied(supply, kind[n])
                best = np.minimum(best, np.where(possible, energy, np.inf))
            found.append(best)
        return found

    def _ways_to_share(self) -> list[tuple[int, ...]]:
        """How many instances may share each tensor's words, and do so in some row, if all rows have
        the same left of the innermost mesh to come.
        """
        most = [ceil(self._sharing(n).max()) for n in range(len(self.costs.tensors))]
        shares = [each for left in self._lefts[0] for each in self._shares(left)]
        return largest({tuple(map(min, share, most)) for share in shares})

    @cached_property
    def _barred(self) -> list[Flags]:
        """For each tensor, which levels may not hold its tiles (suppliers, rows)."""
        costs, holders = self.costs, self.outside.holders
        words = [tensor.tile_words(self.rows.tile) for tensor in costs.tensors]
        return [
            np.array([~costs.may_hold(n, level, each) for level in costs.suppliers(n, holders)])
            for n, each in enumerate(words)
        ]

    def _further_out(self, kind: tuple[int, ...] | None = None) -> Floats:
        """What the levels further out cost, for all choices of suppliers: (suppliers, ...,
        rows). `kind`: of the next temporal loop, if that is known.
        """
        return self._levels.least(self.rows.tile, self.outside, kind, self.unmoved)

    @cached_property
    def _lefts(self) -> tuple[Ints, Ints]:
        """What may be left of the innermost mesh to come, and the number of each row's (rows,)."""
        lefts, where = np.unique(self._left, return_inverse=True)
        return lefts, where.reshape(-1)

    def _shares(self, left: int) -> list[Share]:
        return self._levels.shares.most(self.outside, int(left))

    @cached_property
    def _most_sharing(self) -> Ints:
        """How many instances may share the words of each tensor at most, in any way to go on
        (tensors, rows).
        """
        lefts, where = self._lefts
        most = [np.max(self._shares(left), axis=0) for left in lefts]
        return np.array(most, dtype=np.int64).reshape(-1, len(self.costs.tensors)).T[:, where]

    def _next_loops(self) -> list[tuple[tuple[int, ...], Flags]]:
        """The kinds of the next temporal loop for each tensor, and which rows may go on so."""
        costs, tile, loops = self.costs, self.rows.tile, self.costs.loops
        kinds = [(kind, loops.repeats(self.outside, tile, dims)) for kind, dims in costs.kinds]
        rounds = (costs.sizes / tile).prod(axis=1)
        ends = np.asarray(rounds <= self._left * costs.beyond(self.outside))
        ends &= loops.all_spread(self.outside, tile)
        kinds.append(((ENDS,) * len(costs.tensors), ends))
        return [each for each in kinds if each[1].any()]

    def _supply(self, n: int, shares: tuple[int, ...], kind: int) -> Floats:
        """The least energy of a tensor's next supply by the levels that may hold its tiles
        (shares, suppliers, rows), if the next loop is of some kind, and so many instances share its
        words at most.
        """
        key = n, shares, kind
        if key not in self._supplies:
            if (n, shares) not in self._suppliers:
                self._suppliers[n, shares] = self._from(n, np.array(shares)[:, None, None])
            self._supplies[key] = self._supplied(self._suppliers[n, shares], kind)
        return self._supplies[key]

    def _supplied(self, supply: Supply, kind: int) -> Floats:
        """The same for shares of each holder (shares, suppliers, rows)."""
        n = supply.number
        words = self._waiting(n)[kind]
        found = (
            supplied(self.rows, supply, words, kind)
            if n not in self._spared
            else windows_supplied(
                self.rows, supply, words, self._spared[n].get(kind), self._beside[n]
            )
        )
        barred = self._barred[n]
        return np.where(barred, np.inf, found) if barred.any() else found

    def _from(self, n: int, shares: Ints, users: Ints | None = None) -> Supply:
        """Who may supply a tensor to instances of which so many share its words at most, or use
        them.
        """
        instances = self._left * self.costs.beyond(self.outside)
        shared, sliding = np.minimum(shares, self._sharing(n)), self._sliding.get(n)
        carried = sliding.carried(self.rows) if sliding and self.costs.networks else 0.0
        _, overlap = self.costs.tensors[n].overlap(self.rows.tile)
        return Supply(self.costs, n, self.outside, instances, shared, carried, overlap, users)

    def _sharing(self, n: int) -> Floats:
        """How many instances can share what each level sends of a tensor (holders, rows)."""
        if n not in self._most:
            tile, begun, meshes = self.rows.tile, self._begun.get(n), self.rows.meshes
            self._most[n] = most_shared(self.costs, n, tile, self.outside, meshes, begun)
        return self._most[n]

    def _waiting(self, n: int) -> dict[int, Floats]:
        """The words of a tensor that the next holder has to send (`waiting`)."""
        if n not in self._words:
            spared, helped = self._spared.get(n), self._helped[:, n]
            self._words[n] = waiting(self.costs, self.rows, n, spared, helped)
        return self._words[n]


def _least_together(outer: Floats, supplies: list[Floats], which: list[tuple[int, ...]]) -> Floats:
    """The least of what suppliers of all tensors cost together, with what levels further out cost
    (suppliers, ..., rows), over all choices of suppliers and all ways to share (rows,).

    supplies: of each tensor (shares, suppliers, rows). `which`: of these shares, for each way.
    """
    # The first one is added to the most figures.
    order = sorted(range(len(supplies)), key=lambda n: len(supplies[n]))
    outer = outer.transpose([*reversed(order), len(order)])
    tails, added = (0,) * len(which[0]), []
    for mine, supply in ((which[n], supplies[n]) for n in order):
        pairs = sorted(set(zip(mine, tails, strict=True)))
        numbers = {pair: number for number, pair in enumerate(pairs)}
        tails = tuple(numbers[pair] for pair in zip(mine, tails, strict=True))
        shares, rest = (np.array(each) for each in zip(*pairs, strict=True))
        added.append((supply, shares, rest))
    size = outer[..., 0].size * max(map(len, supplies))
    step = max(AT_ONCE // max(size, 1), 1)
    found = np.empty(outer.shape[-1])
    for start in range(0, len(found), step):
        rows = slice(start, start + step)
        some = outer[None, ..., rows]
        for supply, shares, rest in added:
            here = supply[..., rows][shares]
            axes = (len(shares), *(1,) * (some.ndim - 3), *here.shape[1:])
            some = some if len(some) == 1 else some[rest]
            some = (some + here.reshape(axes)).min(axis=-2)
        found[rows] = some.min(axis=0)
    return found


def settled_energy(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """What is settled, at least: rounding may save more on more instances, where the next holder
    sends, and where neighbours pass words on.
    """
    growth = costs.left(outside, rows.meshes) * costs.beyond(outside)
    settled = rows.energy + rows.charged / growth - rows.lost * growth
    settled = settled + idling_energy(costs, rows, outside, growth)
    if costs.networks:
        rest = costs.sizes / rows.tile
        for n, tensor in enumerate(costs.tensors):
            if not tensor.ranks:
                # Loops that leave the tensor alone may come first.
                fixed = rest[:, sorted(tensor.fixed)].prod(axis=1)
                settled = settled + hopping(costs, rows, n, tensor.tile_words(rows.tile) * fixed)
                settled = settled + linking(rows, n, costs.base(n, rows.tile))
    if outside.holders:
        meshes = costs.room(outside.meshes) > 1
        for each in costs.sliding:
            saved = saved_by_rounding(costs, each.number, outside)
            settled = settled - each.may_lose(rows) * growth
            settled = settled - saved * (1 if meshes else each.rounded(rows))
    return np.asarray(settled)


def saved_by_rounding(costs: Costs, number: int, outside: Outside) -> float:
    """What the next holder of a tensor with windows may save by rounding what it sends, in pJ."""
    levels = range(outside.holders)
    return ROUNDED * max(costs.price(number, level) * costs.room(level) for level in levels)

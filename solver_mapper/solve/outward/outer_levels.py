"""What all levels outside a tile cost at least, by the tile and by who supplies it.

From the outermost level inwards: a level that holds tensors has a tile of its own that is a
multiple of the one inside and fits; it is filled by the next outer holders, as often as the kind of
the first temporal loop outside its tile says. The least over all such tiles, kinds and holders,
each chosen for this level alone, is no more than what any mapping pays there. What the supply of
the given tile itself costs is left out: that is known better where the inner mapping is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import (
    DIMENSIONS,
    ENDS,
    FIXED,
    IDLE,
    Costs,
    largest,
    most_shared,
)
from solver_mapper.solve.outward.inner import Flags, Floats, Ints, Outside
from solver_mapper.solve.outward.lattice import Lattice
from solver_mapper.solve.outward.sliding import Sliding

MOST_FIGURES = 50_000_000
"""What a table of one level may have: for all tiles, all choices of suppliers."""

FillKey = tuple[int, int, int]
"""A tensor, the kind of the next temporal loop for it, and how many instances share its words."""


class OuterLevels:
    """Tables of one mapspace, made level by level when they are first asked for.

    Raises: ValueError, from any method, if a table would be too large.
    """

    def __init__(self, costs: Costs):
        self.costs = costs
        self.lattice = Lattice(costs.sizes)
        self._tables: list[Floats] = []
        self._fills: dict[FillKey, Floats] = {}

    @property
    def figures(self) -> int:
        """How many the tables of all levels have."""
        tensors = len(self.costs.tensors)
        choices = sum((level + 1) ** tensors for level in range(self.costs.depth - 1))
        return len(self.lattice) * int(choices)

    def least(self, tile: Ints, holders: int) -> Floats:
        """The least energy in pJ that the `holders` outermost levels spend on their own tiles, for
        each choice of which of them supplies each tensor next: (holders, ..., rows).
        """
        while len(self._tables) < holders:
            self._tables.append(self._table(len(self._tables)))
        return np.asarray(self._tables[holders - 1][..., self.lattice.places(tile)])

    def _table(self, level: int) -> Floats:
        """(level + 1, ..., tiles), for each choice of suppliers among the levels to `level`."""
        check_time()
        costs, tensors = self.costs, len(self.costs.tensors)
        if (level + 1) ** tensors * len(self.lattice) > MOST_FIGURES:
            raise ValueError("there are too many tiles and suppliers")
        table = np.full((level + 1,) * tensors + (len(self.lattice),), np.inf)
        if not level:
            table[:] = 0.0
            return table
        outer = self._tables[level - 1]
        self._fills.clear()
        for choice in product(*costs.holds[level]):
            held = [n for n, holds in enumerate(choice) if holds]
            least = self._filled(level, held, outer)
            place = tuple(level if n in held else slice(level) for n in range(tensors))
            table[place] = self.lattice.least_outside(least)
        return table

    def _filled(self, level: int, held: list[int], outer: Floats) -> Floats:
        """The least energy in pJ of tiles of which `level` holds these tensors, with all levels
        further out, for each choice of who supplies the others.
        """
        costs, tiles = self.costs, self.lattice.tiles
        words = sum((costs.tensors[n].tile_words(tiles) for n in held), np.zeros(len(tiles)))
        fits = costs.fits(level, words) & costs.loops.tiles(level, tiles)
        if not held:
            return np.where(fits, outer, np.inf)
        some = np.flatnonzero(fits)
        known: dict[tuple[FillKey, ...], Floats] = {(): outer[..., some]}
        shape = [outer.shape[n] for n in range(outer.ndim - 1) if n not in held]
        best = np.full((*shape, len(some)), np.inf)
        for fills, possible in self._ways(level, held):
            total = self._supplied(level, fills, some, known)
            best = np.minimum(best, np.where(possible[some], total, np.inf))
        found = np.full((*shape, len(tiles)), np.inf)
        found[..., some] = best
        return found

    def _supplied(
        self,
        level: int,
        fills: tuple[FillKey, ...],
        some: Ints,
        known: dict[tuple[FillKey, ...], Floats],
    ) -> Floats:
        """What is `known` of some tiles without fills, with the least of these; last tensors come
        first.
        """
        if fills not in known:
            *before, (number, kind, share) = fills
            total = self._supplied(level, tuple(before), some, known)
            fill = self._fill(level, number, kind, share)[:, some]
            shape = (level, *(1,) * (total.ndim - 2 - number), len(some))
            known[fills] = np.asarray((total + fill.reshape(shape)).min(axis=number))
        return known[fills]

    def _ways(self, level: int, held: list[int]) -> Iterator[tuple[tuple[FillKey, ...], Flags]]:
        """How the tiles of each held tensor may be filled, last ones first: for each kind of the
        next temporal loop and each way to share instances; and for which tiles that is possible.
        """
        costs, tiles = self.costs, self.lattice.tiles
        room, rest, outside = costs.room(level), self.lattice.rest, Outside(level, level)
        kinds = [(dict(enumerate(kind)), dims) for kind, dims in costs.kinds]
        for kind, dims in [*kinds, (dict.fromkeys(range(len(costs.tensors)), ENDS), [])]:
            if dims:
                possible = costs.loops.repeats(outside, tiles, dims)
            else:
                possible = costs.loops.all_spread(outside, tiles) & (rest.prod(axis=1) <= room)
            for share in self._shares(level, held):
                fills = [(n, kind[n], each) for n, each in zip(held, share, strict=True)]
                yield tuple(reversed(fills)), possible

    def _shares(self, level: int, held: list[int]) -> list[tuple[int, ...]]:
        """How many instances may share each held tensor's words (`Costs.shares`)."""
        left = prod(self.costs.sides[level - 1])
        shares = self.costs.shares(Outside(level, level), left)
        return largest({tuple(share[n] for n in held) for share in shares})

    def _fill(self, level: int, number: int, kind: int, share: int) -> Floats:
        """The least energy in pJ of filling a tensor's tiles at `level`, by its supplier (level,
        tiles), if the next temporal loop is of this kind and at most `share` instances share words.
        """
        key = number, kind, share
        if key not in self._fills:
            self._fills[key] = self._filled_by(level, *key)
        return self._fills[key]

    def _filled_by(self, level: int, number: int, kind: int, share: int) -> Floats:
        """The same, worked out."""
        costs, tensor = self.costs, self.costs.tensors[number]
        filled, sent, rounded = self._words(level, number, kind)
        idle, own, room = self._idle[number], costs.rates[level], costs.room(level)
        copies = np.minimum(idle, room)
        found = []
        for outer in range(level):
            rates = costs.rates[outer]
            shared = np.minimum(np.minimum(idle, share), room // costs.room(outer))
            words = np.maximum(sent / shared, tensor.words)
            passing = costs.entries(outer, level)
            if not tensor.written:
                energy = words * (float(rates.send) + passing) + filled * float(own.fill)
                energy = energy - rounded * float(rates.send + own.fill + own.send)
            else:
                energy = words * (float(rates.update) + passing)
                if tensor.exact:
                    again = words - tensor.words * np.minimum(idle, costs.room(outer))
                    energy = energy + np.maximum(again, 0.0) * float(rates.again)
                    again = filled - tensor.words * copies
                    energy = energy + np.maximum(again, 0.0) * float(own.fill)
            found.append(energy)
        return np.array(found)

    def _words(self, level: int, number: int, kind: int) -> tuple[Floats, Floats, float]:
        """Of a tensor whose tiles `level` holds, for each tile: the words that are filled and those
        that are sent, without multicast, at least; and how many may be lost by rounding.
        """
        costs, tensor = self.costs, self.costs.tensors[number]
        base = self._bases[number]
        once = np.full(len(base), float(tensor.words))
        if not tensor.ranks:
            stays = kind in (IDLE, ENDS)
            return (once, once, 0.0) if stays else (base, base, 0.0)
        (sliding,) = (each for each in costs.sliding if each.number == number)
        linked = max(costs.architecture.fanout(level - 1)) > 1
        alone = np.maximum(base * (1 - self._spared(sliding, kind, linked=False)), once)
        rounded = float(costs.room(level)) if costs.room(level) > 1 else 0.0
        if not linked:
            return alone, alone, rounded
        sent = base * (1 - self._spared(sliding, kind, linked=True))
        fill, worth = float(costs.rates[level].fill), float(sliding.worth[level])
        # What neighbours pass on spares a part of the price of filling it, if anything.
        filled = alone - np.maximum(alone - sent, 0.0) * (max(worth, 0.0) / fill if fill else 0.0)
        return filled, np.maximum(sent, once), rounded

    def _spared(self, sliding: Sliding, kind: int, *, linked: bool) -> Floats | float:
        """The share of its words that a tensor with windows may be spared, as `Windows.possible`
        says of new tiles: by neighbours, too, if these are `linked`.
        """
        if kind in (ENDS, FIXED):
            return 0.0
        rest = self.lattice.rest
        ranks = [rest[:, each.dims] for each in sliding.windows.ranks]
        around = rest[:, [*sliding.idle, *sliding.moving]].prod(axis=1)
        if kind == IDLE:
            places = prod(along.sum(axis=1) - 1 for along in ranks)
            return np.asarray(1 - places / around)
        dim = kind - DIMENSIONS
        kept = sliding.windows.kept_of_new(self.lattice.tiles, dim)
        rank, _ = sliding.windows.place[dim]
        along = 1 - 1 / ranks[rank].prod(axis=1)
        if not linked:
            return np.asarray(kept * along)
        once, later = sliding.windows.meets(self.lattice.tiles, dim)
        passed = np.where(once, 1 - 1 / around, np.where(later, (1 - 1 / around) / 2, 0.0))
        return np.asarray(np.where(kept > 0, np.where(once, along, kept * along), passed))

    @cached_property
    def _bases(self) -> list[Floats]:
        """Of each tensor: the words of all tiles, if every loop outside brings them anew."""
        return [self.costs.base(n, self.lattice.tiles) for n in range(len(self.costs.tensors))]

    @cached_property
    def _idle(self) -> list[Floats]:
        """Of each tensor: how many instances can share a tile's words, at most."""
        return [
            most_shared(self.costs, n, self.lattice.tiles) for n in range(len(self.costs.tensors))
        ]

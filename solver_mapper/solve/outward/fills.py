"""What it costs to fill the tiles of a level from further out, at least: for all tiles at once."""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np

from solver_mapper.solve.outward.costs import (
    DIMENSIONS,
    ENDS,
    FIXED,
    IDLE,
    Costs,
    rounds_alone,
)
from solver_mapper.solve.outward.inner import Floats, Ints, Outside, alike
from solver_mapper.solve.outward.lattice import Lattice
from solver_mapper.solve.outward.sharing import most_shared
from solver_mapper.solve.outward.sliding import Sliding, fewest_places

Fill = tuple[int, int, int]
"""A tensor, the kind of the next temporal loop for it, and how many instances share its words."""


MOST_KEPT = 50_000_000
"""Figures of fills that are kept for when they are asked for again, roughly."""


class Fills:
    """Fills of all tiles of a lattice, each worked out when it is first asked for."""

    def __init__(self, costs: Costs, lattice: Lattice):
        self.costs, self.lattice = costs, lattice
        self._known: dict[tuple[int, Fill], Floats] = {}
        self._shared: dict[tuple[int, int], Floats] = {}
        self._fit: dict[tuple[int, int], Ints] = {}
        self._sliding = {each.number: each for each in costs.sliding}
        self._spared = cache(self._spared_share)

    def energy(self, level: int, fill: Fill) -> Floats:
        """The least energy in pJ of filling a tensor's tiles at `level`, by its supplier
        (suppliers, tiles that fit), if the next temporal loop is of this kind and at most so many
        instances share words.
        """
        key = level, fill
        if key not in self._known:
            found = self._energy(level, *fill)
            if found.size * len(self._known) > MOST_KEPT:
                self._known.clear()
            self._known[key] = found
        return self._known[key]

    def forget(self) -> None:
        """Discard what is kept: each level is asked for at one time."""
        self._known.clear()

    def again(self, level: int, number: int) -> Floats:
        """What a tensor costs more in pJ, by its supplier (suppliers, tiles), if the loops that it
        was counted for once, which leave it alone, end inside the tile of `level`: each round of
        such loops that are left further out brings all of its words anew.
        """
        costs, tensor, rest = self.costs, self.costs.tensors[number], self._repeats[number]
        found = []
        for outer in costs.suppliers(number, level + 1):
            rates, room = costs.rates[number][outer], costs.room(outer)
            words = tensor.words * rest / np.minimum(rest, costs.room(level) // room)
            price = rates.update if tensor.written else rates.send
            first = tensor.span * np.minimum(self._alike[number], room)
            energy = (words - tensor.words) * float(price)
            if outer == 0 and any(costs.block_prices[number]):
                # The last block of what was counted once has room for some of these words.
                once = costs.least_last_block(number, np.array(float(tensor.words)))
                energy = energy + costs.least_last_block(number, words) - once
            found.append(energy + np.maximum(words - first, 0.0) * costs.again(number, outer))
        return np.array(found)

    def _energy(self, level: int, number: int, kind: int, share: int) -> Floats:
        costs, tensor, some = self.costs, self.costs.tensors[number], self.fitting(level, number)
        filled, sent, rounded = self._words(level, number, kind)
        filled, sent = filled[some], sent[some]
        idle, own, room = self._idle(level, number), costs.rates[number][level], costs.room(level)
        alike = (idle[0] * self._overlaps[number])[some]
        found = []
        for outer in costs.suppliers(number, level):
            rates = costs.rates[number][outer]
            shared = np.minimum(np.minimum(idle[outer][some], share), room // costs.room(outer))
            words = np.maximum(sent / shared, tensor.words)
            passing = costs.entries(outer, level)
            if not tensor.written:
                energy = words * (float(rates.send) + passing) + filled * float(own.fill)
            else:
                energy = words * (float(rates.update) + passing)
                if tensor.read_again:
                    again = words - tensor.span * np.minimum(alike, costs.room(outer))
                    energy = energy + np.maximum(again, 0.0) * float(rates.again)
                    again = filled - tensor.span * np.minimum(alike, room)
                    energy = energy + np.maximum(again, 0.0) * float(own.fill)
            if outer == 0 and any(costs.block_prices[number]):
                energy = energy + costs.least_last_block(number, words)
            prices = costs.price(number, outer) + costs.price(number, level) + float(own.fill)
            found.append(energy - rounded * prices)
        return np.array(found)

    def fitting(self, level: int, number: int) -> Ints:
        """The tiles that fit `level` if it holds a tensor alone."""
        if (level, number) not in self._fit:
            words = self.costs.tensors[number].tile_words(self.lattice.tiles)
            self._fit[level, number] = np.flatnonzero(self.costs.has_room(level, words))
        return self._fit[level, number]

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
        sliding = self._sliding[number]
        linked = max(costs.architecture.fanout(level - 1)) > 1
        alone = np.maximum(base * (1 - self._spared(number, kind, linked=False)), once)
        rounded = float(costs.room(level)) if costs.room(level) > 1 else 0.0
        if not linked:
            return alone, alone, rounded
        sent = base * (1 - self._spared(number, kind, linked=True))
        fill, worth = float(costs.rates[number][level].fill), float(sliding.worth[level])
        if tensor.written:
            # To pass on what is not read again, but for the first time, may cost nothing.
            worth = fill
        # What neighbours pass on spares a part of the price of filling it, if anything.
        filled = alone - np.maximum(alone - sent, 0.0) * (max(worth, 0.0) / fill if fill else 0.0)
        return filled, np.maximum(sent, once), rounded

    def _spared_share(self, number: int, kind: int, *, linked: bool) -> Floats | float:
        """The share of its words that a tensor with windows may be spared, as `Windows.possible`
        says of new tiles: by neighbours, too, if these are `linked`.
        """
        if kind in (ENDS, FIXED):
            return 0.0
        sliding = self._sliding[number]
        rest = self.lattice.rest
        ranks = [rest[:, each.dims] for each in sliding.windows.ranks]
        around = rest[:, [*sliding.idle, *sliding.moving]].prod(axis=1)
        if kind == IDLE:
            return np.asarray(1 - fewest_places(ranks) / around)
        dim = kind - DIMENSIONS
        kept = sliding.windows.kept_of_new(self.lattice.tiles, dim)
        along = 1 - 1 / self._sliding_rounds(sliding, dim)
        if not linked:
            return np.asarray(kept * along)
        at_once, later = sliding.windows.met(self.lattice.tiles, dim)
        passed = (1 - 1 / around) * (at_once + later) / 2
        return np.asarray(np.where(kept > 0, (kept + (1 - kept) * at_once) * along, passed))

    def _sliding_rounds(self, sliding: Sliding, dim: int) -> Floats:
        """How many rounds of loops further out may move each tile on by as much as the next one,
        which is over `dim`.
        """
        windows, (rank, _) = sliding.windows, sliding.windows.place[dim]
        dims = windows.ranks[rank].dims
        kinds, where = alike([*self.lattice.tiles[:, dims].T])
        extents = self.lattice.tiles[kinds][:, dims].tolist()
        both = np.array([windows.slide_on(dim, (one, other)) for one, other in extents])
        rest = self.lattice.rest
        return np.where(both[where], rest[:, dims].prod(axis=1), rest[:, dim])

    @cached_property
    def _bases(self) -> list[Floats]:
        """Of each tensor: the words of all tiles, if every loop outside brings them anew."""
        return [self.costs.base(n, self.lattice.tiles) for n in range(len(self.costs.tensors))]

    def _idle(self, level: int, number: int) -> Floats:
        """How many instances can share a tile's words that each level sends, at most."""
        if (level, number) not in self._shared:
            tiles, outside = self.lattice.tiles, Outside(level, level)
            self._shared[level, number] = most_shared(self.costs, number, tiles, outside)
        return self._shared[level, number]

    @cached_property
    def _overlaps(self) -> list[Floats]:
        """Of each tensor: how often tiles overlap further out, at most (`TensorCosts.overlap`)."""
        return [tensor.overlap(self.lattice.tiles)[1] for tensor in self.costs.tensors]

    @cached_property
    def _alike(self) -> list[Floats]:
        """See `Costs.held_alike`."""
        tensors = range(len(self.costs.tensors))
        return [self.costs.held_alike(n, self.lattice.tiles) for n in tensors]

    @cached_property
    def _repeats(self) -> list[Floats]:
        """Of each tensor: how many rounds of loops that leave it alone are outside a tile."""
        tensors = range(len(self.costs.tensors))
        return [rounds_alone(self.costs, n, self.lattice.tiles) for n in tensors]

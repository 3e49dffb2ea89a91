"""What all levels outside a tile cost at least, by the tile, by who supplies it, and by what is
known of the loops outside it.

From the outermost level inwards: a level that holds tensors has a tile of its own that is a
multiple of the one inside and fits; it is filled by the next outer holders, as often as the kind of
the first temporal loop outside its tile says. The least over all such tiles, kinds and holders is
no more than what any mapping pays there. What the supply of the given tile itself costs is left
out, as that is known better where the inner mapping is; but not what it costs more if loops that
leave a tensor alone, and for which it was counted once, have no room inside that level's tile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import ENDS, IDLE, Costs, largest
from solver_mapper.solve.outward.fills import Fill, Fills
from solver_mapper.solve.outward.inner import Flags, Floats, Ints, Outside
from solver_mapper.solve.outward.lattice import Lattice

MOST_FIGURES = 50_000_000
"""What a table of one level may have: for all tiles, all choices of suppliers, and all states."""

Spared = frozenset[int]
"""The tensors that a loop leaves alone."""


class State(NamedTuple):
    """What is known of the loops outside a tile.

    next: what the next temporal loop leaves alone; None if nothing is known of it.
    stays: a tensor that all temporal loops leave alone so far, and that was counted as if those
           over its other dimensions stood outside all of them; None if there is none.
    """

    next: Spared | None = None
    stays: int | None = None


def spared_by(kind: tuple[int, ...]) -> Spared:
    """The tensors that a temporal loop of some kind leaves alone."""
    return frozenset(n for n, each in enumerate(kind) if each == IDLE)


class OuterLevels:
    """Tables of one mapspace, made level by level when they are first asked for.

    Raises: ValueError, from any method, if a table would be too large.
    """

    def __init__(self, costs: Costs):
        self.costs = costs
        self.lattice = Lattice(costs.sizes)
        self.fills = Fills(costs, self.lattice)
        self._tables: list[Floats] = []
        self.dims: dict[Spared, list[int]] = defaultdict(list)
        for kind, dims in costs.kinds:
            self.dims[spared_by(kind)] += dims
        self._states = self._told_apart()
        self._numbers = {state: number for number, state in enumerate(self._states)}

    def number(self, spared: Spared | None, stays: int | None) -> int:
        """Which state the tables know next to a tile."""
        return self._numbers.get(State(spared, stays), 0)

    def _told_apart(self) -> list[State]:
        """The states, the one of which nothing is known first; that one alone if all tiles fit
        everywhere, or tables would be too large.
        """
        costs, found = self.costs, [State()]
        all_words = np.array([sum(each.words for each in costs.tensors)])
        if all(costs.fits(level, all_words).all() for level in range(costs.depth)):
            return found
        for spared in self.dims:
            found += [State(spared), *(State(spared, n) for n in sorted(spared))]
        choices = (costs.depth - 1) ** len(costs.tensors)
        return found if len(found) * choices * len(self.lattice) <= MOST_FIGURES else found[:1]

    @property
    def figures(self) -> int:
        """How many the tables of all levels have."""
        tensors = len(self.costs.tensors)
        choices = sum((level + 1) ** tensors for level in range(self.costs.depth - 1))
        return len(self.lattice) * len(self._states) * int(choices)

    def least(
        self, tile: Ints, holders: int, kind: tuple[int, ...] | None = None, may: Flags | None = None
    ) -> Floats:
        """The least energy in pJ that the `holders` outermost levels spend on their own tiles, for
        each choice of which of them supplies each tensor next: (holders, ..., rows).

        kind: of the next temporal loop, if that is known; `may`: whether each tensor (rows,
              tensors) is counted as staying until loops over its own dimensions stand outside.
        """
        while len(self._tables) < holders:
            self._tables.append(self._table(len(self._tables)))
        table, places = self._tables[holders - 1], self.lattice.places(tile)
        spared = None if kind is None or ENDS in kind else spared_by(kind)
        found = table[self.number(spared, None)][..., places]
        if may is not None and len(self._states) > 1:
            for n in sorted(spared or ()):
                rows = np.flatnonzero(may[:, n])
                stays = table[self.number(spared, n)][..., places[rows]]
                found[..., rows] = np.maximum(found[..., rows], stays)
        return np.asarray(found)

    def _table(self, level: int) -> Floats:
        """(states, level + 1, ..., tiles), for each choice of suppliers among the levels to
        `level`.
        """
        check_time()
        costs, tensors = self.costs, len(self.costs.tensors)
        if (level + 1) ** tensors * len(self.lattice) > MOST_FIGURES:
            raise ValueError("there are too many tiles and suppliers")
        shape = (len(self._states), *(level + 1,) * tensors, len(self.lattice))
        if not level:
            return np.zeros(shape)
        table, outer = np.full(shape, np.inf), self._tables[level - 1]
        for choice in product(*costs.holds[level]):
            held = [n for n, holds in enumerate(choice) if holds]
            place = tuple(level if n in held else slice(level) for n in range(tensors))
            table[(slice(None), *place)] = self._by_states(level, held, outer)
        return table

    def _by_states(self, level: int, held: list[int], outer: Floats) -> Floats:
        """The part of a table of which `level` holds these tensors."""
        lattice, fits = self.lattice, self._fits(level, held)
        if not held:
            least = lattice.least_outside(np.where(fits, outer[0], np.inf))
            return outer if fits.all() else np.maximum(outer, least)
        filled = _Filled(self, level, held, outer, fits)
        whatever = lattice.least_outside(filled.least())
        found = [whatever]
        # With loops side by side a tile is larger before there is a temporal one.
        meshes = max(self.costs.sides[level]) > 1
        for spared, stays in self._states[1:]:
            same, larger = filled.of(spared, stays), whatever
            if stays is not None:
                alone = lattice.least_outside(
                    filled.going_on(stays), None if meshes else self._idle(stays)
                )
                larger = np.minimum(lattice.least_outside(filled.least(stays)), alone)
            best = lattice.least_outside(same) if meshes else same
            further = [lattice.further(larger, dim) for dim in self.dims[spared or frozenset()]]
            found.append(np.minimum.reduce([best, *further]))
        return np.array(found)

    def _fits(self, level: int, held: list[int]) -> Flags:
        """Which tiles `level` may have if it holds these tensors."""
        costs, tiles = self.costs, self.lattice.tiles
        words = sum((costs.tensors[n].tile_words(tiles) for n in held), np.zeros(len(tiles)))
        return np.asarray(costs.fits(level, words) & costs.loops.tiles(level, tiles))

    def _idle(self, number: int) -> list[int]:
        """The dimensions of loops that leave a tensor alone."""
        return [dim for spared, dims in self.dims.items() if number in spared for dim in dims]



class _Filled:
    """What tiles cost at least in pJ of which `level` holds some tensors, with all levels further
    out, by who supplies the others: (suppliers, ..., tiles).

    by: by what the next temporal loop leaves alone (None: there is none), and by a tensor not held
        that stays, too (None: there is none).
    """

    def __init__(
        self, levels: OuterLevels, level: int, held: list[int], outer: Floats, fits: Flags
    ):
        self.levels, self.level, self.held, self._outer = levels, level, held, outer
        self._others = [n for n in range(outer.ndim - 2) if n not in held]
        self._some = np.flatnonzero(fits)
        self._known: dict[tuple[Spared | None, Spared, tuple[Fill, ...]], Floats] = {}
        self.by: dict[tuple[Spared | None, int | None], Floats] = {}
        for kind, possible in self._ways():
            spared = None if ENDS in kind else spared_by(kind)
            for stays in (None, *sorted((spared or frozenset()) - set(held))):
                total = np.where(possible, self._least_of_shares(kind, spared, stays), np.inf)
                before = self.by.get((spared, stays), np.inf)
                self.by[spared, stays] = np.minimum(before, total)

    def of(self, spared: Spared | None, stays: int | None) -> Floats:
        """If the next loop leaves these tensors alone, of which one stays."""
        return self.by[spared, None if stays in self.held else stays]

    def going_on(self, stays: int) -> Floats:
        """If the next loop leaves alone a tensor that stays."""
        return np.minimum.reduce(
            [self.of(spared, stays) for spared in self.levels.dims if stays in spared]
        )

    def least(self, stayed: int | None = None) -> Floats:
        """Whatever the next loop is; if one tensor `stayed` for no longer than inside this tile,
        with what it costs more then.
        """
        ends = self.by[None, None]
        others = [self.by[spared, None] for spared in self.levels.dims]
        if stayed is None:
            return np.minimum.reduce([ends, *others])
        again = self.levels.fills.again(self.level, stayed)
        axes = [1] * len(self._others)
        if stayed in self.held:
            again = again[self.level :]
        else:
            again, axes[self._others.index(stayed)] = again[: self.level], self.level
        return np.minimum(
            ends, np.minimum.reduce(others) + again.reshape(*axes, -1)
        )

    def _least_of_shares(
        self, kind: tuple[int, ...], spared: Spared | None, stays: int | None
    ) -> Floats:
        """Over all ways to share instances."""
        staying = (spared or frozenset()) & {*self.held, stays}
        found = np.full((*[self.level] * len(self._others), len(self.levels.lattice)), np.inf)
        for shares in self._shares():
            fills = [(n, kind[n], share) for n, share in zip(self.held, shares, strict=True)]
            total = self._supplied(spared, staying, tuple(reversed(fills)))
            found[..., self._some] = np.minimum(found[..., self._some], total)
        return found

    def _supplied(self, spared: Spared | None, staying: Spared, fills: tuple[Fill, ...]) -> Floats:
        """What levels further out cost, with the least of some fills; last tensors come first."""
        key = spared, staying, fills
        if key not in self._known and not fills:
            known = [(spared, n) for n in sorted(staying)] or [(spared, None)]
            tables = [self._outer[self.levels.number(*each)][..., self._some] for each in known]
            self._known[key] = np.maximum.reduce(tables)
        elif key not in self._known:
            *before, (number, kind, share) = fills
            total = self._supplied(spared, staying, tuple(before))
            fill = self.levels.fills.energy(self.level, (number, kind, share))[:, self._some]
            shape = (self.level, *(1,) * (total.ndim - 2 - number), len(self._some))
            self._known[key] = np.asarray((total + fill.reshape(shape)).min(axis=number))
        return self._known[key]

    def _ways(self) -> Iterator[tuple[tuple[int, ...], Flags]]:
        """The kinds of the next temporal loop outside tiles, and for which tiles each is possible:
        the last one says that there is none.
        """
        costs, lattice = self.levels.costs, self.levels.lattice
        outside = Outside(self.level, self.level)
        for kind, dims in costs.kinds:
            yield kind, costs.loops.repeats(outside, lattice.tiles, dims)
        ends = lattice.rest.prod(axis=1) <= costs.room(self.level)
        all_spread = costs.loops.all_spread(outside, lattice.tiles)
        yield (ENDS,) * len(costs.tensors), all_spread & ends

    def _shares(self) -> list[tuple[int, ...]]:
        """How many instances may share each held tensor's words (`Costs.shares`)."""
        costs, outside = self.levels.costs, Outside(self.level, self.level)
        shares = costs.shares(outside, prod(costs.sides[self.level - 1]))
        return largest({tuple(share[n] for n in self.held) for share in shares})

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
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import ENDS, IDLE, Costs
from solver_mapper.solve.outward.fills import Fill, Fills
from solver_mapper.solve.outward.inner import Flags, Floats, Ints, Outside
from solver_mapper.solve.outward.lattice import Lattice
from solver_mapper.solve.outward.sharing import Shares, largest

MOST_FIGURES = 50_000_000
"""How many figures a table of one level may have: for all tiles, all choices of suppliers, and all
states; and how many extents all tiles may have, one for each dimension.
"""
ROUNDING, LARGEST = 2.0**-23, 1e37
"""Figures are kept in single precision if none is larger, and lower by this share than they are,
which is more than rounding adds.
"""

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


Dims = tuple[int, ...]
"""The dimensions along which a tile may still be spread over the mesh right above it, before there
is a temporal loop.
"""


LevelTables = list[dict[Dims, Floats]]
"""Of each level: (states, suppliers, ..., tiles), for each choice of suppliers among this level and
those further out (`Costs.suppliers`).
"""


class OuterLevels:
    """Tables of one mapspace, made level by level when they are first asked for.

    lattice: all tiles. `fills`: what filling them costs. `dims`: the dimensions by the tensors that
        temporal loops over them leave alone.

    Raises: ValueError, from any method, if a table would be too large.
    """

    def __init__(self, costs: Costs):
        self.costs = costs
        self.lattice = Lattice(costs.sizes, MOST_FIGURES)
        self.fills = Fills(costs, self.lattice)
        self.shares = Shares(costs)
        self._tables: LevelTables = []
        self._making: Callable[[], LevelTables] = self.make
        self.dims: dict[Spared, list[int]] = defaultdict(list)
        for kind, dims in costs.kinds:
            self.dims[spared_by(kind)] += dims
        self._states = self._told_apart()
        self._numbers = {state: number for number, state in enumerate(self._states)}

    @property
    def states(self) -> int:
        """How many states are told apart."""
        return len(self._states)

    def number(self, spared: Spared | None, stays: int | None) -> int:
        """Which state the tables know next to a tile."""
        return self._numbers.get(State(spared, stays), 0)

    def told(self, spared: Spared | None) -> Spared:
        """Of which tensors tables tell that they stay, if the next loop leaves these alone."""
        return frozenset(n for n in spared or () if State(spared, n) in self._numbers)

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
        choices = prod(self._choices(costs.depth - 2))
        return found if len(found) * choices * len(self.lattice) <= MOST_FIGURES else found[:1]

    @property
    def made(self) -> bool:
        """Whether tables are made already."""
        return bool(self._tables)

    def make(self) -> LevelTables:
        """The tables of all levels."""
        if not self._tables:
            self._require_room()
            tables: LevelTables = []
            for level in range(self.costs.depth):
                tables.append(self._of_level(level, tables))
            self._tables = tables
        return self._tables

    def make_by(self, making: Callable[[], LevelTables]) -> None:
        """Have somebody else make the tables."""
        self._making = making

    @property
    def figures(self) -> int:
        """How many the tables of all levels have for each state."""
        choices = sum(prod(self._choices(level)) for level in range(self.costs.depth - 1))
        return len(self.lattice) * choices

    def _choices(self, level: int) -> list[int]:
        """How many suppliers of each tensor the tables of a level tell apart."""
        costs = self.costs
        return [len(costs.suppliers(n, level + 1)) for n in range(len(costs.tensors))]

    def least(
        self,
        tile: Ints,
        outside: Outside,
        kind: tuple[int, ...] | None = None,
        may: Flags | None = None,
    ) -> Floats:
        """The least energy in pJ that all holders outside spend on their own tiles, for each choice
        of which of them supplies each tensor next: (suppliers, ..., rows).

        kind: of the next temporal loop, if that is known; `may`: whether each tensor (rows,
              tensors) is counted as staying until loops over its own dimensions stand outside.
        """
        tables, places = self._of(outside.holders - 1), self.lattice.places(tile)
        mesh = self._spreadable(outside.spread) if outside.meshes == outside.holders else ()
        table = tables.get(mesh, tables[self._spreadable(0)])
        spared = None if kind is None or ENDS in kind else spared_by(kind)
        whatever = table[self.number(spared, None)].take(places, axis=-1)
        if may is None:
            return np.asarray(whatever)
        for n in self.told(spared):
            # A tensor that stays never makes tiles cheaper.
            stays = table[self.number(spared, n)].take(places, axis=-1)
            whatever = np.where(may[:, n], np.maximum(stays, whatever), whatever)
        return np.asarray(whatever)

    def around_meshes(self, level: int) -> tuple[Floats, Floats]:
        """The tables of a level (states, suppliers, ..., tiles) for tiles that may be spread over
        any dimensions before there is a temporal loop, and for those that are not.
        """
        tables = self._of(level)
        every = tables[self._spreadable(0)]
        return every, tables.get((), every)

    def _of(self, level: int) -> dict[Dims, Floats]:
        if not self._tables:
            self._require_room()
            self._tables = self._making()
        return self._tables[level]

    @property
    def fit(self) -> bool:
        """Whether there is room for all tables."""
        most = max(prod(self._choices(level)) for level in range(self.costs.depth))
        return most * len(self.lattice) <= MOST_FIGURES

    def _require_room(self) -> None:
        if not self.fit:
            raise ValueError("there are too many tiles and suppliers")

    @cached_property
    def _precision(self) -> type[np.floating[Any]]:
        """That of figures in the tables, by the most that these can come to."""
        costs, tiles = self.costs, self.lattice.tiles
        words = sum(costs.base(n, tiles).max() for n in range(len(costs.tensors)))
        dearest = max(float(rate) for each in costs.rates for rates in each for rate in rates)
        most = 4 * costs.depth * words * dearest
        return np.float32 if most < LARGEST and not costs.networks else np.float64

    def _spreadable(self, spread: int) -> Dims:
        """The dimensions over which a mesh may still have loops (`Outside.spread`)."""
        return tuple(dim for dim in self.costs.order[spread:] if self.costs.sizes[dim] > 1)

    def _meshes(self, level: int, figures: int) -> set[Dims]:
        """For which meshes that are being filled there are tables of a level, of so many figures
        each: for all of them if these are few, or for the full and the empty one.
        """
        every = self._spreadable(0)
        if max(self.costs.sides[level]) == 1:
            return {every}
        found = {self._spreadable(spread) for spread in range(len(self.costs.sizes) + 1)}
        return found if len(found) * figures <= MOST_FIGURES // 4 else {every, ()}

    def _of_level(self, level: int, made: LevelTables) -> dict[Dims, Floats]:
        """The tables of a level, by the dimensions that the mesh below it may still have."""
        check_time()
        costs, choices, every = self.costs, self._choices(level), self._spreadable(0)
        shape = (len(self._states), *choices, len(self.lattice))
        if not level:
            return {every: np.zeros(shape)}
        tables = {
            mesh: np.full(shape, np.inf, self._precision)
            for mesh in self._meshes(level, prod(shape))
        }
        outer = made[level - 1][every]
        for choice in product(*costs.holds[level]):
            held = [n for n, holds in enumerate(choice) if holds]
            outside = self._choices(level - 1)
            place = tuple(-1 if n in held else slice(more) for n, more in enumerate(outside))
            fits = self._fits(level, held)
            filled = _Filled(self, level, held, outer, fits) if held else None
            for mesh, table in tables.items():
                along = mesh if max(costs.sides[level]) > 1 else ()
                if filled is None:
                    table[(slice(None), *place)] = self._passed_by(outer, fits, along)
                    continue
                for number, found in enumerate(self._by_states(filled, along)):
                    table[(number, *place)] = _rounded_down(found)
        self.fills.forget()
        return tables

    def _passed_by(self, outer: Floats, fits: Flags, mesh: Dims) -> Floats:
        """The part of a table where a level holds nothing: what the next levels know, of tiles that
        may be spread along some dimensions before.
        """
        found = self.lattice.least_outside(outer, mesh)
        if fits.all():
            return found
        least = self.lattice.least_outside(np.where(fits, outer[0], np.inf))
        return np.maximum(found, least)

    def _by_states(self, filled: _Filled, mesh: Dims) -> Iterator[Floats]:
        """The least outside a tile for each state, if it may be spread along some dimensions."""
        lattice, every = self.lattice, range(len(self.costs.sizes))
        whatever = lattice.least_outside(filled.least())
        yield whatever
        larger: dict[int | None, Floats] = {None: whatever}
        for spared, stays in self._states[1:]:
            if stays is not None and stays not in larger:
                mine = {*self._idle(stays), *mesh}
                others = [dim for dim in every if dim not in mine]
                ends = lattice.least_outside(filled.least(stays), others)
                larger[stays] = lattice.least_outside(
                    np.minimum(ends, filled.going_on(stays)), mine
                )
            # With loops side by side a tile is larger before there is a temporal one.
            best = lattice.least_outside(filled.of(spared, stays), mesh)
            for dim in self.dims[spared or frozenset()]:
                best = np.minimum(best, lattice.further(larger[stays], dim))
            yield best

    def _fits(self, level: int, held: list[int]) -> Flags:
        """Which tiles `level` may have if it holds these tensors."""
        costs, tiles = self.costs, self.lattice.tiles
        words = sum((costs.tensors[n].tile_words(tiles) for n in held), np.zeros(len(tiles)))
        return np.asarray(costs.fits(level, words) & costs.loops.tiles(level, tiles))

    def _idle(self, number: int) -> list[int]:
        """The dimensions of loops that leave a tensor alone."""
        return [dim for spared, dims in self.dims.items() if number in spared for dim in dims]


def _rounded_down(figures: Floats) -> Floats:
    """Figures that are no higher in single precision; some are below 0, by rounding of words."""
    return np.minimum(figures * (1 - ROUNDING), figures * (1 + ROUNDING))


class _Filled:
    """What tiles cost at least in pJ of which `level` holds some tensors, with all levels further
    out, by who supplies the others: (suppliers, ..., tiles).
    """

    def __init__(
        self, levels: OuterLevels, level: int, held: list[int], outer: Floats, fits: Flags
    ):
        self._levels, self._level, self._held, self._outer = levels, level, held, outer
        self._others = [n for n in range(outer.ndim - 2) if n not in held]
        self._some = np.flatnonzero(fits)
        fitting = {n: levels.fills.fitting(level, n) for n in held}
        self._places = {n: np.searchsorted(each, self._some) for n, each in fitting.items()}
        self._known: dict[tuple[tuple[int, ...], tuple[Fill, ...]], Floats] = {}
        self._by: dict[tuple[Spared | None, int | None], Floats] = {}
        for kind, possible in self._ways():
            spared = None if ENDS in kind else spared_by(kind)
            for stays in (None, *levels.told(spared) - set(held)):
                total = self._least_of_shares(kind, spared, stays)
                total = np.where(possible[self._some], total, np.inf)
                before = self._by.get((spared, stays), total)
                self._by[spared, stays] = np.minimum(before, total)

    def of(self, spared: Spared | None, stays: int | None) -> Floats:
        """If the next loop leaves these tensors alone, of which one stays."""
        return self._everywhere(self._of(spared, stays))

    def going_on(self, stays: int) -> Floats:
        """If the next loop leaves alone a tensor that stays."""
        found = [self._of(spared, stays) for spared in self._levels.dims if stays in spared]
        return self._everywhere(reduce(np.minimum, found))

    def least(self, stayed: int | None = None) -> Floats:
        """Whatever the next loop is; if one tensor `stayed` for no longer than inside this tile,
        with what it costs more then.
        """
        ends = self._by[None, None]
        loops = [self._by[spared, None] for spared in self._levels.dims]
        found = reduce(np.minimum, loops) if loops else ends
        if stayed is not None:
            again = self._levels.fills.again(self._level, stayed).take(self._some, axis=1)
            axes = [1] * len(self._others)
            if stayed in self._held:
                again = again[-1:]
            else:
                more = len(self._levels.costs.suppliers(stayed, self._level))
                again, axes[self._others.index(stayed)] = again[:more], more
            found = found + again.reshape(*axes, -1)
        return self._everywhere(np.minimum(ends, found))

    def _of(self, spared: Spared | None, stays: int | None) -> Floats:
        return self._by[spared, None if stays in self._held else stays]

    def _everywhere(self, some: Floats) -> Floats:
        """Figures of the tiles that fit, with infinity for all others."""
        found = np.full((*some.shape[:-1], len(self._levels.lattice)), np.inf)
        found[..., self._some] = some
        return found

    def _least_of_shares(
        self, kind: tuple[int, ...], spared: Spared | None, stays: int | None
    ) -> Floats:
        """Over all ways to share instances."""
        staying = self._levels.told(spared) & {*self._held, stays}
        found = []
        for shares in self._shares():
            fills = [(n, kind[n], share) for n, share in zip(self._held, shares, strict=True)]
            found.append(self._supplied(spared, staying, tuple(reversed(fills))))
        return reduce(np.minimum, found)

    def _supplied(self, spared: Spared | None, staying: Spared, fills: tuple[Fill, ...]) -> Floats:
        """What levels further out cost, with the least of some fills; last tensors come first."""
        numbers = tuple(self._levels.number(spared, n) for n in staying or (None,))
        if (numbers, fills) in self._known:
            return self._known[numbers, fills]
        if not fills:
            outer = [self._outer[each].take(self._some, axis=-1) for each in numbers]
            found = reduce(np.maximum, outer)
        else:
            *before, (number, kind, share) = fills
            total = self._supplied(spared, staying, tuple(before))
            fill = self._levels.fills.energy(self._level, (number, kind, share))
            fill = fill.take(self._places[number], axis=1)
            by_supplier = map(np.add, np.moveaxis(total, number, 0), fill)
            found = reduce(np.minimum, by_supplier)
        if len(fills) < len(self._held):
            # What all fills add up to is asked for once.
            self._known[numbers, fills] = found
        return np.asarray(found)

    def _ways(self) -> Iterator[tuple[tuple[int, ...], Flags]]:
        """The kinds of the next temporal loop outside tiles, and for which tiles each is possible:
        the last one says that there is none.
        """
        costs, lattice = self._levels.costs, self._levels.lattice
        outside = Outside(self._level, self._level)
        for kind, dims in costs.kinds:
            yield kind, costs.loops.repeats(outside, lattice.tiles, dims)
        ends = lattice.rest.prod(axis=1) <= costs.room(self._level)
        all_spread = costs.loops.all_spread(outside, lattice.tiles)
        yield (ENDS,) * len(costs.tensors), all_spread & ends

    def _shares(self) -> list[tuple[int, ...]]:
        """How many instances may share each held tensor's words (`Costs.shares`)."""
        costs, outside = self._levels.costs, Outside(self._level, self._level)
        shares = self._levels.shares.most(outside, prod(costs.sides[self._level - 1]))
        return largest({tuple(share[n] for n in self._held) for share in shares})

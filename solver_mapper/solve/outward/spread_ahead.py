"""What is still to come at least, if loops side by side are chosen with the tiles they lead to.

As many instances may share words as loops on the meshes to come let, but these loops make all tiles
further out larger. Let x be the innermost one of the levels that supply the tensors next. All loops
on the meshes inside x, of f times as many instances, multiply the tile of each holder from x
outwards, so that these cost what tables tell of the tile times f; as many instances share words of
each tensor as f lets, times those of the meshes outside x; and no more units work than f and these
say. So each way to spread is looked at with each choice of suppliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from itertools import chain, groupby, product
from typing import Any, NamedTuple

import numpy as np

from solver_mapper.core.primes import divisors
from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.outward.ahead import Ahead, GoingOn
from solver_mapper.solve.outward.aim import Aim, cycles_at, rank
from solver_mapper.solve.outward.costs import NOISE
from solver_mapper.solve.outward.inner import Flags, Floats, Ints, Outside, alike
from solver_mapper.solve.outward.outer_levels import OuterLevels, Spared
from solver_mapper.solve.outward.packing import Mesh, may_lie
from solver_mapper.solve.outward.sharing import largest

MOST_WAYS = 5_000
"""Ways to spread over the meshes inside a supplier, at most."""
AT_ONCE = 200_000
"""Figures that are added and compared at once."""


class Block(NamedTuple):
    """Choices of suppliers with the same meshes inside the innermost one of them, and the ways to
    spread over these, in classes that share the same.

    levels: of which one is the innermost supplier. `choices`: (choices, tensors), where these stand
            among the suppliers of whatever is further in (`Costs.suppliers`); `in_tables`: and in
            the tables of the innermost one of the levels.
    further: (ways,), by how much ways move a tile in the lattice: the first ones of all classes,
             then the second ones, and so on, so many of `each`.
    fits: of each dimension (divisors, ways), whether a tile with this extent has room for them;
          None if all have.
    shares: of each tensor (classes, holders), how many instances share words that a level sends;
            of those with windows also how many may use these (classes, 2 * holders): some as
            neighbours pass them on.
    used: (classes,), how many times as many units work, at most.
    largest: the classes that no other one reaches in all tensors.
    """

    levels: tuple[int, ...]
    choices: Ints
    in_tables: Ints
    further: Ints
    each: tuple[int, ...]
    fits: list[Flags | None]
    shares: list[Ints]
    used: Ints
    largest: list[int]


class Tables(NamedTuple):
    """Figures of tiles, with each choice of suppliers: the largest one of some states, as a tensor
    that stays never makes tiles cheaper.

    firsts: of each choice, where the figures of its tiles begin.
    """

    firsts: Ints
    figures: list[Floats]

    def of(self, choices: Ints, places: Ints) -> Floats:
        """Figures of tiles at these places of the lattice with choices, both of one shape."""
        where = self.firsts[choices] + places
        return np.asarray(reduce(np.maximum, [each.take(where) for each in self.figures]))


class SpreadAhead:
    """The ways to spread of one mapspace, by what is still to come."""

    def __init__(self, outer: OuterLevels):
        self.outer, self.costs = outer, outer.costs
        self._divisors = [np.array(divisors(int(size))) for size in self.costs.sizes]
        self.blocks = cache(self._blocks)

    @property
    def numberings(self) -> list[Numbering[Any]]:
        """See `Costs.numberings`."""
        return self.costs.numberings

    def mentioned(self, part: Any) -> list[Ints]:
        """See `Tables.mentioned`, of parts of `parts.py`."""
        found: list[Ints] = part.mentioned(self.costs)
        return found

    def least(self, ahead: Ahead, aim: Aim) -> tuple[Floats, Floats]:
        """The least energy in pJ of whole mappings, apart from that of operations and leakage, and
        their least rank (rows,). There must be `blocks`.
        """
        return _Look(self, ahead, aim).least()

    def larger(self, block: Block, tile: Ints) -> Ints:
        """Where the tiles stand that ways to spread lead to (tiles, ways): behind all others if
        there are none.
        """
        fits = np.ones((len(tile), len(block.further)), dtype=bool)
        for extents, sizes, mine in zip(self._divisors, tile.T, block.fits, strict=True):
            if mine is not None:
                fits &= mine[np.searchsorted(extents, sizes)]
        lattice = self.outer.lattice
        return np.where(fits, lattice.places(tile)[:, None] + block.further, len(lattice))

    def tables(self, block: Block, spared: Spared | None, stay: Spared) -> tuple[Tables, Tables]:
        """What levels from the innermost supplier of a block outwards cost in pJ: whatever a tile
        may still be spread over, before there is a temporal loop; and if that is nothing. `spared`,
        `stay`: see `State`; the tensors that do so.
        """
        states = [self.outer.number(spared, n) for n in (None, *sorted(stay))]
        before, after = self.outer.around_meshes(block.levels[-1])
        sides, tiles = before.shape[1:-1], len(self.outer.lattice)
        firsts = np.ravel_multi_index(tuple(block.in_tables.T), sides) * tiles
        return (
            Tables(firsts, [before[state].reshape(-1) for state in states]),
            Tables(firsts, [after[state].reshape(-1) for state in states]),
        )

    def _blocks(self, outside: Outside) -> list[Block]:
        """The ways to spread; none if no mesh is to come, one is being filled, or there are too
        many of them.
        """
        costs, found = self.costs, []
        if outside.spread or not costs.units_placed(outside) or costs.room(outside.meshes) == 1:
            return []
        rooms = [costs.room(min(level, outside.meshes)) for level in range(outside.holders)]
        for room, levels in groupby(range(outside.holders), rooms.__getitem__):
            alike = tuple(levels)
            choices = self._choices(alike, outside.holders)
            if not choices:
                continue
            ways = self._spread(outside, costs.sides[alike[0] : outside.meshes])
            if len(ways) > MOST_WAYS:
                return []
            found.append(self._block(alike, choices, ways, room, outside.holders))
        return found

    def _choices(self, levels: tuple[int, ...], holders: int) -> list[tuple[int, ...]]:
        """The suppliers of all tensors of which the innermost one is among these levels."""
        suppliers = [self.costs.suppliers(n, holders) for n in range(len(self.costs.tensors))]
        return [choice for choice in product(*suppliers) if max(choice) in levels]

    def _spread(self, outside: Outside, meshes: list[Mesh]) -> Ints:
        """All loops (ways, dimensions) over these of the meshes to come."""
        found = np.ones((1, 0), dtype=np.int64)
        for dim, size in enumerate(map(int, self.costs.sizes)):
            whole = self.costs.loops.spread_over(dim, outside)
            bounds = [each for each in divisors(size) if any(n % each == 0 for n in whole)]
            grown = [np.column_stack([found, np.full(len(found), bound)]) for bound in bounds]
            found = np.concatenate(grown)
            found = found[[may_lie(way, meshes) for way in found.tolist()]]
        return found

    def _block(
        self,
        levels: tuple[int, ...],
        choices: list[tuple[int, ...]],
        ways: Ints,
        room: int,
        holders: int,
    ) -> Block:
        costs = self.costs
        bounds = [dict(enumerate(way)) for way in ways.tolist()]
        shares = np.array([[each.shared(way) for each in costs.tensors] for way in bounds])
        sliding = [each.number for each in costs.sliding]
        users = [ways[:, self._not_fixed(n)].prod(axis=1) for n in sliding]
        shares = np.column_stack([shares, *users])
        classes, where, each = np.unique(shares, axis=0, return_inverse=True, return_counts=True)
        largest_first = np.argsort(-each, kind="stable")
        number = np.argsort(largest_first)[where.reshape(-1)]
        by_class = np.argsort(number, kind="stable")
        nth = np.arange(len(ways)) - np.searchsorted(number[by_class], number[by_class])
        order = by_class[np.argsort(nth, kind="stable")]
        used = np.zeros(len(classes), dtype=np.int64)
        np.maximum.at(used, number, ways.prod(axis=1))
        beyond = np.array([max(room // costs.room(level), 1) for level in range(holders)])
        known = [tuple(each) for each in classes[largest_first].tolist()]
        of_levels = [mine[:, None] * beyond for mine in classes[largest_first].T]
        for n, mine in zip(sliding, of_levels[len(costs.tensors) :], strict=True):
            of_levels[n] = np.column_stack([of_levels[n], mine])
        return Block(
            levels,
            self._places(choices, holders),
            self._places(choices, levels[-1] + 1),
            self.outer.lattice.places(ways[order]),
            tuple(np.bincount(nth).tolist()),
            [self._fits(dim, bounds) for dim, bounds in enumerate(ways[order].T)],
            of_levels[: len(costs.tensors)],
            used * room,
            [known.index(each) for each in largest(map(tuple, known))],
        )

    def _places(self, choices: list[tuple[int, ...]], before: int) -> Ints:
        """Where choices stand among the suppliers of whatever is inside a level."""
        suppliers = [self.costs.suppliers(n, before) for n in range(len(self.costs.tensors))]
        return np.array([list(map(list.index, suppliers, choice)) for choice in choices])

    def _not_fixed(self, n: int) -> list[int]:
        """Dimensions over which spatial loops may have instances use the same words."""
        return [
            dim for dim in range(len(self.costs.sizes)) if dim not in self.costs.tensors[n].fixed
        ]

    def _fits(self, dim: int, bounds: Ints) -> Flags | None:
        if bounds.max() == 1:
            return None
        rest = int(self.costs.sizes[dim]) // self._divisors[dim]
        return np.asarray(rest[:, None] % bounds == 0)


class _Look:
    """One look at rows: at those of each tile together, with each choice of suppliers; for choices
    that may lead below the target, with each class of ways to spread; and for classes that may,
    row by row.
    """

    def __init__(self, spread: SpreadAhead, ahead: Ahead, aim: Aim):
        self._spread, self._ahead, self._aim = spread, ahead, aim
        rows, costs = ahead.rows, spread.costs
        self._tensors = range(len(costs.tensors))
        self._blocks = spread.blocks(ahead.outside)
        self._shares, places = [], []
        for n in self._tensors:
            every = np.concatenate([block.shares[n] for block in self._blocks])
            known, where = np.unique(every, axis=0, return_inverse=True)
            self._shares.append(known)
            places.append(where.reshape(-1))
        ends = np.cumsum([len(block.used) for block in self._blocks])[:-1]
        self._at = list(zip(*(np.split(each, ends) for each in places), strict=True))
        unmoved = ahead.unmoved @ (1 << np.arange(len(self._tensors)))
        self._first, self._tile = alike([spread.outer.lattice.places(rows.tile), unmoved])
        self._rows = np.argsort(self._tile, kind="stable")
        self._counts = np.bincount(self._tile, minlength=len(self._first))
        self._starts = np.cumsum(self._counts) - self._counts
        self._settled = self._of_tiles(np.minimum, ahead.settled)
        self._pace = self._of_tiles(np.maximum, rows.pace)
        most = costs.spread_at_most(ahead.outside, rows.tile, rows.meshes)
        self._most = self._of_tiles(np.maximum, most)
        self._of_tile = np.full((2, len(self._first)), np.inf)
        self._of_row = np.full((2, len(rows)), np.inf)

    def least(self) -> tuple[Floats, Floats]:
        """See `SpreadAhead.least`."""
        by_spared: dict[Spared | None, list[GoingOn]] = defaultdict(list)
        for each in self._ahead.going_on(self._shares):
            by_spared[each.spared].append(each)
        for spared, ways in by_spared.items():
            supplies = [
                np.minimum.reduce([np.where(way.possible, way.supplies[n], np.inf) for way in ways])
                for n in self._tensors
            ]
            least = [self._of_tiles(np.minimum, each).transpose(1, 2, 0) for each in supplies]
            for number in range(len(self._blocks)):
                self._look_at_tiles(number, spared, ways, least)
        energy, ranks = np.minimum(self._of_row, self._of_tile[:, self._tile])
        return energy, ranks

    def _of_tiles(self, how: np.ufunc, figures: Floats | Ints) -> Floats:
        """The least or largest figures (..., rows) of the rows of each tile (..., tiles)."""
        return np.asarray(how.reduceat(figures[..., self._rows], self._starts, axis=-1))

    def _ranked(self, tiles: Ints, energy: Floats, used: Ints | int) -> Floats:
        """The least rank of rows of tiles that make so many times as many units work, at most."""
        costs, aim = self._spread.costs, self._aim
        pace = self._pace[tiles] * np.minimum(self._most[tiles], used)
        return rank(costs, aim, cycles_at(costs, aim.latency, pace), energy)

    def _lead_on(self, tiles: Ints, energy: Floats, used: Ints | int) -> Flags:
        """What may lead below the target (tiles, ways); tiles need no more than what does not."""
        ranks = self._ranked(tiles[:, None], energy, used)
        found = np.asarray(ranks * (1 - NOISE) < self._aim.target)
        for bound, figures in zip(self._of_tile, (energy, ranks), strict=True):
            np.minimum.at(bound, tiles, np.where(found, np.inf, figures).min(axis=1))
        return found

    def _look_at_tiles(
        self, number: int, spared: Spared | None, ways: list[GoingOn], least: list[Floats]
    ) -> None:
        """Look at all tiles with the choices of a block. `least`: the least supplies of each tensor
        for the rows of each tile (suppliers, tiles, shares).
        """
        block, outer = self._blocks[number], self._spread.outer
        at = self._at[number]
        told = sorted(outer.told(spared))
        stays = self._ahead.unmoved[self._first][:, told]
        for stay in np.unique(stays, axis=0):
            staying = frozenset(n for n, stays_here in zip(told, stay, strict=True) if stays_here)
            before, after = self._spread.tables(block, spared, staying)
            tiles = np.flatnonzero((stays == stay).all(axis=1))
            step = max(AT_ONCE // len(block.choices), 1)
            parts = (tiles[start : start + step] for start in range(0, len(tiles), step))
            every = (self._choices(block, at, before, part, least) for part in parts)
            for some, choices in chain.from_iterable(every):
                figures = self._figures(block, after, some, choices)
                total = figures + self._settled[some, None]
                for n, each in enumerate(least):
                    level = block.choices[choices, n]
                    total += each[level, some].take(at[n], axis=1)
                pairs, classes = np.nonzero(self._lead_on(some, total, block.used))
                suppliers = block.choices[choices[pairs]]
                supplied = [(at[n][classes], suppliers[:, n]) for n in self._tensors]
                further, used = figures[pairs, classes], block.used[classes]
                self._look_at_rows(some[pairs], ways, supplied, further, used)

    def _choices(
        self, block: Block, at: Sequence[Ints], tables: Tables, tiles: Ints, least: list[Floats]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Tiles with choices of suppliers that may lead below the target, whatever is shared and
        whichever tiles are further out; some of them at once.
        """
        # What a tile is spread to may cost less than the tile itself: it may be the next holder's.
        bound = np.full((len(tiles), len(block.choices)), np.inf)
        for best in block.largest:
            together = np.zeros(bound.shape)
            for n, each in enumerate(least):
                together += each[block.choices[:, n], :, at[n][best]].T[tiles]
            bound = np.minimum(bound, together)
        places = self._spread.outer.lattice.places(self._ahead.rows.tile[self._first[tiles]])
        every = np.arange(len(block.choices))
        bound += tables.of(every, places[:, None]) + self._settled[tiles, None]
        found, choices = np.nonzero(self._lead_on(tiles, bound, block.used.max()))
        step = max(AT_ONCE // len(block.further), 1)
        for start in range(0, len(found), step):
            yield tiles[found[start : start + step]], choices[start : start + step]

    def _figures(self, block: Block, tables: Tables, tiles: Ints, choices: Ints) -> Floats:
        """What tables tell of tiles with choices of suppliers, by class of ways to spread."""
        known, where = np.unique(tiles, return_inverse=True)
        behind = len(self._spread.outer.lattice)
        larger = self._spread.larger(block, self._ahead.rows.tile[self._first[known]])
        none, places = larger == behind, np.minimum(larger, behind - 1)
        every = tables.of(choices[:, None], places[where])
        every[none[where]] = np.inf
        found, start = every[:, : block.each[0]], block.each[0]
        for more in block.each[1:]:
            np.minimum(found[:, :more], every[:, start : start + more], out=found[:, :more])
            start += more
        return np.asarray(found)

    def _look_at_rows(
        self,
        tiles: Ints,
        ways: list[GoingOn],
        supplied: list[tuple[Ints, Ints]],
        further: Floats,
        used: Ints,
    ) -> None:
        """Look at each row of tiles. `supplied`: for each tensor which share and which supplier has
        some figures of levels `further` out.
        """
        ends = np.cumsum(self._counts[tiles])
        firsts = self._starts[tiles] - (ends - self._counts[tiles])
        for start in range(0, ends[-1] if len(ends) else 0, AT_ONCE):
            pairs = np.arange(start, min(start + AT_ONCE, ends[-1]))
            which = np.searchsorted(ends, pairs, side="right")
            rows = self._rows[firsts[which] + pairs]
            places = [(share[which], supplier[which], rows) for share, supplier in supplied]
            supplies = np.full(len(pairs), np.inf)
            for way in ways:
                total = np.where(way.possible[rows], 0.0, np.inf)
                for place, each in zip(places, way.supplies, strict=True):
                    total += each[place]
                np.minimum(supplies, total, out=supplies)
            energy = further[which] + self._ahead.settled[rows] + supplies
            ranks = self._ranked(tiles[which], energy, used[which])
            for bound, figures in zip(self._of_row, (energy, ranks), strict=True):
                np.minimum.at(bound, rows, figures)

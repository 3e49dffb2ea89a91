"""Tensors with sliding windows in many inner mappings at once: `tile_chains.py` by arrays.

Of such a tensor, words are counted as if every loop still to come made all its holders fetch whole
tiles. What loops spare is taken off when they are added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.outward.inner import (
    DOUBTFUL,
    Flags,
    Floats,
    InnerMappings,
    Ints,
    alike,
)
from solver_mapper.solve.outward.tile_chains import TileState, Windows, least_prime, staying

ROUNDED = 0.5
"""By how many words each instance may round down what it sends."""


class Sparing(NamedTuple):
    """Per chain, whole tiles; arrays are (rows, depth + 1), chains by the level of their holder.

    passed: of those that have to be fetched, what neighbours pass on. `new`: what the next loop
            brings at least, which either the next holder sends or neighbours pass on.
    """

    fetched: Floats
    sent: Floats
    passed: Floats
    new: Floats


class _Rounds(NamedTuple):
    """Rounds of loops still to come, (rows, 1): of all loops, of those over fixed dimensions, and
    of the others by their bit (`Windows.bits`). `places`: how many different places the loops over
    windows move a tile to, at least.
    """

    all: Floats
    fixed: Floats
    by_bit: list[tuple[int, Floats]]
    places: Floats


class Less(NamedTuple):
    """What a temporal loop changes: new states; the energy in pJ that it spares, and what it makes
    neighbours pay; the words that the next holder need not send; in pJ what rounding may save; what
    is in doubt then (`InnerMappings.doubts`); and by chains (rows, depth + 1) `fetched`, the words
    with which holders are not filled, at most; `kept`, those of them that no neighbour passes on;
    and `sent`, those that next holders need not send.

    Where neighbours pass words on, the cost model rounds what an instance gets and passes on, on
    average.
    """

    states: Ints
    energy: Floats
    charged: Floats
    words: Floats
    lost: Floats
    doubts: Ints
    fetched: Floats
    kept: Floats
    sent: Floats


class WordPrices(NamedTuple):
    """What a level spends on a word in pJ: that it sends, that it is filled with, and that its
    elements pass on to each other.
    """

    send: float
    fill: float
    passed: float


class Prices(NamedTuple):
    """In pJ, of each chain.

    fill: of a word that its holder writes. send: that the next holder sends, with what networks
          charge for it; 0 if there is none yet.
    """

    fill: Floats
    send: Floats


class Mesh(NamedTuple):
    """The mesh below `level`, so `width` wide, of which a tensor in some state uses so much along X
    and Y.
    """

    state: int
    level: int
    used: tuple[int, int]
    width: int


class Filled(NamedTuple):
    """The state of a tensor when a mesh is filled, for one kind of orders of its loops; how many
    times as many words are sent as was counted, and whether that is certain.
    """

    state: TileState
    more: float
    certain: bool


class _Figures:
    """A figure of states, worked out for those that it is asked of."""

    def __init__(self, figure: Callable[[TileState], Any], states: Numbering[TileState]):
        self._figure, self._states = figure, states
        self._values = np.array([figure(states[0])])
        self._known = np.array([True])

    def of(self, numbers: Ints) -> NDArray[Any]:
        """The figures of states with these numbers."""
        if (more := len(self._states) - len(self._known)) > 0:
            more = max(more, len(self._known))
            self._known = np.append(self._known, np.zeros(more, dtype=bool))
            self._values = np.append(
                self._values, np.zeros((more, *self._values.shape[1:]), self._values.dtype), axis=0
            )
        unknown = sorted(set(numbers[~self._known[numbers]].tolist()))
        if unknown:
            found = np.array([self._figure(self._states[number]) for number in unknown])
            # Figures may be whole numbers until one is not.
            self._values = self._values.astype(np.result_type(self._values, found), copy=False)
            self._values[unknown], self._known[unknown] = found, True
        return np.asarray(self._values[numbers])


class Sliding:
    """One tensor.

    number: of the tensor; `column`: of its arrays in `InnerMappings`.
    charge: what elements pay in pJ for a word that neighbours pass on. The cost model charges those
        of one instance of the level outside alone, of as many as loops can use of `parents`.
    linking: what networks charge in pJ for such a word, of all elements.
    worth: what each of these words spares on average, at most, in pJ; below 0 if it costs more.
    rounding: what an instance of each level may save by rounding, in pJ, if words are passed on.
    """

    def __init__(
        self,
        number: int,
        column: int,
        windows: Windows,
        sizes: Ints,
        levels: list[WordPrices],
        parents: list[int],
        linking: list[float],
    ):
        self.number, self.column, self.windows, self.sizes = number, column, windows, sizes
        self.levels, self.depth = levels, len(levels)
        self.charge = np.array([*(each.passed for each in levels), 0.0])
        self.least_charge = self.charge / [*parents, 1]
        self.linking = np.array(linking)
        fill = np.array([*(each.fill for each in levels), 0.0])
        self.worth = fill - self.linking - self.least_charge
        self.rounding = np.array([*(each.fill + ROUNDED * each.send for each in levels), 0.0])
        self.states = Numbering([windows.start])
        self._kinds = Numbering([windows.start])
        self._meshes = Numbering[object]()
        many = [dim for dim, size in enumerate(sizes) if size > 1]
        self.fixed = [dim for dim in many if dim in windows.fixed]
        self.moving = [dim for dim in many if dim in windows.place]
        self.idle = [dim for dim in many if dim not in windows.fixed and dim not in windows.place]
        self._figures: dict[object, _Figures] = {}
        self._spread = cache(self._spread_state)
        self._filled: dict[Mesh, list[Filled]] = {}
        self._repeated: dict[tuple[int, int, int], tuple[int, Floats, int]] = {}

    def spread(
        self, rows: InnerMappings, level: int, dim: int, bound: int, axis: int
    ) -> tuple[Ints, Floats]:
        """The states with a spatial loop, and how many times as many words are sent then."""
        inner = rows.meshes[:, axis]
        keys, where = _unique(rows.states[:, self.column], inner)
        found = [self._spread(state, level, dim, bound, axis, beside) for state, beside in keys]
        states, more = zip(*found, strict=True) if found else ((), ())
        return np.array(states, dtype=np.int64)[where], np.array(more, dtype=float)[where]

    def _spread_state(
        self, state: int, level: int, dim: int, bound: int, axis: int, beside: int
    ) -> tuple[int, float]:
        after, more = self.windows.spread(self.states[state], level, dim, bound, axis, beside)
        return self.states.number(after), more

    def unfilled(self, rows: InnerMappings, level: int, width: int) -> list[Mesh]:
        """Meshes below `level` of which it is not known yet what filling them means; those with
        the same loops, for which much of it is the same, one after the other.
        """

        def loops(mesh: Mesh) -> tuple[Any, ...]:
            state = self.states[mesh.state]
            return mesh.used, state.mesh, state.others

        keys, _ = _unique(rows.states[:, self.column], *rows.meshes.T)
        meshes = (Mesh(state, level, (x, y), width) for state, x, y in keys)
        return sorted((each for each in meshes if each not in self._filled), key=loops)

    def filled(self, meshes: Sequence[Mesh]) -> list[list[Filled]]:
        """What filling each mesh means (`Windows.mesh_filled`)."""
        return [
            [
                Filled(*way)
                for way in self.windows.mesh_filled(
                    self.states[each.state], each.level, each.used, each.width
                )
            ]
            for each in meshes
        ]

    def learn_filled(self, meshes: Sequence[Mesh], found: Sequence[list[Filled]]) -> None:
        """Take note of that."""
        self._filled |= zip(meshes, found, strict=True)

    def mesh_filled(
        self, rows: InnerMappings, level: int, width: int
    ) -> tuple[Ints, Ints, Floats, Flags]:
        """The rows, one for each kind of orders of the loops of the mesh, when all spatial loops
        below `level` stand; their states, how many times as many words are sent as was counted, and
        whether that is certain.
        """
        unknown = self.unfilled(rows, level, width)
        self.learn_filled(unknown, self.filled(unknown))
        keys, kind = _unique(rows.states[:, self.column], *rows.meshes.T)
        found = [self._filled[Mesh(state, level, (x, y), width)] for state, x, y in keys]
        numbers = np.array([len(each) for each in found], dtype=np.int64)
        which = np.repeat(np.arange(len(rows)), numbers[kind])
        nth = np.arange(len(which)) - np.repeat(
            np.cumsum(numbers[kind]) - numbers[kind], numbers[kind]
        )
        place = (np.cumsum(numbers) - numbers)[kind[which]] + nth
        ways = [way for each in found for way in each]
        return (
            which,
            np.array([self.states.number(way.state) for way in ways], dtype=np.int64)[place],
            np.array([way.more for way in ways], dtype=float)[place],
            np.array([way.certain for way in ways], dtype=bool)[place],
        )

    def repeated(self, rows: InnerMappings, dim: int, bound: int, rounds: Floats) -> Less:
        """What a temporal loop changes. `rounds`: of all loops outside it."""
        keys, where = _unique(rows.states[:, self.column])
        states, spared = [], np.zeros((6, len(keys), self.depth + 1))
        doubts = np.zeros(len(keys), dtype=np.int64)
        for row, (state,) in enumerate(keys):
            after, spared[:, row], doubts[row] = self._after(state, dim, bound)
            states.append(after)
        fetched, sent, saved, charged, rounded, passed = spared[:, where]
        prices, parents = self.prices(rows), rows.parents[:, self.column]
        mine, theirs = rows.fetched[:, self.column], rows.sent[:, self.column]
        energy = mine * (fetched * prices.fill + saved) + theirs * sent * prices.send
        unsent = theirs * sent * rounds[:, None]
        return Less(
            np.array(states, dtype=np.int64)[where],
            energy.sum(axis=1) * rounds,
            (mine * charged / parents).sum(axis=1) * rounds,
            unsent[np.arange(len(rows)), self.outermost(rows)],
            (rounded * rows.copies[:, self.column] * self.rounding).sum(axis=1),
            doubts[where],
            mine * (fetched + passed) * rounds[:, None],
            mine * fetched * rounds[:, None],
            unsent,
        )

    def may_lose(self, rows: InnerMappings) -> Floats:
        """What rounding may save further out, in pJ, of what loops to come make neighbours pass on,
        for instances in use so far.
        """
        may = self._by_chains(rows, "may lose", self._passing)
        copies = rows.copies[:, self.column]
        return np.asarray((may * copies * self.rounding).sum(axis=1))

    def unmoved(self, rows: InnerMappings) -> Flags:
        """Whether nothing but idle loops stands outside the outermost holder so far."""

        def stays(state: TileState) -> bool:
            chain = state.chains[-1]
            still = chain.shift is None or (chain.kept == 1 and not any(chain.back))
            return chain.level < self.depth and chain.live and still

        return self._by_chains(rows, "unmoved", stays)

    def may_pass(self, rows: InnerMappings) -> Flags:
        """Whether neighbours may yet pass words on, of holders around which all meshes stand."""

        def passes(state: TileState) -> bool:
            return any(chain.live and (chain.links or chain.beside) for chain in state.chains)

        return self._by_chains(rows, "may pass", lambda state: bool(passes(state)))

    def _passing(self, state: TileState) -> Floats:
        """(depth + 1): 1 where neighbours may yet pass words on."""
        may = np.zeros(self.depth + 1)
        for chain in state.chains:
            is_open = not state.filled and chain is state.chains[-1]
            linked = is_open or bool(chain.links) or chain.beside
            may[chain.level] = chain.live and linked and not chain.passing
        return may

    def _after(self, state: int, dim: int, bound: int) -> tuple[int, Floats, int]:
        """The state with a temporal loop; and (6, depth + 1) tiles that are not fetched, and not
        sent; for each word of a tile, what passing words on spares in pJ at most but for what is
        charged, and what is; 1 where neighbours do so for the first time; and tiles that they pass
        on at most; and what is in doubt.
        """
        key = state, dim, bound
        if key not in self._repeated:
            after, each = self.windows.repeated(self.states[state], dim, bound)
            spared, doubts = np.zeros((6, self.depth + 1)), 0
            for chain, less in zip(self.states[state].chains, each, strict=True):
                level, first = chain.level, less.most > 0 and not chain.passing
                passed = less.most if self.worth[level] > 0 else less.fewest
                saved = passed * self.worth[level] + less.fewest * self.least_charge[level]
                charged = less.fewest * self.charge[level]
                spared[:, level] = less.fetched, less.sent, saved, charged, first, less.most
                if less.most > 0 and level < self.depth:
                    doubts |= self._passing_bit(level) if less.most == less.fewest else DOUBTFUL
            self._repeated[key] = self.states.number(after), spared, doubts
        return self._repeated[key]

    def _passing_bit(self, level: int) -> int:
        """The bit of doubts for what neighbours of the holder at `level` pass on."""
        return min(1 << (self.column * self.depth + level), DOUBTFUL)

    def held(self, rows: InnerMappings, level: int) -> Ints:
        """The states with a further holder."""
        keys, where = _unique(rows.states[:, self.column])
        found = [
            self.states.number(self.windows.held(self.states[state], level)) for (state,) in keys
        ]
        return np.array(found, dtype=np.int64)[where]

    def placed(self, rows: InnerMappings) -> tuple[Ints, Floats]:
        """The states when no more loops over dimensions of windows will stand on the mesh, and how
        many times as many words are sent as was counted, at least.
        """
        keys, where = _unique(rows.states[:, self.column])
        found = [self.windows.placed(self.states[state]) for (state,) in keys]
        states = np.array([self.states.number(state) for state, _ in found], dtype=np.int64)
        return states[where], np.array([more for _, more in found])[where]

    def rounded(self, rows: InnerMappings) -> Ints:
        """1 where the next holder may send less than is counted, by rounding."""
        return self._by_state(rows, "rounded", lambda state: int(state.rounded))

    def sharers(self, rows: InnerMappings, spread: Collection[int]) -> Floats:
        """How many times as many elements as `TensorCosts.shared` says of the loops to come may
        share words, at most, because of those over windows on the mesh that is being filled.

        With `a` and `b` iterations of the dimensions of a window on the mesh so far, and `c` and
        `d` to come, it is min(ac, bd) / min(c, d). Of dimensions that are `spread` no more come.
        """
        found = np.ones(len(rows))
        placed = self._by_state(rows, "sharers", self._placed)
        for number, rank in enumerate(self.windows.ranks):
            if not set(rank.dims) <= set(spread):
                now = placed[:, number]
                total = now * self.sizes[list(rank.dims)] // rows.tile[:, rank.dims]
                found *= np.minimum(now.max(axis=1), total.min(axis=1))
        return found

    def _placed(self, state: TileState) -> Ints:
        """(ranks, 2): iterations of each dimension of a window on the mesh that is being filled, as
        long as more of them may come.
        """
        placed = np.ones((len(self.windows.ranks), 2), dtype=np.int64)
        for loop in () if state.placed else state.mesh:
            placed[loop.rank, loop.side] *= loop.bound
        return placed

    def growth(self, rows: InnerMappings) -> Floats:
        """How many times as many words as is counted the mesh that is being filled may send."""
        return self._by_state(rows, "growth", self.windows.growth)

    def begun(self, rows: InnerMappings) -> Ints:
        """The tiles without the loops of the mesh that is being filled, as far as more over
        dimensions of windows may come.
        """
        tile = rows.tile.copy()
        grown = self._by_state(rows, "begun", self.windows.begun)
        tile[:, [dim for each in self.windows.ranks for dim in each.dims]] //= grown
        return tile

    def meshes(self, rows: InnerMappings) -> Ints:
        """The same number for states that agree in the mesh that is being filled."""

        def number(state: TileState) -> int:
            key = state.mesh, state.others, state.filled
            return self._meshes.number(key)

        return self._by_state(rows, "meshes", number)

    def sparing(self, rows: InnerMappings, words: int) -> dict[int, Sparing]:
        """What all loops still to come may spare at most, by the dimension of the next one: the
        first idle one stands for all of these.

        `words`: how many different ones the tensor has.
        """
        left = self.sizes / rows.tile
        rounds = _Rounds(
            left.prod(axis=1)[:, None],
            left[:, self.fixed].prod(axis=1)[:, None],
            [
                (self.windows.idle_bit, left[:, self.idle].prod(axis=1)[:, None]),
                *((bit, left[:, [dim]]) for dim, bit in self.windows.bits.items()),
            ],
            fewest_places([left[:, each.dims] for each in self.windows.ranks])[:, None],
        )
        first = int(self.outermost(rows).min(initial=self.depth))
        tiles = rows.fetched[:, self.column, first:]
        least = words / np.where(tiles > 0, tiles, np.inf)
        dims = (*self.idle[:1], *self.moving)
        return {dim: self._sparing(rows, dim, rounds, first, least) for dim in dims}

    def _sparing(
        self, rows: InnerMappings, dim: int, rounds: _Rounds, first: int, least: Floats
    ) -> Sparing:
        """The same if the next loop is over `dim`; there are no chains of levels before `first`.
        `least` tiles have to be fetched, if there is one in each round.
        """
        table = self._by_chains(rows, dim, partial(self._possible_table, dim))[:, :, first:]
        found = np.zeros((4, len(rows), self.depth + 1))
        if not table.any():
            return Sparing(*found)
        fetched, sent, passed, loops, stays, single = table.transpose(1, 0, 2)
        others, which = np.ones(loops.shape), loops.astype(np.int64)
        for bit, each in rounds.by_bit:
            others *= np.where(which & bit, each, 1.0)
        # Compute units hold nothing that idle loops could leave where it is.
        holds = np.arange(first, self.depth + 1) < self.depth
        jumps = rounds.fixed * np.where(holds, rounds.places, 1.0)
        most = np.where(stays > 0, rounds.all - jumps, rounds.all * (1 - 1 / others))
        found[0, :, first:] = np.minimum(
            fetched * most, rounds.all - np.where(single > 0, least, 0.0)
        )
        found[1, :, first:] = sent * most
        found[2, :, first:] = passed * most
        if dim in self.moving:
            # In each of its rounds but one the next loop, of a prime at least, moves the tile.
            prime = least_prime(self.sizes[dim] // rows.tile[:, dim])[:, None]
            found[3, :, first:] = rounds.all * (1 - 1 / prime) * (1 - fetched)
        return Sparing(*found)

    def most_sparing(self, rows: InnerMappings, words: int) -> Sparing:
        """The same, whatever the next one is over."""
        found = self.sparing(rows, words).values()
        return Sparing(*(np.maximum.reduce(each) for each in zip(*found, strict=True)))

    def sparing_energy(self, rows: InnerMappings, sparing: Sparing) -> Floats:
        """The energy in pJ of what is spared, apart from words that no holder has to send yet."""
        prices, worth = self.prices(rows), np.maximum(self.worth, 0.0)
        fills = sparing.fetched * prices.fill + sparing.passed * worth
        theirs = rows.sent[:, self.column] * sparing.sent * prices.send
        return np.asarray((rows.fetched[:, self.column] * fills + theirs).sum(axis=1))

    def sparing_words(self, rows: InnerMappings, sparing: Sparing) -> Floats:
        """The words that the next holder need not send."""
        spared = rows.sent[:, self.column] * sparing.sent
        return np.asarray(spared[np.arange(len(rows)), self.outermost(rows)])

    def asked_words(self, rows: InnerMappings, sparing: Sparing) -> Floats:
        """The words that the next loop brings at least, if it is the first one to move the tile;
        none where neighbours may pass on some that are not counted as sent.
        """

        def unknown(state: TileState) -> bool:
            last = state.chains[-1]
            return bool(state.mesh or last.links or last.beside or last.shift is not None)

        places = np.arange(len(rows)), self.outermost(rows)
        words = (rows.sent[:, self.column] * sparing.new)[places]
        return np.where(self._by_state(rows, "asked", unknown), 0.0, words)

    def carried(self, rows: InnerMappings) -> Floats:
        """What networks will charge in pJ for each word that the next holder sends, as far as is
        known.
        """
        return np.asarray(rows.network[self.outermost_chain(rows)])

    def outermost(self, rows: InnerMappings) -> Ints:
        """The level of the outermost holder so far."""
        return self._by_chains(rows, "outermost", lambda state: state.chains[-1].level)

    def outermost_chain(self, rows: InnerMappings) -> tuple[Ints, int, Ints]:
        """Where arrays of chains (rows, windowed, depth + 1) have that of this holder."""
        return np.arange(len(rows)), self.column, self.outermost(rows)

    def suppliers(self, rows: InnerMappings) -> Ints:
        """The level of each chain's next holder (rows, depth + 1), or -1."""

        def levels(state: TileState) -> Ints:
            found = np.full(self.depth + 1, -1)
            for chain, outer in itertools.pairwise(state.chains):
                found[chain.level] = outer.level
            return found

        return self._by_chains(rows, "suppliers", levels)

    def _by_state(
        self, rows: InnerMappings, name: object, figure: Callable[[TileState], Any]
    ) -> NDArray[Any]:
        """The figure of each row's state."""
        return self._of(name, figure, self.states, rows.states[:, self.column])

    def _by_chains(
        self, rows: InnerMappings, name: object, figure: Callable[[TileState], Any]
    ) -> NDArray[Any]:
        """The same of a figure that does not depend on the loops of a mesh that is being filled: of
        many states it is worked out once.
        """
        kinds = self._by_state(rows, "kind", self._kind)
        return self._of(name, figure, self._kinds, kinds)

    def _of(
        self,
        name: object,
        figure: Callable[[TileState], Any],
        states: Numbering[TileState],
        numbers: Ints,
    ) -> NDArray[Any]:
        if name not in self._figures:
            self._figures[name] = _Figures(figure, states)
        return self._figures[name].of(numbers)

    def prices(self, rows: InnerMappings) -> Prices:
        """The prices of each row's chains."""
        table = self._by_chains(rows, "prices", self._price_table)
        fill, send, served = table.transpose(1, 0, 2)
        return Prices(fill, send + served * rows.network[:, self.column])

    def _price_table(self, state: TileState) -> Floats:
        """(3, depth + 1): the fields of `Prices` without networks, and 1 where there is a next
        holder.
        """
        table = np.zeros((3, self.depth + 1))
        for chain, outer in zip(state.chains, (*state.chains[1:], None), strict=True):
            if chain.level < self.depth:
                table[0, chain.level] = self.levels[chain.level].fill
            if outer is not None:
                table[1:, chain.level] = self.levels[outer.level].send, 1
        return table

    def _possible_table(self, dim: int, state: TileState) -> Floats:
        """(6, depth + 1): the fields of `Possible`."""
        table = np.zeros((6, self.depth + 1))
        possible = self.windows.possible(state, dim)
        for chain, each in zip(state.chains, possible, strict=True):
            table[:, chain.level] = each
        return table

    def _kind(self, state: TileState) -> int:
        """The same number for states that differ in the loops of a mesh alone."""
        return self._kinds.number(state._replace(mesh=(), others=(), beside=False))


class AtRisk:
    """What one tensor may still be spared, in inner mappings that are compared with each other.

    Args:
        words: how many different ones the tensor has.
        growth: how many times as many instances as so far each row may come to use.
        saved: what the next holder may save by rounding, in pJ.
    """

    def __init__(
        self, sliding: Sliding, rows: InnerMappings, words: int, growth: Ints, saved: float
    ):
        self.sparing = sparing = sliding.most_sparing(rows, words)
        sent, self.sliding, self.number = sparing.sent, sliding, sliding.number
        self.due, self.states = rows.due[:, sliding.number], rows.states[:, sliding.column]
        self.waiting = sliding.sparing_words(rows, Sparing(*[np.ones_like(sent)] * 4))
        self.most_words = self.due * sliding.growth(rows) + words
        self.more = np.asarray(sent[np.arange(len(rows)), sliding.outermost(rows)])
        # Counts that are too low may fall below what has to be sent anyway.
        least = self.due - self.waiting * self.more - words
        self.spare = np.maximum(least, 0.0)
        self.may_lose = sliding.may_lose(rows) * growth
        self.rounded = saved * sliding.rounded(rows)
        self.carried = sliding.carried(rows)
        prices, mine = sliding.prices(rows), rows.fetched[:, sliding.column]
        self.tiles = np.concatenate(
            [
                mine * prices.fill * sparing.fetched,
                rows.sent[:, sliding.column] * prices.send * sent,
            ],
            axis=1,
        )
        passed = mine * sparing.passed
        self.filled = passed * (prices.fill - sliding.linking)
        self.saved = passed * np.maximum(sliding.worth, 0.0)
        self.charged = passed * sliding.charge / rows.parents[:, sliding.column]

    def rounding(self, one: Ints, other: Ints) -> Floats:
        """By how much energy in pJ rounding may yet save more in `other` than in `one`."""
        mine = np.where(self.alike(one, other), self.may_lose[one], 0.0)
        passed_on = np.maximum(self.may_lose[other] - mine, 0.0)
        return np.asarray(passed_on + np.maximum(self.rounded[other] - self.rounded[one], 0.0))

    def owed(self, one: Ints, other: Ints, low: Floats, high: Floats) -> Floats:
        """By how much energy in pJ the tensor may come to cost more further out in `one` than in
        `other`, at most. What is spared the one is spared the other, where their states agree.

        low, high: the least and the most that a word costs that the next holder sends.
        """
        same = self.alike(one, other)
        mine = np.where(same[:, None], self.tiles[one], 0.0)
        energy = np.maximum(self.tiles[other] - mine, 0.0).sum(axis=1)
        energy += np.where(same, self._if_alike(one, other), self._otherwise(one, other))
        words = np.maximum(self.more_words(one, other), -self.spare[other])
        return np.asarray(energy + words * np.where(words > 0, high, low))

    def more_words(self, one: Ints, other: Ints) -> Floats:
        """How many more words the next holder may come to send in `one` than in `other`, at most,
        but for those that it has to send anyway.
        """
        more = self.due[one] - self.due[other]
        waiting = self.waiting[other] - np.where(self.alike(one, other), self.waiting[one], 0.0)
        return np.asarray(np.maximum(more, more + waiting * self.more[other]))

    def alike(self, one: Ints, other: Ints) -> Flags:
        """Whether as many tiles are spared in both, whatever follows."""
        return np.asarray(self.states[one] == self.states[other])

    def _if_alike(self, one: Ints, other: Ints) -> Floats:
        """By how much energy in pJ passing words on may come to be worth more in `other`, where as
        many tiles are passed on in both.
        """
        filled = np.maximum(self.filled[other] - self.filled[one], 0.0)
        charged = np.maximum(self.charged[one] - self.charged[other], 0.0)
        return np.asarray((filled + charged).sum(axis=1))

    def _otherwise(self, one: Ints, other: Ints) -> Floats:
        """The same, whatever is passed on."""
        charged = np.maximum(self.charged[one] - self.filled[one], 0.0)
        return np.asarray((self.saved[other] + charged).sum(axis=1))


def fewest_places(left: list[Floats]) -> Floats:
    """To how many places loops over windows move a tile at least that stays as long as it is not
    moved. `left`: for each window rank, rounds of both its dimensions (tiles, 2).

    A loop leaves it where it is if what it moves forth is what loops inside have moved back, so
    that these are all over the same rank.
    """
    rounds = [each.prod(axis=1) for each in left]
    whole = prod(rounds)
    found = whole
    for each, mine in zip(left, rounds, strict=True):
        stays = np.maximum(staying(each[:, 0], each[:, 1]), staying(each[:, 1], each[:, 0]))
        moves = np.maximum(each.sum(axis=1) - 1, mine * (1 - stays))
        found = np.minimum(found, whole / mine * moves)
    return np.asarray(found)


def _unique(*columns: Ints) -> tuple[list[tuple[int, ...]], Ints]:
    """The different rows of columns, and of which kind each row is."""
    first, where = alike(columns)
    return [tuple(each) for each in np.column_stack(columns)[first].tolist()], where

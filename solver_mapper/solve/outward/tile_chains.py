"""Tiles of sliding windows: which words each holder of a tensor fetches, loop by loop.

Going outwards, each holder has a *chain* of tiles, one for each round of the loops so far. A holder
reuses words only where a tile comes by the same shift as the first one after it did, which is the
innermost loop's (`cost/timeloop/fetches.py`). All other tiles are *jumps*: they are fetched whole.
So what a loop spares is known once it stands, and a loop over a fixed dimension ends all reuse by
loops further out.

Neighbours on a mesh right above a holder pass words on where the shift equals the displacement of
their data (`mesh_sharing.py`). Where it is not clear which of them do, all are taken to do so that
can, so that what the outer holder sends may be counted too low, but never too high.
"""

from __future__ import annotations

from functools import cache, reduce
from math import gcd, prod
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from solver_mapper.core.primes import divisors
from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.inner import Floats, Ints
from solver_mapper.solve.outward.layouts import APART, IDLE, OTHER, Grid, Placed, Vector, orders
from solver_mapper.solve.outward.mesh_sharing import (
    ANY,
    Link,
    Links,
    Sharing,
    fewest_sent,
    least_rest,
    least_sharing,
    sent_words,
    sharing_by_order,
)


class Rank(NamedTuple):
    """A rank that is a sum of two dimensions of more than one iteration, with their positive steps
    in words and their sizes.
    """

    dims: tuple[int, int]
    steps: tuple[int, int]
    sizes: tuple[int, int]

    def most_shared(self, tile: Ints, begun: Ints) -> Floats:
        """How many tiles (tiles, dimensions) may have the same place along the rank: at most as
        many as there are places along either dimension. Those along one are apart by its step, and
        the other one has to bring them back together.

        begun: smaller tiles, from which places are counted.
        """
        extents = [begun[:, dim] for dim in self.dims]
        apart = [step * extent for step, extent in zip(self.steps, extents, strict=True)]
        reach = [
            step * (size - extent)
            for step, size, extent in zip(self.steps, self.sizes, extents, strict=True)
        ]
        places = self.sizes[1] / tile[:, self.dims[1]]
        met = [1 + far // near for far, near in zip(reach, reversed(apart), strict=True)]
        return np.asarray(np.minimum(places, np.minimum(*met)))

    def overlap(self, tile: Ints) -> tuple[Floats, Floats]:
        """How many times as many words instances hold, at least and at most, as different ones, by
        all loops side by side that may still stand outside tiles (tiles, dimensions).

        A tile of x and y iterations spans e words. Such a loop of b rounds makes that many times as
        many words of a span that grows as with any other loop, from e to e': b e / e'. So it
        multiplies iterations for each word, x y / e, by that, as temporal loops do: all loops
        together lead to what the whole rank has. Only where the other dimension does not fill the
        gaps between steps a loop may make that less, over its dimension by no more in all than if
        that were alone: x / (1 + step (x - 1)).
        """
        gaps = np.ones(len(tile))
        extents = [tile[:, dim] for dim in self.dims]
        for side, (step, size) in enumerate(zip(self.steps, self.sizes, strict=True)):
            mine, other = extents[side], extents[1 - side]
            sparse = self.steps[1 - side] * (other - 1) + 1 < step
            alone = mine / (1 + step * (mine - 1)) * (1 + step * (size - 1)) / size
            gaps = np.where(sparse, gaps * alone, gaps)
        now, whole = self._density(*extents), self._density(*map(np.array, self.sizes))
        return 1 / gaps, np.maximum(gaps * whole / now, 1.0)

    def _density(self, first: Ints, other: Ints) -> Floats:
        """Iterations for each word that a tile of so many along both dimensions spans."""
        step, its_step = self.steps
        return np.asarray(first * other / (1 + step * (first - 1) + its_step * (other - 1)))


Extents = tuple[tuple[int, int], ...]
"""Of the dimensions of each window rank."""


class Chain(NamedTuple):
    """The tiles of the holder at `level` (of compute units, which do not reuse: one below the
    innermost level).

    spans: the tile's words along each window rank.
    live: whether anything can still be spared; if not, the other fields are empty.
    shift: of the innermost loop outside; none until there is one.
    kept: the share of a tile's words that is reused after this shift.
    back: by what all loops so far move the tiles.
    links: of the mesh right above, as `links` gives them. `beside`: whether elements beside each
        other want the same words there. `passing`: whether neighbours pass some words on.
    """

    level: int
    spans: Vector
    live: bool = True
    shift: Vector | None = None
    kept: float = 0.0
    back: Vector = ()
    links: Links = ()
    beside: bool = False
    passing: bool = False
    extents: Extents = ()


class TileState(NamedTuple):
    """What the loops further out need to know of one tensor.

    extents: of the dimensions of each window rank.
    chains: of all holders so far, inner to outer.
    mesh: loops over window dimensions of the mesh that is being filled. `others`: those over other
        dimensions, where they matter. `beside`: whether a loop over an idle dimension is the
        innermost one along an axis there. `placed`: whether no more of `mesh` will come.
    filled: whether the mesh right above the outermost holder so far is filled.
    rounded: whether what the next holder sends may not be a whole number.
    """

    extents: Extents
    chains: tuple[Chain, ...]
    mesh: tuple[Placed, ...] = ()
    others: tuple[Placed, ...] = ()
    beside: bool = False
    placed: bool = False
    filled: bool = False
    rounded: bool = False


class Spared(NamedTuple):
    """What a loop spares a chain, in whole tiles for each round of all loops outside it.

    fetched: tiles that the holder need not fetch. sent: tiles that the next holder need not send.
    fewest, most: tiles that neighbours pass on, on average over the elements.
    """

    fetched: float = 0.0
    sent: float = 0.0
    fewest: float = 0.0
    most: float = 0.0


class Possible(NamedTuple):
    """How much of its tiles all loops still to come may spare a chain at most, if the next loop is
    of some kind. `passed`: how many tiles neighbours may pass on. `loops`: by which ones, a bit for
    each (`Windows.bits`). `stays`: by idle ones alone, since each place that a tile comes to costs
    a jump. `single`: whether there is one tile in each round so far.
    """

    fetched: float = 0.0
    sent: float = 0.0
    passed: float = 0.0
    loops: int = 0
    stays: bool = False
    single: bool = False


NOTHING = Spared()
IMPOSSIBLE = Possible()


def dead(chain: Chain) -> Chain:
    """The chain with nothing to spare."""
    return Chain(chain.level, (), live=False)


class SwitchedOff(NamedTuple):
    """The levels at which a kind of reuse of a tensor is switched off: that fetch anew in each
    round, and below which the network copies no words, or neighbours pass none on.
    """

    temporal_reuse: frozenset[int] = frozenset()
    multicast: frozenset[int] = frozenset()
    links: frozenset[int] = frozenset()


class Windows:
    """The tiles of one tensor with sliding windows.

    Args:
        ranks: its window ranks.
        fixed: its other dimensions.
        depth: the number of levels.
        idle: whether some dimension is neither fixed nor in a window.
        off: kinds of reuse that the hardware lacks.
    """

    def __init__(
        self,
        ranks: tuple[Rank, ...],
        fixed: frozenset[int],
        depth: int,
        *,
        idle: bool = True,
        off: SwitchedOff | None = None,
    ):
        self.ranks, self.fixed, self.depth, self.idle = ranks, fixed, depth, idle
        self.off = off or SwitchedOff()
        self.place = {
            dim: (number, side)
            for number, rank in enumerate(ranks)
            for side, dim in enumerate(rank.dims)
        }
        self.bits = {dim: 1 << number for number, dim in enumerate(self.place)}
        """Of loops over each dimension of a window; that of idle ones is the next."""
        self.idle_bit = 1 << len(self.place)
        self._all = 2 * self.idle_bit - 1
        self._possible = cache(self._may_be_spared)
        self._moving = cache(self._loops_moving)
        ones = ((1, 1),) * len(ranks)
        units = Chain(depth, (1,) * len(ranks), back=(0,) * len(ranks), extents=ones)
        self.start = TileState(ones, (units,))

    def held(self, state: TileState, level: int) -> TileState:
        """The state with a further holder."""
        spans = tuple(
            1 + sum(step * (extent - 1) for step, extent in zip(rank.steps, extents, strict=True))
            for rank, extents in zip(self.ranks, state.extents, strict=True)
        )
        chain = Chain(level, spans, back=(0,) * len(spans), extents=state.extents)
        if level in self.off.temporal_reuse:
            chain = dead(chain)
        return state._replace(chains=(*state.chains, chain), filled=False, rounded=False)

    def spread(
        self, state: TileState, level: int, dim: int, bound: int, axis: int, inner: int
    ) -> tuple[TileState, float]:
        """The state with a spatial loop below `level`, and how many times as many words the next
        holder sends then. `inner` elements stand inside the loop along its axis.
        """
        units = level == self.depth - 1
        innermost = int(units and inner == 1)
        if dim not in self.place:
            apart = dim in self.fixed
            loop = Placed(OTHER, APART if apart else IDLE, 0, bound, axis, innermost)
            state = state._replace(others=tuple(sorted((*state.others, loop))))
            if apart:
                return state, float(bound)
            return state._replace(beside=state.beside or inner == 1 or not units), 1.0
        rank, side = self.place[dim]
        loop = Placed(rank, side, self._step(state.extents, dim), bound, axis, innermost)
        before = tuple(each for each in state.mesh if each.rank == rank)
        exact = not before or state.chains[-1].level == level + 1
        more = sent_words((*before, loop), exact) / sent_words(before, exact)
        state = self._extended(state, dim, bound)
        rounded = state.rounded or state.chains[-1].level != level + 1
        mesh = tuple(sorted((*state.mesh, loop)))
        return state._replace(mesh=mesh, rounded=rounded), more

    def begun(self, state: TileState) -> tuple[int, ...]:
        """By how much loops over each dimension of the window ranks have made the tile larger, on
        the mesh that is being filled; 1 if no more of them will come.
        """
        loops = () if state.placed else state.mesh
        return tuple(
            prod(loop.bound for loop in loops if (loop.rank, loop.side) == (rank, side))
            for rank in range(len(self.ranks))
            for side in (0, 1)
        )

    def placed(self, state: TileState) -> tuple[TileState, float]:
        """The state when no more loops over dimensions of windows will stand on the mesh; and how
        many times as many words the next holder sends then, at least. Which elements are neighbours
        is not known yet.
        """
        more = 1.0
        if state.filled:
            more = self._counted(state._replace(placed=True)) / self._counted(state)
        else:
            # Until the mesh is filled nothing but the most that neighbours may do counts.
            rest = least_rest(state.mesh, len(self.ranks))
            chain = state.chains[-1]._replace(links=(Link(ANY, rest),) if rest < 1 else ())
            state = state._replace(chains=(*state.chains[:-1], chain))
        return state._replace(placed=True), more

    def mesh_filled(
        self, state: TileState, level: int, used: tuple[int, int], width: int
    ) -> list[tuple[TileState, float, bool]]:
        """The states when all spatial loops below `level` stand, on `used` columns and rows of a
        grid of `width` columns, one for each kind of their orders; how many times as many words the
        next holder sends as was counted, now that it is clear which elements may be neighbours; and
        whether all this is certain.
        """
        grid = Grid(used, width)
        unlinked = level in self.off.links
        complete = grid.few or not grid.filled or unlinked
        loops = (*state.mesh, *state.others) if complete else state.mesh
        # If that is not looked at, elements get no more words than without multicast.
        multicast = level not in self.off.multicast or not (
            unlinked or (grid.few and orders(loops) is not None)
        )
        apart = 1.0 if multicast else self._apart(state)
        if not state.filled:
            ways = (
                sharing_by_order(
                    *(loops, len(self.ranks), grid, self._moves(state)), multicast=multicast
                )
                if loops and not unlinked
                else (Sharing(1.0, (), certain=True),)
            )
            states = {self._helped(state, level, way.links, complete): way for way in ways}
            return [(each, apart, complete and way.certain) for each, way in states.items()]
        more, certain = apart, complete
        if loops and unlinked and multicast:
            more = self._different(state) / self._counted(state)
        elif loops and multicast:
            sharing = least_sharing(loops, len(self.ranks), grid, self._moves(state))
            certain = certain and sharing.always
            more = sharing.sent / self._counted(state) if state.mesh else 1.0
        after = TileState(state.extents, state.chains, filled=True, rounded=state.rounded)
        return [(after, more, certain)]

    def _helped(self, state: TileState, level: int, near: Links, complete: bool) -> TileState:
        """The state when the mesh right above a holder is filled, with what neighbours do there."""
        chain, beside, stays = state.chains[-1], state.beside, (0,) * len(self.ranks)
        if complete:
            beside = any(each.shift == stays and not each.rest for each in near)
            if level < self.depth - 1:
                near = tuple(each for each in near if each.shift != stays or each.rest)
        chain = chain._replace(links=near, beside=beside, extents=())
        if level == self.depth - 1 and not (chain.links or chain.beside):
            chain = dead(chain)
        chains = (*state.chains[:-1], chain)
        return TileState(state.extents, chains, filled=True, rounded=state.rounded)

    def _moves(self, state: TileState) -> Vector:
        """Of what loops still to come move tiles by multiples, along each window rank."""
        return tuple(
            gcd(*(self._step(state.extents, dim) for dim in self._left(state.extents, rank)))
            for rank in range(len(self.ranks))
        )

    def growth(self, state: TileState) -> float:
        """How many times as many words as is counted the mesh that is being filled may send."""
        if self.off.multicast:
            return self._apart(state)
        if not (state.filled and state.mesh):
            return 1.0
        return self._different(state) / self._counted(state)

    def _different(self, state: TileState) -> float:
        """How many times as many different words as one element the mesh wants."""
        return prod(
            sent_words(tuple(each for each in state.mesh if each.rank == n), exact=True)
            for n in range(len(self.ranks))
        )

    def _apart(self, state: TileState) -> float:
        """How many times as many words as was counted the mesh gets if elements share none."""
        idle = [each.bound for each in state.others if each.side == IDLE]
        counted = self._counted(state) if state.filled else self._different(state)
        return prod(each.bound for each in state.mesh) * prod(idle) / counted

    def _counted(self, state: TileState) -> float:
        """How many times as many words as one element gets were counted for a mesh that is not
        right above the holder.
        """
        if not state.mesh:
            return 1.0
        if state.placed:
            return fewest_sent(state.mesh, len(self.ranks))
        along = [
            tuple(each for each in state.mesh if each.rank == n) for n in range(len(self.ranks))
        ]
        return prod(sent_words(loops, exact=len(loops) < 2) for loops in along)

    def repeated(
        self, state: TileState, dim: int, bound: int
    ) -> tuple[TileState, tuple[Spared, ...]]:
        """The state with a temporal loop, and what this spares each chain."""
        moved = [self._after(state, chain, dim, bound) for chain in state.chains]
        if dim in self.place:
            state = self._extended(state, dim, bound)
        chains = tuple(self._useful(state, chain) for chain, _ in moved)
        return state._replace(chains=chains), tuple(spared for _, spared in moved)

    def possible(self, state: TileState, dim: int) -> tuple[Possible, ...]:
        """What may be spared each chain if the next temporal loop is over `dim`."""
        *inner, last = state.chains
        found = [self._possible(state.extents, chain, dim, open_mesh=False) for chain in inner]
        open_mesh = not state.filled
        return (*found, self._possible(state.extents, last, dim, open_mesh=open_mesh))

    def kept_of_new(self, tile: Ints, dim: int) -> Floats:
        """The share of a new tile's words that the tile before it has, too, if a loop over `dim`,
        of a window, comes first; for many tiles (tiles, dimensions).
        """
        rank, side = self.place[dim]
        dims, steps = self.ranks[rank].dims, self.ranks[rank].steps
        span = 1 + sum(step * (tile[:, each] - 1) for each, step in zip(dims, steps, strict=True))
        return np.asarray(np.maximum(0, span - steps[side] * tile[:, dim]) / span)

    def met(self, tile: Ints, dim: int) -> tuple[Floats, Floats]:
        """Of tiles (tiles, dimensions) right below a mesh: for how many of its elements at most, as
        a share, a loop over `dim`, of a window, may move the tile to where that of another one is;
        and for how many loops further out may.

        Along a dimension elements lie apart by less than a loop over it moves them; the rest has to
        be made up for by the other dimension. So those that are the last ones along that one have
        nobody to get words from.
        """
        rank, side = self.place[dim]
        dims, steps, sizes = self.ranks[rank]
        apart = [step * tile[:, each] for each, step in zip(dims, steps, strict=True)]
        most = [step * size - each for each, step, size in zip(apart, steps, sizes, strict=True)]
        mine, other = apart[side], apart[1 - side]
        once = most[1 - side] >= mine
        later = once | ((most[1 - side] > 0) & (other <= most[side]))
        last = tile[:, dims[1 - side]] / sizes[1 - side]
        return np.where(once, 1 - last, 0.0), np.where(later, 1.0, 0.0)

    def _step(self, extents: Extents, dim: int) -> int:
        """By how many words a loop over `dim` moves the tiles."""
        rank, side = self.place[dim]
        return self.ranks[rank].steps[side] * extents[rank][side]

    def _extended(self, state: TileState, dim: int, bound: int) -> TileState:
        rank, side = self.place[dim]
        extents = [list(each) for each in state.extents]
        extents[rank][side] *= bound
        return state._replace(extents=tuple((first, second) for first, second in extents))

    def _after(self, state: TileState, chain: Chain, dim: int, bound: int) -> tuple[Chain, Spared]:
        if not chain.live or dim in self.fixed:
            return dead(chain), NOTHING
        forth = [0] * len(self.ranks)
        if dim in self.place:
            forth[self.place[dim][0]] = self._step(state.extents, dim)
        shift = tuple(step - back for step, back in zip(forth, chain.back, strict=True))
        first = chain.shift is None
        if first:
            chain = chain._replace(shift=shift, kept=self._kept(chain, shift))
        spared = _spared(chain, shift, bound, first)
        back = tuple(old + (bound - 1) * step for old, step in zip(chain.back, forth, strict=True))
        chain = chain._replace(back=back, passing=chain.passing or spared.most > 0)
        over = sum(map(bool, back)) > 1 if chain.kept else not (chain.links or chain.beside)
        return dead(chain) if over else chain, spared

    def _kept(self, chain: Chain, shift: Vector) -> float:
        """The share of a tile's words that the tile before it has, too."""
        if chain.level == self.depth:
            return 0.0
        return prod(
            max(0, span - step) / span for span, step in zip(chain.spans, shift, strict=True)
        )

    def _may_be_spared(
        self, extents: Extents, chain: Chain, dim: int, *, open_mesh: bool
    ) -> Possible:
        if not chain.live or dim in self.fixed:
            return IMPOSSIBLE
        passed = self._passed(extents, chain, dim, open_mesh=open_mesh)
        if open_mesh and chain.level == self.depth:
            return passed
        if chain.shift is not None and (chain.kept < 1 or any(chain.back)):
            return self._as_before(extents, chain, dim) if chain.kept else passed
        idle = dim not in self.place
        if idle and chain.level < self.depth:
            return Possible(1.0, 1.0, loops=self._all, stays=True, single=True)
        if idle and chain.beside:
            return Possible(0.0, 1.0, 1.0, loops=self._all, stays=True, single=True)
        if idle:
            return passed
        rank, _ = self.place[dim]
        both = self._both(dim)
        loops = sum(self.bits[each] for each in both)
        if chain.shift is not None:
            again = self._when(extents, chain, Link(chain.shift, rest=0.0), dim)
            first, other = (np.array([self._rounds(extents, each)]) for each in both)
            stays = float(staying(first, other)[0]) if again else 0.0
            # Of all rounds but the first one, whose tile comes new.
            share = stays / (1 - 1 / float(first[0] * other[0])) if stays else 0.0
            return Possible(share, share, loops=loops) if share else IMPOSSIBLE
        forth = [0] * len(self.ranks)
        forth[rank] = self._step(extents, dim)
        kept = self._kept(chain, tuple(forth))
        if kept:
            # What neighbours pass on may be filled less often than once in each instance.
            passed = self._passed(extents, chain, dim, open_mesh=open_mesh, now=True)
            sent = kept + (1 - kept) * passed.sent
            new = (1 - kept) * passed.passed
            if not self.slide_on(dim, extents[rank]):
                loops = self.bits[dim]
            return Possible(kept, sent, new, loops, single=not passed.sent)
        return passed

    def _passed(
        self, extents: Extents, chain: Chain, dim: int, *, open_mesh: bool, now: bool = False
    ) -> Possible:
        """What neighbours alone may pass on if the next temporal loop is over `dim`; or `now`, by
        this one alone.
        """
        if open_mesh:
            if dim not in self.place:
                return Possible(0.0, 1.0, 1.0, self._all)
            rank, _ = self.place[dim]
            along = dict(zip(self.ranks[rank].dims, chain.extents[rank], strict=True))
            tile = np.array([[along.get(each, 1) for each in range(max(along) + 1)]])
            met, later = (float(each[0]) for each in self.met(tile, dim))
            share = met if now else (met + later) / 2
            return Possible(0.0, share, share, self._all) if share else IMPOSSIBLE
        found = [(link, self._when(extents, chain, link, dim)) for link in _links(chain)]
        useful = [link for link, when in found if when]
        at_once = [link for link in useful if self._at_once(extents, chain, link, dim)]
        if not (at_once if now else useful):
            return IMPOSSIBLE
        # Half of all rounds are those of the next loop, at least.
        by = (at_once,) if now else (at_once, useful)
        return Possible(
            0.0,
            sum(1 - min((link.rest for link in links), default=1.0) for links in by) / len(by),
            sum(max((link.most for link in links), default=0.0) for links in by) / len(by),
            reduce(or_, (when for _, when in found)),
        )

    def _useful(self, state: TileState, chain: Chain) -> Chain:
        """The chain with nothing by whose shift no loop to come can move tiles."""
        if not chain.live or chain.shift is None:
            return chain
        if chain.kept:
            links = tuple(each for each in chain.links if each.shift in (chain.shift, ANY))
            useful = chain._replace(links=links, beside=chain.beside and not any(chain.shift))
            again = self._when(state.extents, chain, Link(chain.shift, rest=0.0))
            return useful if again else dead(chain)
        stays = Link((0,) * len(self.ranks), rest=0.0)
        links = tuple(each for each in chain.links if self._when(state.extents, chain, each))
        beside = chain.beside and bool(self._when(state.extents, chain, stays))
        return chain._replace(links=links, beside=beside) if links or beside else dead(chain)

    def _when(self, extents: Extents, chain: Chain, link: Link, dim: int | None = None) -> int:
        """The loops to come by which tiles may move by the shift of a link, at most, as `bits`; if
        the next one is over `dim`, or over any.

        A loop moves tiles forth along one rank, by at least one step more than all loops inside
        over the same dimension; and back by what those over others have moved them.
        """
        if link.shift == ANY:
            return self._all
        ahead = tuple(step + back for step, back in zip(link.shift, chain.back, strict=True))
        return self._moving(extents, ahead, dim if dim in self.place else None)

    def _loops_moving(self, extents: Extents, ahead: Vector, dim: int | None) -> int:
        """See `_when`, for tiles that still have to move so far along each rank."""
        still, forth = [], []
        for rank, words in enumerate(ahead):
            moves = [
                Steps(self._step(extents, each), self._rounds(extents, each), first=each == dim)
                for each in self._left(extents, rank)
            ]
            ways = [tuple(each._replace(forth=each is one) for each in moves) for one in moves]
            still.append(_adds_up(-words, tuple(moves)))
            which = zip(self._left(extents, rank), ways, strict=True)
            forth.append(sum(self.bits[d] for d, way in which if _adds_up(-words, way)))
        found = sum(goes for rank, goes in enumerate(forth) if all(_but(still, rank)))
        return found | self.idle_bit if all(still) else found

    def _at_once(self, extents: Extents, chain: Chain, link: Link, dim: int) -> bool:
        """Whether the next loop, over `dim`, may move tiles by the shift of a link."""
        if link.shift == ANY:
            return True
        ahead = [step + back for step, back in zip(link.shift, chain.back, strict=True)]
        if dim not in self.place:
            return not any(ahead)
        rank = self.place[dim][0]
        move = Steps(self._step(extents, dim), self._rounds(extents, dim), forth=True)
        return _adds_up(-ahead[rank], (move,)) and not any(_but(ahead, rank))

    def slide_on(self, dim: int, extents: tuple[int, int]) -> bool:
        """Whether loops over the other dimension of a window may move tiles on by as much as the
        next temporal loop, which is over `dim`; tiles have these `extents` along the rank. Loops
        side by side may come before.
        """
        rank, side = self.place[dim]
        sizes, steps = self.ranks[rank].sizes, self.ranks[rank].steps
        mine, other = (
            (steps[each] * extents[each], sizes[each] // extents[each]) for each in (side, 1 - side)
        )
        return _slide_on(*mine, *other)

    def _rounds(self, extents: Extents, dim: int) -> int:
        """How many rounds over a dimension of the window ranks are still to come."""
        rank, side = self.place[dim]
        return self.ranks[rank].sizes[side] // extents[rank][side]

    def _both(self, dim: int) -> tuple[int, int]:
        """A dimension of a window and the other one."""
        rank, side = self.place[dim]
        return dim, self.ranks[rank].dims[1 - side]

    def _as_before(self, extents: Extents, chain: Chain, dim: int) -> Possible:
        """What may be spared a chain of which some tiles move, where others can come by the shift
        that was the first: along the same window rank.
        """
        shift = chain.shift or ()
        moved = [number for number, step in enumerate(shift) if step]
        moved = moved or [number for number, step in enumerate(chain.back) if step]
        (rank,) = moved
        link, new = _link(chain, shift), 2 * (1 - chain.kept)
        loops = self._when(extents, chain, link, dim)
        loops &= sum(self.bits[each] for each in self.ranks[rank].dims)
        if not loops:
            return IMPOSSIBLE
        share = 1.0 if self._at_once(extents, chain, link, dim) else 0.5
        sent = share * (chain.kept + new * (1 - link.rest))
        return Possible(share * chain.kept, sent, share * new * link.most, loops)

    def _left(self, extents: Extents, rank: int) -> list[int]:
        """Dimensions of a window rank over which loops may still come."""
        sizes = zip(self.ranks[rank].dims, extents[rank], self.ranks[rank].sizes, strict=True)
        return [dim for dim, extent, size in sizes if extent < size]


def least_prime(rounds: Ints | Floats) -> Ints:
    """The least prime factor that so many rounds have, at least; at most 5."""
    return np.where(rounds % 2 == 0, 2, np.where(rounds % 3 == 0, 3, 5))


def staying(first: Ints | Floats, other: Ints | Floats) -> Floats:
    """Of the rounds of loops over a window rank, which share leaves a tile where it is at most, if
    so many rounds over both dimensions are left (tiles,), and the innermost loop over the first.

    That one moves the tile, by b - 1 steps in b rounds. A loop over the other dimension does not if
    its step is so large. Then b steps of it are made up for, so that one over the first dimension,
    of b steps, leaves the tile where it is only if b is 2 and there were two rounds of the other.
    """
    prime = least_prime(first)
    in_turn = (prime == 2) & (other % 2 == 0)
    share = np.where(in_turn, 1 / 2, (1 - 1 / other) / prime)
    return np.where(first > 1, share, 0.0)


def _spared(chain: Chain, shift: Vector, bound: int, first: bool) -> Spared:
    """The cost model's `Fetch`es: `bound - 1` further tiles in each round come by `shift`."""
    kept, new = (bound - 1) * chain.kept, float(bound - 1)
    if chain.kept:
        if shift != chain.shift:
            return NOTHING
        # The first tile that comes by the shift after a jump is not passed on.
        often = bound - 2 if first else 2 * (bound - 1)
        new = often * (1 - chain.kept) if any(shift) else 0.0
    link = _link(chain, shift)
    return Spared(kept, kept + new * (1 - link.rest), new * link.fewest, new * link.most)


def _link(chain: Chain, shift: Vector) -> Link:
    """What neighbours do when tiles come by `shift`."""
    known = (shift, ANY) if any(shift) else (shift,)
    return next((each for each in _links(chain) if each.shift in known), Link(shift, 1.0, most=0.0))


def _links(chain: Chain) -> Links:
    """All links of a chain, with the one of elements that want the same words, of which little may
    be known.
    """
    stays = (0,) * len(chain.back)
    return (*chain.links, Link(stays, rest=0.0)) if chain.beside else chain.links


MOST_ROUNDS = 4_096
"""Of more rounds over a dimension it takes too long to tell by how much loops may move tiles."""


class Steps(NamedTuple):
    """What loops to come over one dimension of a rank, of so many `rounds`, may have moved tiles
    by, in multiples of `step`: back, or `forth` by a loop over it, whatever those inside it moved
    them back. `first`: whether one of them is the next temporal loop.
    """

    step: int
    rounds: int
    first: bool = False
    forth: bool = False

    def possible(self) -> set[int]:
        """In words, backwards."""
        if self.forth:
            return {-self.step * times for times in _moves(self.rounds)[1]}
        return {self.step * times for times in _moves(self.rounds)[0] if times or not self.first}


@cache
def _moves(rounds: int, inside: int = 1, back: int = 0) -> tuple[frozenset[int], frozenset[int]]:
    """By how many steps loops of some of so many `rounds`, spatial or temporal ones, may move tiles
    back; and a further temporal loop forth, less what those inside it have moved them back. There
    are rounds `inside` already, which have moved them `back`.
    """
    found, further = {back}, {inside - back} if rounds > 1 else set()
    for bound in divisors(rounds)[1:]:
        for moved in (0, (bound - 1) * inside):
            all_back, forth = _moves(rounds // bound, inside * bound, back + moved)
            found |= all_back
            further |= forth
    return frozenset(found), frozenset(further)


@cache
def _slide_on(step: int, rounds: int, its_step: int, its_rounds: int) -> bool:
    """See `Windows.slide_on`: of the dimension of the next temporal loop, and of the other one."""
    for beside in divisors(rounds)[:-1]:
        mine = Steps(step * beside, rounds // beside, first=True)
        if _adds_up(-mine.step, (mine, Steps(its_step, its_rounds, forth=True))):
            return True
    return False


@cache
def _adds_up(back: int, moves: tuple[Steps, ...]) -> bool:
    """Whether loops over the dimensions may together have moved tiles so many words back; taken to
    be so where there are too many rounds to tell.
    """
    check_time()
    if any(each.rounds > MOST_ROUNDS for each in moves):
        return True
    sums, last = {0}, {0}
    for each in moves:
        sums, last = {total + words for total in sums for words in last}, each.possible()
    return any(back - total in last for total in sums)


def _but(flags: list[Any], place: int) -> list[Any]:
    """All but one."""
    return [*flags[:place], *flags[place + 1 :]]

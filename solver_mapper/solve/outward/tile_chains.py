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

from math import gcd, prod
from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.inner import Floats, Ints
from solver_mapper.solve.outward.mesh_sharing import (
    ANY,
    APART,
    IDLE,
    OTHER,
    Grid,
    Link,
    Links,
    Placed,
    Vector,
    fewest_sent,
    least_rest,
    least_sharing,
    sent_words,
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

    extents: tuple[tuple[int, int], ...]
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
    of some kind. `passed`: how many tiles neighbours may pass on. `idle`: whether by idle loops,
    too; `stays`: by these alone, since each place that a tile comes to costs a jump; `rank`: by
    loops over this window rank, or over any if below 0. `single`: whether there is one tile in each
    round so far.
    """

    fetched: float = 0.0
    sent: float = 0.0
    passed: float = 0.0
    idle: bool = False
    stays: bool = False
    single: bool = False
    rank: int = -1


NOTHING = Spared()
IMPOSSIBLE = Possible()


def dead(chain: Chain) -> Chain:
    """The chain with nothing to spare."""
    return Chain(chain.level, (), live=False)


class Windows:
    """The tiles of one tensor with sliding windows.

    Args:
        ranks: its window ranks.
        fixed: its other dimensions.
        depth: the number of levels.
        idle: whether some dimension is neither fixed nor in a window.
    """

    def __init__(
        self,
        ranks: tuple[Rank, ...],
        fixed: frozenset[int],
        depth: int,
        *,
        idle: bool = True,
    ):
        self.ranks, self.fixed, self.depth, self.idle = ranks, fixed, depth, idle
        self.place = {
            dim: (number, side)
            for number, rank in enumerate(ranks)
            for side, dim in enumerate(rank.dims)
        }
        ones = ((1, 1),) * len(ranks)
        units = Chain(depth, (1,) * len(ranks), back=(0,) * len(ranks))
        self.start = TileState(ones, (units,))

    def held(self, state: TileState, level: int) -> TileState:
        """The state with a further holder."""
        spans = tuple(
            1 + sum(step * (extent - 1) for step, extent in zip(rank.steps, extents, strict=True))
            for rank, extents in zip(self.ranks, state.extents, strict=True)
        )
        chain = Chain(level, spans, back=(0,) * len(spans))
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
        loop = Placed(rank, side, self._step(state, dim), bound, axis, innermost)
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
    ) -> tuple[TileState, float, bool]:
        """The state when all spatial loops below `level` stand, on `used` columns and rows of a
        grid of `width` columns; how many times as many words the next holder sends as was counted,
        now that it is clear which elements may be neighbours; and whether all this is certain, in
        whatever order the loops stand.
        """
        grid = Grid(used, width)
        complete = grid.few or not grid.filled
        loops = (*state.mesh, *state.others) if complete else state.mesh
        chain, more, beside, certain = state.chains[-1], 1.0, state.beside, complete
        if not state.filled:
            near: Links = ()
            if loops:
                sharing = least_sharing(loops, len(self.ranks), grid, self._moves(state))
                near, certain = sharing.links, certain and sharing.certain
            if complete:
                stays = (0,) * len(self.ranks)
                beside = any(each.shift == stays and not each.rest for each in near)
                near = tuple(each for each in near if each.shift != stays or each.rest)
            chain = chain._replace(links=near, beside=beside)
            if level == self.depth - 1 and not (chain.links or chain.beside):
                chain = dead(chain)
        elif loops:
            sharing = least_sharing(loops, len(self.ranks), grid, self._moves(state))
            certain = certain and sharing.always
            more = sharing.sent / self._counted(state) if state.mesh else 1.0
        chains = (*state.chains[:-1], chain)
        state = TileState(state.extents, chains, filled=True, rounded=state.rounded)
        return state, more, certain

    def _moves(self, state: TileState) -> Vector:
        """Of what loops still to come move tiles by multiples, along each window rank."""
        return tuple(
            gcd(*(self._step(state, dim) for dim in self._left(state, rank)))
            for rank in range(len(self.ranks))
        )

    def growth(self, state: TileState) -> float:
        """How many times as many words as is counted the mesh that is being filled may send."""
        if not (state.filled and state.mesh):
            return 1.0
        different = prod(
            sent_words(tuple(each for each in state.mesh if each.rank == n), exact=True)
            for n in range(len(self.ranks))
        )
        return different / self._counted(state)

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
        chains = tuple(chain for chain, _ in moved)
        if dim in self.place:
            state = self._extended(state, dim, bound)
        return state._replace(chains=chains), tuple(spared for _, spared in moved)

    def possible(self, state: TileState, dim: int) -> tuple[Possible, ...]:
        """What may be spared each chain if the next temporal loop is over `dim`."""
        return tuple(self._possible(state, chain, dim) for chain in state.chains)

    def kept_of_new(self, tile: Ints, dim: int) -> Floats:
        """The share of a new tile's words that the tile before it has, too, if a loop over `dim`,
        of a window, comes first; for many tiles (tiles, dimensions).
        """
        rank, side = self.place[dim]
        dims, steps = self.ranks[rank].dims, self.ranks[rank].steps
        span = 1 + sum(step * (tile[:, each] - 1) for each, step in zip(dims, steps, strict=True))
        return np.asarray(np.maximum(0, span - steps[side] * tile[:, dim]) / span)

    def _step(self, state: TileState, dim: int) -> int:
        """By how many words a loop over `dim` moves the tiles."""
        rank, side = self.place[dim]
        return self.ranks[rank].steps[side] * state.extents[rank][side]

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
            forth[self.place[dim][0]] = self._step(state, dim)
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

    def _possible(self, state: TileState, chain: Chain, dim: int) -> Possible:
        if not chain.live or dim in self.fixed:
            return IMPOSSIBLE
        open_mesh = not state.filled and chain is state.chains[-1]
        beside = chain.beside or (open_mesh and self.idle)
        to_come = open_mesh and not state.placed
        most = _most(chain) if not to_come else Link((), rest=0.0)
        linked, served = 1 - most.rest, most.most
        passed = Possible(0.0, linked, served, idle=True)
        if beside or (open_mesh and chain.level == self.depth):
            passed = Possible(0.0, 1.0, 1.0, idle=True)
        if open_mesh and chain.level == self.depth:
            return passed
        idle = dim not in self.place
        if chain.shift is not None and (chain.kept < 1 or any(chain.back)):
            return self._as_before(state, chain, most) if chain.kept else passed
        if idle and chain.level < self.depth:
            return Possible(1.0, 1.0, idle=True, stays=True, single=True)
        if idle and chain.beside:
            return Possible(0.0, 1.0, 1.0, idle=True, stays=True, single=True)
        if idle:
            return passed
        rank, _ = self.place[dim]
        if chain.shift is not None:
            # Half of the tiles move at least; they may be back where they were by both dimensions.
            both = len(self._left(state, rank)) > 1
            return Possible(0.5, 0.5, rank=rank) if both else IMPOSSIBLE
        forth = [0] * len(self.ranks)
        forth[rank] = self._step(state, dim)
        kept = self._kept(chain, tuple(forth))
        if kept:
            # What neighbours pass on may be filled less often than once in each instance.
            sent = kept + (1 - kept) * linked
            return Possible(kept, sent, (1 - kept) * served, single=not linked, rank=rank)
        return passed

    def _as_before(self, state: TileState, chain: Chain, most: Link) -> Possible:
        """What may be spared a chain of which some tiles move, where others can come by the shift
        that was the first: along the same window rank.
        """
        moved = [number for number, step in enumerate(chain.shift or ()) if step]
        moved = moved or [number for number, step in enumerate(chain.back) if step]
        (rank,) = moved
        if not self._left(state, rank):
            return IMPOSSIBLE
        new = 2 * (1 - chain.kept)
        return Possible(chain.kept, chain.kept + new * (1 - most.rest), new * most.most, rank=rank)

    def _left(self, state: TileState, rank: int) -> list[int]:
        """Dimensions of a window rank over which loops may still come."""
        sizes = zip(self.ranks[rank].dims, state.extents[rank], self.ranks[rank].sizes, strict=True)
        return [dim for dim, extent, size in sizes if extent < size]


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
    if chain.beside and not any(shift):
        return Link(shift, rest=0.0)
    known = (shift, ANY) if any(shift) else (shift,)
    return next((each for each in chain.links if each.shift in known), Link(shift, 1.0, most=0.0))


def _most(chain: Chain) -> Link:
    """The most that neighbours do for any shift, as far as `links` say."""
    rest = min((each.rest for each in chain.links), default=1.0)
    return Link((), rest, most=max((each.most for each in chain.links), default=0.0))

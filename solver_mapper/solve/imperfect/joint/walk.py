"""The least energy of all temporal loops together, for fixed spatial loops.

A dynamic programme from the compute units outwards. A state is how many tiles there are along each
dimension (`counts.py`) and what each tensor waits for (`Waiting`); its value is the least energy of
the flows that are settled. Temporal loops of a level come one after the other, in any order and any
number. That is as good as one loop for each dimension, but for one point: a loop that runs once in
its last round is the only one of its dimension at its level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import NamedTuple, TypeVar

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.counts import Floats, Pairs, Steps, whole
from solver_mapper.solve.imperfect.joint.fetches import Counts, Fetches, Flow, Settled

MOST_STATES = 2_000_000
MOST_EXACT = 500_000
"""Numbers of tiles along all dimensions that are looked at together, and in exact counts."""
FRESH, IDLE, CLOSED = -1, -2, -3


class Waiting(NamedTuple):
    """What a tensor waits for.

    mode: FRESH: no loop since the last of `levels` has moved its tile, nor, where it has windows,
        an idle one come; IDLE: idle loops have come; CLOSED: nothing; otherwise the dimension over
        which its window slides.
    levels: its open flows, inner to outer.
    """

    mode: int
    levels: tuple[int, ...] = ()


State = tuple[Waiting, ...]
"""For each tensor."""
Values = dict[State, Floats]


class Place(NamedTuple):
    """Counts at a place, and the energies that are known there."""

    counts: Counts
    known: dict[tuple[int, Waiting, Settled], Floats]


NOTHING = Waiting(CLOSED)
Key = TypeVar("Key")


class TemporalWalk:
    """All temporal loops for the spatial loops of `fetches`. `most`: for each dimension, how many
    temporal iterations the first instance may have. `exact`: see `counts.py`; slower and higher.
    """

    def __init__(self, fetches: Fetches, most: Mapping[int, int], *, exact: bool = False):
        self.fetches, self.dims, self.most, self.exact = fetches, fetches.dims, most, exact

    def least(self) -> float:
        """The least energy in pJ of all that enters a level; infinite if nothing fits.

        Raises: LimitReached for too many states, or when the clock that runs is over.
        """
        counts: Counts = {
            dim: whole(self.fetches.sizes[dim], exact=self.exact) for dim in self.dims
        }
        start = tuple(NOTHING for _ in self.fetches.shapes)
        values: Values = {start: np.zeros((1,) * len(self.dims))}
        for level in reversed(range(self.fetches.depth)):
            spread = self._spread(values, counts, level)
            if spread is None:
                return inf
            repeated = self._repeated(*spread, level)
            if repeated is None:
                return inf
            values, counts = self._stored(*repeated, level)
        return self._end(values, counts)

    def _spread(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts] | None:
        """After the spatial loops of a level. A window no longer slides along them."""
        dims = [dim for dim in self.dims if self.fetches.spread[level][dim] > 1]
        found, here = Values(), Place(counts, {})
        for state, value in values.items():
            for tensor, each in enumerate(state):
                if each.mode in dims:
                    value = value + self._settled(tensor, each, here, Settled())
                    state = (*state[:tensor], NOTHING, *state[tensor + 1 :])
            _put(found, state, value)
        counts = dict(counts)
        for dim in dims:
            spread = counts[dim].spread(self.fetches.spread[level][dim])
            if spread is None:
                return None
            counts[dim], pairs = spread
            found = {
                state: self._least(value, dim, pairs, len(counts[dim].tiles))
                for state, value in found.items()
            }
        return found, counts

    def _repeated(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts] | None:
        """After the temporal loops of a level."""
        counts, loops = dict(counts), dict[int, tuple[Pairs, Pairs]]()
        for dim in self.dims:
            steps = Steps(
                self.fetches.over([dim], range(level, self.fetches.depth)),
                self.fetches.over([dim], range(level)),
                self.most[dim],
            )
            repeated = counts[dim].repeated(steps)
            if repeated is None:
                return None
            counts[dim], pairs = repeated
            loops[dim] = counts[dim].loops(steps)
            number = len(counts[dim].tiles)
            values = {s: self._least(value, dim, pairs, number) for s, value in values.items()}
        limit = MOST_EXACT if self.exact else MOST_STATES
        if prod(len(each.tiles) for each in counts.values()) > limit:
            raise LimitReached(f"there are more than {limit:,} combinations of tiles")
        return self._ordered(values, counts, loops), counts

    def _ordered(
        self,
        values: Values,
        counts: Counts,
        loops: Mapping[int, tuple[Pairs, Pairs]],
    ) -> Values:
        """All sequences of temporal loops. What tensors wait for only proceeds, so each state is
        complete when its turn comes.
        """
        found, here = Values(), Place(counts, {})
        waiting = {(state, frozenset[int]()): value for state, value in values.items()}
        while waiting:
            check_time()
            key = min(waiting, key=_progress)
            value, (state, done) = waiting.pop(key), key
            if not np.isfinite(value).any():
                continue
            moves = [
                (dim, bool(lone), pairs, self._next(state, dim, lone=bool(lone)))
                for dim in self.dims
                if dim not in done
                for lone, pairs in enumerate(loops[dim])
                if len(pairs.source)
            ]
            for dim, _, pairs, after in moves:
                if after == state:
                    value = np.minimum(value, self._least(value, dim, pairs, value.shape))
            _put(found, state, value)
            for dim, lone, pairs, after in moves:
                if after != state:
                    cost = self._moved(state, value, here, dim, lone=lone)
                    grown = self._least(cost, dim, pairs, value.shape)
                    _put(waiting, (after, done | {dim} if lone else done), grown)
        return found

    def _stored(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts]:
        """What fits into a level, with the flows into it."""
        fetches, capacity = self.fetches, self.fetches.architecture.levels[level].capacity
        held = [tensor for tensor, stores in enumerate(fetches.stores) if stores[level]]
        if capacity is not None and held:
            tiles = [fetches.tile(fetches.shapes[tensor], counts) for tensor in held]
            fits = sum(tiles[1:], tiles[0]) <= capacity
            values = {state: np.where(fits, value, inf) for state, value in values.items()}
        found: Values = {}
        for state, value in values.items():
            after = tuple(
                Waiting(FRESH, (*each.levels, level))
                if Flow(tensor, level) in fetches.parents
                else each
                for tensor, each in enumerate(state)
            )
            _put(found, after, value)
        return found, {dim: each.stored(level) for dim, each in counts.items()}

    def _end(self, values: Values, counts: Counts) -> float:
        """The least value where a single tile is left along each dimension."""
        best, here = inf, Place(counts, {})
        for state, value in values.items():
            for tensor, each in enumerate(state):
                if each.levels:
                    value = value + self._settled(tensor, each, here, Settled())
            ends = np.ix_(*(np.flatnonzero(counts[dim].tiles == 1) for dim in self.dims))
            best = min(best, float(value[ends].min(initial=inf)))
        return best

    def _settled(self, tensor: int, each: Waiting, here: Place, how: Settled) -> Floats:
        """Energy of all open flows of a tensor, which are settled here."""
        key = (tensor, each, how)
        if key not in here.known:
            here.known[key] = self._settled_anew(tensor, each, here.counts, how)
        return here.known[key]

    def _settled_anew(self, tensor: int, each: Waiting, counts: Counts, how: Settled) -> Floats:
        total = np.zeros((1,) * len(self.dims))
        for level in each.levels:
            this = how if each.mode < 0 else how._replace(sliding=each.mode)
            if level != each.levels[-1] and self.fetches.shapes[tensor].windows:
                this = this._replace(loose=True, apart=None)
            total = total + self.fetches.energy(Flow(tensor, level), counts, this)
        return total

    def _next(self, state: State, dim: int, *, lone: bool) -> State:
        """What tensors wait for after a loop."""
        return tuple(self._after(n, each, dim, lone=lone) for n, each in enumerate(state))

    def _after(self, tensor: int, each: Waiting, dim: int, *, lone: bool) -> Waiting:
        shape, free = self.fetches.shapes[tensor], dim in self.fetches.shapes[tensor].free
        if not each.levels or each.mode == dim:
            return each
        if free and (lone or not shape.windows or each.mode == IDLE):
            return each
        if each.mode == FRESH and free:
            return Waiting(IDLE, each.levels)
        if each.mode == FRESH and dim in shape.sliding and not lone:
            return Waiting(dim, each.levels)
        return NOTHING

    def _moved(self, state: State, value: Floats, here: Place, dim: int, *, lone: bool) -> Floats:
        """The value before a loop, with the energy of the flows that it settles."""
        for tensor, each in enumerate(state):
            if each.levels and self._after(tensor, each, dim, lone=lone) == NOTHING:
                how = Settled(lone=dim if lone else None)
                if dim in self.fetches.shapes[tensor].sliding:
                    if each.mode == FRESH:
                        how = how._replace(sliding=dim, ended=True)
                    elif each.mode == IDLE:
                        how = how._replace(apart=dim)
                value = value + self._settled(tensor, each, here, how)
        return value

    def _least(self, value: Floats, dim: int, pairs: Pairs, number: int | Sequence[int]) -> Floats:
        """The least value that leads to each of `number` states of a dimension."""
        axis = self.dims.index(dim)
        count = number if isinstance(number, int) else number[axis]
        if isinstance(number, int):
            number = value.shape
        shape = [*number[:axis], value.shape[axis], *number[axis + 1 :]]
        moved = np.take(np.broadcast_to(value, shape), pairs.source, axis=axis)
        starts = np.flatnonzero(np.concatenate([[True], pairs.target[1:] != pairs.target[:-1]]))
        best = np.minimum.reduceat(moved, starts, axis=axis)
        if len(starts) == count:
            return best
        found = np.full([*number[:axis], count, *number[axis + 1 :]], inf)
        found[(slice(None),) * axis + (pairs.target[starts],)] = best
        return found


def _put(values: dict[Key, Floats], key: Key, value: Floats) -> None:
    values[key] = np.minimum(values[key], value) if key in values else value


def _progress(key: tuple[State, frozenset[int]]) -> tuple[int, int]:
    """Rises with each loop that changes anything."""
    state, done = key
    ranks = {FRESH: 0, IDLE: 1, CLOSED: 3}
    return sum(ranks.get(each.mode, 2) for each in state), len(done)

"""The least energy of all temporal loops together, for fixed spatial loops.

A dynamic programme from the compute units outwards. A state is how many tiles there are along each
dimension (`counts.py`) and what each tensor waits for (`Waiting`); its value is the least energy of
the flows that are settled. Temporal loops of a level come one after the other, in any order and any
number. That is as good as one loop for each dimension, but for one point: a loop that runs once in
its last round is the only one of its dimension at its level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.counts import Floats, Pairs, Steps, whole
from solver_mapper.solve.imperfect.joint.fetches import Counts, Fetches, Flow, Settled
from solver_mapper.solve.imperfect.joint.path import (
    Led,
    Move,
    Ordered,
    Path,
    Position,
    Renamed,
    path_back,
)
from solver_mapper.solve.imperfect.joint.states import (
    CLOSED,
    FRESH,
    IDLE,
    LONE,
    NOTHING,
    Key,
    State,
    Waiting,
)

MOST_STATES = 2_000_000
MOST_EXACT = 500_000
"""Numbers of tiles along all dimensions that are looked at together, and in exact counts."""
MOST_RECORDED = 2**26
"""Values that are kept to read the best loops back."""
Values = dict[State, Floats]


class Ended(NamedTuple):
    """All loops over all dimensions.

    energy: in pJ of all that enters a level, at least.
    operations: that are charged, at least.
    steps: of the first instance, at least.
    """

    energy: Floats
    operations: Floats
    steps: Floats


class Least(NamedTuple):
    """The least energy in pJ of all that enters a level, and the least rank; infinite if nothing
    fits.
    """

    energy: float
    rank: float


class Place(NamedTuple):
    """Counts at a place, and the energies that are known there."""

    counts: Counts
    known: dict[tuple[int, Waiting, Settled], Floats]


Name = TypeVar("Name")


class TemporalWalk:
    """All temporal loops for the spatial loops of `fetches`. `most`: for each dimension, how many
    temporal iterations the first instance may have. `exact`: the dimensions in exact counts (see
    `counts.py`); slower and higher. `rank`: what is minimized.
    """

    def __init__(
        self,
        fetches: Fetches,
        most: Mapping[int, int],
        exact: frozenset[int],
        rank: Callable[[Ended], Floats],
        budget: float = inf,
        later: Sequence[float] | None = None,
    ):
        self._rank, self._budget = rank, budget
        self._later = [0.0] * fetches.depth if later is None else later
        self._least_of = {flow: fetches.least(flow) for flow in fetches.parents}
        self.fetches, self.dims, self.most, self.exact = fetches, fetches.dims, most, exact
        self._steps: list[Led | Renamed | Ordered] = []
        self._recorded = 0
        self._last: Position | None = None

    def least(self) -> Least:
        """The least of all loops.

        Raises: LimitReached for too many states, or when the clock that runs is over.
        """
        counts: Counts = {
            dim: whole(self.fetches.sizes[dim], exact=dim in self.exact) for dim in self.dims
        }
        start = tuple(NOTHING for _ in self.fetches.shapes)
        values: Values = {start: np.zeros((1,) * len(self.dims))}
        for level in reversed(range(self.fetches.depth)):
            spread = self._spread(values, counts, level)
            if spread is None:
                return Least(inf, inf)
            repeated = self._repeated(*spread, level)
            if repeated is None:
                return Least(inf, inf)
            values, counts = self._stored(*repeated, level)
        return self._end(values, counts)

    @property
    def path(self) -> Path | None:
        """The loops that lead to the least energy; None where there are none, or too many values to
        keep.
        """
        if self._last is None or self._recorded > MOST_RECORDED:
            return None
        return path_back(self._steps, self._last)

    def _record(self, values: Mapping[Name, Floats]) -> dict[Name, NDArray[np.float32]]:
        """Values in single precision, as long as there is room."""
        self._recorded += sum(value.size for value in values.values())
        if self._recorded > MOST_RECORDED:
            self._steps.clear()
            return {}
        with np.errstate(over="ignore"):
            return {key: value.astype(np.float32) for key, value in values.items()}

    def _spread(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts] | None:
        """After the spatial loops of a level. A window no longer slides along them."""
        dims = [dim for dim in self.dims if self.fetches.spread[level][dim] > 1]
        found, here = Values(), Place(counts, {})
        names, before = dict[State, State](), Values()
        for first, value in values.items():
            state = first
            for tensor, each in enumerate(first):
                if each.mode in dims:
                    value = value + self._settled(tensor, each, here, Settled())
                    state = (*state[:tensor], NOTHING, *state[tensor + 1 :])
            names[first], before[first] = state, value
            _put(found, state, value)
        self._steps.append(Renamed(self._record(before), names))
        counts = dict(counts)
        for dim in dims:
            innermost = level == self.fetches.depth - 1
            spread = counts[dim].spread(self.fetches.spread[level][dim], innermost=innermost)
            if spread is None:
                return None
            counts[dim], pairs = spread
            self._steps.append(Led(self.dims.index(dim), pairs, self._record(found)))
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
            self._steps.append(Led(self.dims.index(dim), pairs, self._record(values)))
            values = {s: self._least(value, dim, pairs, number) for s, value in values.items()}
        limit = MOST_EXACT if self.exact else MOST_STATES
        if prod(len(each.tiles) for each in counts.values()) > limit:
            raise LimitReached(f"there are more than {limit:,} combinations of tiles")
        return self._possible(self._ordered(values, counts, loops, level), counts)

    def _within(self, value: Floats, state: State, level: int) -> Floats:
        """Values from which the budget can be kept, with what open flows and those into `level` or
        further out cost at least.
        """
        if self._budget == inf:
            return value
        flows = [Flow(tensor, into) for tensor, each in enumerate(state) for into in each.levels]
        left = self._budget - self._later[level] - sum(self._least_of[flow] for flow in flows)
        return np.where(value <= left, value, inf)

    def _possible(self, values: Values, counts: Counts) -> tuple[Values, Counts]:
        """The states of each dimension in which something is possible."""
        counts = dict(counts)
        for axis, dim in enumerate(self.dims):
            others = tuple(other for other in range(len(self.dims)) if other != axis)
            some = np.zeros(len(counts[dim].tiles), dtype=bool)
            for value in values.values():
                some |= np.isfinite(value).any(axis=others)
            rows = np.flatnonzero(some)
            if len(rows) < len(some):
                pairs = Pairs(rows, np.arange(len(rows)))
                self._steps.append(Led(axis, pairs, self._record(values)))
                counts[dim] = counts[dim].only(rows)
                values = {state: np.take(value, rows, axis) for state, value in values.items()}
        return values, counts

    def _ordered(
        self,
        values: Values,
        counts: Counts,
        loops: Mapping[int, tuple[Pairs, Pairs]],
        level: int,
    ) -> Values:
        """All sequences of temporal loops. What tensors wait for only proceeds, so each state is
        complete when its turn comes.
        """
        found, here = Values(), Place(counts, {})
        waiting = {(state, frozenset[int]()): value for state, value in values.items()}
        passed, taken = dict[Key, Floats](), list[Move]()
        while waiting:
            check_time()
            key = min(waiting, key=_progress)
            state, done = key
            value = self._within(waiting.pop(key), state, level)
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
            passed[key] = value
            for dim, lone, pairs, after in moves:
                target = key if after == state else (after, done | {dim} if lone else done)
                taken.append(Move(key, target, dim, lone))
                if target != key:
                    cost = self._moved(state, value, here, dim, lone=lone)
                    _put(waiting, target, self._least(cost, dim, pairs, value.shape))
        start, after_loops = self._record(values), self._record(passed)
        self._steps.append(
            Ordered(level, self.dims, counts, loops, start, after_loops, taken, self._costs(counts))
        )
        return found

    def _costs(self, counts: Counts) -> Callable[[Move], Floats]:
        """The energy that a move settles."""
        here = Place(counts, {})

        def cost(move: Move) -> Floats:
            none = np.zeros((1,) * len(self.dims))
            return self._moved(move.source[0], none, here, move.dim, lone=move.lone)

        return cost

    def _stored(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts]:
        """What fits into a level, with the flows into it."""
        fetches, capacity = self.fetches, self.fetches.architecture.levels[level].capacity
        held = [tensor for tensor, stores in enumerate(fetches.stores) if stores[level]]
        if capacity is not None and held:
            tiles = [fetches.tile(fetches.shapes[tensor], counts) for tensor in held]
            fits = sum(tiles[1:], tiles[0]) <= capacity
            values = {state: np.where(fits, value, inf) for state, value in values.items()}
        found, names, before, here = Values(), dict[State, State](), Values(), Place(counts, {})
        for state, value in values.items():
            after = list(state)
            for tensor, each in enumerate(state):
                if Flow(tensor, level) in fetches.parents:
                    if each.mode == LONE:
                        value, each = (
                            value + self._settled(tensor, each, here, _ended(each)),
                            NOTHING,
                        )
                    after[tensor] = Waiting(FRESH, (*each.levels, level))
            before[state], names[state] = value, tuple(after)
            _put(found, tuple(after), value)
        points = [counts[dim].points for dim in self.dims]
        self._steps.append(Renamed(self._record(before), names, level, points))
        return found, {dim: each.stored(level) for dim, each in counts.items()}

    def _end(self, values: Values, counts: Counts) -> Least:
        """The least where a single tile is left along each dimension."""
        best, here = Least(inf, inf), Place(counts, {})
        single = [np.flatnonzero(counts[dim].tiles == 1) for dim in self.dims]
        ends, shape = np.ix_(*single), [len(counts[dim].tiles) for dim in self.dims]
        operations = self._product({dim: counts[dim].charged for dim in self.dims})[ends]
        steps = self._product({dim: counts[dim].steps for dim in self.dims})[ends]
        for state, value in values.items():
            for tensor, each in enumerate(state):
                if each.levels:
                    value = value + self._settled(tensor, each, here, _ended(each))
            value = np.broadcast_to(value, shape)[ends]
            if not value.size:
                continue
            ranks = self._rank(Ended(value, operations, steps))
            if ranks.min() < best.rank:
                at = np.unravel_index(ranks.argmin(), ranks.shape)
                places = zip(single, at, strict=True)
                self._last = Position(state, tuple(int(rows[n]) for rows, n in places))
            energy = min(best.energy, float(value.min()))
            best = Least(energy, min(best.rank, float(ranks.min())))
        return best

    def _product(self, factors: Mapping[int, Floats]) -> Floats:
        """Products of what states of each dimension have."""
        total = np.ones((1,) * len(self.dims))
        for dim, values in factors.items():
            total = total * self.fetches.axis(dim, values)
        return total

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
        if each.mode == LONE:
            return each if lone and not free else NOTHING
        if free and (lone or not shape.windows or each.mode == IDLE):
            return each
        if each.mode == FRESH and free:
            return Waiting(IDLE, each.levels)
        if each.mode == FRESH and dim in shape.sliding and not lone:
            return Waiting(dim, each.levels)
        if lone and not shape.windows:
            return Waiting(LONE, each.levels, dim)
        return NOTHING

    def _moved(self, state: State, value: Floats, here: Place, dim: int, *, lone: bool) -> Floats:
        """The value before a loop, with the energy of the flows that it settles."""
        for tensor, each in enumerate(state):
            if each.levels and self._after(tensor, each, dim, lone=lone) == NOTHING:
                how = Settled(lone=dim if lone else None)
                if each.mode == LONE:
                    how = _ended(each) if dim in self.fetches.shapes[tensor].free else Settled()
                elif dim in self.fetches.shapes[tensor].sliding:
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


def _ended(each: Waiting) -> Settled:
    """How the flows of a tensor are settled where no loop moves its tile next. One that runs once
    in its last round may have left it where it is in that round.
    """
    return Settled(lone=each.lone, passed=True) if each.mode == LONE else Settled()


def _put(values: dict[Name, Floats], key: Name, value: Floats) -> None:
    values[key] = np.minimum(values[key], value) if key in values else value


def _progress(key: tuple[State, frozenset[int]]) -> tuple[int, int]:
    """Rises with each loop that changes anything."""
    state, done = key
    ranks = {FRESH: 0, IDLE: 1, LONE: 1, CLOSED: 3}
    return sum(ranks.get(each.mode, 2) for each in state), len(done)

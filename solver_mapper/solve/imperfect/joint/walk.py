"""The least energy of all temporal loops together, for fixed spatial loops.

A dynamic programme from the compute units outwards. A state is how many tiles there are along each
dimension (`counts.py`) and what each tensor waits for (`Waiting`); its value is the least energy of
the flows that are settled. Temporal loops of a level come one after the other, in any order and any
number. That is as good as one loop for each dimension, but for one point: a loop that runs once in
its last round is the only one of its dimension at its level.

States that cannot lead to a mapping below a budget are left out: those whose value, with the least
that open flows and all flows further out cost, exceeds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from math import inf, prod
from typing import NamedTuple, TypeVar

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.counts import Floats, Ints, Pairs, Steps, TileCounts, whole
from solver_mapper.solve.imperfect.joint.fetches import Fetches, Flow, Settled
from solver_mapper.solve.imperfect.joint.outside import LeastOutside
from solver_mapper.solve.imperfect.joint.path import (
    Led,
    Move,
    Ordered,
    Position,
    Renamed,
    TemporalLoop,
    path_back,
)
from solver_mapper.solve.imperfect.joint.points import (
    Axis,
    Place,
    Points,
    led,
    merged,
    only,
    sizes,
)
from solver_mapper.solve.imperfect.joint.states import (
    FRESH,
    IDLE,
    LONE,
    Key,
    State,
    Waiting,
)

Name = TypeVar("Name")
NO_PAIRS = Pairs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
Loops = dict[int, tuple[Pairs, Pairs, Pairs]]
"""For each dimension, temporal loops that run twice in their last round at least; those that run
once there; and those of them whose last round the first instance never has.
"""
Counts = dict[int, TileCounts]
Values = dict[State, Points]


class Ended(NamedTuple):
    """All loops over all dimensions.

    energy: in pJ of all that enters a level, at least.
    charged: operations along each dimension that are charged, at least.
    steps: of the first instance, at least.
    """

    energy: Floats
    charged: list[Floats]
    steps: Floats


class Least(NamedTuple):
    """The least energy in pJ of all that enters a level, and the least rank; infinite if nothing
    fits.
    """

    energy: float
    rank: float


@dataclass
class Effort:
    """What walks may still take: combinations of states, for each loop that may come next."""

    left: float = inf

    def spend(self, number: int) -> None:
        """Raises: LimitReached if no effort is left."""
        self.left -= number
        if self.left < 0:
            raise LimitReached("the bound for all tensors together took too much effort")


class TemporalWalk:
    """All temporal loops for the spatial loops of `fetches`.

    Args:
        most: for each dimension, how many temporal iterations the first instance may have.
        rank: what is minimized.
        exact: see `counts.py`; slower and higher.
        fine: whether tiles of all levels that hold windows are told apart, which is slower and
            higher again.
        budget: how much energy may enter levels.
        outside: how much enters a level or those further out, at least, by tiles.
        fixed: dimensions of levels that have no temporal loop.
        effort: what this walk and others may still take.
    """

    def __init__(
        self,
        fetches: Fetches,
        most: Mapping[int, int],
        rank: Callable[[Ended], Floats],
        *,
        exact: bool = False,
        fine: bool = False,
        budget: float = inf,
        outside: LeastOutside | None = None,
        fixed: Collection[tuple[int, int]] = (),
        effort: Effort | None = None,
    ):
        self._rank, self._budget, self._fixed = rank, budget, fixed
        self._effort = Effort() if effort is None else effort
        self._outside = outside
        self._least_of = {flow: fetches.least(flow) for flow in fetches.parents}
        self._open: dict[State, float] = {}
        self.fetches, self.dims, self.most, self.exact = fetches, fetches.dims, most, exact
        self._fine = fine
        self._steps: list[Led | Renamed | Ordered] = []
        self._last: Position | None = None

    def least(self) -> Least:
        """The least of all loops.

        Raises: LimitReached for too many states, when the clock that runs is over, or when no
        effort is left.
        """
        counts = {
            dim: whole(self.fetches.sizes[dim], exact=self.exact, told=self._told(dim))
            for dim in self.dims
        }
        start: State = ()
        values = {start: Points(np.zeros(1, dtype=np.int64), np.zeros(1))}
        for level in reversed(range(self.fetches.depth)):
            spread = self._spread(values, counts, level)
            if spread is None:
                return Least(inf, inf)
            repeated = self._repeated(*spread, level)
            if repeated is None:
                return Least(inf, inf)
            values, counts = self._stored(*repeated, level)
        return self._end(values, counts)

    def _told(self, dim: int) -> frozenset[int]:
        """Levels into which windows of a dimension lead, if they are told apart."""
        flows = self.fetches.parents if self._fine else ()
        shapes = self.fetches.shapes
        return frozenset(flow.into for flow in flows if dim in shapes[flow.tensor].sliding)

    @property
    def loops(self) -> list[TemporalLoop] | None:
        """The loops that lead to the least rank, outer to inner; None where there are none."""
        return None if self._last is None else path_back(self._steps, self._last)

    def _spread(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts] | None:
        """After the spatial loops of a level. A window no longer slides along them. What has been
        settled is charged for each instance like for the first one.
        """
        dims = [dim for dim in self.dims if self.fetches.spread[level][dim] > 1]
        found, names, before = Values(), dict[State, State](), Values()
        here = Place(counts)
        for first, points in values.items():
            value = points.value
            for each in first:
                if each.mode in dims:
                    value = value + self._settled(each, here, points, Settled(sliding=each.mode))
            state = tuple(each for each in first if each.mode not in dims)
            more = here.figures("more", points.where, lambda at: self._more(at, level))
            charged = np.maximum(value, value * more - (more + 2) * self._one_word(level))
            value = np.where(more > 1, charged, value)
            names[first], before[first] = state, points._replace(value=value)
            _put(found, state, before[first])
        self._steps.append(Renamed(before, names))
        counts = dict(counts)
        for dim in dims:
            innermost = level == self.fetches.depth - 1
            spread = counts[dim].spread(
                self.fetches.spread[level][dim], level + 1, innermost=innermost
            )
            if spread is None:
                return None
            found = self._all_led(found, counts, dim, *spread)
        return found, counts

    def _more(self, counts: Mapping[int, TileCounts], level: int) -> Floats:
        """How many times as much is charged as is there, at least, where the spatial loops of a
        level leave instances idle in their last round: see `TileCounts.more`.
        """
        dims = [dim for dim in self.dims if self.fetches.spread[level][dim] > 1]
        parts = [counts[dim].more(self.fetches.spread[level][dim]) for dim in dims]
        return reduce(np.multiply, parts, np.ones(1))

    def _one_word(self, level: int) -> float:
        """Energy of a word of each instance in each flow that may be settled inside the spatial
        loops of a level. Rounding adds up to half a word to a flow before it is charged more often,
        and may take off a word later.
        """
        flows = [flow for flow in self.fetches.parents if flow.into > level + 1]
        return sum(self.fetches.one_word(flow) for flow in flows)

    def _all_led(
        self, values: Values, counts: Counts, dim: int, after: TileCounts, pairs: Pairs
    ) -> Values:
        """Values where the states of a dimension lead to others, which `counts` has then."""
        axis = _axis(counts, dim, len(after.tiles))
        self._steps.append(Led(axis, pairs, values))
        counts[dim] = after
        sizes(counts)
        return {state: led(points, axis, pairs) for state, points in values.items()}

    def _repeated(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts] | None:
        """After the temporal loops of a level; None if nothing is left."""
        counts, allowed = dict(counts), dict[int, Steps]()
        left = self._budget - self._spent(values)
        for dim in self.dims:
            if (level, dim) in self._fixed:
                continue
            fewest = 1
            if self._outside is not None:
                fewest = self._outside.fewest(level, counts, dim, left)
            allowed[dim] = Steps(
                self.fetches.over([dim], range(level, self.fetches.depth)),
                self.fetches.over([dim], range(level)),
                self.most[dim],
                fewest,
            )
            repeated = counts[dim].repeated(allowed[dim])
            if repeated is None:
                return None
            values = self._all_led(values, counts, dim, *repeated)
        loops = {dim: self._loops(counts[dim], allowed.get(dim)) for dim in self.dims}
        found = self._ordered(values, counts, loops, level)
        return self._possible(found, counts) if _some(found) else None

    def _loops(self, here: TileCounts, steps: Steps | None) -> tuple[Pairs, Pairs, Pairs]:
        """The temporal loops of a level over a dimension; none if no steps are given."""
        if steps is None:
            return NO_PAIRS, NO_PAIRS, NO_PAIRS
        most, once = here.loops(steps)
        never = (here.tiles[once.target] - 1) % steps.outside > 0
        return most, once.only(~never), once.only(never)

    def _spent(self, values: Values) -> float:
        """The least value with what open flows cost at least; infinite if there is none."""
        least = [
            float(points.value.min()) + self._least_open(state)
            for state, points in values.items()
            if len(points.where)
        ]
        return min(least, default=inf)

    def _affordable(
        self, points: Points, here: Place, state: State, level: int, *, held: bool = False
    ) -> Points:
        """Points that can keep the budget, with what open flows and those into this level or
        further out cost at least; `held`: with the tile as it is.
        """
        spent = points.value + self._least_open(state)
        if self._outside is not None:
            later = partial(self._outside.at, level, held=held)
            spent = spent + here.figures(("outside", held), points.where, later)
        return only(points, spent <= self._budget)

    def _least_open(self, state: State) -> float:
        """What open flows cost at least."""
        if state not in self._open:
            flows = [Flow(each.tensor, into) for each in state for into in each.levels]
            self._open[state] = sum(self._least_of[flow] for flow in flows)
        return self._open[state]

    def _fitting(self, points: Points, here: Place, level: int) -> Points:
        """Points whose tiles fit into a level."""
        fetches, capacity = self.fetches, self.fetches.architecture.levels[level].capacity
        held = [
            shape
            for shape, stores in zip(fetches.shapes, fetches.stores, strict=True)
            if stores[level]
        ]
        if capacity is None or not held:
            return points

        def used(counts: Mapping[int, TileCounts]) -> Floats:
            return reduce(np.add, (fetches.tile(shape, counts) for shape in held))

        return only(points, here.figures("used", points.where, used) <= capacity)

    def _possible(self, values: Values, counts: Counts) -> tuple[Values, Counts]:
        """The states of each dimension in which something is possible."""
        counts = dict(counts)
        for dim in self.dims:
            axis = _axis(counts, dim, 0)
            some = np.zeros(axis.before, dtype=bool)
            for points in values.values():
                some[points.where // axis.behind % axis.before] = True
            values = self._only(values, counts, dim, np.flatnonzero(some))
        return values, counts

    def _only(self, values: Values, counts: Counts, dim: int, rows: Ints) -> Values:
        """Values of some states of a dimension, which alone `counts` has then."""
        if len(rows) == len(counts[dim].tiles):
            return values
        pairs = Pairs(rows, np.arange(len(rows)))
        return self._all_led(values, counts, dim, counts[dim].only(rows), pairs)

    def _ordered(
        self,
        values: Values,
        counts: Counts,
        loops: Loops,
        level: int,
    ) -> Values:
        """All sequences of temporal loops. What tensors wait for only proceeds, so each state is
        complete when its turn comes.
        """
        found, waiting, here = Values(), dict[Key, Points](), Place(counts)
        for state, points in values.items():
            waiting[state, frozenset[int]()] = self._fitting(points, here, level)
        passed, taken = dict[Key, Points](), list[Move]()
        while waiting:
            check_time()
            key = min(waiting, key=_progress)
            state, _ = key
            points = self._affordable(waiting.pop(key), here, state, level)
            if not len(points.where):
                continue
            moves = list(self._moves(key, counts, loops))
            self._effort.spend(len(points.where) * (1 + len(moves)))
            for move in moves:
                if move.target == key:
                    grown = led(points, _axis(counts, move.dim), move.pairs)
                    points = merged(points, self._fitting(grown, here, level))
            _put(found, state, self._affordable(points, here, state, level, held=True))
            passed[key] = points
            for move in moves:
                if move.target != key:
                    cost = self._cost(state, here, points, move.dim, lone=move.stays)
                    left = points._replace(value=points.value + cost)
                    left = self._affordable(left, here, move.target[0], level)
                    if len(left.where):
                        grown = led(left, _axis(counts, move.dim), move.pairs)
                        _put(waiting, move.target, self._fitting(grown, here, level))
            taken += moves
        settling = self._settling(counts)
        self._steps.append(Ordered(level, counts, values, passed, taken, settling))
        return found

    def _moves(self, key: Key, counts: Counts, loops: Loops) -> Iterator[Move]:
        """Loops that may come next. Those by which a window begins to slide are told apart by
        whether its last tile is short.
        """
        state, done = key
        for dim in self.dims:
            for kind, pairs in enumerate(loops[dim] if dim not in done else ()):
                again, once = done | {dim} if kind else done, kind == 1
                for short, part in self._parts(state, counts[dim], dim, pairs):
                    after = self._next(state, dim, counts, lone=once, short=short)
                    if len(part.source):
                        target = key if after == state else (after, again)
                        yield Move(key, target, dim, bool(kind), once, part)

    def _parts(
        self, state: State, here: TileCounts, dim: int, pairs: Pairs
    ) -> list[tuple[bool, Pairs]]:
        """Loops over a dimension, by whether its last tile is short, if a window may begin to
        slide.
        """
        shapes = [self.fetches.shapes[each.tensor] for each in state if each.mode == FRESH]
        ranks = [dict(rank) for shape in shapes for rank in shape.windows]
        steps = [rank[dim] for rank in ranks if dim in rank]
        if not steps or not self.exact:
            return [(False, pairs)]
        short = here.short(min(steps))[pairs.source]
        return [(each, pairs.only(short == each)) for each in (False, True)]

    def _next(self, state: State, dim: int, counts: Counts, *, lone: bool, short: bool) -> State:
        """What tensors wait for after a loop."""
        found = []
        for each in state:
            after = self._after(each, dim, lone=lone)
            if after is not None:
                begins = after.mode == dim and each.mode == FRESH and self._alone(each, dim, counts)
                found.append(after._replace(short=True) if short and begins else after)
        return tuple(sorted(found))

    def _alone(self, each: Waiting, dim: int, counts: Counts) -> bool:
        """Whether no spatial loop over the dimensions of a window has come since its levels."""
        dims = [
            other
            for rank in self.fetches.shapes[each.tensor].windows
            for other, _ in rank
            if dim in dict(rank) and other in counts
        ]
        since = [counts[other].since[level] for other in dims for level in each.levels]
        return all(one.copies == 1 for one in since)

    def _settling(self, counts: Counts) -> Callable[[Move, int], float]:
        """The energy that a move settles at a combination."""

        def cost(move: Move, at: int) -> float:
            here, point = Place(counts, few=0), Points(np.array([at]), np.zeros(1))
            return float(self._cost(move.source[0], here, point, move.dim, lone=move.stays)[0])

        return cost

    def _stored(self, values: Values, counts: Counts, level: int) -> tuple[Values, Counts]:
        """What a level holds, with the flows into it."""
        found, names, before = Values(), dict[State, State](), Values()
        here = Place(counts)
        for state, points in values.items():
            after = list(state)
            for tensor in range(len(self.fetches.shapes)):
                if Flow(tensor, level) not in self.fetches.parents:
                    continue
                levels, paused = tuple[int, ...](), False
                for each in [each for each in state if each.tensor == tensor]:
                    if each.mode == LONE:
                        settled = self._settled(each, here, points, _ended(each))
                        points = points._replace(value=points.value + settled)
                        after.remove(each)
                    elif each.mode == FRESH:
                        levels, paused = each.levels, each.paused
                        after.remove(each)
                after.append(Waiting(tensor, (*levels, level), paused=paused))
            before[state], names[state] = points, tuple(sorted(after))
            _put(found, names[state], points)
        self._steps.append(Renamed(before, names))
        return found, {dim: each.stored(level) for dim, each in counts.items()}

    def _end(self, values: Values, counts: Counts) -> Least:
        """The least where a single tile is left along each dimension."""
        best, here = Least(inf, inf), Place(counts)
        for state, points in values.items():
            ended = np.ones(len(points.where), dtype=bool)
            for count in here.at(points.where).values():
                ended &= count.tiles == 1
            points = only(points, ended)
            if not len(points.where):
                continue
            value = points.value
            for each in state:
                value = value + self._settled(each, here, points, _ended(each))
            ends = here.at(points.where)
            charged = [
                ends[dim].charged if dim in ends else np.ones(1)
                for dim in range(len(self.fetches.sizes))
            ]
            steps = np.prod([end.steps for end in ends.values()], axis=0)
            ranks = self._rank(Ended(value, charged, steps))
            if ranks.min() < best.rank:
                self._last = Position(state, int(points.where[ranks.argmin()]))
            energy = min(best.energy, float(value.min()))
            best = Least(energy, min(best.rank, float(ranks.min())))
        return best

    def _settled(self, each: Waiting, here: Place, points: Points, how: Settled) -> Floats:
        """Energy of open flows, which are settled here."""
        this = how if each.mode < 0 else how._replace(sliding=each.mode, short=each.short)
        this = self.fetches.telling(each.tensor, this._replace(paused=each.paused))
        flows = [Flow(each.tensor, level) for level in each.levels]
        energies = [
            here.figures((flow, this), points.where, partial(self._energy, flow, this))
            for flow in flows
        ]
        return reduce(np.add, energies)

    def _energy(self, flow: Flow, how: Settled, counts: Mapping[int, TileCounts]) -> Floats:
        return self.fetches.energy(flow, counts, how)

    def _after(self, each: Waiting, dim: int, *, lone: bool) -> Waiting | None:
        """What flows wait for after a loop; None if it settles them."""
        shape, free = self.fetches.shapes[each.tensor], dim in self.fetches.shapes[each.tensor].free
        if each.mode == dim:
            return each
        if each.mode == LONE:
            return each if lone and not free else None
        if free and (not shape.windows or each.mode == IDLE):
            return each
        if each.mode == FRESH and free:
            return each._replace(paused=True) if lone else each._replace(mode=IDLE, paused=False)
        if each.mode == FRESH and dim in shape.sliding and not lone:
            return each._replace(mode=dim)
        if lone and not shape.windows:
            return each._replace(mode=LONE, lone=dim)
        return None

    def _cost(self, state: State, here: Place, points: Points, dim: int, *, lone: bool) -> Floats:
        """The energy of the flows that a loop settles."""
        total = np.zeros(1)
        for each in state:
            if self._after(each, dim, lone=lone) is None:
                how = self._how(each, dim, lone=lone)
                total = total + self._settled(each, here, points, how)
        return total

    def _how(self, each: Waiting, dim: int, *, lone: bool) -> Settled:
        """How a loop settles flows.

        An idle loop ends the run of a window that slides. It starts over as a loop over the same
        dimension goes on, which may then go on with the run: once for all rounds of the idle loop,
        which are two at least, or one of three if it runs once in its last round. A loop that moves
        the tile, but runs once in its last round, leaves the run alone in this one only.
        """
        shape = self.fetches.shapes[each.tensor]
        if each.mode >= 0 and dim in shape.free:
            return Settled(by=dim, resumed=2 / 3 if lone else 1 / 2)
        how = Settled(
            lone=dim if lone else None,
            by=dim,
            idle=each.mode == IDLE,
            resumed=1 / 3 if each.mode >= 0 and lone else 0.0,
        )
        if each.mode == LONE:
            return _ended(each) if dim in shape.free else Settled()
        if dim in shape.sliding and each.mode == FRESH:
            return how._replace(sliding=dim, ended=True)
        if dim in shape.sliding and each.mode == IDLE:
            return how._replace(apart=dim)
        return how


def _ended(each: Waiting) -> Settled:
    """How the flows of a tensor are settled where no loop moves its tile next. One that runs once
    in its last round may have left it where it is in that round.
    """
    return Settled(lone=each.lone, passed=True) if each.mode == LONE else Settled()


def _axis(counts: Counts, dim: int, after: int | None = None) -> Axis:
    """The place of a dimension; `after`: how many states it has after the step."""
    numbers, place = sizes(counts), list(counts).index(dim)
    count = numbers[place] if after is None else after
    return Axis(numbers[place], count, prod(numbers[place + 1 :]))


def _some(values: Values) -> bool:
    """Whether there is any combination."""
    return any(len(points.where) for points in values.values())


def _put(values: dict[Name, Points], key: Name, points: Points) -> None:
    values[key] = merged(values[key], points) if key in values else points


def _progress(key: tuple[State, frozenset[int]]) -> tuple[int, int]:
    """Rises with each loop that changes anything."""
    state, done = key
    ranks = {FRESH: 3, IDLE: 2, LONE: 2}
    return -sum(ranks.get(each.mode, 1) for each in state), len(done)

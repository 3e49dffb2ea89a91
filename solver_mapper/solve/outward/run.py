"""One walk, step by step.

At each step inner mappings come to a place of their own. Those that may not lead below the target
wait there, so that the walk can go on below a higher one without doing anything again. What
dominates others there does so whatever the target is, also later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from solver_mapper.core.mapping import Loop, Mapping, loop
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.core.primes import divisors, factorize
from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.outward.aim import Aim, most_energy
from solver_mapper.solve.outward.costs import NOISE, Costs
from solver_mapper.solve.outward.inner import Flags, InnerMappings, Ints, Outside, joined
from solver_mapper.solve.outward.moves.empty import empty
from solver_mapper.solve.outward.moves.full_meshes import mesh_filled, windows_placed
from solver_mapper.solve.outward.moves.move import Move, Moves
from solver_mapper.solve.outward.moves.network_orders import charged
from solver_mapper.solve.outward.moves.spatial_loops import spread
from solver_mapper.solve.outward.moves.stores import hold
from solver_mapper.solve.outward.moves.temporal_loops import repeat, splits
from solver_mapper.solve.outward.parts import (
    Bounds,
    Comparison,
    fill_meshes,
    new_undominated,
    with_bounds,
)
from solver_mapper.solve.outward.places import Key, Places, needed
from solver_mapper.solve.outward.remaining import in_time
from solver_mapper.solve.outward.spread_ahead import SpreadAhead
from solver_mapper.solve.outward.twins import without_twins
from solver_mapper.solve.pool.pool import Shared
from solver_mapper.verify.mapspace import EnumeratedMapspace

MOST_ROWS, MOST_GROWN = 300_000, 1_000_000
"""Inner mappings that go on from a step at once, and that are compared with each other, at most."""
MOST_STORED = 800_000
"""Inner mappings that a walk keeps in all so as to go on from them later."""
BYTES = 1_000
"""Where an inner mapping takes more bytes, these limits are as much lower."""
GO_ON = 1 / 2
"""The share of inner mappings that go on where there are too many."""
STEP = 200
"""As how many inner mappings each step counts in the work of a walk."""


class Ends(NamedTuple):
    """What arrived: the mappings of the least claims, best first; none if the walk was not `whole`:
    there were too many inner mappings, or too little time.

    least: a lower bound of the rank of all mappings, at most the target; None if nothing is known
           of all of them.
    beyond: the least that an inner mapping needed which was dropped because of the target.
    examined: of how many inner mappings bounds were worked out, in so many `steps`.
    target: what the walk looked below, if that is not what was asked for.
    in_all: how many inner mappings have been met, also before the walk went on; if that is more.
    """

    mappings: tuple[Mapping, ...]
    least: float | Fraction | None
    whole: bool = True
    beyond: float = inf
    examined: int = 0
    steps: int = 0
    target: float | None = None
    in_all: int = 0

    @property
    def work(self) -> int:
        """How much work the walk was, in inner mappings."""
        return self.examined + STEP * self.steps

    @property
    def size(self) -> int:
        """How many inner mappings there are below its target, roughly."""
        return max(self.examined, self.in_all)


class Ground(Protocol):
    """What all walks of one mapspace and goal share; see `Walk`."""

    mapspace: EnumeratedMapspace
    goal: Goal
    limits: tuple[Limit, ...]
    costs: Costs
    shared: Shared[SpreadAhead]
    latency: int
    outermost: frozenset[int]
    trades: Ints
    alike: bool


class _Group(NamedTuple):
    """Spatial loops of a mesh that exclude each other, as dimension and axis. After them the first
    `spread` dimensions of `Costs.order` have no more loops there. `innermost`: whether they are the
    innermost ones of their axis above compute units.
    """

    loops: list[tuple[int, int]]
    spread: int
    innermost: bool = False


class Run:
    """One walk. What the rows need at least that are on their way to the next step is `under_way`;
    rows at no place that will go on or wait are `in_hand`.

    Args:
        margin: by which share of the target a row has to be worse than another one to be dropped.
        width: how many rows of each number of prime factors go on at each step, if not all.
        goes_on: whether rows wait for higher targets.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        margin: float = 0.0,
        width: int | None = None,
        goes_on: bool = False,
    ):
        self.ground, self.costs, self.width, self.margin = ground, ground.costs, width, margin
        self.aim = Aim(ground.goal, ground.latency, -inf, ground.limits)
        self.goes_on = goes_on
        self.moves = Moves()
        self.parents: list[Ints] = []
        self.made: list[Ints] = []
        self.recorded = self.in_all = 0
        self.under_way = inf
        self.in_hand = empty(self.costs, len(ground.trades))
        size = sum(each.nbytes for each in self.in_hand.columns())
        self.room = min(1.0, BYTES / size)
        self.places = Places(self.in_hand, inf if goes_on else -inf)
        self.may_go_on = False
        self.primes = sum(times for size in self.costs.sizes for _, times in factorize(int(size)))

    def below(
        self,
        target: float,
        most: int,
        *,
        examined: float = inf,
        lowest: float = inf,
        every: bool = False,
    ) -> Ends:
        """The best mappings by their claims that are below `target`, and were not when the walk was
        there before; see `Walk.ends`. `every`: if these are all of them, or else none.
        """
        self.aim = self.aim._replace(target=target)
        self.lowest, self.fallen = lowest, False
        self.examined = self.steps = 0
        # Until it ends, or is interrupted at a step, some rows are at no place.
        self.may_go_on = False
        self.most_examined = self.more = examined
        least = inf
        try:
            rows = self._arriving()
            if every and len(rows) > most:
                raise LimitReached("there are too many mappings")
            best = np.argsort(rows.least, kind="stable")[:most]
            mappings, whole = tuple(self._mappings(rows.parent[best].tolist())), True
            least = float(rows.least.min(initial=inf))
            self.may_go_on = True
        except LimitReached:
            mappings, whole = (), False
        beyond = self.places.beyond
        if not whole:
            least = min(beyond, self.under_way)
        least = min(least * (1 - NOISE), self.aim.target)
        return Ends(
            mappings,
            least if least > -inf else None,
            whole,
            beyond,
            self.examined,
            self.steps,
            self.aim.target if self.fallen else None,
            self.in_all,
        )

    def _arriving(self) -> InnerMappings:
        """The rows that come to the outermost level."""
        depth = self.costs.depth
        rows = self._kept(("start",), [], Outside(depth, depth))
        for level in reversed(range(depth)):
            rows = self._repeated(self._spread(rows, level), level)
            held = hold(self.costs, rows, level, self.moves)
            if not level:
                held = [each.take((each.tile == self.costs.sizes).all(axis=1)) for each in held]
            elif max(self.costs.architecture.fanout(level - 1)) == 1:
                held = [self._mesh_filled(each, level - 1) for each in held]
            rows = self._kept((level, "stores"), held, Outside(level, level))
        return rows

    def _kept(
        self,
        key: Key,
        parts: list[InnerMappings],
        outside: Outside,
        *,
        compared: bool = True,
        first: bool = False,
    ) -> InnerMappings:
        """The rows that may lead below the target and, if they are `compared`, are not dominated,
        with a place in the history: of new ones, and of those that waited. `first`: whether they
        are compared before bounds are worked out.

        Raises: LimitReached if there are too many; they are looked at when the walk goes on.
        """
        new, waited = self.places.taken(key, parts, self.aim.target)
        new = self.costs.loops.completable(new, outside)
        if key[1:2] != ("mesh",):
            new = without_twins(new, self.ground.trades)
        self.in_all += len(new)
        rows = joined([new, waited])
        if len(rows):
            try:
                rows = self._going_on(key, rows, outside, compared=compared, first=first)
            except LimitReached:
                self.places.arrive(key, self.in_hand)
                self.may_go_on = True
                raise
        self.under_way = needed(rows)
        return rows

    def _going_on(
        self, key: Key, rows: InnerMappings, outside: Outside, *, compared: bool, first: bool
    ) -> InnerMappings:
        self.in_hand = rows
        check_time()
        self.examined += len(rows)
        self.steps += 1
        if self.examined > self.most_examined or len(rows) > MOST_GROWN * self.room:
            rows = self._lowered(key, rows)
        if first:
            rows = self.in_hand = self._undominated(key, rows, outside)
        # A beam leaves looking closely to the ranks of what it keeps.
        bounds = Bounds(rows, self.aim, outside, closely=self.width is None)
        rows, dropped = with_bounds(self.ground.shared, bounds)
        self.in_hand = rows
        for each in dropped:
            self.places.wait(key, each)
        if compared and not first:
            rows = self._undominated(key, rows, outside)
        if len(rows) > MOST_ROWS * self.room:
            rows = self._lowered(key, rows)
        rows = self._recorded(self._narrowed(rows))
        self.places.limit(int(MOST_STORED * self.room), self.aim.target)
        if compared and self.goes_on:
            self.places.went_on(key, rows)
        return rows

    def _undominated(self, key: Key, rows: InnerMappings, outside: Outside) -> InnerMappings:
        """The rows that no other one dominates, nor one that went on before."""
        if not outside.holders or not len(rows):
            return rows
        every = joined([*self.places.gone_on(key), rows])
        margin = None
        if self.margin:
            margin = self.margin * most_energy(self.costs, self.aim, every, outside)
        cycles_count = self.costs.work[1] > 0 or self.aim.of_cycles
        comparison = Comparison(every, outside, cycles_count, margin, self.ground.alike)
        kept = new_undominated(self.ground.shared, comparison, len(every) - len(rows))
        return rows.take(kept)

    def _lowered(self, key: Key, rows: InnerMappings) -> InnerMappings:
        """The most promising rows, below a lower target.

        Raises: LimitReached if that would be too low.
        """
        ranks, middle = rows.least * (1 - NOISE), int(GO_ON * len(rows))
        target = float(np.partition(ranks, middle)[middle])
        if not self.lowest < target < self.aim.target:
            raise LimitReached("there are too many inner mappings")
        self.aim, self.fallen = self.aim._replace(target=target), True
        self.most_examined += self.more
        below = ranks < target
        self.in_hand = rows.take(below)
        self.places.wait(key, rows.take(~below))
        return self.in_hand

    def _narrowed(self, rows: InnerMappings) -> InnerMappings:
        """The most promising rows of each number of prime factors, if not all are to be kept."""
        if self.width is None:
            return rows
        counts = self._prime_counts(rows.tile)
        order = np.lexsort((rows.least, counts))
        starts = np.searchsorted(counts[order], counts[order])
        return rows.take(np.sort(order[np.arange(len(rows)) - starts < self.width]))

    def _recorded(self, rows: InnerMappings) -> InnerMappings:
        self.parents.append(rows.parent)
        self.made.append(rows.move)
        numbers = np.arange(self.recorded, self.recorded + len(rows), dtype=np.int64)
        self.recorded += len(rows)
        return replace(rows, parent=numbers, move=np.full(len(rows), -1, dtype=np.int64))

    def _spread(self, rows: InnerMappings, level: int) -> InnerMappings:
        """All ways to spread over the mesh below `level`, dimension by dimension."""
        sides = self.costs.architecture.fanout(level)
        if max(sides) == 1:
            return charged(self.costs, self._mesh_filled(rows, level), level, self.moves)
        units = level == self.costs.depth - 1
        for number, group in enumerate(self._side_by_side(level)):
            outside, key = Outside(level + 1, level + 1, group.spread), (level, "mesh", number)
            without = rows if self._may_skip(level, group) else rows.take(slice(0, 0))
            more = [part for loop in group.loops for part in self._along(rows, level, *loop, group)]
            parts = self._in_time((level, "mesh in time", number), [without, *more], outside)
            if group.spread == len(self.costs.order):
                if units:
                    # Who has which neighbours takes time to work out.
                    parts = [self._kept(key, parts, outside, compared=False)]
                filled = [self._filled(each, level) for each in parts if len(each)]
                rows = self._kept((level, "filled"), filled, Outside(level + 1, level))
                continue
            if not units and group.spread == len(self.costs.moving) > 0:
                parts = [windows_placed(self.costs, each) for each in parts]
            if len(parts) > 1 or self.places.any_at(key):
                # Hardly one of these dominates another.
                rows = self._kept(key, parts, outside, compared=False)
            else:
                (rows,) = parts
        return rows

    def _in_time(
        self, key: Key, parts: list[InnerMappings], outside: Outside
    ) -> list[InnerMappings]:
        """The rows that are quick enough to lead below the target: what neighbours on the mesh do,
        which takes time to work out, matters for these alone.
        """
        _, waited = self.places.taken(key, [], self.aim.target)
        found = []
        for each in (*parts, waited) if len(waited) else parts:
            rows, _, dropped = in_time(self.costs, self.aim, each, outside)
            self.places.wait(key, dropped)
            self.under_way = min(self.under_way, needed(rows))
            found.append(rows)
        return found

    def _may_skip(self, level: int, group: _Group) -> bool:
        """Whether a mesh may have none of these loops. Above compute units others may follow."""
        units = level == self.costs.depth - 1
        return units or all(self.costs.loops.may_do_without(level, dim) for dim, _ in group.loops)

    def _filled(self, rows: InnerMappings, level: int) -> InnerMappings:
        """The rows when all spatial loops below `level` stand."""
        rows = self._mesh_filled(rows, level)
        networks = self.costs.networks
        if networks and networks.charge_below(level):
            return charged(self.costs, self._recorded(rows), level, self.moves)
        return rows

    def _mesh_filled(self, rows: InnerMappings, level: int) -> InnerMappings:
        fill_meshes(self.ground.shared, rows, level)
        return mesh_filled(self.costs, rows, level)

    def _side_by_side(self, level: int) -> list[_Group]:
        """A later group stands outside an earlier one. Above compute units any dimension may be
        innermost, and what stands along X is known before something stands along Y.
        """
        dims = self.costs.order
        if level < self.costs.depth - 1:
            return [_Group([(dim, 0), (dim, 1)], spread) for spread, dim in enumerate(dims, 1)]
        return [
            _Group([(dim, axis) for dim in group], spread * axis, innermost=not spread)
            for axis in (0, 1)
            for spread, group in enumerate((dims, *([dim] for dim in dims)))
        ]

    def _along(
        self, rows: InnerMappings, level: int, dim: int, axis: int, group: _Group
    ) -> Iterator[InnerMappings]:
        """The rows with each spatial loop over a dimension that has none there yet."""
        size, side = int(self.costs.sizes[dim]), self.costs.architecture.fanout(level)[axis]
        for bound in divisors(size)[1:]:
            fits = rows.meshes[:, axis] * bound <= side
            fits &= size % (rows.tile[:, dim] * bound) == 0
            if level == self.costs.depth - 1:
                fits &= rows.tile[:, dim] == 1
                fits &= (rows.meshes[:, axis] == 1) == group.innermost
            fits &= self.costs.loops.may_spread(rows, level, dim, bound, axis)
            if fits.any():
                move = Move(level, dim, bound, "XY"[axis])
                yield spread(self.costs, rows.take(fits), move, self.moves.number(move))

    def _repeated(self, rows: InnerMappings, level: int) -> InnerMappings:
        """All temporal loops of `level`, prime by prime: tiles of fewer primes come first, so that
        each is met once.
        """
        dims = [
            (dim, prime, int(size))
            for dim, size in enumerate(self.costs.sizes)
            for prime, _ in factorize(int(size))
        ]
        counts = self._prime_counts(rows.tile)
        for count in map(int, np.unique(counts)):
            self.places.arrive((level, "loops", count), rows.take(counts == count))
        for count in range(self.primes + 1):
            rows = self._kept((level, "loops", count), [], Outside(level + 1, level), first=True)
            self.places.arrive((level, "looped"), rows)
            for dim, prime, size in dims if len(rows) else ():
                fits = size % (rows.tile[:, dim] * prime) == 0
                fits &= self.costs.loops.may_repeat(rows, level, dim, prime)
                if self.margin:
                    fits &= ~splits(rows, dim)
                if dim in self.ground.outermost:
                    fits &= self._belongs(rows, level, dim)
                if fits.any():
                    move = Move(level, dim, prime)
                    more = repeat(self.costs, rows.take(fits), move, self.moves.number(move))
                    self.places.arrive((level, "loops", count + 1), more)
        looped, _ = self.places.taken((level, "looped"), [], self.aim.target)
        self.under_way = needed(looped)
        return self.costs.loops.ended(looped, level)

    def _belongs(self, rows: InnerMappings, level: int, dim: int) -> Flags:
        """Whether a temporal loop over a dimension of all tensors may stand outside the rows: if
        all other dimensions are complete but for further ones of all tensors, whose order does not
        matter; or if neighbours may pass words on, which the loop ends.

        Elsewhere it may as well be the outermost loop of all: tiles are smaller then, loops that it
        stands between are innermost together, and each of its iterations costs the same.
        """
        inside = [
            other
            for other in range(len(self.costs.sizes))
            if other < dim or other not in self.ground.outermost
        ]
        complete = (rows.tile[:, inside] == self.costs.sizes[inside]).all(axis=1)
        found: Flags = complete if not level else np.zeros(len(rows), dtype=bool)
        for each in self.costs.sliding:
            found |= each.may_pass(rows)
        return found

    def _prime_counts(self, tile: Ints) -> Ints:
        """How many prime factors each tile has."""
        counts = np.zeros(len(tile), dtype=np.int64)
        for dim in range(tile.shape[1]):
            extents, where = np.unique(tile[:, dim], return_inverse=True)
            lengths = np.array(
                [sum(times for _, times in factorize(int(each))) for each in extents],
                dtype=np.int64,
            )
            counts += lengths[where.reshape(-1)]
        return counts

    def _mappings(self, rows: Sequence[int]) -> Iterator[Mapping]:
        """The mappings that rows of the history end."""
        if not rows:
            return
        parents, made = np.concatenate(self.parents), np.concatenate(self.made)
        for row in rows:
            check_time()
            yield self._mapping(row, parents, made)

    def _mapping(self, row: int, parents: Ints, made: Ints) -> Mapping:
        """The same of one row, by the parents of all rows and the moves that made them."""
        steps: list[Move] = []
        while row >= 0:
            if made[row] >= 0:
                steps.append(self.moves[int(made[row])])
            row = int(parents[row])
        problem = self.ground.mapspace.problem
        levels = []
        for number, plan in enumerate(self.ground.mapspace.plans):
            mine = [step for step in steps if step.level == number]
            keep = [step.holds for step in mine if not step.bound]
            orders = [step.order for step in mine if step.order]
            across = self._spatial(number, [step for step in mine if step.axis], *orders)
            along = [step for step in mine if step.bound and not step.axis]
            held = (name for n, name in enumerate(problem.tensor_names) if keep[0] >> n & 1)
            levels.append(
                replace(
                    plan,
                    temporal=_loops(along, problem.dims),
                    spatial=_loops(across, problem.dims),
                    keep=frozenset(held),
                )
            )
        return Mapping(tuple(levels), tuple(problem.dims), tuple(problem.tensor_names))

    def _spatial(
        self, level: int, steps: list[Move], order: tuple[tuple[int, int], ...] = ()
    ) -> list[Move]:
        """Spatial loops of a level, outer to inner, in an order that constraints admit."""
        steps = self._spatial_order(steps, order)
        of_dims = {step.dim: step for step in steps}
        inner = self.costs.loops.ordered(level, [step.dim for step in reversed(steps)])
        return [of_dims[dim] for dim in reversed(inner)]

    def _spatial_order(self, steps: list[Move], order: tuple[tuple[int, int], ...]) -> list[Move]:
        """The loops along Y first. Where the order is free those of windows stand inside, so that
        neighbours share words; unless networks told which one is the best.
        """
        if order:
            return sorted(steps, key=lambda step: order.index((step.dim, "XY".index(step.axis))))
        if any(step.level == self.costs.depth - 1 for step in steps):
            return steps
        return sorted(steps, key=lambda step: (step.axis == "X", step.dim in self.costs.moving))


def _loops(steps: list[Move], dims: tuple[str, ...]) -> tuple[Loop, ...]:
    """Loops outer to inner, one for each dimension and axis where its innermost part stands."""
    bounds: dict[tuple[int, str], int] = {}
    for step in reversed(steps):
        key = (step.dim, step.axis)
        bounds[key] = bounds.get(key, 1) * step.bound
    return tuple(loop(dims[dim], bound, axis) for (dim, axis), bound in reversed(bounds.items()))

"""Walk from the compute units outwards, over all inner mappings that may still be the best.

At each level come its spatial loops, its temporal loops, and the choice of what it holds. After
each of these, inner mappings are dropped that cannot lead below a target (`remaining.py`), and
those that others dominate (`dominance.py`). What arrives at the outermost level are the least
claims. They equal the cost model's figures unless networks cost energy for more than words that a
level gets by itself, words of windows are rounded or passed on at levels that bandwidth limits, or
constraints say more than walks know (`constraints.py`); then they are lower bounds.
In the style of the partial mappings of AccelForge (Gilbert et al.), with the costs of Timeloop's
model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, permutations, product
from math import inf
from typing import NamedTuple

import numpy as np

from solver_mapper.core.constraints import (
    Constraint,
    KeepConstraint,
    PermutationConstraint,
    SplitConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.objective import Goal
from solver_mapper.core.primes import divisors, factorize
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.network_energy import networks_below
from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.outward.aim import Aim, least_cycles, most_energy
from solver_mapper.solve.outward.constraints import ON_LOOPS
from solver_mapper.solve.outward.costs import FIXED, NOISE, Costs
from solver_mapper.solve.outward.dominance import undominated
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Ints, Outside, joined
from solver_mapper.solve.outward.moves import (
    Move,
    Moves,
    charged,
    empty,
    hold,
    mesh_filled,
    repeat,
    splits,
    spread,
    windows_placed,
)
from solver_mapper.solve.outward.outer_levels import OuterLevels
from solver_mapper.solve.outward.remaining import in_time, promising
from solver_mapper.solve.outward.spread_ahead import SpreadAhead
from solver_mapper.verify.mapspace import EnumeratedMapspace

MOST_ROWS, MOST_GROWN = 300_000, 1_000_000
"""Inner mappings that are kept at once, and that are compared with each other, at most."""
MOST_TIES = 4_096
"""Mappings whose claims are below a target, in all orders of their spatial loops, at most."""
BEST = 16
"""How many of the mappings that arrive are returned."""
ORDERS = 16
"""In how many orders of its spatial loops each of these is returned, at most."""
GO_ON = 1 / 2
"""The share of inner mappings that go on where there are too many."""
AT_ONCE = 4_096
"""Inner mappings of which bounds are worked out together."""


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
    """

    mappings: tuple[Mapping, ...]
    least: float | Fraction | None
    whole: bool = True
    beyond: float = inf
    examined: int = 0
    steps: int = 0
    target: float | None = None

    @property
    def work(self) -> int:
        """How much work the walk was, in inner mappings."""
        return _work(self.examined, self.steps)


class Walk:
    """One mapspace, for one goal: energy, or a product of powers of energy and cycles.

    Raises: ValueError for another goal, and as `Costs` does.
    """

    def __init__(self, mapspace: EnumeratedMapspace, goal: Goal):
        self.mapspace, self.goal = mapspace, goal
        metrics = {metric for metric, _ in goal.powers}
        if "energy" not in metrics or not metrics <= {"energy", "delay"}:
            raise ValueError(f"{goal.name} is no matter of energy and cycles alone")
        self.costs = Costs(mapspace)
        self.outer = OuterLevels(self.costs)
        self.spread_ahead = SpreadAhead(self.outer)
        self.latency = latency(mapspace.architecture)
        self.cycles_count = "delay" in metrics or self.costs.work[1] > 0
        self.outermost = _outermost(mapspace, self.costs)

    def ends(
        self,
        target: float,
        most: int = BEST,
        *,
        examined: float = inf,
        lowest: float = inf,
        advanced: Callable[[int], None] = lambda _: None,
    ) -> Ends:
        """The best mappings by their claims, as far as these are below `target`.

        Args:
            most: how many mappings are returned.
            examined: of how many inner mappings bounds may be worked out in all. Where there are
                more, the target falls, so that fewer go on, which may be as many again; the walk
                ends early when it would not be above `lowest` any more, or when the clock that
                runs is over.
            advanced: is told at each step how much work the walk is so far; it may end the walk by
                raising `LimitReached`.

        Raises: ValueError if tables of outer levels would be too large.
        """
        ends = self._ended(_Run(self, target, examined, lowest=lowest, advanced=advanced), most)
        return ends._replace(mappings=self._ordered(ends.mappings))

    def beam(self, target: float, width: int) -> Ends:
        """Good mappings below `target`, if the inner mappings lead to some that seem to be the best
        ones: of each number of prime factors so many at each step. Nothing is known of all others.

        Raises: see `ends`.
        """
        ends = self._ended(_Run(self, target, inf, width=width), BEST)
        return ends._replace(mappings=self._ordered(ends.mappings), least=None, whole=False)

    def near_ties(self, target: float, least: float, *, examined: float = inf) -> Ends:
        """All mappings whose claims are below `target`, but for those that cost the same as another
        one; so that no mapping costs less than the best of these and the target. No claim is below
        `least`, which has to be near the target.

        A mapping below the target that is dropped would be worse by its claim than another one by
        the margin between the two; whose claim would then be below `least`.

        Raises: see `ends`.
        """
        ends = self._ended(_Run(self, target, examined, 1 - least / target), MOST_TIES + 1)
        orders = [each for mapping in ends.mappings for each in spatial_orders(mapping, MOST_TIES)]
        if not ends.whole or len(ends.mappings) > MOST_TIES or len(orders) > MOST_TIES:
            return ends._replace(mappings=(), least=least, whole=False)
        return ends._replace(mappings=tuple(orders), least=target * (1 - NOISE))

    def quicker(self, target: float, cycles: float, *, examined: float = inf) -> Ends:
        """Mappings that by their claims are below `target` and take fewer than so many cycles, the
        quickest first; if the walk is whole and there are none, then no mapping is.

        Raises: see `ends`.
        """
        return self._ended(_Run(self, target, examined, cycles=cycles), BEST)

    def _ordered(self, mappings: tuple[Mapping, ...]) -> tuple[Mapping, ...]:
        """The mappings in several orders of their spatial loops, if these matter: a claim is that
        of the best one.
        """
        if not self.costs.sliding:
            return mappings
        orders = (islice(spatial_orders(each, ORDERS), ORDERS) for each in mappings)
        return tuple(chain.from_iterable(orders))

    @cached_property
    def exact(self) -> bool:
        """Whether claims leave out nothing but what `InnerMappings.doubts` speak of."""
        return _nothing_else_costs(self.mapspace, self.costs)

    def _ended(self, run: _Run, most: int) -> Ends:
        try:
            mappings, whole = run.ends(most), True
        except LimitReached:
            mappings, whole = (), False
        ends = Ends(mappings, run.least, whole, run.beyond, run.examined, len(run.parents))
        return ends._replace(target=run.aim.target) if run.fallen else ends


def _outermost(mapspace: EnumeratedMapspace, costs: Costs) -> frozenset[int]:
    """Dimensions of all tensors, of which temporal loops may stand outside all others; none if
    constraints, least utilization or networks make a difference.
    """
    levels = mapspace.architecture.levels
    if (
        costs.networks
        or any(level.min_utilization for level in levels)
        or not all(isinstance(each, KeepConstraint) for each in mapspace.constraints)
    ):
        return frozenset()
    return frozenset(
        dim
        for dim, size in enumerate(costs.sizes)
        if size > 1 and all(tensor.kind(dim) == FIXED for tensor in costs.tensors)
    )


def _nothing_else_costs(mapspace: EnumeratedMapspace, costs: Costs) -> bool:
    architecture = mapspace.architecture
    plain = all(
        level.block_size == level.cluster_size == 1
        and not (level.min_utilization or level.address_price)
        for level in architecture.levels
    )
    free = all(below.free for networks in networks_below(architecture) for below in networks)
    return (
        plain
        and free
        and all(map(_all_known, mapspace.constraints))
        and all(tensor.exact or tensor.ranks for tensor in costs.tensors)
    )


def _all_known(constraint: Constraint) -> bool:
    """Whether walks know all that a constraint forbids. Of orders of a mesh's loops they do not: of
    two inner mappings that are alike one may be so in a forbidden order alone.
    """
    orders_mesh = isinstance(constraint, SplitConstraint) or (
        isinstance(constraint, PermutationConstraint) and constraint.kind == "spatial"
    )
    return isinstance(constraint, (KeepConstraint, *ON_LOOPS)) and not orders_mesh


def spatial_orders(mapping: Mapping, most: int) -> Iterator[Mapping]:
    """The mapping with its spatial loops in each order along their axes; after more than `most`,
    no further ones.
    """

    def ways(level: LevelMapping) -> Iterator[LevelMapping]:
        along = ([each for each in level.spatial if each.axis == axis] for axis in "YX")
        orders = (islice(permutations(loops), most + 1) for loops in along)
        for outer, inner in product(*orders):
            yield replace(level, spatial=(*outer, *inner))

    levels = [list(islice(ways(level), most + 1)) for level in mapping.levels]
    return islice((replace(mapping, levels=chosen) for chosen in product(*levels)), most + 1)


class _Group(NamedTuple):
    """Spatial loops of a mesh that exclude each other, as dimension and axis. After them the first
    `spread` dimensions of `Costs.order` have no more loops there. `innermost`: whether they are the
    innermost ones of their axis above compute units.
    """

    loops: list[tuple[int, int]]
    spread: int
    innermost: bool = False


class _Run:
    def __init__(
        self,
        walk: Walk,
        target: float,
        most_examined: float,
        margin: float = 0.0,
        advanced: Callable[[int], None] = lambda _: None,
        width: int | None = None,
        cycles: float = inf,
        lowest: float = inf,
    ):
        self.walk, self.costs, self.width = walk, walk.costs, width
        self.aim = Aim(walk.goal, walk.latency, target, cycles)
        self.cycles_count = walk.cycles_count or cycles < inf
        self.most_examined, self.margin, self.advanced = most_examined, margin, advanced
        self.lowest, self.more, self.fallen = lowest, most_examined, False
        self.moves = Moves()
        self.parents: list[Ints] = []
        self.made: list[Ints] = []
        self.recorded = self.examined = 0
        self.least: float | None = None
        self.beyond = inf

    def ends(self, most: int) -> tuple[Mapping, ...]:
        rows = self._kept([empty(self.costs)], Outside(self.costs.depth, self.costs.depth))
        for level in reversed(range(self.costs.depth)):
            rows = self._spread(rows, level)
            rows = self._repeated(rows, level)
            held = hold(self.costs, rows, level, self.moves)
            if not level:
                held = [each.take((each.tile == self.costs.sizes).all(axis=1)) for each in held]
            elif max(self.costs.architecture.fanout(level - 1)) == 1:
                held = [mesh_filled(self.costs, each, level - 1) for each in held]
            rows = self._kept(held, Outside(level, level))
            self._bound(rows)
        best = np.lexsort((rows.least, self._cycles(rows)))[:most]
        return tuple(self._mapping(int(rows.parent[row])) for row in best)

    def _cycles(self, rows: InnerMappings) -> Floats:
        """The cycles of whole mappings, if the quickest ones are looked for."""
        if self.aim.cycles == inf:
            return np.zeros(len(rows))
        return least_cycles(self.costs, self.aim.latency, rows, Outside(0, 0))

    def _bound(self, rows: InnerMappings) -> None:
        """Learn from rows that all mappings below the target go through, or as good ones."""
        least = float(rows.least.min(initial=inf)) * (1 - NOISE)
        self.least = min(max(least, self.least or -inf), self.aim.target)

    def _kept(
        self,
        parts: list[InnerMappings],
        outside: Outside,
        *,
        compared: bool = True,
    ) -> InnerMappings:
        """The rows that may lead below the target and, if they are `compared`, are not dominated,
        with a place in the history.
        """
        check_time()
        walk, nothing = self.walk, empty(self.costs).take(slice(0, 0))
        rows = self.costs.loops.completable(joined([nothing, *parts]), outside)
        self.examined += len(rows)
        if len(rows) and self.examined > self.most_examined:
            rows = self._lowered(rows)
        self.advanced(_work(self.examined, len(self.parents)))
        # Bounds are worked out for rows that have the same left of a mesh.
        rows = rows.take(np.argsort(self.costs.left(outside, rows.meshes), kind="stable"))
        found = [
            self._promising(rows.take(slice(start, start + AT_ONCE)), outside)
            for start in range(0, max(len(rows), 1), AT_ONCE)
        ]
        rows = joined(found)
        self._limit(len(rows), MOST_GROWN)
        if compared and len(rows) and outside.holders:
            most, all_energy = most_energy(self.costs, self.aim, rows, outside)
            rows = undominated(
                *(walk.outer, rows, outside, most),
                cycles_count=self.cycles_count,
                margin=self.margin * all_energy if self.margin else None,
            )
        self._limit(len(rows), MOST_ROWS)
        return self._recorded(self._narrowed(rows))

    def _lowered(self, rows: InnerMappings) -> InnerMappings:
        """The most promising rows, below a lower target.

        Raises: LimitReached if that would be too low.
        """
        needed, middle = rows.least * (1 - NOISE), int(GO_ON * len(rows))
        target = float(np.partition(needed, middle)[middle])
        if not self.lowest < target < self.aim.target:
            self._limit(self.examined, self.most_examined)
        self.aim, self.fallen = self.aim._replace(target=target), True
        self.most_examined += self.more
        below = needed < target
        self.beyond = min(self.beyond, float(rows.least[~below].min()))
        return rows.take(below)

    def _narrowed(self, rows: InnerMappings) -> InnerMappings:
        """The most promising rows of each number of prime factors, if not all are to be kept."""
        if self.width is None:
            return rows
        counts = self._prime_counts(rows.tile)
        order = np.lexsort((rows.least, counts))
        starts = np.searchsorted(counts[order], counts[order])
        return rows.take(np.sort(order[np.arange(len(rows)) - starts < self.width]))

    def _limit(self, number: int, most: float) -> None:
        if number > most:
            raise LimitReached(f"there are more than {most:,} inner mappings")

    def _promising(self, rows: InnerMappings, outside: Outside) -> InnerMappings:
        """The rows that may lead below the target."""
        check_time()
        if not len(rows):
            return rows
        # A beam leaves that to the ranks of what it keeps.
        closely = self.width is None
        rows, beyond = promising(self.walk.spread_ahead, self.aim, rows, outside, closely=closely)
        self.beyond = min(self.beyond, beyond)
        return rows

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
            return charged(self.costs, mesh_filled(self.costs, rows, level), level, self.moves)
        units = level == self.costs.depth - 1
        for group in self._side_by_side(level):
            outside = Outside(level + 1, level + 1, group.spread)
            more = (part for loop in group.loops for part in self._along(rows, level, *loop, group))
            without = rows if self._may_skip(level, group) else rows.take(slice(0, 0))
            parts = [self._in_time(each, outside) for each in (without, *more)]
            if group.spread == len(self.costs.order):
                if units:
                    # Who has which neighbours takes time to work out.
                    parts = [self._kept(parts, outside, compared=False)]
                filled = [self._filled(each, level) for each in parts]
                rows = self._kept(filled, Outside(level + 1, level))
                self._bound(rows)
                continue
            if not units and group.spread == len(self.costs.moving) > 0:
                parts = [windows_placed(self.costs, each) for each in parts]
            rows, *others = parts
            if others:
                # Hardly one of these dominates another.
                rows = self._kept(parts, outside, compared=False)
        return rows

    def _in_time(self, rows: InnerMappings, outside: Outside) -> InnerMappings:
        """The rows that are quick enough to lead below the target: what neighbours on the mesh do,
        which takes time to work out, matters for these alone.
        """
        rows, _, beyond = in_time(self.costs, self.aim, rows, outside)
        self.beyond = min(self.beyond, beyond)
        return rows

    def _may_skip(self, level: int, group: _Group) -> bool:
        """Whether a mesh may have none of these loops. Above compute units others may follow."""
        units = level == self.costs.depth - 1
        return units or all(self.costs.loops.may_do_without(level, dim) for dim, _ in group.loops)

    def _filled(self, rows: InnerMappings, level: int) -> InnerMappings:
        """The rows when all spatial loops below `level` stand."""
        rows = mesh_filled(self.costs, rows, level)
        networks = self.costs.networks
        if networks and networks.charge_below(level):
            return charged(self.costs, self._recorded(rows), level, self.moves)
        return rows

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
        primes = [[prime for prime, _ in factorize(int(size))] for size in self.costs.sizes]
        waiting: dict[int, list[InnerMappings]] = defaultdict(list)
        counts = self._prime_counts(rows.tile)
        for count in np.unique(counts):
            waiting[int(count)].append(rows.take(counts == count))
        found = [rows.take(slice(0, 0))]
        while waiting:
            count = min(waiting)
            rows = self._kept(waiting.pop(count), Outside(level + 1, level))
            found.append(rows)
            for dim, size in enumerate(map(int, self.costs.sizes)):
                for prime in primes[dim]:
                    fits = size % (rows.tile[:, dim] * prime) == 0
                    fits &= self.costs.loops.may_repeat(rows, level, dim, prime)
                    if self.margin:
                        fits &= ~splits(rows, dim)
                    if dim in self.walk.outermost:
                        fits &= self._belongs(rows, level, dim)
                    if fits.any():
                        move = Move(level, dim, prime)
                        number = self.moves.number(move)
                        waiting[count + 1].append(repeat(self.costs, rows.take(fits), move, number))
        return self.costs.loops.ended(joined(found), level)

    def _belongs(self, rows: InnerMappings, level: int, dim: int) -> Flags:
        """Whether a temporal loop over a dimension of all tensors may stand outside the rows: if
        all other dimensions are complete, or neighbours may pass words on, which the loop ends.

        Elsewhere it may as well be the outermost loop of all: tiles are smaller then, loops that it
        stands between are innermost together, and each of its iterations costs the same.
        """
        others = [other for other in range(len(self.costs.sizes)) if other != dim]
        complete = (rows.tile[:, others] == self.costs.sizes[others]).all(axis=1)
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

    def _mapping(self, row: int) -> Mapping:
        """The mapping that a row of the history ends."""
        parents, made = np.concatenate(self.parents), np.concatenate(self.made)
        steps: list[Move] = []
        while row >= 0:
            if made[row] >= 0:
                steps.append(self.moves.made[int(made[row])])
            row = int(parents[row])
        problem = self.walk.mapspace.problem
        levels = []
        for number, buffer in enumerate(self.costs.architecture.levels):
            mine = [step for step in steps if step.level == number]
            keep = [step.holds for step in mine if not step.bound]
            orders = [step.order for step in mine if step.order]
            levels.append(
                LevelMapping(
                    buffer.name,
                    _loops([step for step in mine if step.bound and not step.axis], problem.dims),
                    _loops(
                        self._spatial(number, [step for step in mine if step.axis], *orders),
                        problem.dims,
                    ),
                    frozenset(
                        name for n, name in enumerate(problem.tensor_names) if keep[0] >> n & 1
                    ),
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


def _work(examined: int, steps: int) -> int:
    return examined + STEP * steps


def _loops(steps: list[Move], dims: tuple[str, ...]) -> tuple[Loop, ...]:
    """Loops outer to inner, one for each dimension and axis where its innermost part stands."""
    bounds: dict[tuple[int, str], int] = {}
    for step in reversed(steps):
        key = (step.dim, step.axis)
        bounds[key] = bounds.get(key, 1) * step.bound
    return tuple(loop(dims[dim], bound, axis) for (dim, axis), bound in reversed(bounds.items()))

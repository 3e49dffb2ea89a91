"""Walk from the compute units outwards, over all inner mappings that may still be the best.

At each level come its spatial loops, its temporal loops, and the choice of what it holds. After
each of these, inner mappings are dropped that cannot lead below a target (`remaining.py`), and
those that others dominate (`dominance.py`). What arrives at the outermost level are the least
claims. They equal the cost model's figures unless networks cost energy for more than words that a
level gets by itself, words of windows are rounded or passed on at levels that bandwidth limits or
that have clusters, windows slide over partial sums (their first times are rounded, and never more
than all times), or constraints say more than walks know (`constraints.py`); then they are lower
bounds. In the style of the partial mappings of AccelForge (Gilbert et al.), with the costs of
Timeloop's model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, islice, permutations, product
from math import inf

from solver_mapper.core.constraints import (
    Constraint,
    KeepConstraint,
    MetricConstraint,
    PermutationConstraint,
    SplitConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Mapping
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.network_energy import networks_below
from solver_mapper.solve.outward.constraints import ON_LOOPS
from solver_mapper.solve.outward.costs import FIXED, NOISE, Costs
from solver_mapper.solve.outward.outer_levels import OuterLevels
from solver_mapper.solve.outward.parts import OuterTables, tables
from solver_mapper.solve.outward.run import Ends, Run
from solver_mapper.solve.outward.spread_ahead import SpreadAhead
from solver_mapper.solve.outward.twins import trades
from solver_mapper.solve.pool.pool import Pool
from solver_mapper.verify.mapspace import EnumeratedMapspace

BEST = 16
"""How many of the mappings that arrive are returned."""
FREE = 2
"""Where more levels than that may hold what they like, and windows slide, compiling the model takes
longer than many walks.
"""
ORDERS = 16
"""In how many orders of its spatial loops each of these is returned, at most."""


class Walk:
    """One mapspace, for one goal: energy, cycles, or a product of powers of both; within `limits`.

    first: whether walks are worth the first turn.
    shared: the work of its steps, with the processes of a `pool`.
    alike: whether of two inner mappings that agree in all that is known of them one is enough, but
           for what `InnerMappings.doubts` speak of.

    Raises: ValueError for another goal, and as `Costs` does.
    """

    def __init__(self, mapspace: EnumeratedMapspace, goal: Goal, pool: Pool | None = None):
        self.mapspace, self.goal = mapspace, goal
        self.limits: tuple[Limit, ...] = ()
        _metrics(goal)
        self.costs = Costs(mapspace)
        self.outer = OuterLevels(self.costs)
        self.spread_ahead = SpreadAhead(self.outer)
        pool = pool or Pool(1)
        described = mapspace.architecture, mapspace.problem, mapspace.constraints
        self.shared = pool.shared(self.spread_ahead, partial(tables, *described))
        if self.outer.fit:
            self.outer.make_by(self.shared.later(OuterTables()).result)
        self.latency = latency(mapspace.architecture)
        self.outermost = _outermost(mapspace, self.costs)
        self.trades = trades(mapspace, self.outermost)
        self.alike = _alike(mapspace)
        self._claims_last = _claims_last(mapspace, self.costs)
        free = [len(choices) > 1 for level in self.costs.holds for choices in level]
        levels = sum(free) / len(self.costs.tensors)
        self.first = bool(self.costs.sliding) and levels > FREE
        self._last: Run | None = None

    def toward(self, goal: Goal, limits: Sequence[Limit]) -> Walk:
        """A walk with the same tables for a goal within limits.

        Raises: ValueError for other figures than energy and cycles; or if neither the goal nor
        limits have to do with energy, so that a walk would drop little.
        """
        metrics = [_metrics(each) for each in (goal, *(limit.goal for limit in limits))]
        if not any("energy" in each for each in metrics):
            raise ValueError(f"{goal.name} is no matter of energy")
        other = copy(self)
        other.goal, other.limits, other._last = goal, tuple(limits), None
        return other

    @property
    def figures(self) -> int:
        """How many figures its tables have, if they are not made yet."""
        return 0 if self.outer.made else self.outer.figures

    def ends(
        self,
        target: float,
        most: int = BEST,
        *,
        examined: float = inf,
        lowest: float = inf,
    ) -> Ends:
        """The best mappings by their claims, as far as these are below `target`.

        Args:
            most: how many mappings are returned.
            examined: of how many inner mappings bounds may be worked out in all. Where there are
                more, the target falls, so that fewer go on, which may be as many again; the walk
                ends early when it would not be above `lowest` any more, or when the clock that
                runs is over.

        Raises: ValueError if tables of outer levels would be too large.
        """
        run = Run(self)
        ends = run.below(target, most, examined=examined, lowest=lowest)
        return self._ordered(ends)

    def further(
        self,
        target: float,
        *,
        examined: float = inf,
        lowest: float = inf,
        last: float = inf,
    ) -> Ends:
        """The same, from where the walk before it was, below a lower target: what arrives now.

        last: no target will be higher.

        Raises: see `ends`.
        """
        run = self._last
        if run is None or target > run.places.horizon:
            run = Run(self, goes_on=True)
        # An error loses rows.
        self._last = None
        run.places.forget(last)
        ends = run.below(target, BEST, examined=examined, lowest=lowest)
        if run.may_go_on:
            self._last = run
        return self._ordered(ends)

    def beam(self, target: float, width: int) -> Ends:
        """Good mappings below `target`, if the inner mappings lead to some that seem to be the best
        ones: of each number of prime factors so many at each step. Nothing is known of all others.

        Raises: see `ends`.
        """
        ends = self._ordered(Run(self, width=width).below(target, BEST))
        return ends._replace(least=None, whole=False)

    def near_ties(self, target: float, least: float, most: int, *, examined: float = inf) -> Ends:
        """All mappings whose claims are below `target`, but for those that cost the same as another
        one; so that no mapping costs less than the best of these and the target. No claim is below
        `least`, which has to be near the target. None if they are more than `most`, in all orders
        of their spatial loops.

        A mapping below the target that is dropped would be worse by its claim than another one by
        the margin between the two; whose claim would then be below `least`.

        Raises: see `ends`.
        """
        run = Run(self, margin=1 - least / target)
        ends = run.below(target, most, examined=examined, every=True)
        in_order = chain.from_iterable(spatial_orders(each, most) for each in ends.mappings)
        orders = list(islice(in_order, most + 1))
        if not ends.whole or len(orders) > most:
            return ends._replace(mappings=(), least=least, whole=False)
        return ends._replace(mappings=tuple(orders), least=target * (1 - NOISE))

    def _ordered(self, ends: Ends) -> Ends:
        """The mappings in several orders of their spatial loops, if these matter: a claim is that
        of the best one.
        """
        if not self.costs.sliding:
            return ends
        orders = (islice(spatial_orders(each, ORDERS), ORDERS) for each in ends.mappings)
        return ends._replace(mappings=tuple(chain.from_iterable(orders)))

    @property
    def lists_near_ties(self) -> bool:
        """Whether `near_ties` lists all mappings: if these are told apart by energy, and no bound
        on the way to one is above its claim in the end.
        """
        return "energy" in _metrics(self.goal) and self._claims_last


def _metrics(goal: Goal) -> set[str]:
    """The figures that a goal is about. Raises: ValueError for others than energy and cycles."""
    found = {metric for metric, _ in goal.powers}
    if not found <= {"energy", "delay"}:
        raise ValueError(f"{goal.name} is no matter of energy and cycles alone")
    return found


def _outermost(mapspace: EnumeratedMapspace, costs: Costs) -> frozenset[int]:
    """Dimensions of all tensors, of which temporal loops may stand outside all others; none if
    constraints, least utilization or networks make a difference.
    """
    levels, known = mapspace.architecture.levels, (KeepConstraint, MetricConstraint)
    if (
        costs.networks
        or any(level.min_utilization for level in levels)
        or not all(isinstance(each, known) for each in mapspace.constraints)
    ):
        return frozenset()
    # How often gaps between steps of partial sums count as read depends on what stands inside.
    gaps = {
        dim
        for tensor in costs.tensors
        for rank in tensor.view.projection.wide
        for dim, _ in rank
        if tensor.read_again
    }
    return frozenset(
        dim
        for dim, size in enumerate(costs.sizes)
        if size > 1
        and dim not in gaps
        and all(tensor.kind(dim) == FIXED for tensor in costs.tensors)
    )


def _claims_last(mapspace: EnumeratedMapspace, costs: Costs) -> bool:
    """Whether no bound on the way to a mapping is above its claim in the end."""
    architecture = mapspace.architecture
    networks = chain.from_iterable(networks_below(architecture))
    return (
        not any(level.min_utilization or level.address_price for level in architecture.levels)
        and all(below.network.kind == "Legacy" for below in networks)
        and all(map(_known, mapspace.constraints))
        and all(tensor.exact or not tensor.written for tensor in costs.tensors)
    )


def _alike(mapspace: EnumeratedMapspace) -> bool:
    """Whether mappings that agree in all that is known of them cost the same and are all allowed:
    not where levels are in clusters, nor where constraints are about the order of a mesh's loops.
    """
    levels = mapspace.architecture.levels
    return all(level.cluster_size == 1 for level in levels) and not any(
        map(_orders_mesh, mapspace.constraints)
    )


def _orders_mesh(constraint: Constraint) -> bool:
    """Whether a constraint is about the order of a mesh's loops."""
    return isinstance(constraint, SplitConstraint) or (
        isinstance(constraint, PermutationConstraint) and constraint.kind == "spatial"
    )


def _known(constraint: Constraint) -> bool:
    """Whether walks know all that a constraint forbids, but for orders of a mesh's loops."""
    known = (KeepConstraint, MetricConstraint, *ON_LOOPS)
    return isinstance(constraint, known) or _orders_mesh(constraint)


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

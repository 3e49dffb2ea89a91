"""The bound curve of a group, all trunks at once: arrays over the trips of every rank.

In a small group with many common ranks, trunks by far outnumber the ways to keep tensors. So this
search turns the loops around: it walks over which tensors are resident above which set of loops,
and evaluates all trips of all ranks (and all tiles of the streamed tensors) as one grid. It finds
the bound curve that `Fuser.group` finds trunk by trunk.

Two reductions are lossless. Only the sets of loops between two storage nodes matter, not the order
in a set, so trunks are ordered partitions of the ranks. And a rank below which no tensor is stored
that it does not index is cut completely: more trips shrink every tile below and repeat nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from solver_mapper.bounds.bound_curve import EMPTY, BoundCurve, Ints
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
from solver_mapper.bounds.fusion.groups.group import GroupPlan, Plans
from solver_mapper.bounds.fusion.groups.leaf import MemberChoice, choice_of, inner_nest
from solver_mapper.bounds.fusion.groups.leaf_grid import LeafGrid, MemberOption, Skeleton, TrunkGrid
from solver_mapper.bounds.fusion.groups.trunk import Trunk, plain_rank
from solver_mapper.bounds.search import FoundTile, product_of, words_of
from solver_mapper.cost.snowcat.accesses import movements

MOST_GRIDS, MOST_CELLS = 20_000, 4_000_000
"""A group that needs more grids, or more cells in one, is searched trunk by trunk."""


def by_grids(
    net: DataflowGraph, group: FusionGroup, held: frozenset[str], uneven: bool = False
) -> Plans | None:
    """The bound curve of `group`, or None if it is more work than trunk by trunk.

    Args: `held`, tensors that are on chip as a whole; `uneven`, see `Leaves`.
    """
    searches = [
        GroupGrid(net, group, held, TrunkGrid(net, group, above), uneven)
        for above in (None, *group.above)
    ]
    grids, cells = zip(*(search.work for search in searches), strict=True)
    if sum(grids) > MOST_GRIDS or max(cells) > MOST_CELLS:
        return None
    found = Plans(EMPTY, ())
    for search in searches:
        found = search.improve(found)
    return found


def skeletons(space: TrunkGrid) -> Iterator[Skeleton]:
    """All ordered partitions of the axes; a rank that stands above the common ones is outermost."""
    last = len(space.cuts) - 1

    def split(rest: tuple[int, ...]) -> Iterator[Skeleton]:
        if not rest:
            yield ()
        for size in range(1, len(rest) + 1):
            for first in combinations(rest, size):
                for others in split(tuple(axis for axis in rest if axis not in first)):
                    yield (first, *others)

    if space.above is None:
        yield from split(tuple(range(last + 1)))
    else:
        yield from (((last,), *others) for others in split(tuple(range(last))))


class GroupGrid:
    """The search of one group in one space. Tensors in `held` are on chip as a whole and counted
    elsewhere.
    """

    def __init__(
        self,
        net: DataflowGraph,
        group: FusionGroup,
        held: frozenset[str],
        space: TrunkGrid,
        uneven: bool = False,
    ):
        self.net, self.group, self.space = net, group, space
        self.leaves = [LeafGrid(space, i, held | set(group.tiled), uneven) for i in group.members]
        self.live = self._live()
        self.start = self._inputs()
        self.looped = product_of(list(space.trips)) > (0 if space.head else 1)
        self.plain = [
            all(plain_rank(net, group, rank) for rank in each.ranks) for each in space.cuts
        ]

    @property
    def work(self) -> tuple[int, int]:
        """How many grids `improve` evaluates, and the cells of the largest one."""
        grids = sum(
            math.prod(leaf.count(skeleton) for leaf in self.leaves)
            for skeleton in skeletons(self.space)
        )
        return grids, math.prod(self.space.shape) * math.prod(leaf.largest for leaf in self.leaves)

    def improve(self, known: Plans) -> Plans:
        """`known` with every mapping of the space entered.

        A position between two segments at which nothing is stored makes no difference, except the
        one below a rank that stands above.
        """
        stairs, plans = known.stairs, list(known.plans)
        first = 1 if self.space.above is None else 2
        for skeleton in skeletons(self.space):
            tables = [list(leaf.options(skeleton)) for leaf in self.leaves]
            for chosen in product(*tables):
                used = {at for option in chosen for at in option.resident.values()}
                if set(range(first, len(skeleton))) <= used:
                    stairs = self._enter(stairs, plans, skeleton, chosen)
        return Plans(stairs, tuple(plans))

    def _enter(
        self,
        stairs: BoundCurve,
        plans: list[GroupPlan],
        skeleton: Skeleton,
        chosen: Sequence[MemberOption],
    ) -> BoundCurve:
        capacity, accesses, legal, corner = self._evaluate(skeleton, chosen)
        shape = np.broadcast_shapes(capacity.shape, accesses.shape, legal.shape)
        cells = np.flatnonzero(np.broadcast_to(legal, shape))
        buffers = np.broadcast_to(capacity, shape).ravel()[cells]
        moved = np.broadcast_to(accesses, shape).ravel()[cells]
        fresh = np.flatnonzero(stairs.better(buffers, moved))
        merged = stairs.merged(buffers[fresh], moved[fresh], -1 - fresh)
        codes = merged.codes.copy()
        for step in np.flatnonzero(codes < 0):
            position = np.unravel_index(int(cells[-1 - codes[step]]), shape)
            codes[step] = len(plans)
            plans.append(
                self._plan(
                    skeleton,
                    chosen,
                    [int(at) + first for at, first in zip(position, corner, strict=True)],
                )
            )
        return BoundCurve(merged.buffers, merged.accesses, codes)

    def _evaluate(
        self, skeleton: Skeleton, chosen: Sequence[MemberOption]
    ) -> tuple[Ints, Ints, Ints, list[int]]:
        """Capacity, accesses and legality over the grid; first position stored along each axis."""
        count = len(self.space.cuts)
        extra = sum(len(option.tiles) for option in chosen)
        free = self._free(skeleton, chosen)
        additive, peak, before = (
            self._spread(np.zeros((1,) * count, dtype=self.net.dtype), free, 0, extra),
            None,
            0,
        )
        accesses, legal = (
            self._spread(self.start, free, 0, extra),
            self._spread(self.looped, free, 0, extra),
        )
        for option, live in zip(chosen, self.live, strict=True):
            after = extra - before - len(option.tiles)
            additive = additive + self._spread(option.additive, free, before, after)
            accesses = accesses + self._spread(option.accesses, free, before, after)
            legal = legal & self._spread(option.legal, free, before, after)
            alive = self._spread(live, free, 0, extra) + self._spread(
                option.own, free, before, after
            )
            peak = alive if peak is None else np.maximum(peak, alive)
            before += len(option.tiles)
        corner = [size - 1 if axis in free else 0 for axis, size in enumerate(self.space.shape)] + [
            0
        ] * extra
        return additive + peak, accesses, legal, corner

    def _spread(self, values: Ints, free: frozenset[int], before: int, after: int) -> Ints:
        """`values` with free axes at their last position and axes for tiles of other members."""
        count = len(self.space.cuts)
        values = values[
            tuple(slice(-1, None) if axis in free else slice(None) for axis in range(count))
        ]
        return np.asarray(
            values.reshape(
                values.shape[:count] + (1,) * before + values.shape[count:] + (1,) * after
            )
        )

    def _free(self, skeleton: Skeleton, chosen: Sequence[MemberOption]) -> frozenset[int]:
        """Axes below which every tensor that they do not index is absent."""
        free = set()
        for at, segment in enumerate(skeleton):
            for axis in segment:
                if self.plain[axis] and not any(
                    self._suffers(leaf, option, axis, at)
                    for leaf, option in zip(self.leaves, chosen, strict=True)
                ):
                    free.add(axis)
        return frozenset(free)

    def _suffers(self, leaf: LeafGrid, option: MemberOption, axis: int, at: int) -> bool:
        return any(
            not self.space.cuts[axis].drives(leaf.einsum, tensor)
            and option.resident.get(tensor.name, at + 1) > at
            for tensor in leaf.tensors
        )

    def _live(self) -> list[Ints]:
        """Per member, units of tiled tensors on chip while it runs."""
        tiles = {name: self._tile(name) for name in self.group.tiled}
        live = []
        for i in self.group.members:
            total = np.zeros((1,) * len(self.space.cuts), dtype=self.net.dtype)
            for name, units in tiles.items():
                users = self.net.users[name] & set(self.group.members)
                total = total + (units if min(users) <= i <= max(users) else 0)
            live.append(total)
        return live

    def _tile(self, name: str) -> Ints:
        axes = range(len(self.space.cuts))
        users = self.net.users[name] & set(self.group.members)
        tiles = (words_of(self.net.use(i, name), self.space.inside(i, axes)) for i in users)
        return np.asarray(self.net.weights[name] * np.maximum.reduce(np.broadcast_arrays(*tiles)))

    def _inputs(self) -> Ints:
        """Traffic of tiled workload inputs."""
        total = np.zeros((1,) * len(self.space.cuts), dtype=self.net.dtype)
        for name in self.group.tiled:
            if self.net.producer[name] is None:
                first = min(self.net.users[name] & set(self.group.members))
                total = total + self.space.repeats(first) * self._tile(name) * product_of(
                    list(self.space.trips)
                )
        return total

    def _plan(
        self, skeleton: Skeleton, chosen: Sequence[MemberOption], position: Sequence[int]
    ) -> GroupPlan:
        trunk, begins = self.space.loops(skeleton, position)
        used, choices = len(self.space.cuts), []
        for leaf, option in zip(self.leaves, chosen, strict=True):
            sizes = {
                dim: option.tiles[dim][position[used + number]]
                for number, dim in enumerate(option.tiles)
            }
            used += len(option.tiles)
            choices.append(self._choice(leaf, option, trunk, begins, sizes))
        return GroupPlan(self.group.members, self.group.tiled, trunk, tuple(choices))

    def _choice(
        self,
        leaf: LeafGrid,
        option: MemberOption,
        trunk: Trunk,
        begins: Sequence[int],
        sizes: dict[str, int],
    ) -> MemberChoice:
        i, weights = leaf.einsum, self.net.weights
        flowing = tuple(tensor for tensor in leaf.tensors if tensor.name in option.flowing)
        found = None
        if option.kind is not None:
            nest = inner_nest(self.net.problems[i], trunk, i, flowing)
            tile_of = {dim: sizes.get(dim, 1) for dim in nest.dims}
            order = tuple(
                dim for dim in reversed(option.kind.order) if tile_of[dim] < nest.bounds[dim]
            )
            flows = movements(nest, tile_of, order)
            found = FoundTile(
                sum(weights[name] * flow.tile for name, flow in flows.items()),
                sum(weights[name] * flow.accesses for name, flow in flows.items()),
                tile_of,
                order,
            )
        kept = {name: begins[at] for name, at in option.resident.items()}
        return choice_of(self.net, i, trunk, kept, flowing, found)

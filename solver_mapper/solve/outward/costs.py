"""What tensors and levels cost, in numbers that the walk outwards uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from math import ceil, prod
from typing import Any

import numpy as np

from solver_mapper.core.constraints import ReuseConstraint
from solver_mapper.cost.timeloop.energy import prices
from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.outward.constraints import LoopConstraints
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Ints, Outside, alike
from solver_mapper.solve.outward.layouts import MANY
from solver_mapper.solve.outward.networks import Carried, Networks
from solver_mapper.solve.outward.sliding import Sliding, WordPrices
from solver_mapper.solve.outward.spreads import Spreads, may_pass
from solver_mapper.solve.outward.tile_chains import Rank, SwitchedOff, Windows
from solver_mapper.verify.bound import LowerBound, Rates
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.views import View

ENDS, IDLE, FIXED, DIMENSIONS = -1, 0, 1, 2
"""Kinds of the next temporal loop for a tensor: there is none; it leaves the tensor alone; or each
of its iterations brings other words. Loops over dimensions of windows have the numbers of these,
from DIMENSIONS on.
"""


NOISE = 1e-10
"""More than rounding can add to any sum of figures of costs, relative."""
CANCELLED = 2.0**-48
"""What rounding may leave of a figure that is added and taken off again, relative to it."""


@dataclass(frozen=True)
class TensorCosts:
    """One tensor. Its *fixed* dimensions are alone in a rank: tiles at different places along them
    share no word. All others are idle, or of its sliding windows.

    Args:
        ranks: its window ranks, of two dimensions of more than one iteration each, the larger one
            first.
        words: how many different ones there are. `span`: of a tile of all iterations.
        exact: whether tiles are what their iterations touch.
    """

    view: View
    fixed: frozenset[int]
    ranks: tuple[Rank, ...]
    words: int
    span: int
    exact: bool

    @property
    def written(self) -> bool:
        """Whether it has partial sums."""
        return self.view.projection.read_write

    @property
    def read_again(self) -> bool:
        """Whether partial sums are counted as read again, but for the first times."""
        return self.written and (self.exact or bool(self.ranks))

    def overlap(self, tile: Ints) -> tuple[Floats, Floats]:
        """See `Rank.overlap`, for all windows; and steps along fixed dimensions leave gaps. That
        matters for partial sums alone.
        """
        least, most = np.ones((2, len(tile)))
        if not self.written:
            return least, most
        least /= prod(
            step for rank in self.view.projection.wide for dim, step in rank if dim in self.fixed
        )
        for rank in self.ranks:
            fewer, more = rank.overlap(tile)
            least, most = least * fewer, most * more
        return least, most

    def shared(self, bounds: dict[int, int]) -> int:
        """How many instances may share a word, at most, by spatial loops over some dimensions: all
        along idle ones. Of those that want the same place of a window, no two have the same
        iteration of either of its dimensions, so that there are at most as many as along each.
        """
        windows = [tuple(bounds.get(dim, 1) for dim in rank.dims) for rank in self.ranks]
        moving = {dim for rank in self.ranks for dim in rank.dims}
        idle = [bound for dim, bound in bounds.items() if dim not in self.fixed | moving]
        return prod(idle) * prod(min(pair) for pair in windows)

    def kind(self, dim: int) -> int:
        """FIXED, IDLE, or another number for each dimension of windows."""
        if any(dim in rank.dims for rank in self.ranks):
            return DIMENSIONS + dim
        return FIXED if dim in self.fixed else IDLE

    def tile_words(self, tile: Ints) -> Floats:
        """Words of each tile: a bounding box (`Projection.words`)."""
        words = np.ones(len(tile))
        for dim in self.view.projection.plain:
            words *= tile[:, dim]
        for rank in self.view.projection.wide:
            words *= 1 + sum(step * (tile[:, dim] - 1) for dim, step in rank)
        return words

    def apart(self, inner: Ints, tile: Ints) -> Floats:
        """The words of all `inner` tiles of which each tile is made, for each word of this: less
        than 1 where steps leave words out between them. Of a tensor without windows.
        """
        fixed = sorted(self.fixed)
        tiles: Ints = np.prod(tile[:, fixed] // inner[:, fixed], axis=1)
        return tiles * self.tile_words(inner) / self.tile_words(tile)

    @cached_property
    def stretch(self) -> int:
        """Words of a tile are at most so many times its iterations: steps leave gaps."""
        wide = self.view.projection.wide
        return prod(sum(abs(step) for _, step in rank) for rank in wide)

    def density(self, tile: Ints) -> Floats:
        """The share of each tile's words that its iterations touch: strides leave some out."""
        points: Floats = np.prod(tile[:, sorted(self.fixed)], axis=1, dtype=float)
        return points / self.tile_words(tile)


def tensor_costs(view: View, sizes: Ints) -> TensorCosts | None:
    """The tensor of a view; None if a dimension stands in it twice, a rank is a sum of more than
    two, or sliding windows run backwards.
    """
    dims = [dim for rank in view.projection.ranks for dim, _ in rank]
    wide = [rank for rank in view.projection.ranks if len(rank) > 1]
    if len(set(dims)) < len(dims) or any(len(rank) > 2 for rank in wide):
        return None
    ranks = tuple(_rank(rank, sizes) for rank in wide)
    if ranks and min(min(rank.steps) for rank in ranks) < 0:
        return None
    fixed = frozenset(dims) - {dim for rank in ranks for dim in rank.dims}
    span = view.projection.words(sizes.tolist())
    return TensorCosts(view, fixed, ranks, view.words, span, view.plain)


def _rank(terms: Sequence[tuple[int, int]], sizes: Ints) -> Rank:
    """The larger dimension first."""
    (dim, step), (other, its_step) = sorted(terms, key=lambda term: -sizes[term[0]])
    return Rank((dim, other), (step, its_step), (int(sizes[dim]), int(sizes[other])))


class Costs:
    """Tensors, sizes and prices of one mapspace.

    sizes: of the dimensions. `work`: the energy in pJ of all operations, and of leakage in a cycle.
    `fewest_cycles`: of any mapping, with the latency of networks.
    `first_holder`: of each tensor, the outermost level that holds it. Levels outside that count as
    if the outermost one of all held it, for nothing.
    `rates`: of each tensor at each level, in pJ a word; its first holder is filled for nothing.
        Instances in clusters pay these where as many are in use as loops can use.
    `holds[level][tensor]`: the choices of whether the level holds the tensor. `order`: in which
    dimensions are spread over a mesh, those of windows, which are `moving`, first. `loops`: what
    constraints say about them. `networks`: None if they charge nothing, or a constraint switches a
    kind of reuse off.

    Raises: ValueError if there is a tensor that is not as `TensorCosts` says, whose first holder is
    open, or with windows over partial sums for which networks charge, or whose reuse is switched
    off in ways that walks do not know; if networks charge, and the
    outermost level does not hold all tensors; and if anything costs less than nothing.
    """

    def __init__(self, mapspace: EnumeratedMapspace):
        problem, self.architecture = mapspace.problem, mapspace.architecture
        bound = LowerBound(mapspace)
        self.sizes: Ints = np.array([problem.bounds[dim] for dim in problem.dims], dtype=np.int64)
        self.depth = len(self.architecture.levels)
        self.fewest_cycles = float(bound.cycles_at_once)
        self.work = float(bound.worked(0)), float(bound.worked(1) - bound.worked(0))
        tensors = [tensor_costs(view, self.sizes) for view in bound.views]
        self.tensors = [tensor for tensor in tensors if tensor is not None]
        keeps = [mapspace.keeps(name) for name in problem.tensor_names]
        self.holds = [
            [sorted({choice[level] for choice in keep}) for keep in keeps]
            for level in range(self.depth)
        ]
        if min(self.work) < 0 or any(rate < 0 for rates in bound.rates for rate in rates):
            raise ValueError("some words or operations cost less than nothing")
        if len(self.tensors) < len(tensors):
            raise ValueError("the walk has no costs for a tensor")
        self.first_holder = [self._first_holder(number) for number in range(len(tensors))]
        self.holds[0] = [[True] for _ in tensors]
        self.suppliers = cache(self._suppliers)
        together = [dim for each in self.tensors for rank in each.ranks for dim in rank.dims]
        self.moving = set(together)
        self.order = list(dict.fromkeys([*together, *range(len(self.sizes))]))
        self.loops = LoopConstraints(mapspace, self.order)
        rates = [self._all_in_use(level, each) for level, each in enumerate(bound.rates)]
        self.rates = [
            [_rates(each, level - first) for level, each in enumerate(rates)]
            for first in self.first_holder
        ]
        self.off = [self._switched_off(mapspace, name) for name in problem.tensor_names]
        self.spreads = Spreads([()])
        self.networks = None if any(map(any, self.off)) else self._networks()
        if self.networks and any(self.first_holder):
            raise ValueError("networks charge, and the outermost level does not hold all tensors")
        self.sliding = self._sliding(problem.tensor_names)
        self._capacities = [
            np.inf if level.capacity is None else float(level.capacity)
            for level in self.architecture.levels
        ]

    def _all_in_use(self, level: int, rates: Rates) -> Rates:
        """Rates of a level where as many instances are in use as loops can use."""
        buffer, room = self.architecture.levels[level], self.room(level)
        share = Fraction(min(room, buffer.clusters), room)
        more = share / buffer.least_share if share else Fraction(1)
        return Rates(*(rate * more for rate in rates))

    def _first_holder(self, number: int) -> int:
        """Raises: ValueError if that is not the same for all mappings."""
        choices = [level[number] for level in self.holds]
        first = next((level for level, each in enumerate(choices) if True in each), 0)
        if choices[first] != [True]:
            raise ValueError("it is open which level is the outermost one that holds a tensor")
        return first

    def _suppliers(self, number: int, before: int) -> list[int]:
        """The levels outside `before` of which one is the next to supply a tensor to whatever is
        further in: those that may hold it, from the innermost one that has to.
        """
        levels = [level for level in range(before) if True in self.holds[level][number]]
        has_to = [level for level in levels if self.holds[level][number] == [True]]
        return levels[levels.index(has_to[-1]) :]

    def _switched_off(self, mapspace: EnumeratedMapspace, name: str) -> SwitchedOff:
        numbers = {level.name: n for n, level in enumerate(self.architecture.levels)}

        def levels(flag: str) -> frozenset[int]:
            return frozenset(
                numbers[each.level]
                for each in mapspace.constraints
                if isinstance(each, ReuseConstraint) and each.flag == flag and name in each.tensors
            )

        kinds = "no_temporal_reuse", "no_multicast", "no_link_transfer"
        return SwitchedOff(*map(levels, kinds))

    def _known_reuse(self, number: int) -> bool:
        """Whether walks know what is switched off of a tensor with windows: levels that fetch anew
        in each round get nothing from neighbours, and meshes without multicast are not so large
        that their elements are not looked at.
        """
        off, fanouts = self.off[number], list(map(self.architecture.fanout, range(self.depth)))
        alone = all(
            max(fanouts[level - 1]) == 1 or level - 1 in off.links
            for level in off.temporal_reuse - {0}
        )
        return alone and all(prod(fanouts[level]) <= MANY for level in off.multicast)

    def _sliding(self, names: tuple[str, ...]) -> list[Sliding]:
        """Raises: ValueError, see `Costs`."""
        found: list[Sliding] = []
        for number, tensor in enumerate(self.tensors):
            if tensor.ranks:
                if not self._known_reuse(number):
                    raise ValueError(f"reuse of {names[number]} is switched off")
                if tensor.written and self.networks:
                    raise ValueError(f"networks charge for partial sums of {names[number]}")
                many = {dim for dim, size in enumerate(self.sizes) if size > 1}
                others = many - {dim for rank in tensor.ranks for dim in rank.dims}
                windows = Windows(
                    tensor.ranks,
                    tensor.fixed,
                    self.depth,
                    idle=not others <= tensor.fixed,
                    off=self.off[number],
                )
                parents = [self.room(max(level - 1, 0)) for level in range(self.depth)]
                networks = self.networks
                linking = [networks.passed_on(n) if networks else 0.0 for n in range(self.depth)]
                prices = [self._window_prices(number, level) for level in range(self.depth)]
                how = windows, self.sizes, prices, parents, [0.0, *linking]
                found.append(Sliding(number, len(found), *how))
        return found

    def _window_prices(self, number: int, level: int) -> WordPrices:
        fill, send = float(self.rates[number][level].fill), self.price(number, level)
        # Partial sums that neighbours pass on are read here, but not updated.
        read = self.again(number, level) if self.tensors[number].written else send
        return WordPrices(send, fill, read + fill)

    def _networks(self) -> Networks | None:
        """The networks between levels, if they charge for anything."""
        rooms = [self.room(level) for level in range(self.depth)]
        carried = [
            Carried(
                tensor.view.projection,
                frozenset(
                    number
                    for number, rank in enumerate(tensor.view.projection.ranks)
                    if len(rank) > 1
                ),
            )
            for tensor in self.tensors
        ]
        networks = Networks(self.architecture, carried, self.sizes.tolist(), rooms, self.spreads)
        return networks if networks.charge else None

    def entries(self, outer: int, inner: int) -> float:
        """See `Networks.entries`."""
        return self.networks.entries(outer, inner) if self.networks else 0.0

    @cached_property
    def operations(self) -> int:
        """How many there are."""
        return prod(int(size) for size in self.sizes)

    @cached_property
    def kinds(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """Dimensions by the tensors for which they are fixed; dimensions of windows one by one."""
        found: dict[tuple[int, ...], list[int]] = {}
        for dim, size in enumerate(self.sizes):
            if size > 1:
                fixed = tuple(tensor.kind(dim) for tensor in self.tensors)
                found.setdefault(fixed, []).append(dim)
        return list(found.items())

    @property
    def numberings(self) -> list[Numbering[Any]]:
        """What numbers in inner mappings refer to."""
        return [self.spreads, *(each.states for each in self.sliding)]

    def mentioned(self, rows: InnerMappings) -> list[Ints]:
        """These numbers, of each numbering."""
        return [rows.arranged, *rows.states.T]

    @cached_property
    def sides(self) -> list[tuple[int, int]]:
        """Columns and rows of the mesh below each level, as many as loops can use."""
        if self.loops.any:
            return [(self.loops.side(n, 0), self.loops.side(n, 1)) for n in range(self.depth)]
        sides = map(self.architecture.fanout, range(self.depth))
        return [(in_use(self.operations, (x,)), in_use(self.operations, (y,))) for x, y in sides]

    def room(self, level: int) -> int:
        """Instances of `level` that loops can use; compute units are one level further in than all
        others.
        """
        return prod(x * y for x, y in self.sides[:level])

    def may_be_helped(self, outside: Outside, rows: InnerMappings) -> Flags:
        """Whether words of each tensor that are due to a compute unit may yet come from a unit
        beside it, since their mesh is being filled (rows, tensors).
        """
        found = np.zeros((len(rows), len(self.tensors)), dtype=bool)
        if self.units_placed(outside):
            return found
        sides = self.architecture.fanout(self.depth - 1)
        known, where = np.unique(rows.arranged, return_inverse=True)
        for n, tensor in enumerate(self.tensors):
            may = [may_pass(self.spreads[mesh], tensor.fixed, sides) for mesh in known]
            found[:, n] = np.array(may, dtype=bool)[where.reshape(-1)]
        return found

    def units_placed(self, outside: Outside) -> bool:
        """Whether the mesh of the compute units is filled."""
        return outside.meshes < self.depth

    def left(self, outside: Outside, meshes: Ints) -> Ints:
        """How many instances of the innermost mesh still to come are left for each row, which uses
        `meshes` (rows, 2) of it already.
        """
        return np.asarray(self.sides_left(outside, meshes).prod(axis=1))

    def sides_left(self, outside: Outside, meshes: Ints) -> Ints:
        """The same along X and Y (rows, 2)."""
        sides = self.sides[outside.meshes - 1] if outside.meshes else (1, 1)
        return np.asarray(np.array(sides) // meshes)

    def spread_at_most(self, outside: Outside, tile: Ints, meshes: Ints) -> Ints:
        """How many times as many instances of all meshes still to come loops can use, at most, that
        go on from each tile and its use of the innermost of these meshes (rows, 2).
        """
        rest = self.loops.spreadable(outside, tile)[:, self.order]
        now, later = (each.prod(axis=1) for each in np.split(rest, [outside.spread], axis=1)[::-1])
        keys = [now, later, *self.sides_left(outside, meshes).T]
        kinds, where = alike(keys)
        further = tuple(n for sides in self.sides[: max(outside.meshes - 1, 0)] for n in sides)
        found = zip(*(each[kinds].tolist() for each in keys), strict=True)
        most = [in_use(now, (x, y), later, further) for now, later, x, y in found]
        return np.array(most, dtype=np.int64)[where]

    def beyond(self, outside: Outside) -> int:
        """How many instances the meshes further out have together."""
        return self.room(max(outside.meshes - 1, 0))

    def may_hold(self, number: int, level: int, words: Floats) -> Flags:
        """Whether a level may hold a tensor of which tiles have `words` so far."""
        capacity = self._capacities[level] if level >= self.first_holder[number] else np.inf
        return (words <= capacity) & (True in self.holds[level][number])

    def fits(self, level: int, words: Floats) -> Flags:
        """Whether a level may hold so many words of all tensors together: no more than it has room
        for, and no less than it has to be filled with.
        """
        capacity = self.architecture.levels[level].capacity
        if capacity is None:
            return np.ones(len(words), dtype=bool)
        least = ceil(capacity * self.architecture.levels[level].min_utilization)
        return (words >= least) & self.has_room(level, words)

    def has_room(self, level: int, words: Floats) -> Flags:
        """Whether a level has room for so many words."""
        return np.asarray(words <= self._capacities[level])

    @cached_property
    def clustered(self) -> list[int]:
        """The levels at which an access costs more, in all, where fewer instances are in use."""
        return [n for n in range(self.depth) if self.idling(n, np.ones(1))[0] > 1]

    def idling(self, level: int, used: Floats) -> Floats:
        """How many times as much what a level does costs if so many of its instances are in use,
        as if as many were as loops can use: at most as many pay as there are clusters.
        """
        clusters, room = self.architecture.levels[level].clusters, self.room(level)
        if not clusters:
            return np.ones_like(used)
        return np.asarray(np.minimum(1, clusters / used) / min(1, clusters / room))

    @cached_property
    def most_idling(self) -> float:
        """The same for any level, at most."""
        return max(float(self.idling(n, np.ones(1))[0]) for n in range(self.depth))

    @cached_property
    def slow(self) -> list[int]:
        """The levels with a bandwidth."""
        return [level for level in range(self.depth) if self.slowness(level)]

    def slowness(self, level: int) -> float:
        """Cycles that an instance of a level needs for a word, at most."""
        buffer = self.architecture.levels[level]
        limits = (buffer.read_bandwidth, buffer.write_bandwidth, buffer.shared_bandwidth)
        return max([1 / float(limit) for limit in limits if limit is not None], default=0.0)

    def price(self, number: int, level: int) -> float:
        """The energy in pJ of a word of a tensor that a level sends; of a partial sum, that it
        writes and reads again.
        """
        rates = self.rates[number][level]
        if self.tensors[number].written:
            return float(rates.update) + self.again(number, level)
        return float(rates.send)

    def again(self, number: int, level: int) -> float:
        """The energy in pJ of a word that a level reads again to add to it."""
        tensor = self.tensors[number]
        return float(self.rates[number][level].again) if tensor.read_again else 0.0

    @cached_property
    def block_prices(self) -> list[tuple[float, float]]:
        """For each tensor, the energy in pJ of a word of a block of the outermost level, which
        pays for whole blocks: of what it sends, and of partial sums that it reads again. 0 where
        words are paid for one by one.
        """
        outermost = self.architecture.levels[0]
        if outermost.block_size == 1 or outermost.instances > 1:
            return [(0.0, 0.0)] * len(self.tensors)
        paid = prices(outermost)
        read, update = (max(each / (paid.unit * paid.block), 0.0) for each in paid[:3:2])
        found = []
        for tensor, first in zip(self.tensors, self.first_holder, strict=True):
            again = read if tensor.read_again and tensor.exact else 0.0
            both = (update, again) if tensor.written else (read, 0.0)
            found.append((0.0, 0.0) if first else both)
        return found

    def last_blocks(self, number: int, words: Floats) -> Floats:
        """The energy in pJ that the outermost level pays for what it does not need of its last
        blocks, if it sends so many words of a tensor.
        """
        sent, again = self.block_prices[number]
        return self._unused(words) * sent + self._unused(words - self.tensors[number].words) * again

    def _unused(self, words: Floats) -> Floats:
        """The words that fill the last block of so many words."""
        block = self.architecture.levels[0].block_size
        return np.asarray(np.maximum(np.ceil(words * (1 - NOISE) / block) * block - words, 0.0))

    def least_last_block(self, number: int, words: Floats) -> Floats:
        """The same, at least, if it sends so many words or more: never fewer blocks than all
        different words take.
        """
        block, different = self.architecture.levels[0].block_size, self.tensors[number].words
        whole, (price, _) = -(-different // block) * block, self.block_prices[number]
        return np.asarray(np.maximum(whole - words, 0.0) * price)

    def held_alike(self, number: int, tile: Ints) -> Floats:
        """How many times as many words of a tensor all instances may come to hold, at most, as
        different ones, by loops outside each tile.
        """
        _, overlap = self.tensors[number].overlap(tile)
        return rounds_alone(self, number, tile) * overlap

    def first_times(self, number: int, level: int) -> float:
        """The energy in pJ of a word that a level, which holds the tensor, neither reads again nor
        is filled with the first time.
        """
        fill = float(self.rates[number][level].fill)
        return self.again(number, level) + fill if self.tensors[number].read_again else 0.0

    @cached_property
    def rounding(self) -> float:
        """What roundings of energies may come to in pJ, beyond a share of these: partial sums are
        counted as read again, and filled, each time, and the first times are taken off.
        """
        words = [
            max(self.first_times(number, level) for level in range(self.depth)) * tensor.span
            for number, tensor in enumerate(self.tensors)
        ]
        return CANCELLED * sum(words) * self.room(self.depth) * self.most_idling

    def base(self, number: int, tile: Ints) -> Floats:
        """Words of a tensor that all instances of a tile get if every loop outside the tile sends
        it anew.
        """
        rounds: Floats = np.prod(self.sizes / tile, axis=1)
        return self.tensors[number].tile_words(tile) * rounds

    def once(self, number: int, tile: Ints) -> Floats:
        """The same if loops that leave the tensor alone come first: at least so many words, also of
        ranks that have gaps.
        """
        fixed = sorted(self.tensors[number].fixed)
        rounds: Floats = np.prod(self.sizes[fixed] / tile[:, fixed], axis=1)
        return self.tensors[number].tile_words(tile) * rounds


def _rates(rates: Rates, inside: int) -> Rates:
    """Those of a tensor at a level so far inside its outermost holder."""
    if inside < 0:
        return Rates()
    return rates if inside else rates._replace(fill=Fraction(0))


@lru_cache(maxsize=100_000)
def in_use(
    rounds: int, sides: tuple[int, ...], more: int = 1, further: tuple[int, ...] = ()
) -> int:
    """How many elements of a grid with these sides loops of so many rounds in all can use at most:
    what is in use along a side divides the rounds. Of sides that come `further`, what is left can
    use elements together with loops of `more` rounds.
    """
    if not sides:
        return in_use(rounds * more, further) if further else 1
    first, *others = sides
    lengths: Ints = np.arange(1, min(first, rounds) + 1, dtype=np.int64)
    dividing: list[int] = lengths[rounds % lengths == 0].tolist()
    left = tuple(others), more, further
    return max(each * in_use(rounds // each, *left) for each in dividing)


def rounds_alone(costs: Costs, number: int, tile: Ints) -> Floats:
    """How many rounds of loops outside each tile leave a tensor alone."""
    idle = [dim for dim in range(tile.shape[1]) if costs.tensors[number].kind(dim) == IDLE]
    return np.asarray((costs.sizes[idle] / tile[:, idle]).prod(axis=1))

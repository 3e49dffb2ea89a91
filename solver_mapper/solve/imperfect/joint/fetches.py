"""What tensors cost on their way into a level, when it is settled how often they are fetched.

A *flow* is a tensor that enters a level from the next outer level that holds it. As long as no
temporal loop outside moves the tile, idle loops are free: the flow is open. A loop that moves the
tile settles it: all loops outside count. Counts are products over dimensions of what is known there
(`counts.py`), as arrays with one axis for each dimension.

Words of windows are at least those of the bounding boxes of all tiles. Where a window slides, the
tiles of a run are one box, unless other loops of the window can continue the run: then only what
each move uncovers is counted.

The cost model charges each instance like the first one. Say that spatial loops outside make up S
instances along a dimension, to which n tiles go. Each tile of another instance has one of the first
instance before it. So if the first one has the last tile, it has (n - 1) / S whole ones besides, at
least. Unless n - 1 is a multiple of S, n whole tiles are charged then, and so they are if it has
only whole ones. `TileCounts.more` adds what this leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.energy import Prices, prices
from solver_mapper.solve.imperfect.joint.bandwidth import Price
from solver_mapper.solve.imperfect.joint.counts import Floats, Since, TileCounts
from solver_mapper.solve.imperfect.joint.sharing import (
    Along,
    Rank,
    at_the_end,
    distinct,
    far,
    meet,
    most_alike,
    places,
)
from solver_mapper.solve.imperfect.shapes import TensorShape, tensor_shape

Counts = Mapping[int, TileCounts]
"""By dimension; those of a single point are left out."""
ROUNDING = 1e-7
"""More than rounding errors add to words of an instance; less than 1 over the instances."""


class Flow(NamedTuple):
    """A tensor on its way into the level `into`."""

    tensor: int
    into: int


class Settled(NamedTuple):
    """How a flow is settled.

    sliding: the dimension over which its window has slid up to here.
    apart: the dimension of a window that now moves it while idle loops stand further in; it may be
        back where it was.
    lone: the dimension whose loop runs once in its last round; the tile stays in that round.
    passed: whether that loop stands further in, not next.
    ended: the same for a window that slides: it is taken to slide up to the end.
    short, paused: see `Waiting`.
    by: the dimension whose loop moves the tile, unless a window slides; None if no loop does.
    idle: whether idle loops stand further in than that loop.
    resumed: the share of the runs of a window that slides that go on with another one, at most.
    """

    sliding: int | None = None
    apart: int | None = None
    lone: int | None = None
    passed: bool = False
    ended: bool = False
    short: bool = False
    by: int | None = None
    idle: bool = False
    resumed: float = 0.0
    paused: bool = False


@dataclass(frozen=True)
class Level:
    """Prices in pJ of an access of each kind and of an address; instances that share accesses.

    read_time, write_time: prices of the time that a word takes which an instance reads or writes.
    """

    read: float
    fill: float
    update: float
    address: float
    clusters: int
    read_time: float
    write_time: float


def _level(each: Prices, times: tuple[float, float]) -> Level:
    words = each.unit * each.block
    return Level(
        each.read / words,
        each.fill / words,
        each.update / words,
        each.address / each.unit,
        each.clusters,
        *times,
    )


class Fetches:
    """Costs of flows for fixed spatial loops.

    Args:
        stores: for each tensor, which levels hold it.
        spread: for each level and dimension, the instances along it below one instance.
        forgets: whether constraints may keep levels from reusing words of the step before.
        price: of the time that words take at a port; none if None. It counts as energy.

    Raises: ValueError if a dimension stands in a tensor twice, or with a coefficient of zero.
    """

    def __init__(
        self,
        architecture: Architecture,
        problem: Problem,
        stores: Sequence[Sequence[bool]],
        spread: Sequence[Sequence[int]],
        *,
        forgets: bool = False,
        price: Price | None = None,
    ):
        self.architecture, self.stores, self.spread = architecture, stores, spread
        self.forgets = forgets
        self.depth = len(architecture.levels)
        self.sizes = list(problem.bounds.values())
        self.dims = [dim for dim, size in enumerate(self.sizes) if size > 1]
        self.shapes = [tensor_shape(each, problem.bounds) for each in problem.tensors]
        for shape in self.shapes:
            terms = [term for rank in shape.ranks for term in rank]
            if len(dict(terms)) < len(terms) or not all(step for _, step in terms):
                raise ValueError(f"{shape.name} has a dimension twice")
        self.levels = [
            _level(prices(each), (0.0, 0.0) if price is None else price.words(number))
            for number, each in enumerate(architecture.levels)
        ]
        self.along = [self.over([dim], range(self.depth)) for dim in range(len(self.sizes))]
        self.used = [prod(prod(each) for each in spread[:level]) for level in range(self.depth + 1)]
        self.parents: dict[Flow, int] = {}
        for tensor, held in enumerate(stores):
            levels = [level for level in range(self.depth) if held[level]]
            for parent, child in pairwise(levels):
                self.parents[Flow(tensor, child)] = parent

    def over(self, dims: Sequence[int], levels: range) -> int:
        """Instances along these dimensions that the spatial loops of some levels make up."""
        return prod(self.spread[level][dim] for level in levels for dim in dims)

    def tile(self, shape: TensorShape, counts: Counts) -> Floats:
        """Words of a tile, at least: (states, ...)."""
        words = np.ones(1)
        for rank in shape.ranks:
            span = np.ones(1)
            for dim, step in rank:
                points = np.minimum(counts[dim].points, self.sizes[dim])
                span = span + step * (points - 1)
            words = words * span
        return words

    def telling(self, tensor: int, how: Settled) -> Settled:
        """What makes a difference to the energy of a tensor."""
        if self.shapes[tensor].windows:
            return how
        return Settled(lone=how.lone, passed=how.passed)

    def energy(self, flow: Flow, counts: Counts, how: Settled) -> Floats:
        """Energy in pJ of a flow that is settled here, at least: (states, ...)."""
        shape, parent = self.shapes[flow.tensor], self.parents[flow]
        words = self._words(shape, flow.into, counts, how)
        free = [dim for dim in shape.free if dim in counts]
        filled = self._copies(free, flow.into, counts)
        shared, arrive = self._shared(flow, counts, how)
        within = self.over(free, range(parent, flow.into))
        if parent == flow.into - 1:
            sent = self._copies(free, parent, counts) / shared
        else:
            sent = filled / (within * shared)
        if how.lone is not None:
            part = _last_part(counts[how.lone], passed=how.passed)
            part = np.where(self._whole(how.lone, counts), 0, part)
            copies = self._last(free, flow.into, counts)
            once = np.maximum(copies / within, 1) / shared
            sent = sent * (1 - part) + part * once
            filled = filled * (1 - part) + part * copies
            words = words * self._unless_others_slide(shape, how, part, counts)
        first = self.over(free, range(parent)), self.over(free, range(flow.into))
        again = (
            words * np.maximum(sent - first[0], 0),
            words * np.maximum(filled - first[1] * self._apart(flow, counts), 0),
        )
        sent = np.maximum(words * sent, self._once(flow))
        return self._charged(flow, parent, sent, words * filled * arrive, again)

    def _apart(self, flow: Flow, counts: Counts) -> Floats:
        """Words of which the cost model takes the first reads off at the first instance of a level,
        over the average at those below the same instance of the level outside, at most.
        """
        total = np.ones(1)
        for dim in self.shapes[flow.tensor].dims:
            bound = self.spread[flow.into - 1][dim]
            if bound > 1:
                total = total * np.where(counts[dim].tiles > 1, 1, self._beyond(dim, bound))
        return total

    def _beyond(self, dim: int, bound: int) -> float:
        """Points of the first instance over the average, at most, where a spatial loop is the
        outermost one over a dimension.
        """
        size = self.sizes[dim]
        return max(1.0, bound * (-(-size // (bound - 1)) - 1) / size)

    def _unless_others_slide(
        self, shape: TensorShape, how: Settled, part: Floats, counts: Counts
    ) -> Floats:
        """The share of words before the last round of a loop that moves the tile, but runs once
        there, so that another loop may let a window slide, and neighbours help. Tiles have holes
        where coefficients are above 1; so a point is taken off.
        """
        size = self.sizes[how.lone] if how.lone is not None else 1
        if how.lone != (how.by if how.sliding is None else how.sliding) or size == 1:
            return np.ones(1)
        slides = np.zeros(1, dtype=bool)
        for dim in shape.sliding:
            slides = slides | ((counts[dim].tiles > 1) & (dim != how.lone))
        holes = max(step for rank in shape.ranks for dim, step in rank if dim == how.lone) > 1
        before = np.maximum(size * (1 - part) - holes, 0) / (size - holes)
        return np.where(slides, before, 1)

    def least(self, flow: Flow) -> float:
        """Energy in pJ of a flow at least, wherever it is settled: each word once."""
        words, sent = np.array(self._words_of(flow)), np.array(self._once(flow))
        none = np.array(0.0)
        return float(self._charged(flow, self.parents[flow], sent, words, (none, none)))

    def one_word(self, flow: Flow) -> float:
        """Energy in pJ of a word of each kind that each instance sends and takes in."""
        parent = self.parents[flow]
        outer, inner = self.levels[parent], self.levels[flow.into]
        senders = min(self.used[parent], outer.clusters)
        sent = outer.address + (outer.update if self.shapes[flow.tensor].written else 0)
        filled = (inner.fill + inner.address) * min(self.used[flow.into], inner.clusters)
        times = outer.read_time + outer.write_time + inner.write_time
        return (outer.read + sent) * senders + filled + times

    def _words_of(self, flow: Flow) -> float:
        """Different words of a tensor that arrive, at least. Instances that are not in use in last
        rounds may be taken to have in place what the first one has. So where they are along the
        dimension of a window, only the first ones count, which have as many points as any.
        """
        shape, near = self.shapes[flow.tensor], self.spread[flow.into - 1]
        points = [
            size if each in (1, size) else -(-size // each)
            for size, each in zip(self.sizes, near, strict=True)
        ]
        words = prod(self.sizes[dim] for dim, _ in shape.single)
        for rank in shape.windows:
            if all(points[dim] == self.sizes[dim] for dim, _ in rank):
                words *= distinct(rank, self.sizes)
            else:
                words *= 1 + sum(points[dim] - 1 for dim, _ in rank)
        return float(words)

    def _once(self, flow: Flow) -> float:
        """Words that all instances send at least, since a word arrives only if it was sent once,
        whoever passes it on. Past levels that do not hold the tensor, what the network right above
        the level sends is divided by how many instances each network further out serves together.
        """
        shape, outer = self.shapes[flow.tensor], self.spread[self.parents[flow] : flow.into - 1]
        alike = prod(most_alike(shape.windows, level) for level in outer)
        return self._words_of(flow) / alike

    def _charged(
        self,
        flow: Flow,
        parent: int,
        sent: Floats,
        filled: Floats,
        again: tuple[Floats, Floats],
    ) -> Floats:
        """Energy of words that all instances send and take in, rounded as the cost model does.
        `again`: those of both that are no first reads of partial sums, at least.
        """
        shape, outer, inner = (
            self.shapes[flow.tensor],
            self.levels[parent],
            self.levels[flow.into],
        )
        senders, takers = self.used[parent], self.used[flow.into]
        each, filled = sent / senders + ROUNDING, filled / takers + ROUNDING
        sent = np.floor(each + 0.5)
        read, taken = again[0] / senders + ROUNDING, again[1] / takers + ROUNDING
        senders, takers = min(senders, outer.clusters), min(takers, inner.clusters)
        filling = (inner.fill + inner.address) * takers + inner.write_time
        if not shape.written:
            reading = (outer.read + outer.address) * senders + outer.read_time
            return sent * reading + np.floor(filled) * filling
        energy = sent * ((outer.update + outer.address) * senders + outer.write_time)
        if all(len(rank) == 1 and rank[0][1] == 1 for rank in shape.ranks):
            read = np.maximum(np.floor(each - self._partition(shape, parent)), np.floor(read))
            energy = energy + np.maximum(read, 0) * (outer.read * senders + outer.read_time)
            taken = np.maximum(
                np.floor(filled - self._partition(shape, flow.into)), np.floor(taken)
            )
            energy = energy + np.maximum(taken, 0) * filling
        return energy

    def _partition(self, shape: TensorShape, level: int) -> float:
        """Distinct words that an instance of a level ever holds, at most. Spatial loops outside all
        others may be spread over a part of the dimension only.
        """
        words = prod(self.sizes[dim] for dim in shape.dims) / self.over(shape.dims, range(level))
        for outer in range(level):
            for dim in shape.dims:
                bound = self.spread[outer][dim]
                if bound > 1:
                    words *= self._beyond(dim, bound)
        return words

    def _shared(self, flow: Flow, counts: Counts, how: Settled) -> tuple[Floats, Floats]:
        """Instances that one word of a window serves at most, apart from idle dimensions; and the
        share of their words that the cost model counts as fills, at least: it divides words that
        neighbours pass on by all instances, even if these are below several of the level above.
        """
        shape, near = self.shapes[flow.tensor], self.spread[flow.into - 1]
        outer = self.spread[self.parents[flow] : flow.into - 1]
        alike = float(prod(most_alike(shape.windows, level) for level in outer))
        by = how.by if how.sliding is None else how.sliding
        windows = {rank: self._along(flow, rank, counts, by) for rank in shape.windows}
        instances = {rank: prod(near[dim] for dim, _ in rank) for rank in shape.windows}
        alone = {rank: instances[rank] / places(along) for rank, along in windows.items()}
        unaided: Floats = reduce(np.multiply, alone.values(), np.full(1, alike))
        moved = next((rank for rank in shape.windows if by in dict(rank)), None)
        if by is None or moved is None or (how.idle and not self.forgets):
            return unaided, np.ones(1)
        window, at = windows[moved], [dim for dim, _ in moved].index(by)
        most = unaided / alone[moved] * instances[moved]
        free = prod([*instances.values(), *(near[dim] for dim in shape.free)])
        begin = self._begin(flow, by, counts) if free > 1 else np.zeros(1)
        met = np.where(meet(window), most / (1 - begin), unaided)
        last = most / at_the_end(window, at)
        if near[by] == 1:
            last = np.minimum(last, met)
        shared = np.where(self._steady(moved, window, by, counts), last, met)
        few = 1 / self.used[flow.into - 1]
        return shared, np.where(shared > unaided, few + (1 - few) * alike / shared, 1)

    def _steady(
        self, rank: Rank, window: Sequence[Along], by: int, counts: Counts
    ) -> NDArray[np.bool_]:
        """Whether only steps of the loop over `by` move a window by the distance of two instances:
        no other loop moves it, or these do so only as the loop over all of `by` starts over, which
        moves it further.
        """
        dims = [dim for dim, _ in rank]
        alone = (counts[by].tiles == 1) & far(window, dims.index(by))
        others = [counts[dim].tiles == 1 for dim in dims if dim != by]
        steady: NDArray[np.bool_] = reduce(np.logical_and, others) | alone
        return steady

    def _along(self, flow: Flow, rank: Rank, counts: Counts, by: int | None) -> list[Along]:
        """The dimensions of a window. There are several rounds of tiles of all instances if a loop
        over `by` moves them.
        """
        spread, found = self.spread[flow.into - 1], []
        for dim, step in rank:
            size, here = self.sizes[dim], self._since(dim, flow.into, counts)
            most = (size - 1) // spread[dim] if dim == by else size
            largest = np.maximum(np.minimum(here.largest, most), here.smallest)
            found.append(Along(size, step, spread[dim], here.smallest, largest))
        return found

    def _since(self, dim: int, level: int, counts: Counts) -> Since:
        here = counts[dim]
        known = here.since.get(level)
        return here.here if known is None else known

    def _copies(self, dims: Sequence[int], level: int, counts: Counts) -> Floats:
        """Positions of all loops outside and of the spatial loops up to `level`, at least."""
        total = np.ones(1)
        for dim in dims:
            since = self._since(dim, level, counts)
            runs = np.where(
                self._whole(dim, counts),
                counts[dim].tiles * since.copies,
                _runs(counts[dim], since),
            )
            total = total * runs
        return total

    def _points(self, dim: int, level: int, counts: Counts) -> Floats:
        """Points of all tiles along a dimension that are charged where they enter a level."""
        here, since = counts[dim], self._since(dim, level - 1, counts)
        points = np.maximum((here.tiles - 1) * here.points + since.charged, self.sizes[dim])
        return np.where(self._whole(dim, counts), here.tiles * here.here.smallest, points)

    def _whole(self, dim: int, counts: Counts) -> NDArray[np.bool_]:
        """Whether all tiles along a dimension are charged like whole ones."""
        here = counts[dim]
        found: NDArray[np.bool_] = (here.tiles - 1) % (self.along[dim] // here.inside) > 0
        return found

    def _last(self, dims: Sequence[int], level: int, counts: Counts) -> Floats:
        """Instances of `level` in the last tile, at least."""
        total = np.ones(1)
        for dim in dims:
            total = total * self._since(dim, level, counts).last
        return total

    def _words(self, shape: TensorShape, level: int, counts: Counts, how: Settled) -> Floats:
        """Words of all tiles of a level, over all places along the dimensions of the tensor, less
        those that sliding windows keep.
        """
        words = np.ones(1)
        for dim, step in shape.single:
            size, most = self.sizes[dim], self._since(dim, level, counts).most
            if step == 1:
                words = words * self._points(dim, level, counts)
            else:
                tiles = np.where(most > 0, np.minimum(most, size), size)
                words = words * (step * size - (step - 1) * tiles)
        for rank in shape.windows:
            words = words * self._window(shape, rank, level, counts, how)
            by = how.sliding if how.paused else how.apart
            if by is not None and by in dict(rank):
                words = words / self._back(rank, by, level, counts)
        return words

    def _back(self, rank: Rank, by: int, level: int, counts: Counts) -> Floats:
        """What words of a window have to be divided by that a loop over `by` moves where idle loops
        stand further in, in some rounds at least. If other loops move it as well, it may be back
        where it was at the first step of a run over `by`, and find its words in place.
        """
        alone = np.ones(1, dtype=bool)
        for dim, _ in rank:
            alone = alone & ((counts[dim].tiles == 1) | (dim == by))
        return np.where(alone, 1, 1 + self._uneven(level, [by], counts))

    def _begin(self, flow: Flow, by: int, counts: Counts) -> Floats:
        """The share of the words that come at the first step of a run over a dimension, if these
        are no more for an instance than those of each step that follows, at most.
        """
        here = self._since(by, flow.into, counts)
        if self.spread[flow.into - 1][by] > 1:
            return 1 - 1 / (1 + self._uneven(flow.into, [by], counts))
        share: Floats = counts[by].tiles / np.ceil(self.sizes[by] / here.largest)
        return np.minimum(share, 1 / 2)

    def _uneven(self, level: int, dims: Sequence[int], counts: Counts) -> Floats:
        """How many times as many instances along these dimensions may be in use in one round of
        loops over them as in another, at most.
        """
        total = np.ones(1)
        for dim in dims:
            spread = self.spread[level - 1][dim]
            if spread > 1:
                here, size = self._since(dim, level, counts), self.sizes[dim]
                largest = np.minimum(here.largest, (size - 1) // spread)  # in several rounds
                tiles = np.ceil(size / here.smallest)
                even = (here.smallest > largest) | (
                    (here.smallest == largest) & (tiles % spread == 0)
                )
                total = total * np.where(even, 1, spread)
        return total

    def _window(
        self, shape: TensorShape, rank: Rank, level: int, counts: Counts, how: Settled
    ) -> Floats:
        """Words of a window of several dimensions. Where its steps leave holes, a run may be less
        than one box; this may differ from the last tile along another dimension to all others.
        """
        steps = dict(rank)
        ranges = {dim: self._tiles(shape, dim, level, counts, how) for dim in steps}
        moved = how.sliding
        points = {
            dim: np.full(1, float(self.sizes[dim]))
            if how.lone is not None or dim == moved
            else self._points_of_instances(dim, level, counts)
            for dim in steps
        }
        words = self._boxes(rank, ranges, points)
        if moved is None or moved not in steps:
            return words
        others = [dim for dim in steps if dim != moved]
        continued = np.ones(1)
        for dim in others:
            continued = continued * counts[dim].tiles.astype(np.float64)
        uncovered = np.full(1, float(steps[moved] * self.sizes[moved]))
        for dim in others:
            uncovered = uncovered * ranges[dim][0]
        words = np.where(continued > 1, np.minimum(words, uncovered), words)
        if how.lone is None and not how.ended and not how.resumed:
            words = np.maximum(words, self._leaping(rank, moved, level, ranges, counts))
        for dim in others if steps[moved] > 1 else []:
            fewest, most = ranges[dim]
            even = (fewest == most) & ((fewest == 1) | (fewest == self.sizes[dim]))
            if len(others) == 1:
                last = self._last_points(dim, level, counts)
                even |= 1 + steps[dim] * (last - 1) >= steps[moved]
            words = words * (np.where(even, 1, 1 - 1 / np.maximum(fewest, 2)))
        if how.short:
            words = words + self._again(rank, moved, ranges, counts)
        return words

    def _points_of_instances(self, dim: int, level: int, counts: Counts) -> Floats:
        """Points along a dimension that are charged: those of the first instance for each one, if
        all have a single tile, which is of one size.
        """
        since, size = self._since(dim, level, counts), float(self.sizes[dim])
        single = (since.fewest == since.copies) & (since.most == since.copies)
        known = single & (since.smallest == since.largest) & (since.copies > 1)
        return np.where(known, np.maximum(since.copies * since.smallest, size), size)

    def _leaping(
        self,
        rank: Rank,
        moved: int,
        level: int,
        ranges: Mapping[int, tuple[Floats, Floats]],
        counts: Counts,
    ) -> Floats:
        """Words of runs that leap over the tiles of other instances, where all instances are in use
        and tiles are of one size and whole along the other dimensions of the window. A move
        uncovers as much as it leaps over, or the whole tile, except for points that the very last
        tile lacks.
        """
        step, size = dict(rank)[moved], self.sizes[moved]
        since = self._since(moved, level, counts)
        if since.copies == 1:
            return np.zeros(1)
        tiles, runs = np.ceil(size / since.smallest), ranges[moved][0]
        known = (since.smallest == since.largest) & (tiles % since.copies == 0)
        held = 1 + step * (since.smallest - 1)
        for dim, other in rank:
            if dim != moved:
                known = known & (ranges[dim][1] == 1)
                held = held + other * (self.sizes[dim] - 1)
        leaps = np.minimum(step * since.copies * since.smallest, held)
        words = runs * held + (tiles - runs) * leaps - step * (tiles * since.smallest - size)
        return np.where(known, words, 0)

    def _again(
        self,
        rank: Sequence[tuple[int, int]],
        moved: int,
        ranges: Mapping[int, tuple[Floats, Floats]],
        counts: Counts,
    ) -> Floats:
        """Words that a run over short tiles brings once more, if it is over the whole dimension and
        tiles are whole along the others.

        The centre of the last tile moves by less than before. A move by another shift than the one
        before brings the whole tile; unless the first move of the run was such a one, this is.
        """
        steps = dict(rank)
        whole = counts[moved].tiles == 1
        for dim in steps.keys() - {moved}:
            whole = whole & (ranges[dim][1] == 1)
        held = 1 + sum(step * (self.sizes[dim] - 1) for dim, step in rank if dim != moved)
        return np.where(whole, max(held - steps[moved], 0), 0)

    def _last_points(self, dim: int, level: int, counts: Counts) -> Floats:
        """Points of the last tile of a level, at least; 0 where they are not known."""
        here, since = counts[dim], self._since(dim, level, counts)
        points = self.sizes[dim] - (since.most - 1) * here.points / since.copies
        known = here.exact & (since.most > 0) & (since.fewest == since.most)
        return np.where(known, points, 0)

    def _tiles(
        self, shape: TensorShape, dim: int, level: int, counts: Counts, how: Settled
    ) -> tuple[Floats, Floats]:
        """The fewest and the most boxes of a window along a dimension."""
        here, since = counts[dim], self._since(dim, level, counts)
        runs, size = _runs(here, since), np.full(here.tiles.shape, float(self.sizes[dim]))
        if how.ended and dim == how.sliding:
            return np.ones(size.shape), size
        if dim == how.sliding:
            more = self._uneven(level, shape.free, counts) if how.resumed else np.ones(1)
            part = how.resumed * more / (how.resumed * more + 1 - how.resumed)
            return runs - part * (runs - since.last), size
        known = since.most > 0
        return np.where(known, since.fewest, runs), np.where(known, since.most, size)

    def _boxes(
        self,
        rank: Rank,
        ranges: Mapping[int, tuple[Floats, Floats]],
        points: Mapping[int, Floats],
    ) -> Floats:
        """The least words of boxes whose numbers along each dimension are in these ranges, and that
        have so many points in all. They are linear in each number, so they are least at an end of
        each range.
        """
        found = []
        for ends in product((0, 1), repeat=len(rank)):
            pairs = zip(rank, ends, strict=True)
            numbers = [ranges[dim][end] for (dim, _), end in pairs]
            words = (1 - sum(step for _, step in rank)) * reduce(np.multiply, numbers)
            for one, (dim, step) in enumerate(rank):
                others = [each for other, each in enumerate(numbers) if other != one]
                words = words + step * points[dim] * reduce(np.multiply, others)
            found.append(words)
        least: Floats = reduce(np.minimum, found)
        return least


def _last_part(here: TileCounts, *, passed: bool) -> Floats:
    """The share of the points that are in the last tile, at most. If a loop has `passed` that runs
    once there, but at least twice in all other tiles: in the part that it runs over.
    """
    if here.exact:
        return (here.size - (here.tiles - 1) * here.points) / here.size
    return 1 / (2 * here.tiles - 1) if passed else 1 / here.tiles


def _runs(here: TileCounts, since: Since) -> Floats:
    """Positions of all loops outside and of the spatial loops since then."""
    runs: Floats = (here.tiles - 1) * since.copies + since.last
    return runs

"""What crosses the network below each level, tensor by tensor: multicasts, reductions and transfers between neighbours."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from solver_mapper.mapping import LevelMapping
from solver_mapper.nest.deltas import Box, Event, Flags, Stream, TimeLoop
from solver_mapper.nest.elements import (
    Elements,
    Grid,
    Group,
    SpatialLoop,
    Vector,
    lay_out,
    linked_elements,
    multicast_groups,
)
from solver_mapper.nest.tiles import Nest, PlacedLoop
from solver_mapper.spec.problem import Tensor


@dataclass(frozen=True, slots=True)
class Record:
    """`words` sent by one instance of the level, each to `multicast` receivers; `scatter` such groups at a step.

    `hops` is the sum over all those words of the wire hops that each takes.
    """

    multicast: int
    scatter: int
    words: Fraction
    hops: Fraction


@dataclass(frozen=True)
class Traffic:
    """Words of one tensor between one instance of a level and the instances of the next inner level below it."""

    records: tuple[Record, ...]
    link_transfers: int
    fanout: int

    @cached_property
    def words(self) -> Fraction:
        """Words that leave (or, for partial sums, enter) the instance."""
        return sum((record.words for record in self.records), Fraction(0))

    @cached_property
    def delivered(self) -> Fraction:
        """Words that arrive below, every copy counted."""
        return sum((record.words * record.multicast for record in self.records), Fraction(0))


def traffic(nest: Nest, tensor: Tensor, level: int, plan: LevelMapping, child: LevelMapping | None, grid: Grid) -> Traffic:
    """Traffic of `tensor` between `level` and the next inner level (`child`; None: the multipliers)."""
    reuse = child is not None and tensor.name not in child.no_temporal_reuse
    spread = nest.spatial[level]
    linkable = bool(spread) and tensor.name not in plan.no_link_transfer
    stream = tile_stream(nest, tensor, level, reuse, linkable)
    events = stream.count()
    if not spread:
        words = sum(event.words * number for event, number in events.items())
        return Traffic((Record(1, 1, Fraction(words), Fraction(0)),), 0, 1)
    network = _SpatialNetwork(nest, tensor, level, tensor.name not in plan.no_multicast, grid)
    return network.deliver(events)


def tile_stream(nest: Nest, tensor: Tensor, level: int, reuse: bool, follow_links: bool) -> Stream:
    """The tiles that element 0 below `level` holds of `tensor`, one after the other."""
    loops = [
        TimeLoop(loop.dim, loop.bound, loop.last, rank_shift(tensor, loop), bool(loop.axis))
        for loop in (*nest.outside(level + 1),)
    ]
    child = nest.tiles[level + 1]
    uneven = frozenset(dim for dim in nest.problem.dims if child.full[dim] != child.last[dim])
    spread = frozenset(loop.dim for loop in nest.spatial[level] if loop.bound != loop.last)

    def box(flags: Flags) -> Box:
        low, high = [], []
        for rank in tensor.ranks:
            ends = [t.coefficient * ((child.last if t.dim in flags else child.full)[t.dim] - 1) for t in rank]
            low.append(sum(min(end, 0) for end in ends))
            high.append(sum(max(end, 0) for end in ends) + 1)
        return tuple(low), tuple(high)

    return Stream(tuple(loops), box, uneven | spread, reuse, follow_links)


def rank_shift(tensor: Tensor, loop: PlacedLoop) -> Vector:
    """Words along each rank by which one iteration of `loop` moves the data of `tensor`."""
    return tuple(sum(t.coefficient * loop.stride for t in rank if t.dim == loop.dim) for rank in tensor.ranks)


@dataclass(frozen=True)
class _SpatialNetwork:
    nest: Nest
    tensor: Tensor
    level: int
    multicast: bool
    grid: Grid

    def deliver(self, events: dict[Event, int]) -> Traffic:
        words: dict[tuple[int, int], int] = defaultdict(int)
        hops: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        transfers = 0
        for event, number in events.items():
            if not event.words:
                continue
            groups, linked = self._groups(event)
            transfers += linked * event.words * number
            for group in groups:
                key = group.multicast, group.scatter
                words[key] += group.scatter * event.words * number
                hops[key] += group.hops * event.words * number
        records = tuple(Record(m, s, Fraction(words[m, s]), hops[m, s]) for m, s in sorted(words))
        return Traffic(records, transfers, self.nest.fanouts[self.level])

    def _groups(self, event: Event) -> tuple[tuple[Group, ...], int]:
        """Groups served by the level at such a step, and how many elements are served by a neighbour instead."""
        elements = self._elements(event.flags)
        every = range(len(elements.positions))
        served = multicast_groups(elements, every, self.multicast)
        if event.link is None:
            return served, 0
        step, earlier = event.link
        linked = set(linked_elements(elements, self._elements(earlier), step))
        rest = multicast_groups(elements, (i for i in every if i not in linked), self.multicast)
        if sum(g.scatter for g in rest) < sum(g.scatter for g in served):
            return rest, len(linked)
        return served, 0

    def _elements(self, flags: Flags) -> Elements:
        loops = tuple(
            SpatialLoop(loop.dim, loop.bound, loop.last, rank_shift(self.tensor, loop)) for loop in self.nest.spatial[self.level]
        )
        return lay_out(loops, flags, len(self.tensor.ranks), self.grid)

"""All legal mappings, one by one, without a search: at each level only tiles are left from which
some mapping goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.deadline import check_time
from solver_mapper.mapspace.size.counter import MappingCounter
from solver_mapper.mapspace.size.lattice import Counts, Point
from solver_mapper.mapspace.size.level_choices import NOTHING, Key, Level, Vector
from solver_mapper.mapspace.size.order_counts import OrderCount
from solver_mapper.mapspace.size.storage_choices import Held, fitting, uncertain
from solver_mapper.mapspace.space import Slot, Space

Bounds = dict[str, int]
"""Loop bounds above 1."""
Ways = list[tuple[Key, Counts]]


@dataclass(frozen=True)
class LevelStep:
    """What one level holds, and the bounds of its loops over time, along X and along Y."""

    held: Held
    temporal: Bounds = field(default_factory=dict)
    across: Bounds = field(default_factory=dict)
    along: Bounds = field(default_factory=dict)


@dataclass(frozen=True)
class Listing:
    """The legal mappings of `space` that differ in factors, axes or bypass, caps on figures apart;
    of each, one order of loops.
    """

    space: Space

    def __iter__(self) -> Iterator[Mapping]:
        if self._counter.total:
            problem = self.space.problem
            for steps in self._steps(0, self._counter.lattice.whole, self._counter.start):
                levels = tuple(self._level(number, step) for number, step in enumerate(steps))
                yield Mapping(levels, problem.dims, problem.tensor_names)

    @cached_property
    def _counter(self) -> MappingCounter:
        return MappingCounter(self.space, orders=False)

    @cached_property
    def _fits(self) -> list[dict[Held, Counts]]:
        return [
            dict(fitting(self.space, self._counter.lattice, level, True))
            for level in range(self.space.depth)
        ]

    @cached_property
    def _onward(self) -> list[tuple[Ways, Ways]]:
        """For each level the ways on from tiles after its temporal and after all its loops."""
        found = []
        for number, level in enumerate(self._counter.levels):
            after = list(self._counter.outward[number + 1].items())
            between: Ways = []
            for key, ways in after:
                for values, left in level.spread(ways, False).items():
                    joined = level.amounts.times(values, key.values)
                    between += [] if joined is None else [(Key(joined, key.held), left)]
            found.append((between, after))
        return found

    def _goes_on(self, ways: Ways, tile: Point, key: Key) -> bool:
        return any(on[tile] and self._counter.complete(key, other) for other, on in ways)

    def _steps(self, number: int, tile: Point, key: Key) -> Iterator[tuple[LevelStep, ...]]:
        """All ways on from a tile of level `number`."""
        check_time()
        if number == self.space.depth:
            yield ()
            return
        level = self._counter.levels[number]
        for held, fits in self._fits[number].items():
            joined = (
                level.joined(
                    key, Key(level.amounts.none, frozenset([held & uncertain(self.space)]))
                )
                if fits[tile]
                else None
            )
            if joined is not None:
                for step, inner, after in self._loops(level, held, tile, joined):
                    for rest in self._steps(number + 1, inner, after):
                        yield (step, *rest)

    def _loops(
        self, level: Level, held: Held, tile: Point, key: Key
    ) -> Iterator[tuple[LevelStep, Point, Key]]:
        """The loops of one level, with the tile that is left."""
        factors = self._counter.lattice.factors
        between, after = self._onward[level.level]
        for temporal, left in self._temporal(level, tile):
            values = level.amounts.of(Slot(level.level), temporal)
            timed = None if values is None else level.joined(key, Key(values, NOTHING))
            if timed is None or not self._goes_on(between, left, timed):
                continue
            for across, along in self._spatial(level, left):
                inner, spread = (
                    _less(left, across.by, along.by),
                    self._spread(level, timed, across, along),
                )
                if spread is not None and self._goes_on(after, inner, spread):
                    yield (
                        LevelStep(
                            held,
                            temporal,
                            _above_one(factors(across.by)),
                            _above_one(factors(along.by)),
                        ),
                        inner,
                        spread,
                    )

    def _spread(self, level: Level, key: Key, across: Vector, along: Vector) -> Key | None:
        values = level.amounts.times(across.values, along.values)
        return None if values is None else level.joined(key, Key(values, NOTHING))

    def _temporal(self, level: Level, tile: Point) -> Iterator[tuple[Bounds, Point]]:
        """Bounds of temporal loops that divide the tile and can be put in an order, with the tile
        that is left to spatial loops, from which some mapping may go on.
        """
        lattice = self._counter.lattice
        opened = self._opened[level.level][tuple(slice(0, power + 1) for power in tile)]
        for left in reversed(np.argwhere(opened).tolist()):
            bounds = lattice.factors(_less(tile, left))
            if all(bound in level.allowed("temporal", dim) for dim, bound in bounds.items()):
                loops = _above_one(bounds)
                if level.temporal_orders.count(frozenset(loops)):
                    yield loops, tuple(left)

    @cached_property
    def _opened(self) -> list[NDArray[np.bool_]]:
        """For each level, whether any way goes on from a tile after its temporal loops."""
        nowhere = self._counter.lattice.zeros().astype(bool)
        return [
            np.logical_or.reduce([nowhere, *(ways.astype(bool) for _, ways in between)])
            for between, _ in self._onward
        ]

    def _spatial(self, level: Level, tile: Point) -> Iterator[tuple[Vector, Vector]]:
        """Spatial loops that divide the tile and may stand together."""
        for across in level.vectors["X"]:
            if _fits(tile, across.by):
                for along in level.vectors["Y"]:
                    if _fits(tile, across.by, along.by) and level.ways(across.dims, along.dims):
                        yield across, along

    def _level(self, number: int, step: LevelStep) -> LevelMapping:
        level = self._counter.levels[number]
        temporal = _first(level.temporal_orders, step.temporal, "")
        across, along = (
            _first(level.layouts.orders, bounds, axis)
            for bounds, axis in ((step.across, "X"), (step.along, "Y"))
        )
        return LevelMapping(
            self.space.architecture.levels[number].name,
            temporal,
            (*along, *across),
            step.held,
            *self._switched_off[number],
        )

    @cached_property
    def _switched_off(self) -> list[tuple[frozenset[str], frozenset[str], frozenset[str]]]:
        """For each level the tensors whose reuse constraints switch off: over time, by multicast,
        between neighbours.
        """

        def off(flag: str, level: int) -> frozenset[str]:
            return frozenset(
                name
                for name in self.space.problem.tensor_names
                if self.space.has_flag(flag, name, level)
            )

        return [
            (
                off("no_temporal_reuse", level),
                off("no_multicast", level),
                off("no_link_transfer", level),
            )
            for level in range(self.space.depth)
        ]


def reordered(space: Space, mapping: Mapping) -> Iterator[Mapping]:
    """All mappings that differ from `mapping` only in the order of loops of one nest and axis, this
    one among them.
    """

    def arranged(number: int, outer: tuple[LevelMapping, ...]) -> Iterator[Mapping]:
        if number == space.depth:
            yield replace(mapping, levels=outer)
            return
        level = mapping.levels[number]
        temporal, spatial = (
            OrderCount(pairs.get(number, frozenset()))
            for pairs in (space.temporal_orders, space.spatial_orders)
        )
        along, across = (
            tuple(each for each in level.spatial if each.axis == axis) for axis in "YX"
        )
        for over_time in _orders(temporal, level.temporal):
            for outside in _orders(spatial, along):
                for inside in _orders(spatial, across):
                    placed = replace(level, temporal=over_time, spatial=(*outside, *inside))
                    yield from arranged(number + 1, (*outer, placed))

    return arranged(0, ())


def _orders(orders: OrderCount, loops: Sequence[Loop]) -> Iterator[tuple[Loop, ...]]:
    by_dim = {each.dim: each for each in loops}
    for order in orders.listed(frozenset(by_dim)):
        yield tuple(by_dim[dim] for dim in reversed(order))


def _first(orders: OrderCount, bounds: Bounds, axis: str) -> tuple[Loop, ...]:
    return next(_orders(orders, [loop(dim, bound, axis) for dim, bound in bounds.items()]))


def _less(tile: Point, *loops: Sequence[int]) -> Point:
    return tuple(power - sum(taken) for power, *taken in zip(tile, *loops, strict=True))


def _fits(tile: Point, *loops: Sequence[int]) -> bool:
    return all(sum(taken) <= power for power, *taken in zip(tile, *loops, strict=True))


def _above_one(factors: Bounds) -> Bounds:
    return {dim: factor for dim, factor in factors.items() if factor > 1}

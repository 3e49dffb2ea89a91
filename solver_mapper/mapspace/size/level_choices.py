"""What one level does with tiles: it holds tensors, loops over time and over space, and leaves a
smaller tile to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from solver_mapper.core.constraints import Kind
from solver_mapper.mapspace.size.lattice import Counts, Lattice, Point
from solver_mapper.mapspace.size.limited_products import LimitedProducts, Values, amounts_of
from solver_mapper.mapspace.size.order_counts import Dims, Layouts, OrderCount
from solver_mapper.mapspace.size.storage_choices import Held, fitting, uncertain
from solver_mapper.mapspace.space import Slot, Space

Family = frozenset[Held]


class Key(NamedTuple):
    """What is asked of all levels together: the products in `values`, and the tensors `held` by
    some level that none is certain to hold, as the sets of them that are possible.
    """

    values: Values
    held: Family


Tiles = dict[Key, Counts]
"""Counts for each tile, apart for each key."""
NOTHING: Family = frozenset([frozenset()])


@dataclass(frozen=True)
class Vector:
    """Spatial loops along one axis: the dimensions, what they contribute to amounts, and the loop
    bounds.
    """

    dims: Dims
    values: Values
    by: Point


@dataclass(frozen=True)
class Level:
    """One level of a space. `orders` and `bypass` say whether each of them is counted, or only
    whether there is any; `sized`, whether tiles must fit.
    """

    space: Space
    lattice: Lattice
    level: int
    orders: bool = True
    bypass: bool = True
    sized: bool = True

    def inward(self, tiles: Tiles) -> Tiles:
        """From tiles of this level to those of the next."""
        result: Tiles = {}
        for key, counts in tiles.items():
            for held, weights in self.held:
                for values, left in self.looped(counts * weights, True).items():
                    self._into(result, self.joined(key, Key(values, held)), left)
        return result

    def outward(self, tiles: Tiles) -> Tiles:
        """From tiles of the next level to those of this one."""
        result: Tiles = {}
        for key, counts in tiles.items():
            for values, left in self.looped(counts, False).items():
                for held, weights in self.held:
                    self._into(result, self.joined(key, Key(values, held)), left * weights)
        return result

    def joined(self, one: Key, other: Key) -> Key | None:
        """What two parts of a mapping amount to together; None if no mapping can have both."""
        values = self.amounts.times(one.values, other.values)
        return (
            None
            if values is None
            else Key(values, frozenset(a | b for a in one.held for b in other.held))
        )

    def _into(self, tiles: Tiles, key: Key | None, counts: Counts) -> None:
        if key is not None and counts.any():
            _gather(tiles, key, counts)

    def looped(self, counts: Counts, inward: bool) -> dict[Values, Counts]:
        """Over all temporal and spatial loops, apart for what they contribute to amounts."""
        found: dict[Values, Counts] = {}
        for before, timed in self.timed(counts, inward).items():
            for spatial, left in self.spread(timed, inward).items():
                values = self.amounts.times(before, spatial)
                if values is not None:
                    _gather(found, values, left)
        return found

    @cached_property
    def held(self) -> list[tuple[Family, Counts]]:
        """How many bypass choices each tile has, apart for each set of uncertain tensors that they
        hold.
        """
        some = uncertain(self.space)
        fits = [
            (held & some, counts)
            for held, counts in fitting(self.space, self.lattice, self.level, self.sized)
        ]
        apart: dict[Held, Counts] = {}
        for held, counts in fits:
            apart[held] = apart[held] + counts if held in apart else counts
        if self.bypass:
            return [(frozenset([held]), counts) for held, counts in apart.items()]
        families: list[tuple[Family, Counts]] = [(frozenset(), self.lattice.zeros() + 1)]
        for held, counts in apart.items():
            there = (counts > 0).astype(bool).astype(object) * 1
            families = [
                each
                for family, weights in families
                for each in ((family, weights * (1 - there)), (family | {held}, weights * there))
                if each[1].any()
            ]
        return [(family, weights) for family, weights in families if family]

    @cached_property
    def amounts(self) -> LimitedProducts:
        """The limited products, kept apart while counting."""
        return amounts_of(self.space)

    def allowed(self, kind: Kind, dim: str) -> frozenset[int]:
        """Loop bounds that constraints allow for a dimension at this level."""
        return self.space.allowed(self.level, kind, dim)

    @cached_property
    def temporal_orders(self) -> OrderCount:
        """The orders of temporal loops that constraints allow."""
        return OrderCount(self.space.temporal_orders.get(self.level, frozenset()))

    @cached_property
    def layouts(self) -> Layouts:
        """The ways to lay spatial loops along X and Y that constraints allow."""
        orders = OrderCount(self.space.spatial_orders.get(self.level, frozenset()))
        return Layouts(
            orders, self.space.splits.get(self.level, frozenset()), self.space.problem.dims
        )

    def timed(self, counts: Counts, inward: bool) -> dict[Values, Counts]:
        """Over all temporal loops, apart for what they contribute. To their order only two things
        matter: which of them are named by constraints, and how many are not.
        """
        named = self.temporal_orders.bound
        found: dict[tuple[Dims, int, Values], Counts] = {
            (frozenset(), 0, self.amounts.none): counts
        }
        for dim in self.lattice.bounds:
            more: dict[tuple[Dims, int, Values], Counts] = {}
            for (there, others, before), ways in found.items():
                if 1 in self.allowed("temporal", dim):
                    _gather(more, (there, others, before), ways)
                after = (there | {dim}, others) if dim in named else (there, others + self.orders)
                for contributed, looped in self._over(dim, ways, inward):
                    values = self.amounts.times(before, contributed)
                    if values is not None:
                        _gather(more, (*after, values), looped)
            found = more
        result: dict[Values, Counts] = {}
        for (there, others, values), ways in found.items():
            orders = self.temporal_orders.count(there | {f" {number}" for number in range(others)})
            _gather(result, values, ways * self._weight(orders))
        return result

    def _over(self, dim: str, counts: Counts, inward: bool) -> Iterator[tuple[Values, Counts]]:
        """Over a temporal loop of each bound above 1: apart where a bound contributes to an amount,
        all together otherwise.
        """
        slot = Slot(self.level)
        factors = sorted(self.allowed("temporal", dim) - {1})
        apart = [[factor] for factor in factors] if self.amounts.count(dim, slot) else [factors]
        for each in apart:
            values = self.amounts.of(slot, {dim: each[0]}) if each else None
            if values is not None:
                yield values, self.lattice.looped(counts, dim, each, inward)

    def spread(self, counts: Counts, inward: bool) -> dict[Values, Counts]:
        """Over all spatial loops, apart for what they contribute."""
        across: dict[tuple[Dims, Values], Counts] = {}
        for vector in self.vectors["X"]:
            _gather(
                across, (vector.dims, vector.values), self.lattice.moved(counts, vector.by, inward)
            )
        groups: dict[tuple[Dims, Values], list[Point]] = {}
        for vector in self.vectors["Y"]:
            groups.setdefault((vector.dims, vector.values), []).append(vector.by)
        found: dict[Values, Counts] = {}
        for (outer, along), points in groups.items():
            for values, weighed in self._beside(across, outer, along).items():
                for point in points:
                    _gather(found, values, self.lattice.moved(weighed, point, inward))
        return found

    def _beside(
        self, across: Mapping[tuple[Dims, Values], Counts], outer: Dims, along: Values
    ) -> dict[Values, Counts]:
        """Loops along X that may lie beside loops over `outer` along Y, as often as they have
        orders together.
        """
        found: dict[Values, Counts] = {}
        for (inner, before), counts in across.items():
            weight, values = self.ways(inner, outer), self.amounts.times(before, along)
            if weight and values is not None:
                _gather(found, values, counts * weight)
        return found

    def ways(self, across: Dims, along: Dims) -> int:
        """Orders of spatial loops over these dimensions; 0 if they may not stand together."""
        if across & along or not self._needed <= across | along:
            return 0
        return self._weight(self.layouts.count(across, along))

    def _weight(self, orders: int) -> int:
        return orders if self.orders else min(orders, 1)

    @cached_property
    def _needed(self) -> Dims:
        """Dimensions that must have a spatial loop."""
        return frozenset(
            dim for dim in self.lattice.bounds if 1 not in self.allowed("spatial", dim)
        )

    @cached_property
    def vectors(self) -> Mapping[str, tuple[Vector, ...]]:
        """The loops that fit along each axis."""
        return {
            axis: tuple(self._vectors(axis, room))
            for axis, room in zip("XY", self.space.architecture.fanout(self.level), strict=True)
        }

    def _vectors(self, axis: str, room: int) -> Iterator[Vector]:
        for bounds in self._bounds(tuple(self.lattice.bounds), room):
            values = self.amounts.of(Slot(self.level, axis), bounds)
            if values is not None:
                yield Vector(frozenset(bounds), values, self.lattice.point(bounds))

    def _bounds(self, dims: tuple[str, ...], room: int) -> Iterator[dict[str, int]]:
        """Spatial loops over some of `dims` whose product is at most `room`."""
        if not dims or room < 2:
            yield {}
            return
        for factor in sorted({1} | self.allowed("spatial", dims[0])):
            if factor <= room:
                for others in self._bounds(dims[1:], room // factor):
                    yield {dims[0]: factor, **others} if factor > 1 else others


def _gather(found: dict[Any, Counts], key: object, counts: Counts) -> None:
    found[key] = found[key] + counts if key in found else counts

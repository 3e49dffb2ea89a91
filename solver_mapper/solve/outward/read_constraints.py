"""What constraint files say about loops, read into what walks look at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from math import prod
from typing import NamedTuple

from solver_mapper.core.constraints import (
    HOLDS,
    Comparison,
    FactorConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.loop_orders import pairs_at
from solver_mapper.solve.outward.factor_chains import FactorChain
from solver_mapper.solve.outward.mesh_orders import Mesh, MeshOrders
from solver_mapper.verify.mapspace import EnumeratedMapspace

MOST = 2**62
"""Limits beyond this are out of reach of any product."""


class Limit(NamedTuple):
    """The product of the bounds at several slots, as (slot, dimension), compares with a value."""

    loops: frozenset[tuple[int, int]]
    comparison: Comparison
    value: int


class ReadConstraints:
    """The constraints on loops of one mapspace. Slots are those of `FactorChain`, dimensions have
    the numbers of the problem.
    """

    def __init__(self, mapspace: EnumeratedMapspace):
        self._mapspace, self._depth = mapspace, mapspace.depth
        self._dims = mapspace.problem.dims
        self._sizes = [mapspace.problem.bounds[dim] for dim in self._dims]
        self._fanouts = [mapspace.architecture.fanout(level) for level in range(self._depth)]

    @cached_property
    def limits(self) -> list[Limit]:
        """All products that are limited, also of one slot."""
        return list(self._products())

    def _products(self) -> Iterator[Limit]:
        least = max(
            (e.least for e in self._mapspace.constraints if isinstance(e, UtilizationConstraint)),
            default=0,
        )
        units = least * prod(x * y for x, y in self._fanouts)
        if units > 0:
            slots = range(0, 2 * self._depth, 2)
            loops = frozenset((slot, dim) for slot in slots for dim in range(len(self._dims)))
            yield Limit(loops, ">=", -(-units.numerator // units.denominator))
        for each in self._mapspace.constraints:
            if isinstance(each, ProductConstraint):
                slots_of_loops = frozenset(
                    (self._slot(level, kind), self._dims.index(dim))
                    for level, kind, dim in each.loops
                    if dim in self._dims
                )
                yield _closed(slots_of_loops, each.comparison, each.value)

    def _slot(self, level: str, kind: str) -> int:
        number = self._mapspace.architecture.index(level)
        return 2 * (self._depth - 1 - number) + (kind == "temporal")

    @cached_property
    def meshes(self) -> list[MeshOrders]:
        """Of the mesh below each level."""
        found = []
        for level in range(self._depth):
            name, sides = self._mapspace.architecture.levels[level].name, self._fanouts[level]
            splits = [
                each.split
                for each in self._mapspace.constraints
                if isinstance(each, SplitConstraint) and each.level == name
            ]
            axes = tuple(
                frozenset(
                    axis
                    for axis, letter in enumerate("XY")
                    if letter in self._mapspace.axes(level, dim) and min(size, sides[axis]) > 1
                )
                for dim, size in zip(self._dims, self._sizes, strict=True)
            )
            mesh = Mesh(
                axes,
                self._numbered(pairs_at(self._mapspace.constraints, name, "spatial", self._dims)),
                splits[0] if splits else None,
                sides,
                level == self._depth - 1,
            )
            found.append(MeshOrders(mesh))
        return found

    def _numbered(self, pairs: Collection[tuple[str, str]]) -> frozenset[tuple[int, int]]:
        """Pairs of dimensions of the problem, by their numbers."""
        return frozenset(
            (self._dims.index(inner), self._dims.index(outer))
            for inner, outer in pairs
            if inner in self._dims and outer in self._dims
        )

    @cached_property
    def chains(self) -> list[FactorChain]:
        """Of each dimension."""
        return [
            FactorChain(size, [self._allows(slot, dim, size) for slot in range(2 * self._depth)])
            for dim, size in enumerate(self._sizes)
        ]

    def _allows(self, slot: int, dim: int, size: int) -> Callable[[int], bool]:
        """Whether constraints on one slot alone allow a bound."""
        level, spatial = self._depth - 1 - slot // 2, slot % 2 == 0
        sides = [self._fanouts[level][axis] for axis in self.meshes[level].mesh.axes[dim]]
        most = max(sides, default=1) if spatial else size
        compared: list[tuple[Comparison, int]] = [
            (each.comparison, each.value or (size if each.comparison == "==" else 0))
            for each in self._mapspace.constraints
            if isinstance(each, FactorConstraint)
            and each.dim == self._dims[dim]
            and self._slot(each.level, each.kind) == slot
        ]
        compared += [
            (limit.comparison, limit.value) for limit in self.limits if limit.loops == {(slot, dim)}
        ]
        return lambda bound: (
            bound <= most and all(HOLDS[comparison](bound, value) for comparison, value in compared)
        )

    def ordered_pairs(self, level: int) -> dict[int, list[int]]:
        """Dimensions whose temporal loop at a level has to lie inside those over others, which may
        stand there.
        """
        slot = 2 * (self._depth - 1 - level) + 1
        name = self._mapspace.architecture.levels[level].name
        named = pairs_at(self._mapspace.constraints, name, "temporal", self._dims)
        found: dict[int, list[int]] = {}
        for inner, outer in sorted(self._numbered(named)):
            if all(self.chains[dim].allowed[slot] != (1,) for dim in (inner, outer)):
                found.setdefault(inner, []).append(outer)
        return found


def _closed(loops: frozenset[tuple[int, int]], comparison: Comparison, value: int) -> Limit:
    """The limit without strict comparisons."""
    value = max(-MOST, min(value, MOST))
    if comparison == "<":
        return Limit(loops, "<=", value - 1)
    if comparison == ">":
        return Limit(loops, ">=", value + 1)
    return Limit(loops, comparison, value)

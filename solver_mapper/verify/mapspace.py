"""Every way to lay the loops: all perfect factorizations over all slots, all orders, all placements
along X and Y.

This is the mapspace by its definition, worked out from hardware, problem and constraints alone,
without the reductions that make the solver quick.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    Constraints,
    FactorConstraint,
    KeepConstraint,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem
from solver_mapper.verify.orders import (
    Order,
    is_spatial_order,
    is_temporal_order,
    spatial_orders,
    temporal_orders,
)

"""What comparisons mean; `core/constraints.py` says it too, and none of that is used here."""
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "!=": operator.ne,
}
Bounds = dict[str, int]
Chain = tuple[int, ...]
"""Bounds of one dimension at all sites."""
LoopSlot = tuple[int, str]
"""A level and "" (temporal), "X" or "Y"."""
Bars = tuple[tuple[str, int, str], ...]
"""Loops, outer to inner: (dimension, bound, axis)."""
Skeleton = tuple[tuple[Bars, Bars], ...]
"""The temporal and spatial loops of all levels: a mapping without its bypass choices."""


@dataclass
class EnumeratedMapspace:
    """The mapspace of perfect factors that `constraints` leave."""

    architecture: Architecture
    problem: Problem
    constraints: Constraints = field(default_factory=Constraints)
    _orders: dict[tuple[int, Order], list[Order]] = field(default_factory=dict)
    _layouts: dict[tuple[int, Order, Order], list[tuple[Order, Order]]] = field(
        default_factory=dict
    )

    @cached_property
    def depth(self) -> int:
        """The number of storage levels."""
        return len(self.architecture.levels)

    @cached_property
    def loop_slots(self) -> tuple[LoopSlot, ...]:
        """Where loops can stand: outer to inner, Y outside X."""
        return tuple(
            (level, axis)
            for level in range(self.depth)
            for axis in ("", "Y", "X")
            if not axis or self.architecture.fanout(level)[axis == "Y"] > 1
        )

    def skeletons(self) -> Iterator[Skeleton]:
        """All loop nests that obey the constraints on factors, orders, splits and utilization, and
        fit the meshes.
        """
        for bounds in self.factorizations():
            yield from self.arrangements(bounds)

    def count(self, most: int) -> int | None:
        """How many skeletons there are, or None if more than `most`."""
        total = 0
        for bounds in self.factorizations():
            total += prod(
                len(temporal) * len(spatial)
                for temporal, spatial in map(self.ways, range(self.depth), bounds)
            )
            if total > most:
                return None
        return total

    def factorizations(self) -> Iterator[list[dict[str, Bounds]]]:
        """All distributions of the loop bounds: for each level and axis, the dimensions with a
        bound above 1.
        """
        tables = [(dim, self.chains(dim)) for dim in self.problem.dims]
        room = {
            site: self.architecture.fanout(site[0])[site[1] == "Y"]
            for site in self.loop_slots
            if site[1]
        }
        for chosen in self._combine(tables, room):
            bounds: list[dict[str, Bounds]] = [
                {"": {}, "X": {}, "Y": {}} for _ in range(self.depth)
            ]
            for dim, chain in chosen:
                for (level, axis), bound in zip(self.loop_slots, chain, strict=True):
                    if bound > 1:
                        bounds[level][axis][dim] = bound
            if self._utilized(bounds):
                yield bounds

    def _combine(
        self, tables: list[tuple[str, list[Chain]]], room: dict[LoopSlot, int]
    ) -> Iterator[list[tuple[str, Chain]]]:
        if not tables:
            yield []
            return
        (dim, chains), rest = tables[0], tables[1:]
        for chain in chains:
            left = {
                site: room[site] // bound
                for site, bound in zip(self.loop_slots, chain, strict=True)
                if site[1]
            }
            if all(left.values()):
                for others in self._combine(rest, left):
                    yield [(dim, chain), *others]

    def chains(self, dim: str) -> list[Chain]:
        """All ordered factorizations of a dimension over the sites that the constraints on its
        factors allow.
        """
        chains: list[tuple[Chain, int]] = [((), self.problem.bounds[dim])]
        for _ in self.loop_slots:
            chains = [((*chain, f), left // f) for chain, left in chains for f in divisors(left)]
        return [
            chain
            for chain, left in chains
            if left == 1 and self._allowed(dim, dict(zip(self.loop_slots, chain, strict=True)))
        ]

    def _allowed(self, dim: str, chain: dict[LoopSlot, int]) -> bool:
        """Whether constraints allow the bounds, and a dimension lies along one axis of a level
        only.
        """
        if any(
            chain.get((level, "X"), 1) > 1 and chain.get((level, "Y"), 1) > 1
            for level in range(self.depth)
        ):
            return False
        for constraint in self.constraints:
            if isinstance(constraint, FactorConstraint) and constraint.dim == dim:
                level = self.architecture.index(constraint.level)
                spatial = chain.get((level, "X"), 1) * chain.get((level, "Y"), 1)
                found = chain[level, ""] if constraint.kind == "temporal" else spatial
                whole = constraint.comparison == "==" and constraint.value == 0
                if not _COMPARE[constraint.comparison](
                    found, self.problem.bounds[dim] if whole else constraint.value
                ):
                    return False
        return True

    def _utilized(self, bounds: list[dict[str, Bounds]]) -> bool:
        least = max(
            (
                constraint.least
                for constraint in self.constraints
                if isinstance(constraint, UtilizationConstraint)
            ),
            default=Fraction(0),
        )
        used = prod(bound for level in bounds for axis in "XY" for bound in level[axis].values())
        return used >= least * prod(
            x * y for x, y in map(self.architecture.fanout, range(self.depth))
        ) and self._limited(bounds)

    def _limited(self, bounds: list[dict[str, Bounds]]) -> bool:
        """Whether the limits on products hold."""
        for constraint in self.constraints:
            if isinstance(constraint, ProductConstraint):
                found = [
                    bounds[self.architecture.index(level)][axis].get(dim, 1)
                    for level, kind, dim in constraint.loops
                    for axis in (("",) if kind == "temporal" else ("X", "Y"))
                ]
                if not _COMPARE[constraint.comparison](prod(found), constraint.value):
                    return False
        return True

    def arrangements(self, bounds: list[dict[str, Bounds]]) -> Iterator[Skeleton]:
        """All orders of given bounds."""
        choices = []
        for level, here in enumerate(bounds):
            orders, layouts = self.ways(level, here)
            temporal = [_bars(here, ("", order)) for order in orders]
            spatial = [_bars(here, ("Y", outer), ("X", inner)) for inner, outer in layouts]
            choices.append(list(product(temporal, spatial)))
        return product(*choices)

    def ways(
        self, level: int, bounds: dict[str, Bounds]
    ) -> tuple[list[Order], list[tuple[Order, Order]]]:
        """Orders of the temporal loops, and of the spatial ones."""
        timed, key = (level, tuple(bounds[""])), (level, tuple(bounds["X"]), tuple(bounds["Y"]))
        if timed not in self._orders:
            self._orders[timed] = temporal_orders(timed[1], self._permutations(level, "temporal"))
        if key not in self._layouts:
            self._layouts[key] = spatial_orders(
                key[1],
                key[2],
                self._permutations(level, "spatial"),
                self._split(level),
                self.problem.dims,
            )
        return self._orders[timed], self._layouts[key]

    def axes(self, level: int, dim: str) -> str:
        """The axes along which a spatial loop over `dim` may lie at a level: a split refers to full
        permutations, in which constraints leave it some positions.
        """
        split, rules = self._split(level), self._permutations(level, "spatial")
        if split is None:
            return "XY"
        others = [each for each in self.problem.dims if each != dim]
        inside = sum(temporal_orders((each, dim), rules) == [(each, dim)] for each in others)
        outside = sum(temporal_orders((each, dim), rules) == [(dim, each)] for each in others)
        return "X" * (inside < split) + "Y" * (len(others) - outside >= split)

    def inside(self, level: int, inner: str, outer: str) -> bool:
        """Whether a temporal loop over `inner` always stands inside one over `outer`: constraints
        order two loops the same way whatever others there are.
        """
        rules = self._permutations(level, "temporal")
        return temporal_orders((inner, outer), rules) == [(inner, outer)]

    def _permutations(
        self, level: int, kind: str
    ) -> list[PermutationConstraint | NestingConstraint]:
        name = self.architecture.levels[level].name
        return [
            constraint
            for constraint in self.constraints
            if constraint.level == name
            and (
                (isinstance(constraint, PermutationConstraint) and constraint.kind == kind)
                or (isinstance(constraint, NestingConstraint) and kind == "temporal")
            )
        ]

    def _split(self, level: int) -> int | None:
        name = self.architecture.levels[level].name
        return next(
            (
                constraint.split
                for constraint in self.constraints
                if isinstance(constraint, SplitConstraint) and constraint.level == name
            ),
            None,
        )

    def keeps(self, tensor: str) -> list[tuple[bool, ...]]:
        """All choices of the levels that hold a tensor. Without a constraint, the backing store
        holds everything.
        """
        free: list[tuple[bool, ...]] = []
        for level, buffer in enumerate(self.architecture.levels):
            ruled = [
                constraint.keep
                for constraint in self.constraints
                if isinstance(constraint, KeepConstraint)
                and (constraint.tensor, constraint.level) == (tensor, buffer.name)
            ]
            if ruled:
                free.append((ruled[-1],))
            else:
                free.append(
                    (True,) if level == 0 else (False,) if buffer.entries == 0 else (False, True)
                )
        return [choice for choice in product(*free) if any(choice)]

    @cached_property
    def plans(self) -> tuple[LevelMapping, ...]:
        """The levels with the kinds of reuse that constraints switch off, without loops."""

        def off(flag: str, level: str) -> frozenset[str]:
            flags = [
                constraint
                for constraint in self.constraints
                if isinstance(constraint, ReuseConstraint)
                and (constraint.flag, constraint.level) == (flag, level)
            ]
            return frozenset(tensor for constraint in flags for tensor in constraint.tensors)

        return tuple(
            LevelMapping(
                name,
                no_temporal_reuse=off("no_temporal_reuse", name),
                no_multicast=off("no_multicast", name),
                no_link_transfer=off("no_link_transfer", name),
            )
            for name in self.architecture.level_names
        )

    def contains(self, mapping: Mapping) -> bool:
        """Whether a mapping that makes up the problem is one of this mapspace. Meshes are checked,
        capacities are not.
        """
        bounds: list[dict[str, Bounds]] = []
        for level in mapping.levels:
            here: dict[str, Bounds] = {"": {}, "X": {}, "Y": {}}
            for each in (*level.temporal, *level.spatial):
                if each.bound > 1:
                    here[each.axis][each.dim] = here[each.axis].get(each.dim, 1) * each.bound
            bounds.append(here)
        chains = {
            dim: {
                (level, axis): here[axis].get(dim, 1)
                for level, here in enumerate(bounds)
                for axis in here
            }
            for dim in self.problem.dims
        }
        return (
            mapping.perfect
            and all(self._allowed(dim, chain) for dim, chain in chains.items())
            and self._utilized(bounds)
            and all(self._meets(level, here) for level, here in enumerate(bounds))
            and all(
                self._ordered(level, bounds[level], each)
                for level, each in enumerate(mapping.levels)
            )
            and all(
                tuple(name in level.keep for level in mapping.levels) in self.keeps(name)
                for name in self.problem.tensor_names
            )
            and all(
                plan == replace(each, temporal=(), spatial=(), keep=frozenset())
                for plan, each in zip(self.plans, mapping.levels, strict=True)
            )
        )

    def _meets(self, level: int, bounds: dict[str, Bounds]) -> bool:
        return all(
            prod(bounds[axis].values()) <= size
            for axis, size in zip("XY", self.architecture.fanout(level), strict=True)
        )

    def _ordered(self, level: int, bounds: dict[str, Bounds], found: LevelMapping) -> bool:
        """Whether the loops are one of the level's ways, each dimension a single loop."""
        temporal = tuple(each.dim for each in reversed(found.temporal) if each.bound > 1)
        inner, outer = (
            tuple(
                each.dim for each in reversed(found.spatial) if each.axis == axis and each.bound > 1
            )
            for axis in "XY"
        )
        return is_temporal_order(
            temporal, tuple(bounds[""]), self._permutations(level, "temporal")
        ) and is_spatial_order(
            (inner, outer),
            tuple(bounds["X"]),
            tuple(bounds["Y"]),
            self._permutations(level, "spatial"),
            self._split(level),
            self.problem.dims,
        )

    def levels(self, skeleton: Skeleton) -> tuple[LevelMapping, ...]:
        """The levels with these loops, holding nothing."""
        return tuple(
            replace(plan, temporal=_loops(temporal), spatial=_loops(spatial))
            for plan, (temporal, spatial) in zip(self.plans, skeleton, strict=True)
        )

    def mapping(self, skeleton: Skeleton, keeps: tuple[tuple[bool, ...], ...]) -> Mapping:
        """The mapping with these loops, in which `keeps[t][level]` says whether the level holds
        tensor number t.
        """
        names = self.problem.tensor_names
        levels = tuple(
            replace(
                plan,
                keep=frozenset(
                    name for name, keep in zip(names, keeps, strict=True) if keep[level]
                ),
            )
            for level, plan in enumerate(self.levels(skeleton))
        )
        return Mapping(levels, self.problem.dims, names)


def _bars(bounds: dict[str, Bounds], *orders: tuple[str, Order]) -> Bars:
    return tuple(
        [(dim, bounds[axis][dim], axis) for axis, order in orders for dim in reversed(order)]
    )


def _loops(bars: Bars) -> tuple[Loop, ...]:
    return tuple(loop(*bar) for bar in bars)

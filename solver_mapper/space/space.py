"""The mapspace: everything a mapping may choose, after hardware, problem and constraints have had their say."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from solver_mapper.space.orders import OrderRule, Pattern, patterns
from solver_mapper.space.primes import divisors, factorize
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import (
    Constraints,
    FactorRule,
    FlagRule,
    KeepRule,
    PermutationRule,
    SplitRule,
    UtilizationRule,
)
from solver_mapper.spec.problem import Problem, Tensor

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "!=": operator.ne,
}


@dataclass(frozen=True, order=True)
class Slot:
    """A place for loop bounds: the temporal loops of a level (`axis` ""), or its spatial loops along "X" or "Y"."""

    level: int
    axis: str = ""


@dataclass(frozen=True)
class SpatialRule:
    """Constraints on the spatial loops of a level: their order, and how many positions of it lie along X."""

    order: OrderRule = field(default_factory=OrderRule)
    split: int | None = None

    def axis_of(self, dim: str, dims: int) -> str | None:
        """The axis on which a split puts `dim` for certain, of `dims` dimensions in all; None if it is free."""
        if self.split is None or self.order.gaps:
            return None
        position = None
        if dim in self.order.inner:
            position = self.order.inner.index(dim)
        elif dim in self.order.outer:
            position = dims - len(self.order.outer) + self.order.outer.index(dim)
        if position is None:
            return "X" if self.split >= dims else ("Y" if self.split <= 0 else None)
        return "X" if position < self.split else "Y"


@dataclass(frozen=True)
class Space:
    """A mapspace of perfect factors. Levels are indices into `architecture.levels`, 0 the outermost.

    `factors[level, kind, dim]` holds the bounds that constraints leave, where they restrict them; `keep[tensor, level]` is set
    where bypass is decided; flags hold (tensor, level). `latency` is what the networks
    add to the cycles of any mapping.
    """

    architecture: Architecture
    problem: Problem
    factors: Mapping[tuple[int, str, str], frozenset[int]] = field(default_factory=dict)
    keep: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    temporal_orders: Mapping[int, OrderRule] = field(default_factory=dict)
    spatial_rules: Mapping[int, SpatialRule] = field(default_factory=dict)
    flags: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    least_utilization: Fraction = Fraction(0)
    latency: int = 0

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Dimensions that have something to choose: bound above 1."""
        return tuple(dim for dim in self.problem.dims if self.problem.bounds[dim] > 1)

    @cached_property
    def depth(self) -> int:
        return len(self.architecture.levels)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Outer to inner."""
        slots = []
        for level in range(self.depth):
            slots.append(Slot(level))
            fanout = self.architecture.fanout(level)
            slots += [Slot(level, axis) for axis, size in zip("XY", fanout, strict=True) if size > 1]
        return tuple(slots)

    @cached_property
    def primes(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        return {dim: factorize(self.problem.bounds[dim]) for dim in self.dims}

    def allowed(self, level: int, kind: str, dim: str) -> frozenset[int]:
        """Bounds that constraints leave to the loops of `kind` over `dim` at `level`."""
        return self.factors.get((level, kind, dim), frozenset(divisors(self.problem.bounds[dim])))

    def irrelevant(self, tensor: Tensor) -> frozenset[str]:
        return frozenset(self.dims) - tensor.dims

    @cached_property
    def sliding(self) -> frozenset[str]:
        """Dimensions that share a rank of some tensor with another dimension of bound above 1."""
        found: set[str] = set()
        for tensor in self.problem.tensors:
            for rank in tensor.ranks:
                dims = {term.dim for term in rank if term.dim in self.dims}
                if len(dims) > 1:
                    found |= dims
        return frozenset(found)

    @cached_property
    def patterns(self) -> tuple[tuple[Pattern, ...], ...]:
        """The order patterns of each level's temporal loops."""
        gone = {tensor.name: self.irrelevant(tensor) for tensor in self.problem.tensors}
        return tuple(
            patterns(self.dims, gone, self.sliding, self.temporal_orders.get(level, OrderRule())) for level in range(self.depth)
        )

    def has_flag(self, flag: str, tensor: str, level: int) -> bool:
        return (tensor, level) in self.flags.get(flag, frozenset())


def build_space(architecture: Architecture, problem: Problem, constraints: Constraints, latency: int = 0) -> Space:
    """The mapspace that `constraints` leave. An empty set of allowed factors is kept: it makes the space provably empty."""
    index = {name: i for i, name in enumerate(architecture.level_names)}
    factors: dict[tuple[int, str, str], frozenset[int]] = {}
    keep: dict[tuple[str, int], bool] = {(tensor, 0): True for tensor in problem.tensor_names}
    keep.update({(t, i): False for t in problem.tensor_names for i, b in enumerate(architecture.levels) if b.entries == 0})
    temporal: dict[int, OrderRule] = {}
    spatial: dict[int, SpatialRule] = {}
    flags: dict[str, frozenset[tuple[str, int]]] = {}
    least = Fraction(0)
    for rule in constraints.rules:
        if isinstance(rule, UtilizationRule):
            least = max(least, Fraction(rule.least))
            continue
        level = index[rule.level]
        if isinstance(rule, FactorRule):
            key = (level, rule.kind, rule.dim)
            bound = problem.bounds[rule.dim]
            value = bound if rule.value == 0 and rule.comparison == "==" else rule.value
            old = factors.get(key, frozenset(divisors(bound)))
            factors[key] = frozenset(f for f in old if _COMPARE[rule.comparison](f, value))
        elif isinstance(rule, KeepRule):
            keep[(rule.tensor, level)] = rule.keep
        elif isinstance(rule, PermutationRule):
            order = OrderRule(rule.inner, rule.outer, rule.gaps)
            if rule.kind == "temporal":
                temporal[level] = order
            else:
                spatial[level] = SpatialRule(order, spatial.get(level, SpatialRule()).split)
        elif isinstance(rule, SplitRule):
            spatial[level] = SpatialRule(spatial.get(level, SpatialRule()).order, rule.split)
        elif isinstance(rule, FlagRule):
            flags[rule.flag] = flags.get(rule.flag, frozenset()) | {(tensor, level) for tensor in rule.tensors}
    return Space(architecture, problem, factors, keep, temporal, spatial, flags, least, latency)

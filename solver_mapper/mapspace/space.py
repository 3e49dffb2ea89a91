"""The mapspace: everything a mapping may choose, after hardware, problem and constraints have had
their say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    HOLDS,
    Constraints,
    FactorConstraint,
    KeepConstraint,
    MetricConstraint,
    ProductConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.loop_orders import Pair, order_of
from solver_mapper.core.primes import divisors, factorize
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.mapspace.order_patterns import Pattern, patterns


@dataclass(frozen=True, order=True)
class Slot:
    """Where loop bounds stand: the temporal loops of a level (`axis` ""), or its spatial loops
    along "X" or "Y".
    """

    level: int
    axis: str = ""


@dataclass(frozen=True)
class Space:
    """A mapspace of perfect factors. Levels are indices into `architecture.levels`, 0 the
    outermost.

    `factors[level, kind, dim]` holds the bounds that constraints leave, where they restrict them;
    `keep[tensor, level]` is set where bypass is decided; orders hold pairs (inner, outer) of
    dimensions; of a level's spatial order, `splits[level]` positions, the innermost, lie along X
    (for each of these numbers); flags hold (tensor, level). `latency` is what the networks add to
    the cycles of any mapping. `empty` tells that constraints contradict each other outright.
    `products` limit loops of several levels or dimensions together, `caps` the figures.
    """

    architecture: Architecture
    problem: Problem
    factors: Mapping[tuple[int, str, str], frozenset[int]] = field(default_factory=dict)
    keep: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    temporal_orders: Mapping[int, frozenset[Pair]] = field(default_factory=dict)
    spatial_orders: Mapping[int, frozenset[Pair]] = field(default_factory=dict)
    splits: Mapping[int, frozenset[int]] = field(default_factory=dict)
    flags: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    least_utilization: Fraction = Fraction(0)
    latency: int = 0
    empty: bool = False
    products: tuple[ProductConstraint, ...] = ()
    caps: tuple[MetricConstraint, ...] = ()

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Dimensions that have something to choose: bound above 1."""
        return tuple(dim for dim in self.problem.dims if self.problem.bounds[dim] > 1)

    @cached_property
    def depth(self) -> int:
        """The number of storage levels."""
        return len(self.architecture.levels)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Outer to inner."""
        slots = []
        for level in range(self.depth):
            slots.append(Slot(level))
            fanout = self.architecture.fanout(level)
            slots += [
                Slot(level, axis) for axis, size in zip("XY", fanout, strict=True) if size > 1
            ]
        return tuple(slots)

    @cached_property
    def primes(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """The prime factorization of each bound."""
        return {dim: factorize(self.problem.bounds[dim]) for dim in self.dims}

    def allowed(self, level: int, kind: str, dim: str) -> frozenset[int]:
        """Bounds that constraints leave to the loops of `kind` over `dim` at `level`."""
        return self.factors.get((level, kind, dim), frozenset(divisors(self.problem.bounds[dim])))

    def loop_slots_of(self, constraint: ProductConstraint) -> frozenset[tuple[str, Slot]]:
        """The loops that a product is about, as far as there can be any."""
        index = self.architecture.index
        loops = [
            (index(level), kind, dim) for level, kind, dim in constraint.loops if dim in self.dims
        ]
        return frozenset(
            (dim, slot)
            for level, kind, dim in loops
            for slot in self.slots
            if slot.level == level and (slot.axis == "") == (kind == "temporal")
        )

    def irrelevant(self, tensor: Tensor) -> frozenset[str]:
        """Dimensions that do not index a tensor."""
        return frozenset(self.dims) - tensor.dims

    @cached_property
    def gone(self) -> Mapping[str, frozenset[str]]:
        """For each tensor the dimensions that do not index it."""
        return {tensor.name: self.irrelevant(tensor) for tensor in self.problem.tensors}

    @cached_property
    def patterns(self) -> tuple[tuple[Pattern, ...], ...]:
        """The order patterns of each level's temporal loops."""
        return tuple(
            patterns(self.dims, self.gone, self.temporal_orders.get(level, frozenset()))
            for level in range(self.depth)
        )

    def has_flag(self, flag: str, tensor: str, level: int) -> bool:
        """Whether a kind of reuse is switched off for a tensor at a level."""
        return (tensor, level) in self.flags.get(flag, frozenset())


def build_space(
    architecture: Architecture, problem: Problem, constraints: Constraints, latency: int = 0
) -> Space:
    """The mapspace that `constraints` leave. An empty set of allowed factors is kept: it makes the
    space provably empty.
    """
    index = {name: i for i, name in enumerate(architecture.level_names)}
    factors: dict[tuple[int, str, str], frozenset[int]] = {}
    keeps: dict[tuple[str, int], set[bool]] = {}
    orders: dict[str, dict[int, frozenset[Pair]]] = {"temporal": {}, "spatial": {}}
    splits: dict[int, frozenset[int]] = {}
    flags: dict[str, frozenset[tuple[str, int]]] = {}
    least = Fraction(0)
    for constraint in constraints:
        if isinstance(constraint, UtilizationConstraint):
            least = max(least, constraint.least)
        if not constraint.level or isinstance(constraint, UtilizationConstraint):
            continue
        level = index[constraint.level]
        if isinstance(constraint, FactorConstraint):
            key = (level, constraint.kind, constraint.dim)
            factors[key] = factors.get(
                key, frozenset(divisors(problem.bounds[constraint.dim]))
            ) & allowed_factors(constraint, problem)
        elif isinstance(constraint, KeepConstraint):
            keeps.setdefault((constraint.tensor, level), set()).add(constraint.keep)
        elif (order := order_of(constraint, problem.dims)) is not None:
            known = orders[order[0]]
            known[level] = known.get(level, frozenset()) | order[1]
        elif isinstance(constraint, SplitConstraint):
            splits[level] = splits.get(level, frozenset()) | {constraint.split}
        elif isinstance(constraint, ReuseConstraint):
            flags[constraint.flag] = flags.get(constraint.flag, frozenset()) | {
                (tensor, level) for tensor in constraint.tensors
            }
    keep = default_keeps(architecture, problem) | {
        key: max(values) for key, values in keeps.items()
    }
    empty = any(len(kept) > 1 for kept in keeps.values())
    products = tuple(
        constraint for constraint in constraints if isinstance(constraint, ProductConstraint)
    )
    caps = tuple(
        constraint for constraint in constraints if isinstance(constraint, MetricConstraint)
    )
    return Space(
        architecture,
        problem,
        factors,
        keep,
        orders["temporal"],
        orders["spatial"],
        splits,
        flags,
        least,
        latency,
        empty,
        products,
        caps,
    )


def default_keeps(architecture: Architecture, problem: Problem) -> dict[tuple[str, int], bool]:
    """Without a constraint, the outermost level keeps every tensor, and levels of no entries keep
    none.
    """
    keep = {(tensor, 0): True for tensor in problem.tensor_names}
    for level, buffer in enumerate(architecture.levels):
        if buffer.entries == 0:
            keep.update({(tensor, level): False for tensor in problem.tensor_names})
    return keep


def allowed_factors(constraint: FactorConstraint, problem: Problem) -> frozenset[int]:
    """The divisors of the bound that obey `constraint`; none where it asks for a residual, which no
    perfect factor has.
    """
    if constraint.last not in (None, constraint.value):
        return frozenset()
    return frozenset(
        f
        for f in divisors(problem.bounds[constraint.dim])
        if HOLDS[constraint.comparison](f, constraint.value)
    )

"""The model of legality: every requirement of a specification as constraints, each under a literal
of its own where it can be lifted.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ortools.sat.python import cp_model

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    HOLDS,
    Constraint,
    FactorConstraint,
    KeepConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.loop_orders import order_of
from solver_mapper.core.primes import factorize
from solver_mapper.core.problem import Problem
from solver_mapper.mapspace.requirements import (
    Capacity,
    DimensionBound,
    FanoutRequirement,
    LeastFill,
    Requirement,
    is_changeable,
    least_of,
    loops_of,
    without_constraint_kept,
)
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.engine import LARGEST
from solver_mapper.solve.cpsat.linear_form import counter
from solver_mapper.solve.legality.loops import Loops, LoopSlot, RequirementTable
from solver_mapper.solve.legality.orders import Guard, Order, Orders, Split, enforce
from solver_mapper.solve.legality.storage import StorageVariables

_LARGE = 1 << 32


@dataclass
class Legal:
    """Decisions, and the requirements on them. `guards` has for each requirement the literal under
    which it holds, None where it always does.
    """

    architecture: Architecture
    problem: Problem
    loops: Loops
    storage: StorageVariables
    orders: Orders
    guards: dict[Requirement, Guard]

    @property
    def model(self) -> cp_model.CpModel:
        """The CP-SAT model."""
        return self.loops.model

    def looped(self, constraint: FactorConstraint | ProductConstraint) -> RequirementTable | None:
        """The product of loop bounds that `constraint` is about; None where there can be no such
        loop.
        """
        loop_slots = frozenset[LoopSlot]().union(
            *(
                self.loops.loop_slots([dim], self.loops.at(self.architecture.index(level), kind))
                for level, kind, dim in loops_of(constraint)
            )
        )
        return self.loops.value(loop_slots) if loop_slots else None

    def across(self, level: int, axis: str) -> RequirementTable | None:
        """The product of spatial loops of a level along one axis; None where the model has none."""
        slot = Slot(level, axis)
        return (
            self.loops.value(self.loops.loop_slots(self.loops.dims, [slot]))
            if slot in self.loops.slots
            else None
        )

    def spread(self) -> RequirementTable:
        """The product of all spatial loops."""
        return self.loops.value(
            self.loops.loop_slots(self.loops.dims, [slot for slot in self.loops.slots if slot.axis])
        )


def legal_model(
    architecture: Architecture,
    problem: Problem,
    requirements: Sequence[Requirement],
    *,
    guarded: bool = False,
    lifted: Sequence[Requirement] = (),
) -> Legal:
    """All legal mappings of perfect factors that obey `requirements`; if `guarded`, each
    requirement only where its own literal holds, except those that nobody can change. Caps on
    figures are left out.

    `lifted` are requirements that need not be obeyed. What stands in the place of these, and of
    guarded ones whose literal does not hold, is as free as can be: any mesh, any number of words,
    and for a bound any product of the primes in it and in the factors that constraints ask for.
    """
    model = cp_model.CpModel()
    loose = (*lifted, *(requirements if guarded else ()))
    limits = {
        dim: _limits(
            problem.bounds[dim],
            dim,
            (*requirements, *lifted) if DimensionBound(dim) in loose else (),
        )
        for dim in problem.dims
    }
    loops = Loops(
        model,
        _slots(architecture, loose),
        {dim: primes for dim, primes in limits.items() if primes},
    )
    storage = StorageVariables(loops, problem, len(architecture.levels))
    guards: dict[Requirement, Guard] = {
        requirement: model.new_bool_var(f"guard[{n}]")
        if guarded and is_changeable(requirement)
        else None
        for n, requirement in enumerate(requirements)
    }
    legal = Legal(architecture, problem, loops, storage, Orders(loops, problem.dims), guards)
    for requirement, guard in guards.items():
        add = _ADD.get(type(requirement))
        if add is not None:
            add(legal, requirement, guard)
    _orders(legal)
    _defaults(legal, loose)
    return legal


def _slots(architecture: Architecture, loose: Sequence[Requirement]) -> tuple[Slot, ...]:
    """Outer to inner. Where a mesh can be lifted, loops may lie along both axes of it."""
    slots = []
    for level in range(len(architecture.levels)):
        fanout = (2, 2) if FanoutRequirement(level) in loose else architecture.fanout(level)
        slots += [
            Slot(level),
            *(Slot(level, axis) for axis, size in zip("XY", fanout, strict=True) if size > 1),
        ]
    return tuple(slots)


def _limits(bound: int, dim: str, requirements: Sequence[Requirement]) -> dict[int, int]:
    """Primes and how often each may occur over all loops: as in the bound, or as the largest
    factors that constraints want together (but no problem has bounds of `_LARGE`).
    """
    limits, needs = dict(factorize(bound)), Counter[int]()
    wanted: dict[object, int] = {}
    for requirement in requirements:
        if isinstance(requirement, FactorConstraint) and requirement.dim == dim:
            key = (requirement.level, requirement.kind)
            wanted[key] = max(wanted.get(key, 1), least_of(requirement))
        elif isinstance(requirement, ProductConstraint) and dim in requirement.dims:
            wanted[requirement] = least_of(requirement)
    for value in wanted.values():
        needs.update(dict(factorize(value)) if value < _LARGE else {})
    for prime, count in needs.items():
        limits[prime] = max(limits.get(prime, 0), count)
    return limits


def _bound(legal: Legal, requirement: DimensionBound, guard: Guard) -> None:
    wanted = dict(factorize(legal.problem.bounds[requirement.dim]))
    for prime in legal.loops.limits.get(requirement.dim, {}):
        enforce(
            legal.model.add(legal.loops.total(requirement.dim, prime) == wanted.get(prime, 0)),
            guard,
        )


def _factor(legal: Legal, requirement: FactorConstraint | ProductConstraint, guard: Guard) -> None:
    """A residual is never met: factors are perfect."""
    table = legal.looped(requirement)
    met = isinstance(requirement, ProductConstraint) or requirement.last in (
        None,
        requirement.value,
    )

    def obeys(value: int) -> bool:
        return met and HOLDS[requirement.comparison](value, requirement.value)

    if table is not None:
        enforce(legal.model.add_bool_or(table.where(obeys)), guard)
    elif not obeys(1):
        enforce(legal.model.add_bool_or([]), guard)


def _keep(legal: Legal, requirement: KeepConstraint, guard: Guard) -> None:
    keep = legal.storage.keep[requirement.tensor, legal.architecture.index(requirement.level)]
    enforce(legal.model.add_bool_or([keep if requirement.keep else ~keep]), guard)


def _capacity(legal: Legal, requirement: Capacity, guard: Guard) -> None:
    capacity = legal.architecture.levels[requirement.level].capacity
    if capacity is not None:
        enforce(
            legal.model.add(legal.storage.used(requirement.level) <= min(capacity, LARGEST)), guard
        )


def _least_fill(legal: Legal, requirement: LeastFill, guard: Guard) -> None:
    buffer = legal.architecture.levels[requirement.level]
    least = math.ceil((buffer.capacity or 0) * buffer.min_utilization)
    enforce(legal.model.add(legal.storage.used(requirement.level) >= least), guard)


def _fanout(legal: Legal, requirement: FanoutRequirement, guard: Guard) -> None:
    for axis, room in zip("XY", legal.architecture.fanout(requirement.level), strict=True):
        table = legal.across(requirement.level, axis)
        if table is not None:
            fitting = table.where(partial(operator.ge, room))
            enforce(legal.model.add_bool_or(fitting), guard)


def units_of(architecture: Architecture) -> int:
    """Compute units below one instance of the outermost level."""
    return math.prod(
        math.prod(architecture.fanout(level)) for level in range(len(architecture.levels))
    )


def _utilization(legal: Legal, requirement: UtilizationConstraint, guard: Guard) -> None:
    """A mesh that is lifted is as large as its use."""
    least = math.ceil(requirement.least * units_of(legal.architecture))
    shares = [_share(legal, level) for level in range(len(legal.architecture.levels))]
    product: cp_model.LinearExprT = 1
    high = 1
    for share, units in shares:
        high *= units
        grown = counter(legal.model, high, "")
        legal.model.add_multiplication_equality(grown, [product, share])
        product = grown
    enforce(legal.model.add(product >= least), guard)


def _share(legal: Legal, level: int) -> tuple[cp_model.LinearExprT, int]:
    """(instances in use below one instance of a level, at most) such that the second is what there
    is.
    """
    units = math.prod(legal.architecture.fanout(level))
    slots = legal.loops.at(level, "spatial")
    if not slots:
        return 1, units
    share = counter(legal.model, units, f"share[{level}]", least=1)
    if FanoutRequirement(level) in legal.guards:
        used = legal.loops.value(legal.loops.loop_slots(legal.loops.dims, slots))
        enforce(legal.model.add(share <= used.expr), legal.guards[FanoutRequirement(level)])
    return share, units


def _orders(legal: Legal) -> None:
    index = legal.architecture.index
    orders = [
        Order(index(requirement.level), *order, guard)
        for requirement, guard in legal.guards.items()
        if isinstance(requirement, Constraint)
        and (order := order_of(requirement, legal.problem.dims)) is not None
    ]
    splits = [
        Split(index(requirement.level), requirement, guard)
        for requirement, guard in legal.guards.items()
        if isinstance(requirement, SplitConstraint)
    ]
    legal.orders.build(orders, splits)


def _defaults(legal: Legal, loose: Sequence[Requirement]) -> None:
    """Where no constraint says what a level holds: the outermost everything, a level of no entries
    nothing.
    """
    for (tensor, level), keep in without_constraint_kept(
        legal.architecture, legal.problem, tuple(legal.guards)
    ).items():
        if keep or Capacity(level) not in loose:
            legal.model.add(legal.storage.keep[tensor, level] == keep)
    directed: dict[str, list[cp_model.IntVar]] = {}
    for requirement, guard in legal.guards.items():
        if (
            isinstance(requirement, KeepConstraint)
            and guard is not None
            and requirement.level == legal.architecture.levels[0].name
        ):
            directed.setdefault(requirement.tensor, []).append(guard)
    for tensor, guards in directed.items():
        legal.model.add_bool_or([*guards, legal.storage.keep[tensor, 0]])


_ADD: Mapping[type, Callable[..., None]] = {
    DimensionBound: _bound,
    FactorConstraint: _factor,
    KeepConstraint: _keep,
    Capacity: _capacity,
    LeastFill: _least_fill,
    FanoutRequirement: _fanout,
    UtilizationConstraint: _utilization,
    ProductConstraint: _factor,
}

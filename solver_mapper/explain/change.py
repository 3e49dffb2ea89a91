"""Changes to a specification: a requirement lifted altogether, or given another number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.constraints import (
    Constraint,
    Constraints,
    FactorConstraint,
    MetricConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.spec import Spec
from solver_mapper.mapspace.requirements import (
    Capacity,
    DimensionBound,
    FanoutRequirement,
    LeastFill,
    Requirement,
    with_fanout,
)

Value = int | Fraction | tuple[int, int] | None
Numbered = (
    FactorConstraint
    | ProductConstraint
    | SplitConstraint
    | UtilizationConstraint
    | MetricConstraint
)
"""Constraints with a number that can be another one."""


@dataclass(frozen=True)
class Change:
    """`requirement` with the number `to` instead of its own; None lifts it.

    The number of a constraint, the words that fit (capacity), the least share (utilization), the
    mesh (fanout), or the bound.
    """

    requirement: Requirement
    to: Value = None
    least: bool = True
    """Whether no number closer to the requirement's own suffices, as far as this requirement is
    concerned.
    """


def decimal(value: Fraction) -> str:
    """`value` as it can be written in a file, exact where its decimals end."""
    return (
        str(value)
        if value.denominator == 1
        else f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    )


def changed(spec: Spec, change: Change) -> Spec:
    """`spec` after one change. Meshes and bounds cannot be lifted without a number: they stay."""
    requirement, to = change.requirement, change.to
    if isinstance(requirement, Constraint):
        return _with_constraint(spec, requirement, to)
    architecture, problem = spec.need_architecture(), spec.need_problem()
    if isinstance(requirement, DimensionBound):
        bounds = {**problem.bounds, requirement.dim: to} if isinstance(to, int) else problem.bounds
        return replace(spec, problem=replace(problem, bounds=bounds))
    if isinstance(requirement, FanoutRequirement):
        wider = (
            with_fanout(architecture, requirement.level, *to)
            if isinstance(to, tuple)
            else architecture
        )
        return replace(spec, architecture=wider)
    levels = list(architecture.levels)
    levels[requirement.level] = _with_size(levels[requirement.level], requirement, to)
    return replace(spec, architecture=replace(architecture, levels=tuple(levels)))


def _with_size(buffer: Buffer, requirement: Capacity | LeastFill, to: Value) -> Buffer:
    if isinstance(requirement, Capacity):
        return replace(buffer, entries=to if isinstance(to, int) else None)
    return replace(
        buffer, min_utilization=Fraction(to) if isinstance(to, int | Fraction) else Fraction(0)
    )


def _with_constraint(spec: Spec, constraint: Constraint, to: Value) -> Spec:
    instead: list[Constraint] = []
    if isinstance(constraint, Numbered) and to is not None:
        instead.append(renumbered(constraint, to))
    constraints = [
        new for old in spec.constraints for new in (instead if old == constraint else [old])
    ]
    return replace(spec, constraints=Constraints(tuple(constraints)))


def renumbered(constraint: Constraint, to: Value) -> Constraint:
    """`constraint` with another number; its text follows."""
    if isinstance(constraint, FactorConstraint) and isinstance(to, int):
        sign = "=" if constraint.comparison == "==" else constraint.comparison
        return replace(
            constraint,
            value=to,
            last=None,
            text=f"{constraint.level} {constraint.kind}: factors {constraint.dim}{sign}{to}",
        )
    if isinstance(constraint, ProductConstraint) and isinstance(to, int):
        return replace(constraint, value=to, text=f"{constraint.text.rpartition(' ')[0]} {to}")
    if isinstance(constraint, MetricConstraint) and isinstance(to, int | Fraction):
        return replace(
            constraint,
            most=Fraction(to),
            strict=False,
            text=f"metrics: {constraint.metric} <= {decimal(Fraction(to))}",
        )
    if isinstance(constraint, SplitConstraint) and isinstance(to, int):
        return replace(constraint, split=to, text=f"{constraint.level} spatial: split {to}")
    if isinstance(constraint, UtilizationConstraint) and isinstance(to, int | Fraction):
        return replace(
            constraint,
            least=Fraction(to),
            text=f"{constraint.level} utilization: min {float(to):g}",
        )
    raise TypeError(f"{constraint!r} has no number {to!r}")

"""How requirements and changes to them are put into words."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    MAPPING,
    Constraint,
    FactorConstraint,
    KeepConstraint,
    MetricConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.errors import SourceLocation
from solver_mapper.explain.change import Change, decimal
from solver_mapper.mapspace.requirements import (
    Capacity,
    DimensionBound,
    FanoutRequirement,
    LeastFill,
    Requirement,
)

What = Literal["constraint", "capacity", "utilization", "fanout", "dimension"]


def what_of(requirement: Requirement) -> What:
    """The kind of a requirement, as JSON names it."""
    kinds: dict[type, What] = {
        Capacity: "capacity",
        LeastFill: "utilization",
        FanoutRequirement: "fanout",
        DimensionBound: "dimension",
    }
    return kinds.get(type(requirement), "constraint")


def inner_name(architecture: Architecture, level: int) -> str:
    """What lies below a level: the next inner one, or the compute units."""
    return (*architecture.level_names, architecture.arithmetic.name)[level + 1]


def text_of(requirement: Requirement, architecture: Architecture, problem: Problem) -> str:
    """The requirement in one line."""
    if isinstance(requirement, Constraint):
        return requirement.text
    if isinstance(requirement, DimensionBound):
        return f"dimension {requirement.dim}={problem.bounds[requirement.dim]}"
    buffer = architecture.levels[requirement.level]
    if isinstance(requirement, FanoutRequirement):
        width, height = architecture.fanout(requirement.level)
        below = inner_name(architecture, requirement.level)
        return f"{buffer.name} fan-out: {width} x {height} {below}"
    if isinstance(requirement, Capacity):
        return f"{buffer.name} capacity: {buffer.capacity} words"
    return f"{buffer.name} min-utilization: {100 * float(buffer.min_utilization):g} %"


def location_of(
    requirement: Requirement, architecture: Architecture, problem: Problem
) -> SourceLocation:
    """Where the user wrote what the requirement comes from."""
    if isinstance(requirement, Constraint):
        return requirement.location
    if isinstance(requirement, DimensionBound):
        return problem.bound_locations.get(requirement.dim, problem.location)
    buffer = architecture.levels[requirement.level]
    if isinstance(requirement, FanoutRequirement):
        inner = (
            architecture.levels[requirement.level + 1]
            if requirement.level + 1 < len(architecture.levels)
            else architecture.arithmetic
        )
        return inner.location
    return buffer.entries_location if buffer.entries_location.line is not None else buffer.location


def excluded_by_mapspace(requirement: Requirement) -> str:
    """What the mapspace of perfect factors lacks that `requirement` wants, or nothing."""
    if not isinstance(requirement, FactorConstraint) or requirement.last in (
        None,
        requirement.value,
    ):
        return ""
    return (
        f"a last round of {requirement.last} of {requirement.value} iterations: the mapspace of"
        " perfect factors has"
        " no such loop; 'solve --factors imperfect' finds mappings that have it"
    )


def advice(change: Change, architecture: Architecture, problem: Problem) -> str:
    """The change as advice."""
    requirement, to = change.requirement, change.to
    if isinstance(requirement, Constraint):
        return _advice_on_constraint(requirement, change)
    if isinstance(requirement, DimensionBound):
        return f"change {requirement.dim} from {problem.bounds[requirement.dim]} to {to}"
    buffer = architecture.levels[requirement.level]
    if isinstance(requirement, FanoutRequirement):
        (x, y), inner = (
            architecture.fanout(requirement.level),
            inner_name(architecture, requirement.level),
        )
        mesh = f"the mesh of {inner} below each {buffer.name} from {x} x {y}"
        if not isinstance(to, tuple):
            return f"change {mesh}"
        grown = to[0] >= x and to[1] >= y
        return (
            f"{'raise' if grown else 'change'} {mesh} to {'at least ' if grown else ''}{to[0]} x"
            f" {to[1]}"
        )
    if isinstance(requirement, Capacity):
        return f"raise {buffer.name} entries from {buffer.entries}" + (
            f" to {_to(change, 'at least')}" if to else ""
        )
    share = 0.0 if to is None or isinstance(to, tuple) else float(to)
    most = "at most " if change.least else ""
    return (
        f"lower the min-utilization of {buffer.name} from {float(buffer.min_utilization):g} to"
        f" {most}{share:.6g}"
    )


def _to(change: Change, side: str) -> str:
    """The number, "at least" or "at most" if it is known that none nearer suffices."""
    number = decimal(change.to) if isinstance(change.to, Fraction) else f"{change.to}"
    return f"{side} {number}" if change.least else number


def _advice_on_constraint(constraint: Constraint, change: Change) -> str:
    to = change.to
    if isinstance(constraint, FactorConstraint) and isinstance(to, int):
        where = f"{constraint.level} {constraint.kind}" + (
            " of the mapping" if constraint.origin == MAPPING else ""
        )
        if constraint.comparison == "==":
            value = (
                f"{constraint.value}"
                if constraint.last is None
                else f"{constraint.value},{constraint.last}"
            )
            return f"allow {constraint.dim}={to} instead of {constraint.dim}={value} at {where}"
        if constraint.comparison in ("<=", "<"):
            return (
                f"raise the limit {constraint.dim}{constraint.comparison}{constraint.value} at"
                f" {where} to {_to(change, 'at least')}"
            )
        return (
            f"lower the limit {constraint.dim}{constraint.comparison}{constraint.value} at {where}"
            f" to {_to(change, 'at most')}"
        )
    if isinstance(constraint, ProductConstraint) and isinstance(to, int):
        if constraint.comparison == "==":
            return f"allow {to} in '{constraint.text}'"
        raised = constraint.comparison in ("<=", "<")
        return (
            f"{'raise' if raised else 'lower'} '{constraint.text}' to"
            f" {_to(change, 'at least' if raised else 'at most')}"
        )
    if isinstance(constraint, MetricConstraint) and isinstance(to, int | Fraction):
        return (
            f"raise the cap on {constraint.metric} from {decimal(constraint.most)} to"
            f" {_to(change, 'at least')}"
        )
    if isinstance(constraint, KeepConstraint):
        return (
            f"let {constraint.level} {'bypass' if constraint.keep else 'keep'} {constraint.tensor}"
        )
    if isinstance(constraint, SplitConstraint) and isinstance(to, int):
        return f"use split {to} instead of {constraint.split} at {constraint.level} spatial"
    if (
        isinstance(constraint, UtilizationConstraint)
        and to is not None
        and not isinstance(to, tuple)
    ):
        return (
            f"lower the least utilization from {float(constraint.least):g} to at most"
            f" {float(to):.6g}"
        )
    return f"drop '{constraint.text}'"

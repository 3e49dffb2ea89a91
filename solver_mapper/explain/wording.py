"""How asks and changes to them are put into words."""

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
    Fanout,
    LeastFill,
    Requirement,
)

What = Literal["constraint", "capacity", "utilization", "fanout", "dimension"]


def what_of(ask: Requirement) -> What:
    kinds: dict[type, What] = {
        Capacity: "capacity",
        LeastFill: "utilization",
        Fanout: "fanout",
        DimensionBound: "dimension",
    }
    return kinds.get(type(ask), "constraint")


def inner_name(architecture: Architecture, level: int) -> str:
    """What lies below a level: the next inner one, or the multipliers."""
    return (*architecture.level_names, architecture.arithmetic.name)[level + 1]


def text_of(ask: Requirement, architecture: Architecture, problem: Problem) -> str:
    """The ask in one line."""
    if isinstance(ask, Constraint):
        return ask.text
    if isinstance(ask, DimensionBound):
        return f"dimension {ask.dim} of {problem.bounds[ask.dim]}"
    buffer = architecture.levels[ask.level]
    if isinstance(ask, Fanout):
        width, height = architecture.fanout(ask.level)
        return f"{width} x {height} {inner_name(architecture, ask.level)} below each {buffer.name}"
    if isinstance(ask, Capacity):
        return f"{buffer.name} has room for {buffer.capacity} words"
    return (
        f"{buffer.name} must be filled to {100 * float(buffer.min_utilization):g} %"
        " (min-utilization)"
    )


def location_of(ask: Requirement, architecture: Architecture, problem: Problem) -> SourceLocation:
    """Where the user wrote what the ask comes from."""
    if isinstance(ask, Constraint):
        return ask.location
    if isinstance(ask, DimensionBound):
        return problem.bound_locations.get(ask.dim, problem.location)
    buffer = architecture.levels[ask.level]
    if isinstance(ask, Fanout):
        inner = (
            architecture.levels[ask.level + 1]
            if ask.level + 1 < len(architecture.levels)
            else architecture.arithmetic
        )
        return inner.location
    return buffer.entries_location if buffer.entries_location.line is not None else buffer.location


def excluded_by_mapspace(ask: Requirement) -> str:
    """What the mapspace of perfect factors lacks that `ask` wants, or nothing."""
    if not isinstance(ask, FactorConstraint) or ask.last in (None, ask.value):
        return ""
    return (
        f"a last round of {ask.last} of {ask.value} iterations: the mapspace of perfect factors has"
        " no such loop; 'evaluate' and 'validate' accept mappings that have it"
    )


def advice(change: Change, architecture: Architecture, problem: Problem) -> str:
    """The change as advice."""
    ask, to = change.ask, change.to
    if isinstance(ask, Constraint):
        return _advice_on_rule(ask, change)
    if isinstance(ask, DimensionBound):
        return f"change {ask.dim} from {problem.bounds[ask.dim]} to {to}"
    buffer = architecture.levels[ask.level]
    if isinstance(ask, Fanout):
        (x, y), inner = architecture.fanout(ask.level), inner_name(architecture, ask.level)
        mesh = f"the mesh of {inner} below each {buffer.name} from {x} x {y}"
        if not isinstance(to, tuple):
            return f"change {mesh}"
        grown = to[0] >= x and to[1] >= y
        return (
            f"{'raise' if grown else 'change'} {mesh} to {'at least ' if grown else ''}{to[0]} x"
            f" {to[1]}"
        )
    if isinstance(ask, Capacity):
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
    """The number, "at least" or "at most" if it is known that none nearer would do."""
    number = decimal(change.to) if isinstance(change.to, Fraction) else f"{change.to}"
    return f"{side} {number}" if change.least else number


def _advice_on_rule(constraint: Constraint, change: Change) -> str:
    to = change.to
    if isinstance(constraint, FactorConstraint) and isinstance(to, int):
        where = f"{constraint.level} {constraint.kind}" + (
            " of the mapping" if constraint.origin == MAPPING else ""
        )
        if constraint.comparison == "==":
            asked = (
                f"{constraint.value}"
                if constraint.last is None
                else f"{constraint.value},{constraint.last}"
            )
            return f"allow {constraint.dim}={to} instead of {constraint.dim}={asked} at {where}"
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

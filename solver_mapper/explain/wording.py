"""How asks and changes to them are put into words."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from solver_mapper.errors import Place
from solver_mapper.explain.change import Change, decimal
from solver_mapper.space.asks import Ask, Bound, Capacity, Fanout, LeastFill
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import MAPPING, FactorRule, KeepRule, MetricRule, ProductRule, Rule, SplitRule, UtilizationRule
from solver_mapper.spec.problem import Problem

What = Literal["constraint", "capacity", "utilization", "fanout", "dimension"]


def what_of(ask: Ask) -> What:
    kinds: dict[type, What] = {Capacity: "capacity", LeastFill: "utilization", Fanout: "fanout", Bound: "dimension"}
    return kinds.get(type(ask), "constraint")


def inner_name(architecture: Architecture, level: int) -> str:
    """What lies below a level: the next inner one, or the multipliers."""
    return (*architecture.level_names, architecture.arithmetic.name)[level + 1]


def text_of(ask: Ask, architecture: Architecture, problem: Problem) -> str:
    """The ask in one line."""
    if isinstance(ask, Rule):
        return ask.text
    if isinstance(ask, Bound):
        return f"dimension {ask.dim} of {problem.bounds[ask.dim]}"
    buffer = architecture.levels[ask.level]
    if isinstance(ask, Fanout):
        width, height = architecture.fanout(ask.level)
        return f"{width} x {height} {inner_name(architecture, ask.level)} below each {buffer.name}"
    if isinstance(ask, Capacity):
        return f"{buffer.name} has room for {buffer.capacity} words"
    return f"{buffer.name} must be filled to {100 * float(buffer.min_utilization):g} % (min-utilization)"


def place_of(ask: Ask, architecture: Architecture, problem: Problem) -> Place:
    """Where the user wrote what the ask comes from."""
    if isinstance(ask, Rule):
        return ask.place
    if isinstance(ask, Bound):
        return problem.bound_places.get(ask.dim, problem.place)
    buffer = architecture.levels[ask.level]
    if isinstance(ask, Fanout):
        inner = architecture.levels[ask.level + 1] if ask.level + 1 < len(architecture.levels) else architecture.arithmetic
        return inner.place
    return buffer.entries_place if buffer.entries_place.line is not None else buffer.place


def advice(change: Change, architecture: Architecture, problem: Problem) -> str:
    """The change as advice."""
    ask, to = change.ask, change.to
    if isinstance(ask, Rule):
        return _advice_on_rule(ask, change)
    if isinstance(ask, Bound):
        return f"change {ask.dim} from {problem.bounds[ask.dim]} to {to}"
    buffer = architecture.levels[ask.level]
    if isinstance(ask, Fanout):
        (x, y), inner = architecture.fanout(ask.level), inner_name(architecture, ask.level)
        mesh = f"the mesh of {inner} below each {buffer.name} from {x} x {y}"
        if not isinstance(to, tuple):
            return f"change {mesh}"
        grown = to[0] >= x and to[1] >= y
        return f"{'raise' if grown else 'change'} {mesh} to {'at least ' if grown else ''}{to[0]} x {to[1]}"
    if isinstance(ask, Capacity):
        return f"raise {buffer.name} entries from {buffer.entries}" + (f" to {_to(change, 'at least')}" if to else "")
    share = 0.0 if to is None or isinstance(to, tuple) else float(to)
    most = "at most " if change.least else ""
    return f"lower the min-utilization of {buffer.name} from {float(buffer.min_utilization):g} to {most}{share:.6g}"


def _to(change: Change, side: str) -> str:
    """The number, "at least" or "at most" if it is known that none nearer would do."""
    number = decimal(change.to) if isinstance(change.to, Fraction) else f"{change.to}"
    return f"{side} {number}" if change.least else number


def _advice_on_rule(rule: Rule, change: Change) -> str:
    to = change.to
    if isinstance(rule, FactorRule) and isinstance(to, int):
        where = f"{rule.level} {rule.kind}" + (" of the mapping" if rule.origin == MAPPING else "")
        if rule.comparison == "==":
            asked = f"{rule.value}" if rule.last is None else f"{rule.value},{rule.last}"
            return f"allow {rule.dim}={to} instead of {rule.dim}={asked} at {where}"
        if rule.comparison in ("<=", "<"):
            return f"raise the limit {rule.dim}{rule.comparison}{rule.value} at {where} to {_to(change, 'at least')}"
        return f"lower the limit {rule.dim}{rule.comparison}{rule.value} at {where} to {_to(change, 'at most')}"
    if isinstance(rule, ProductRule) and isinstance(to, int):
        if rule.comparison == "==":
            return f"allow {to} in '{rule.text}'"
        raised = rule.comparison in ("<=", "<")
        return f"{'raise' if raised else 'lower'} '{rule.text}' to {_to(change, 'at least' if raised else 'at most')}"
    if isinstance(rule, MetricRule) and isinstance(to, int | Fraction):
        return f"raise the cap on {rule.metric} from {decimal(rule.most)} to {_to(change, 'at least')}"
    if isinstance(rule, KeepRule):
        return f"let {rule.level} {'bypass' if rule.keep else 'keep'} {rule.tensor}"
    if isinstance(rule, SplitRule) and isinstance(to, int):
        return f"use split {to} instead of {rule.split} at {rule.level} spatial"
    if isinstance(rule, UtilizationRule) and to is not None and not isinstance(to, tuple):
        return f"lower the least utilization from {float(rule.least):g} to at most {float(to):.6g}"
    return f"drop '{rule.text}'"

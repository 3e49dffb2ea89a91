"""Changes to a specification: an ask lifted altogether, or given another number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from solver_mapper.space.asks import Ask, Bound, Capacity, Fanout, LeastFill, with_fanout
from solver_mapper.spec.architecture import Buffer
from solver_mapper.spec.constraints import Constraints, FactorRule, MetricRule, ProductRule, Rule, SplitRule, UtilizationRule
from solver_mapper.spec.spec import Spec

Value = int | Fraction | tuple[int, int] | None
Numbered = FactorRule | ProductRule | SplitRule | UtilizationRule | MetricRule
"""Rules with a number that can be another one."""


@dataclass(frozen=True)
class Change:
    """`ask` with the number `to` instead of its own; None lifts it.

    The number of a rule, the words that fit (capacity), the least share (utilization), the mesh (fanout), or the bound.
    """

    ask: Ask
    to: Value = None
    least: bool = True
    """Whether no number closer to the ask's own would do, as far as this ask is concerned."""


def decimal(value: Fraction) -> str:
    """`value` as it can be written in a file, exact where its decimals end."""
    return str(value) if value.denominator == 1 else f"{Decimal(value.numerator) / Decimal(value.denominator):f}"


def changed(spec: Spec, change: Change) -> Spec:
    """`spec` after one change. Meshes and bounds cannot be lifted without a number: they stay."""
    ask, to = change.ask, change.to
    if isinstance(ask, Rule):
        return _with_rule(spec, ask, to)
    architecture, problem = spec.need_architecture(), spec.need_problem()
    if isinstance(ask, Bound):
        bounds = {**problem.bounds, ask.dim: to} if isinstance(to, int) else problem.bounds
        return replace(spec, problem=replace(problem, bounds=bounds))
    if isinstance(ask, Fanout):
        wider = with_fanout(architecture, ask.level, *to) if isinstance(to, tuple) else architecture
        return replace(spec, architecture=wider)
    levels = list(architecture.levels)
    levels[ask.level] = _with_size(levels[ask.level], ask, to)
    return replace(spec, architecture=replace(architecture, levels=tuple(levels)))


def _with_size(buffer: Buffer, ask: Capacity | LeastFill, to: Value) -> Buffer:
    if isinstance(ask, Capacity):
        return replace(buffer, entries=to if isinstance(to, int) else None)
    return replace(buffer, min_utilization=Fraction(to) if isinstance(to, int | Fraction) else Fraction(0))


def _with_rule(spec: Spec, rule: Rule, to: Value) -> Spec:
    instead: list[Rule] = []
    if isinstance(rule, Numbered) and to is not None:
        instead.append(renumbered(rule, to))
    rules = [new for old in spec.constraints.rules for new in (instead if old == rule else [old])]
    return replace(spec, constraints=Constraints(tuple(rules)))


def renumbered(rule: Rule, to: Value) -> Rule:
    """`rule` with another number; its text follows."""
    if isinstance(rule, FactorRule) and isinstance(to, int):
        sign = "=" if rule.comparison == "==" else rule.comparison
        return replace(rule, value=to, last=None, text=f"{rule.level} {rule.kind}: factors {rule.dim}{sign}{to}")
    if isinstance(rule, ProductRule) and isinstance(to, int):
        return replace(rule, value=to, text=f"{rule.text.rpartition(' ')[0]} {to}")
    if isinstance(rule, MetricRule) and isinstance(to, int | Fraction):
        return replace(rule, most=Fraction(to), strict=False, text=f"metrics: {rule.metric} <= {decimal(Fraction(to))}")
    if isinstance(rule, SplitRule) and isinstance(to, int):
        return replace(rule, split=to, text=f"{rule.level} spatial: split {to}")
    if isinstance(rule, UtilizationRule) and isinstance(to, int | Fraction):
        return replace(rule, least=Fraction(to), text=f"{rule.level} utilization: min {float(to):g}")
    raise TypeError(f"{rule!r} has no number {to!r}")

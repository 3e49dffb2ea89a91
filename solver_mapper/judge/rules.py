"""All rules together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from solver_mapper.judge import amounts, orders, storage
from solver_mapper.mapping import LevelMapping, Mapping
from solver_mapper.nest.legality import Violation, structural_violations
from solver_mapper.nest.model import Evaluator
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import (
    FactorRule,
    FlagRule,
    KeepRule,
    MetricRule,
    NestingRule,
    PermutationRule,
    ProductRule,
    Rule,
    SplitRule,
    UtilizationRule,
)
from solver_mapper.spec.ordering import pairs_at
from solver_mapper.spec.problem import Problem


def broken(rules: Iterable[Rule], architecture: Architecture, problem: Problem, mapping: Mapping) -> tuple[Violation, ...]:
    """Every rule that `mapping` breaks. Levels that either does not know are left to `nest.legality`.

    Figures are judged only of mappings that have any: whose loops make up the problem.
    """
    rules = tuple(rules)
    levels = {level.level: level for level in mapping.levels if level.level in architecture.level_names}
    found: list[Violation] = []
    for rule in rules:
        if isinstance(rule, UtilizationRule):
            found += amounts.utilization(rule, architecture, tuple(levels.values()))
        elif isinstance(rule, ProductRule):
            found += amounts.product(rule, levels)
        elif rule.level in levels:
            found += _at_level(rule, levels[rule.level], problem, rules)
    caps = [rule for rule in rules if isinstance(rule, MetricRule)]
    if caps and not structural_violations(architecture, problem, mapping):
        figures = Evaluator(architecture, problem).evaluate(mapping)
        found += [violation for cap in caps for violation in amounts.metric(cap, figures)]
    return tuple(found)


def _at_level(rule: Rule, level: LevelMapping, problem: Problem, rules: tuple[Rule, ...]) -> Iterator[Violation]:
    if isinstance(rule, FactorRule):
        yield from amounts.factor(rule, level)
    elif isinstance(rule, PermutationRule | NestingRule):
        yield from orders.order(rule, level, problem.dims)
    elif isinstance(rule, SplitRule):
        yield from orders.split(rule, level, problem.dims, pairs_at(rules, rule.level, "spatial", problem.dims))
    elif isinstance(rule, KeepRule):
        yield from storage.keep(rule, level)
    elif isinstance(rule, FlagRule):
        yield from storage.flag(rule, level)

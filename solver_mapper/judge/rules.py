"""All rules together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from solver_mapper.judge import amounts, orders, storage
from solver_mapper.mapping import LevelMapping, Mapping
from solver_mapper.nest.legality import Violation
from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.constraints import FactorRule, FlagRule, KeepRule, PermutationRule, Rule, SplitRule, UtilizationRule
from solver_mapper.spec.ordering import Pair, ordered_pairs
from solver_mapper.spec.problem import Problem


def broken(rules: Iterable[Rule], architecture: Architecture, problem: Problem, mapping: Mapping) -> tuple[Violation, ...]:
    """Every rule that `mapping` breaks. Levels that either does not know are left to `nest.legality`."""
    rules = tuple(rules)
    levels = {level.level: level for level in mapping.levels if level.level in architecture.level_names}
    found: list[Violation] = []
    for rule in rules:
        if isinstance(rule, UtilizationRule):
            found += amounts.utilization(rule, architecture, tuple(levels.values()))
        elif rule.level in levels:
            found += _at_level(rule, levels[rule.level], problem, rules)
    return tuple(found)


def _at_level(rule: Rule, level: LevelMapping, problem: Problem, rules: tuple[Rule, ...]) -> Iterator[Violation]:
    if isinstance(rule, FactorRule):
        yield from amounts.factor(rule, level)
    elif isinstance(rule, PermutationRule):
        yield from orders.permutation(rule, level, problem.dims)
    elif isinstance(rule, SplitRule):
        yield from orders.split(rule, level, problem.dims, spatial_pairs(rules, rule.level, problem))
    elif isinstance(rule, KeepRule):
        yield from storage.keep(rule, level)
    elif isinstance(rule, FlagRule):
        yield from storage.flag(rule, level)


def spatial_pairs(rules: Iterable[Rule], level: str, problem: Problem) -> frozenset[Pair]:
    """The order that all permutation rules together give the spatial loops of a level."""
    pairs: frozenset[Pair] = frozenset()
    for rule in rules:
        if isinstance(rule, PermutationRule) and (rule.level, rule.kind) == (level, "spatial"):
            pairs |= ordered_pairs(rule, problem.dims)
    return pairs

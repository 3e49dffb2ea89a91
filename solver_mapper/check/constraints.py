"""All constraints together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from solver_mapper.check import factors as amounts
from solver_mapper.check import orders, storage
from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    Constraint,
    FactorConstraint,
    KeepConstraint,
    MetricConstraint,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.loop_orders import pairs_at
from solver_mapper.core.mapping import LevelMapping, Mapping
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.verdict import Violation
from solver_mapper.cost.timeloop.legality import structural_violations
from solver_mapper.cost.timeloop.model import Evaluator

_OF_A_LEVEL = (
    FactorConstraint,
    KeepConstraint,
    NestingConstraint,
    PermutationConstraint,
    ReuseConstraint,
    SplitConstraint,
)


def constraint_violations(
    constraints: Iterable[Constraint],
    architecture: Architecture,
    problem: Problem,
    mapping: Mapping,
) -> tuple[Violation, ...]:
    """Every constraint that `mapping` breaks. Levels that the architecture or the mapping does not
    have are skipped: `cost/timeloop/legality.py` reports those.

    Metrics are checked only of mappings that have any: whose loops make up the problem.
    Raises: TypeError for a class of constraints that is not known here, so that a new one is never
    passed over in silence.
    """
    constraints = tuple(constraints)
    levels = {
        level.level: level for level in mapping.levels if level.level in architecture.level_names
    }
    found: list[Violation] = []
    caps: list[MetricConstraint] = []
    for constraint in constraints:
        if isinstance(constraint, UtilizationConstraint):
            found += amounts.utilization(constraint, architecture, tuple(levels.values()))
        elif isinstance(constraint, ProductConstraint):
            found += amounts.product(constraint, levels)
        elif isinstance(constraint, MetricConstraint):
            caps.append(constraint)
        elif not isinstance(constraint, _OF_A_LEVEL):
            raise TypeError(f"there is no check of {type(constraint).__name__}")
        elif constraint.level in levels:
            found += _at_level(constraint, levels[constraint.level], problem, constraints)
    if caps and not structural_violations(architecture, problem, mapping):
        statistics = Evaluator(architecture, problem).evaluate(mapping)
        found += [violation for cap in caps for violation in amounts.metric(cap, statistics)]
    return tuple(found)


def _at_level(
    constraint: Constraint,
    level: LevelMapping,
    problem: Problem,
    constraints: tuple[Constraint, ...],
) -> Iterator[Violation]:
    if isinstance(constraint, FactorConstraint):
        yield from amounts.factor(constraint, level)
    elif isinstance(constraint, PermutationConstraint | NestingConstraint):
        yield from orders.order(constraint, level, problem.dims)
    elif isinstance(constraint, SplitConstraint):
        yield from orders.split(
            constraint,
            level,
            problem.dims,
            pairs_at(constraints, constraint.level, "spatial", problem.dims),
        )
    elif isinstance(constraint, KeepConstraint):
        yield from storage.keep(constraint, level)
    elif isinstance(constraint, ReuseConstraint):
        yield from storage.flag(constraint, level)

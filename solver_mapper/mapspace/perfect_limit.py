"""What perfect factors cannot use of the compute units: the fewest steps that any spatial loops
leave, with bounds that divide the dimensions and with any bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import HOLDS, Constraint, FactorConstraint
from solver_mapper.core.dominance import undominated_rows
from solver_mapper.core.problem import Problem
from solver_mapper.core.results.perfect_limit import PerfectLimit
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec

MOST_STEPS = 100_000
"""Combinations that are tried; where there are more, nothing is said."""
LEAST_GAIN = 2
"""How many times fewer steps are worth a line."""

Option = tuple[tuple[int, ...], int]
"""Bounds of one dimension's spatial loops, and the steps that they leave."""


def with_limit(spec: Spec, solution: Solution) -> Solution:
    """The solution with what perfect factors leave on the table, if its mapping leaves so much."""
    found = solution.evaluation
    if found is None or found.utilization * LEAST_GAIN > 1:
        return solution
    limit = perfect_limit(spec.need_architecture(), spec.need_problem(), spec.constraints)
    return replace(solution, limit=limit)


def perfect_limit(
    architecture: Architecture, problem: Problem, constraints: Iterable[Constraint]
) -> PerfectLimit | None:
    """The limit, where imperfect factors or padding could save at least the share of cycles that
    `LEAST_GAIN` says; None where not, or where there are too many combinations.
    """
    slots = [
        (level, axis, architecture.fanout(level)["XY".index(axis)])
        for level in range(len(architecture.levels))
        for axis in "XY"
        if architecture.fanout(level)["XY".index(axis)] > 1
    ]
    if not slots:
        return None
    rules = [
        each
        for each in constraints
        if isinstance(each, FactorConstraint) and each.kind == "spatial"
    ]
    names = architecture.level_names
    every = {dim: list(_options(dim, problem, slots, names, rules)) for dim in problem.dims}
    rooms = tuple(room for *_, room in slots)
    whole = {
        dim: [each for each in options if problem.bounds[dim] % prod(each[0]) == 0]
        for dim, options in every.items()
    }
    perfect, imperfect = _fewest(whole, rooms), _fewest(every, rooms)
    if perfect is None or imperfect is None or perfect[0] < LEAST_GAIN * imperfect[0]:
        return None
    padded = {
        dim: steps * prod(bounds)
        for dim, (bounds, steps) in zip(problem.dims, imperfect[1], strict=True)
        if steps * prod(bounds) != problem.bounds[dim]
    }
    return PerfectLimit(perfect[0], imperfect[0], padded)


def _options(
    dim: str,
    problem: Problem,
    slots: list[tuple[int, str, int]],
    names: tuple[str, ...],
    rules: list[FactorConstraint],
) -> Iterable[Option]:
    """Bounds of the spatial loops over a dimension: one axis a level, as constraints allow."""
    size = problem.bounds[dim]
    for bounds in product(*(range(1, min(room, size) + 1) for *_, room in slots)):
        if prod(bounds[:-1]) >= size and bounds[-1] > 1:
            continue
        used: dict[int, list[int]] = {}
        for (level, *_), bound in zip(slots, bounds, strict=True):
            used.setdefault(level, []).append(bound)
        if any(sum(bound > 1 for bound in each) > 1 for each in used.values()):
            continue
        if all(
            HOLDS[rule.comparison](
                prod(used.get(names.index(rule.level), [1])),
                size if (rule.comparison, rule.value) == ("==", 0) else rule.value,
            )
            for rule in rules
            if rule.dim == dim
        ):
            yield bounds, -(-size // prod(bounds))


def _fewest(
    options: Mapping[str, list[Option]], rooms: tuple[int, ...]
) -> tuple[int, tuple[Option, ...]] | None:
    """The least product of steps of one option for each dimension that fit the rooms together."""
    states: dict[tuple[int, ...], tuple[int, tuple[Option, ...]]] = {rooms: (1, ())}
    for choices in options.values():
        best = _best(choices)
        if len(states) * len(best) > MOST_STEPS:
            return None
        grown: dict[tuple[int, ...], tuple[int, tuple[Option, ...]]] = {}
        for left, (steps, chosen) in states.items():
            for bounds, more in best:
                rest = tuple(room // bound for room, bound in zip(left, bounds, strict=True))
                if all(rest) and (rest not in grown or steps * more < grown[rest][0]):
                    grown[rest] = steps * more, (*chosen, (bounds, more))
        states = grown
    return min(states.values(), default=None)


def _best(choices: Sequence[Option]) -> list[Option]:
    """Without options that another one equals or beats in steps and in every bound; fewest steps
    first, then smallest products.
    """
    if not choices:
        return []
    rows = np.array([(steps, prod(bounds), *bounds) for bounds, steps in choices], dtype=np.int64)
    return [choices[position] for position in undominated_rows(rows)]

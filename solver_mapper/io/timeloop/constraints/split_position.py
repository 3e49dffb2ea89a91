"""Where a `split` falls in v0.4.

Timeloop's front end puts dimensions whose spatial factor is 1 in front of a permutation that does
not list them (`PermutationOptimizerProcessor`), and `split` counts them. With `permutation: [C, M],
split: 1` and R=1, C and M both lie along Y.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from solver_mapper.core.constraints import (
    HARDWARE,
    FactorConstraint,
    PermutationConstraint,
    SplitConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.io.timeloop.constraints.constraint_collector import ConstraintCollector
from solver_mapper.io.yaml.warnings import Notes


def count_unit_dims(
    levels: Collection[str], problem: Problem, collector: ConstraintCollector, notes: Notes
) -> None:
    """Give the permutations of those `levels` that have a split the dimensions that the front end
    puts in front of them.

    A warning says so where the meaning of the split changes with them.
    """
    for constraint in [
        constraint
        for constraint in collector.constraints
        if isinstance(constraint, SplitConstraint) and constraint.level in levels
    ]:
        found = [
            each
            for each in collector.constraints
            if isinstance(each, PermutationConstraint)
            and (each.level, each.kind) == (constraint.level, "spatial")
        ]
        written = (
            found[0]
            if found
            else PermutationConstraint(
                constraint.level,
                constraint.text,
                "spatial",
                (),
                location=constraint.location,
                origin=HARDWARE,
            )
        )
        front = _in_front(constraint.level, written, problem, collector)
        if len(found) > 1 or written.outer or written.gaps or not front:
            continue
        full = replace(
            written,
            inner=(*front, *written.inner),
            text=f"{written.text} (behind {', '.join(front)}, of factor 1)",
        )
        _note(constraint, written, front, problem, notes)
        if found:
            collector.constraints[collector.constraints.index(written)] = full
        else:
            collector.constraints.append(full)


def _in_front(
    level: str, written: PermutationConstraint, problem: Problem, collector: ConstraintCollector
) -> tuple[str, ...]:
    """The dimensions that the front end adds, innermost first: those of bound 1, then those with a
    factor of 1.
    """
    ones = [
        constraint.dim
        for constraint in collector.constraints
        if isinstance(constraint, FactorConstraint)
        and (constraint.level, constraint.kind) == (level, "spatial")
        and constraint.value == 1
    ]
    single = [dim for dim in problem.dims if problem.bounds[dim] == 1]
    added = dict.fromkeys(dim for dim in (*ones, *single) if dim not in written.inner)
    return tuple(reversed(added))


def _note(
    constraint: SplitConstraint,
    written: PermutationConstraint,
    front: tuple[str, ...],
    problem: Problem,
    notes: Notes,
) -> None:
    loops = [dim for dim in written.inner if problem.bounds[dim] > 1]
    rest = [
        dim
        for dim in problem.dims
        if dim not in (*written.inner, *front) and problem.bounds[dim] > 1
    ]
    before = [dim for dim in loops if written.inner.index(dim) < constraint.split]
    after = [dim for dim in loops if len(front) + written.inner.index(dim) < constraint.split]
    free_moves = (
        bool(rest)
        and (constraint.split > len(written.inner))
        and constraint.split < len(problem.dims)
    )
    if before == after and not free_moves:
        return
    moved = ", ".join(dim for dim in before if dim not in after) or ", ".join(rest)
    what = (
        f"'split: {constraint.split}' also counts {', '.join(front)}, of factor 1, which Timeloop's"
        f" front end puts in front of the permutation: {moved} can lie along Y only; write"
        f" 'split: {constraint.split + len(front)}' to count the listed ones"
    )
    notes.add("split-position", constraint.location, what)

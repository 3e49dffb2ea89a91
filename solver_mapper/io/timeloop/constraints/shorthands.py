"""Shorthands of Timeloop's front end (v0.4) for constraints, spelled out as factor and keep
constraints.
"""

from __future__ import annotations

from collections.abc import Iterable

from solver_mapper.core.constraints import Constraint, FactorConstraint, KeepConstraint, Kind
from solver_mapper.core.problem import Problem
from solver_mapper.errors import SourceLocation
from solver_mapper.io.timeloop.constraints.targets import read_tensors
from solver_mapper.io.timeloop.factor_grammar import Factor, read_factors
from solver_mapper.io.yaml.fields import Fields


def keep_constraints(fields: Fields, level: str, problem: Problem) -> list[Constraint]:
    """`keep_only`: these are kept, all others bypassed. `bypass_only`: the other way round."""
    constraints: list[Constraint] = []
    for key, keep in (("keep_only", True), ("bypass_only", False)):
        node = fields.node(key)
        if node is None:
            continue
        named = {tensor for tensor, _ in read_tensors(node, problem, f"'{key}' of {fields.what}")}
        for tensor in problem.tensor_names:
            kept = keep == (tensor in named)
            text = (
                f"{level}: {key} {', '.join(sorted(named)) or '[]'} ({'keep' if kept else 'bypass'}"
                f" {tensor})"
            )
            constraints.append(KeepConstraint(level, text, tensor, kept, location=node.location))
    return constraints


def factor_constraints(
    kind: Kind, fields: Fields, level: str, problem: Problem, factors: tuple[Factor, ...]
) -> list[Constraint]:
    """`factors_only`: these factors, and 1 for the others. `no_iteration_over_dataspaces`: 1 for
    the dimensions of these tensors. `must_iterate_over_dataspaces`: 1 for all dimensions but those
    of these tensors.
    """
    constraints: list[Constraint] = []
    node = fields.node("factors_only")
    if node is not None:
        only = read_factors(node, problem.bounds)
        constraints += [
            FactorConstraint(
                level,
                f"{level} {kind}: factors_only {factor}",
                kind,
                factor.dim,
                factor.comparison,
                factor.value,
                factor.last,
                location=factor.location,
            )
            for factor in only
        ]
        given = {factor.dim for factor in (*only, *factors)}
        constraints += _ones(
            "factors_only",
            [dim for dim in problem.dims if dim not in given],
            kind,
            level,
            node.location,
        )
    for key, inside in (
        ("no_iteration_over_dataspaces", True),
        ("must_iterate_over_dataspaces", False),
    ):
        node = fields.node(key)
        if node is not None:
            named = [
                tensor for tensor, _ in read_tensors(node, problem, f"'{key}' of {fields.what}")
            ]
            dims = frozenset().union(*(problem.tensor(tensor).dims for tensor in named))
            constraints += _ones(
                key,
                [dim for dim in problem.dims if (dim in dims) == inside],
                kind,
                level,
                node.location,
            )
    return constraints


def _ones(
    key: str, dims: Iterable[str], kind: Kind, level: str, location: SourceLocation
) -> list[Constraint]:
    return [
        FactorConstraint(
            level, f"{level} {kind}: {key} ({dim}=1)", kind, dim, "==", 1, location=location
        )
        for dim in dims
    ]

"""Shorthands of Timeloop's front end (v0.4) for constraints, spelled out as factor and keep rules."""

from __future__ import annotations

from collections.abc import Iterable

from solver_mapper.errors import Place
from solver_mapper.spec.constraints import FactorRule, KeepRule, Kind, Rule
from solver_mapper.spec.factors import Factor, read_factors
from solver_mapper.spec.fields import Fields
from solver_mapper.spec.problem import Problem
from solver_mapper.spec.targets import read_tensors


def keep_rules(fields: Fields, level: str, problem: Problem) -> list[Rule]:
    """`keep_only`: these are kept, all others bypassed. `bypass_only`: the other way round."""
    rules: list[Rule] = []
    for key, keep in (("keep_only", True), ("bypass_only", False)):
        node = fields.node(key)
        if node is None:
            continue
        named = {tensor for tensor, _ in read_tensors(node, problem, f"'{key}' of {fields.what}")}
        for tensor in problem.tensor_names:
            kept = keep == (tensor in named)
            text = f"{level}: {key} {', '.join(sorted(named)) or '[]'} ({'keep' if kept else 'bypass'} {tensor})"
            rules.append(KeepRule(level, text, tensor, kept, place=node.place))
    return rules


def factor_rules(kind: Kind, fields: Fields, level: str, problem: Problem, factors: tuple[Factor, ...]) -> list[Rule]:
    """`factors_only`: these factors, and 1 for the others. `no_iteration_over_dataspaces`: 1 for the dimensions of these
    tensors. `must_iterate_over_dataspaces`: 1 for all dimensions but those of these tensors.
    """
    rules: list[Rule] = []
    node = fields.node("factors_only")
    if node is not None:
        only = read_factors(node, problem.bounds)
        rules += [FactorRule(level, f"{level} {kind}: factors_only {factor}", kind, factor.dim, factor.comparison, factor.value,
                             factor.last, place=factor.place) for factor in only]
        given = {factor.dim for factor in (*only, *factors)}
        rules += _ones("factors_only", [dim for dim in problem.dims if dim not in given], kind, level, node.place)
    for key, inside in (("no_iteration_over_dataspaces", True), ("must_iterate_over_dataspaces", False)):
        node = fields.node(key)
        if node is not None:
            named = [tensor for tensor, _ in read_tensors(node, problem, f"'{key}' of {fields.what}")]
            dims = frozenset().union(*(problem.tensor(tensor).dims for tensor in named))
            rules += _ones(key, [dim for dim in problem.dims if (dim in dims) == inside], kind, level, node.place)
    return rules


def _ones(key: str, dims: Iterable[str], kind: Kind, level: str, place: Place) -> list[Rule]:
    return [FactorRule(level, f"{level} {kind}: {key} ({dim}=1)", kind, dim, "==", 1, place=place) for dim in dims]

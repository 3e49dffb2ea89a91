"""Ruling out what is known exactly by now: a candidate's decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.linear_form import highest


def decisions(compiled: CompiledSpace) -> list[cp_model.IntVar]:
    """The variables that tell mappings apart, up to orders that `variants.py` goes through."""
    patterns = [literal for level in compiled.variables.pattern for literal in level]
    return [*but_orders(compiled), *patterns]


def but_orders(compiled: CompiledSpace) -> list[cp_model.IntVar]:
    """The variables that tell mappings apart, up to the orders of their loops."""
    variables = compiled.variables
    return [*variables.power.values(), *variables.keep.values(), *variables.on_x.values()]


def forbid(
    model: cp_model.CpModel, variables: Sequence[cp_model.IntVar], values: Mapping[int, int]
) -> cp_model.Constraint:
    """At least one of `variables` must differ from its value, found by its index."""
    differs = []
    for variable in variables:
        value, low = values[variable.index], variable.proto.domain[0]
        for possible, bound in (
            (value > low, variable <= value - 1),
            (value < highest(variable), variable >= value + 1),
        ):
            if possible:
                literal = model.new_bool_var("")
                model.add(bound).only_enforce_if(literal)
                differs.append(literal)
    return model.add_bool_or(differs)

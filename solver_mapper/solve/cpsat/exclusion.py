"""Ruling out what is known exactly by now: a candidate's decisions, or a claim that holds for no
mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.linear_form import highest
from solver_mapper.solve.cpsat.networks.neighbour_forwarding import ForwardingClaim


def decisions(compiled: CompiledSpace) -> list[cp_model.IntVar]:
    """The variables that tell mappings apart, up to orders that `variants.py` goes through."""
    patterns = [literal for level in compiled.variables.pattern for literal in level]
    return [*but_orders(compiled), *patterns]


def but_orders(compiled: CompiledSpace) -> list[cp_model.IntVar]:
    """The variables that tell mappings apart, up to the orders of their loops."""
    variables = compiled.variables
    return [*variables.power.values(), *variables.keep.values(), *variables.on_x.values()]


def grounds(compiled: CompiledSpace, claim: ForwardingClaim) -> list[cp_model.IntVar]:
    """The decisions on which a claim of help rests.

    Who stands beside whom, and whether that helps a run, depends on the spatial loops there and on
    the tiles below alone; whether it helps from run to run, also on the other loops that move the
    window.
    """
    variables = compiled.variables
    shared = [
        v
        for (dim, _, slot), v in variables.power.items()
        if (slot.level == claim.child - 1 and slot.axis)
        or ((claim.between_runs or slot.level >= claim.child) and dim in claim.tensor.dims)
    ]
    orders = (
        [literal for level in variables.pattern for literal in level] if claim.between_runs else []
    )
    return [*shared, *orders]


def forbid(
    model: cp_model.CpModel, variables: Sequence[cp_model.IntVar], values: Mapping[int, int]
) -> cp_model.Constraint:
    """At least one of `variables` must differ from its value, found by its index."""
    differs = []
    for variable in variables:
        value, (low, high) = values[variable.index], (variable.proto.domain[0], highest(variable))
        for possible, bound in (
            (value > low, variable <= value - 1),
            (value < high, variable >= value + 1),
        ):
            if possible:
                literal = model.new_bool_var("")
                model.add(bound).only_enforce_if(literal)
                differs.append(literal)
    return model.add_bool_or(differs)

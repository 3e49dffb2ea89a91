"""Ruling out what is known exactly by now: a candidate's decisions, or a claim that holds for no
mapping.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ortools.sat.python import cp_model

from solver_mapper.mapspace.space import Slot
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

    Who stands beside whom, and whether that helps a run, depends on the spatial loops there, on the
    tiles below, and on the units further out that the run's steps skip; whether it helps from run
    to run, also on all loops outside, of which idle ones decide what starts over inside them.
    """
    variables, relevant = compiled.variables, claim.tensor.dims

    def counts(dim: str, slot: Slot) -> bool:
        if slot.level >= claim.child:
            return dim in relevant
        if slot.axis:
            return slot.level == claim.child - 1 or dim in relevant
        return claim.between_runs

    shared = [v for (dim, _, slot), v in variables.power.items() if counts(dim, slot)]
    orders = (
        [literal for level in variables.pattern for literal in level] if claim.between_runs else []
    )
    return [*shared, *orders]


def forbid(
    model: cp_model.CpModel, variables: Sequence[cp_model.IntVar], values: Mapping[int, int]
) -> cp_model.Constraint:
    """At least one of `variables` must differ from its value, found by its index."""
    alone = [([variable], values[variable.index]) for variable in variables]
    return model.add_bool_or(differing(model, alone))


def differing(
    model: cp_model.CpModel, sums: Iterable[tuple[Sequence[cp_model.IntVar], int]]
) -> list[cp_model.IntVar]:
    """Literals of which each implies that one of the sums of variables differs from its value."""
    differs = []
    for variables, value in sums:
        total = cp_model.LinearExpr.sum(variables)
        low = sum(variable.proto.domain[0] for variable in variables)
        for possible, bound in (
            (value > low, total <= value - 1),
            (value < sum(map(highest, variables)), total >= value + 1),
        ):
            if possible:
                literal = model.new_bool_var("")
                model.add(bound).only_enforce_if(literal)
                differs.append(literal)
    return differs


def refute(compiled: CompiledSpace, claim: ForwardingClaim, values: Mapping[int, int]) -> None:
    """Take back a claim of help that holds for no variant of a candidate, under the decisions that
    it rests on.
    """
    forbid(compiled.model, [claim.literal, *grounds(compiled, claim)], values)

"""Transfers between neighbouring compute units.

Compute units hold nothing, so each step asks for operands anew, but a neighbour that had the same
operand a step before passes it on (docs/explanation/model.md "Links"). In steps that leave a tensor
alone, the units that share its words through a multicast feed each other, and the level above sends
nothing. How many are served depends on which loop stands where on the mesh; the model grants that
all are, wherever units may share words: along loops that do not index the tensor, and over windows,
which may coincide.
"""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import shape_of
from solver_mapper.solve.cpsat.variables import Variables


def linked(variables: Variables, tensor: Tensor) -> cp_model.IntVar | None:
    """A literal that implies that units may share words of the tensor, so that its idle steps may
    cost nothing; None if they always cost.
    """
    space, level = variables.space, variables.space.depth - 1
    windows = [each.dims for each in shape_of(tensor, space.dims).components if each.sliding]
    sharing = [*space.irrelevant(tensor), *(dim for dims in windows for dim in dims)]
    spread = [
        power
        for (dim, _, slot), power in variables.power.items()
        if dim in sharing and slot.axis and slot.level == level
    ]
    if not spread or space.has_flag("no_link_transfer", tensor.name, level):
        return None
    literal = variables.model.new_bool_var(f"linked[{tensor.name}]")
    variables.model.add(literal <= cp_model.LinearExpr.sum(spread))
    return literal

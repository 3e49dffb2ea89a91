"""Transfers between neighbouring compute units.

Compute units hold nothing, so each step asks for operands anew, but a neighbour that had the same
operand a step before passes it on (docs/explanation/model.md "Links"). In steps that leave a tensor
alone, the units that share its words through a multicast feed each other, and the level above sends
nothing. `Links` gives each tensor a literal for that, which needs neighbours that share their
words: a spatial loop that does not index the tensor innermost along an axis, or one that slides its
windows, which may coincide. Where these do, or rows are partly filled, fewer may be served than the
model assumes: a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import shape_of
from solver_mapper.solve.cpsat.networks.neighbours import NeighbourLiterals
from solver_mapper.solve.cpsat.variables import Variables


@dataclass
class Links:
    """Link literals of the network above the compute units."""

    variables: Variables
    neighbours: NeighbourLiterals
    _linked: dict[str, cp_model.IntVar | None] = field(default_factory=dict)

    @property
    def level(self) -> int:
        """Index of the innermost level, whose network links the compute units."""
        return self.variables.space.depth - 1

    def linked(self, tensor: Tensor) -> cp_model.IntVar | None:
        """Implies that the tensor's idle steps may cost nothing; None if they always cost."""
        if tensor.name not in self._linked:
            self._linked[tensor.name] = self._build(tensor)
        return self._linked[tensor.name]

    def _build(self, tensor: Tensor) -> cp_model.IntVar | None:
        space, model = self.variables.space, self.variables.model
        irrelevant = [d for d in space.dims if d not in tensor.dims]
        sliding = [each for each in shape_of(tensor, space.dims).components if each.sliding]
        sharing = [*irrelevant, *(dim for component in sliding for dim in component.dims)]
        if (
            not self.neighbours.slots(self.level)
            or not sharing
            or space.has_flag("no_link_transfer", tensor.name, self.level)
        ):
            return None
        ways: list[cp_model.LinearExprT] = [
            literal for dim in irrelevant for literal in self.neighbours.inner(self.level, dim)
        ]
        ways += self.neighbours.anyone(self.level, sharing)
        slots, moving = self.neighbours.slots(self.level), sharing[len(irrelevant) :]
        ways += [self.neighbours.used(slot, dim) for slot in slots for dim in moving]
        literal = model.new_bool_var(f"linked[{tensor.name}]")
        model.add(literal <= cp_model.LinearExpr.sum(ways))
        return literal

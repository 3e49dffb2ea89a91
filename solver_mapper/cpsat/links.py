"""Transfers between neighbouring multipliers.

Multipliers hold nothing, so each step asks for operands anew, but a neighbour that had the same operand a step before passes it on
(reference 3.3). In steps that leave a tensor alone, the units that share its words through a multicast feed each other, and the
level above sends nothing. `Links` gives each tensor a literal for that, which needs a spatial loop that does not index it to be
innermost along X, or to lie along Y. How completely neighbours line up depends on the placement; the model takes the best, a lower
bound, and the search raises `unserved` for placements that it finds to be worse.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver_mapper.cpsat.variables import Variables
from solver_mapper.space.space import Slot
from solver_mapper.spec.problem import Tensor


@dataclass
class Links:
    """Link literals of the network above the multipliers."""

    variables: Variables
    _linked: dict[str, cp_model.IntVar | None] = field(default_factory=dict)
    _innermost: dict[tuple[str, str], cp_model.IntVar] = field(default_factory=dict)

    @property
    def level(self) -> int:
        return self.variables.space.depth - 1

    def linked(self, tensor: Tensor) -> cp_model.IntVar | None:
        """Implies that the tensor's idle steps may cost nothing; None if they always cost."""
        if tensor.name not in self._linked:
            self._linked[tensor.name] = self._build(tensor)
        return self._linked[tensor.name]

    def _build(self, tensor: Tensor) -> cp_model.IntVar | None:
        variables, space = self.variables, self.variables.space
        slots = [s for s in space.slots if s.level == self.level and s.axis]
        irrelevant = [d for d in space.dims if d not in tensor.dims]
        if not slots or not irrelevant or space.has_flag("no_link_transfer", tensor.name, self.level):
            return None
        ways: list[cp_model.IntVar] = []
        for slot in slots:
            if slot.axis == "X":
                ways += [self._inner(dim) for dim in irrelevant]
            else:
                ways += [variables.power[dim, prime, slot] for dim in irrelevant for prime, _ in space.primes[dim]]
        literal = variables.model.new_bool_var(f"linked[{tensor.name}]")
        variables.model.add(literal <= cp_model.LinearExpr.sum(ways))
        return literal

    def _inner(self, dim: str) -> cp_model.IntVar:
        """Implies that `dim` has the innermost spatial loop along X."""
        if not self._innermost:
            variables, space = self.variables, self.variables.space
            for each in space.dims:
                literal = variables.model.new_bool_var(f"innermost[{each}]")
                powers = [variables.power[each, prime, Slot(self.level, "X")] for prime, _ in space.primes[each]]
                variables.model.add(literal <= cp_model.LinearExpr.sum(powers))
                self._innermost[each, "X"] = literal
            variables.model.add_at_most_one(self._innermost.values())
        return self._innermost[dim, "X"]

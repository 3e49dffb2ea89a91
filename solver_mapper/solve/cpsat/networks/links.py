"""Transfers between neighbouring compute units.

Compute units hold nothing, so each step asks for operands anew, but a neighbour that had the same
operand a step before passes it on (docs/explanation/model.md "Links"). In steps that leave a tensor
alone, the units that share its words through a multicast feed each other, and the level above sends
nothing. `Links` gives each tensor a literal for that, which needs neighbours that share their
words: a spatial loop that does not index the tensor innermost along an axis, or windows that
coincide from one end of a loop to the next iteration of the loop outside it. Where windows
coincide, or rows are partly filled, fewer may be served than the model assumes: a lower bound,
which the search raises for plain tensors (`LinkClaim`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import shape_of
from solver_mapper.solve.cpsat.linear_form import LinearForm, counter, weigh
from solver_mapper.solve.cpsat.networks.neighbours import NeighbourLiterals
from solver_mapper.solve.cpsat.variables import Variables


@dataclass(frozen=True)
class LinkClaim:
    """Where `on` holds, compute units take all `spared` words of a plain tensor's idle steps from
    neighbours; `more` words than these may have to be sent, up to those `asked` for in all steps.
    """

    tensor: Tensor
    on: cp_model.IntVar
    sent: LinearForm
    asked: LinearForm
    more: cp_model.IntVar


@dataclass
class Links:
    """Link literals of the network above the compute units."""

    variables: Variables
    neighbours: NeighbourLiterals
    claims: dict[tuple[str, int, int], LinkClaim] = field(default_factory=dict)
    """By tensor, parent and literal."""
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

    def claim(
        self,
        tensor: Tensor,
        parent: int,
        on: cp_model.IntVar,
        sent: LinearForm,
        asked: Callable[[], LinearForm],
    ) -> LinearForm:
        """`sent`, the words of a plain tensor that go from `parent` to the compute units where `on`
        holds, and those more that the search finds to be needed on partly filled rows.
        """
        key = tensor.name, parent, on.index
        if len(self.neighbours.slots(self.level)) < 2:
            return sent
        if key not in self.claims:
            everything = asked()
            more = counter(self.variables.model, everything.highest(), "more")
            self.claims[key] = LinkClaim(tensor, on, sent, everything, more)
        return sent + weigh([self.claims[key].more], [1])

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
        ways = [literal for dim in irrelevant for literal in self.neighbours.inner(self.level, dim)]
        ways += self.neighbours.anyone(self.level, sharing)
        for component in sliding:
            for inner, outer in permutations(component.dims, 2):
                ways += self.neighbours.next(self.level, inner, outer)
        literal = model.new_bool_var(f"linked[{tensor.name}]")
        model.add(literal <= cp_model.LinearExpr.sum(ways))
        return literal

"""Which loops of a tensor stand innermost at a level, beyond what the order pattern says.

A pattern (`mapspace/order_patterns.py`) fixes a level's order as far as temporal reuse needs it and
leaves the rest open. Where windows come round to the same position, the order of the next loops
matters too: a *sequence* claims it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.variables import Variables


@dataclass(frozen=True)
class InnermostSequence:
    """A literal that says: of a level's loops over `relevant` dimensions, those over `dims` (as far
    as they exist) stand innermost.
    """

    relevant: frozenset[str]
    level: int
    dims: tuple[str, ...]
    literal: cp_model.IntVar


@dataclass
class Sequences:
    """Sequences, made when first needed."""

    variables: Variables
    found: dict[tuple[str, int, tuple[str, ...]], InnermostSequence] = field(default_factory=dict)
    _first: dict[tuple[str, int], dict[str, cp_model.IntVar]] = field(default_factory=dict)

    def begins(self, tensor: Tensor, level: int, dims: tuple[str, ...]) -> cp_model.IntVar:
        """Implies that of the level's loops that index `tensor`, those over `dims` stand innermost,
        in order; the first is there.
        """
        key = (tensor.name, level, dims)
        if key not in self.found:
            model = self.variables.model
            literal = model.new_bool_var(f"begins[{tensor.name},{level},{','.join(dims)}]")
            self.found[key] = InnermostSequence(tensor.dims, level, dims, literal)
            self._exclude_others(tensor, level, dims[0], literal)
            self._fit_patterns(tensor, level, dims, literal)
            self._fit_constraints(tensor, level, dims, literal)
            powers = [
                self.variables.power[dims[0], prime, Slot(level)]
                for prime, _ in self.variables.space.primes[dims[0]]
            ]
            model.add(literal <= cp_model.LinearExpr.sum(powers))
        return self.found[key].literal

    def _exclude_others(
        self, tensor: Tensor, level: int, dim: str, literal: cp_model.IntVar
    ) -> None:
        """Only one dimension is the first."""
        model, firsts = self.variables.model, self._first.setdefault((tensor.name, level), {})
        if dim not in firsts:
            firsts[dim] = model.new_bool_var(f"first[{tensor.name},{level},{dim}]")
            for other, known in firsts.items():
                if other != dim:
                    model.add_at_most_one([firsts[dim], known])
        model.add_implication(literal, firsts[dim])

    def _fit_patterns(
        self, tensor: Tensor, level: int, dims: tuple[str, ...], literal: cp_model.IntVar
    ) -> None:
        """Where a pattern begins with a loop that slides windows, and `dims` do not, that loop is
        not there.

        No more can be asked: a pattern also stands for orders that keep less than it
        (`mapspace/order_patterns.py`), and among these may be `dims`.
        """
        variables, sliding = self.variables, self.variables.space.sliding
        for chosen, pattern in zip(
            variables.pattern[level], variables.space.patterns[level], strict=True
        ):
            for first in {*pattern.order[:1]} & sliding & tensor.dims - {dims[0]}:
                self._absent(first, level, literal, chosen)

    def _fit_constraints(
        self, tensor: Tensor, level: int, dims: tuple[str, ...], literal: cp_model.IntVar
    ) -> None:
        space = self.variables.space
        for inner, outer in sorted(space.temporal_orders.get(level, ())):
            if (
                outer in dims
                and inner in tensor.dims
                and inner in space.dims
                and inner not in dims[: dims.index(outer)]
            ):
                self._absent(inner, level, literal)

    def _absent(self, dim: str, level: int, *conditions: cp_model.IntVar) -> None:
        for prime, _ in self.variables.space.primes[dim]:
            self.variables.model.add(
                self.variables.power[dim, prime, Slot(level)] == 0
            ).only_enforce_if(*conditions)

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
from solver_mapper.solve.cpsat.reuse import Reuse
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
    _complete: dict[tuple[str, int, tuple[str, ...]], cp_model.IntVar] = field(default_factory=dict)

    def complete(self, tensor: Tensor, level: int, dims: tuple[str, ...]) -> cp_model.IntVar:
        """Implies that of the level's loops that index `tensor`, those over `dims` stand innermost,
        in order; all are there.
        """
        key = (tensor.name, level, dims)
        if key not in self._complete:
            model = self.variables.model
            literal = self._complete[key] = model.new_bool_var(f"complete[{','.join(dims)}]")
            model.add_implication(literal, self.begins(tensor, level, dims))
            for dim in dims:
                self._present(dim, level, literal)
        return self._complete[key]

    def limit_reuse(self, reuse: Reuse) -> None:
        """What a sequence's tensor has besides it stands outside the sequence: such loops are
        spared for no tensor that a loop of the sequence indexes.

        Patterns alone allow that: they also stand for orders that keep less than they do.
        """
        for key, each in self.found.items():
            first, *others = each.dims
            reuse.stop(each.level, each.relevant - {first}, first, each.literal)
            for number, dim in enumerate(others, 1):
                if key in self._complete:
                    outside = each.relevant - {*each.dims[: number + 1]}
                    reuse.stop(each.level, outside, dim, self._complete[key])

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
            self._present(dims[0], level, literal)
        return self.found[key].literal

    def _present(self, dim: str, level: int, literal: cp_model.IntVar) -> None:
        powers = [
            self.variables.power[dim, prime, Slot(level)]
            for prime, _ in self.variables.space.primes[dim]
        ]
        self.variables.model.add(literal <= cp_model.LinearExpr.sum(powers))

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

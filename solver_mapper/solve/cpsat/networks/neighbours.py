"""Who stands beside whom: literals on the order of spatial loops.

The units below a level are numbered by its spatial loops, innermost first, and fill the physical
grid row by row (docs/reference/conventions.md "Conventions about counts"). Where rows are full, or
there is but one, neighbours along an axis mostly differ by one iteration of the axis' innermost
loop. Where rows are only partly filled, any two units may be neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.selection import value_of
from solver_mapper.solve.cpsat.variables import Variables, highest


@dataclass
class NeighbourLiterals:
    """Literals on spatial orders, made when first needed. Each implies what its name says."""

    variables: Variables
    _inner: dict[Slot, dict[str, cp_model.IntVar]] = field(default_factory=dict)
    _rows: dict[tuple[int, str], cp_model.IntVar] = field(default_factory=dict)
    _partial: dict[int, cp_model.IntVar] = field(default_factory=dict)

    def slots(self, level: int) -> list[Slot]:
        """The axes of the level's mesh."""
        return [slot for slot in self.variables.space.slots if slot.level == level and slot.axis]

    def spreads(self, dim: str, level: int) -> bool:
        """Whether the level's spatial loops may run over `dim`."""
        space = self.variables.space
        return any(
            highest(space, dim, prime, slot)
            for slot in self.slots(level)
            for prime, _ in space.primes[dim]
        )

    def inner(self, level: int, dim: str) -> list[cp_model.IntVar]:
        """For each axis, a literal that `dim` has the innermost loop there (and that rows are full,
        along Y).
        """
        return [self.innermost(slot)[dim] for slot in self.slots(level)]

    def innermost(self, slot: Slot) -> dict[str, cp_model.IntVar]:
        """By dimension, the literal that its loop is the innermost at `slot`; at most one holds."""
        if slot not in self._inner:
            variables = self.variables
            model, dims = variables.model, variables.space.dims
            self._inner[slot] = {
                dim: model.new_bool_var(f"inner[{slot.level}{slot.axis},{dim}]") for dim in dims
            }
            model.add_at_most_one(self._inner[slot].values())
            for dim, literal in self._inner[slot].items():
                model.add(literal <= self.used(slot, dim))
                self._outside(slot, dim, literal)
                if slot.axis == "Y":
                    model.add_implication(literal, self.full(slot.level))
        return self._inner[slot]

    def claimed(self, level: int, read: Callable[[cp_model.IntVar], int]) -> tuple[str, ...]:
        """Dimensions that are claimed to stand innermost on the level's axes."""
        return tuple(
            dim
            for slot in self.slots(level)
            for dim, literal in self._inner.get(slot, {}).items()
            if read(literal)
        )

    def used(self, slot: Slot, dim: str) -> cp_model.LinearExprT:
        """At least 1 if `dim` has a loop at the slot."""
        return cp_model.LinearExpr.sum(
            [
                self.variables.power[dim, prime, slot]
                for prime, _ in self.variables.space.primes[dim]
            ]
        )

    def _outside(self, slot: Slot, dim: str, literal: cp_model.IntVar) -> None:
        """Loops that the constraints want inside `dim` are absent."""
        space, model = self.variables.space, self.variables.model
        for first, second in sorted(space.spatial_orders.get(slot.level, ())):
            if second == dim and first in space.dims:
                for prime, _ in space.primes[first]:
                    power = self.variables.power[first, prime, slot]
                    model.add(power == 0).only_enforce_if(literal)

    def full(self, level: int) -> cp_model.IntVar:
        """The loops along X fill whole rows."""
        return self._where(level, "full", lambda used, width: used == width)

    def _where(self, level: int, name: str, holds: Callable[[int, int], bool]) -> cp_model.IntVar:
        """A literal for a relation between the units in use along X and the width of the mesh."""
        if (level, name) not in self._rows:
            variables, space = self.variables, self.variables.space
            axes = variables.axes(
                variables.loop_slots(
                    space.dims, [Slot(level, "X")] if Slot(level, "X") in space.slots else []
                )
            )
            width = space.architecture.fanout(level)[0]
            selection = variables.tables.select(
                axes, None, lambda p: value_of(axes, p) <= width, name=("fanout", Slot(level, "X"))
            )
            chosen = [
                lit
                for lit, p in zip(selection.literals, selection.points, strict=True)
                if holds(value_of(axes, p), width)
            ]
            self._rows[level, name] = variables.model.new_bool_var(f"{name}[{level}]")
            variables.model.add(self._rows[level, name] == cp_model.LinearExpr.sum(chosen))
        return self._rows[level, name]

    def partial(self, level: int) -> cp_model.IntVar:
        """Several rows are in use, and not full."""
        if level not in self._partial:
            variables = self.variables
            literal = self._partial[level] = variables.model.new_bool_var(f"partial[{level}]")
            rows = [v for (_, _, slot), v in variables.power.items() if slot == Slot(level, "Y")]
            variables.model.add(literal <= cp_model.LinearExpr.sum(rows))
            variables.model.add_implication(literal, ~self.full(level))
        return self._partial[level]

    def anyone(self, level: int, dims: Sequence[str]) -> list[cp_model.IntVar]:
        """A literal that rows are partly filled, so that any two units may be neighbours, and that
        a loop over one of `dims` tells them apart; none if there is but one row.
        """
        if len({slot.axis for slot in self.slots(level)}) < 2:
            return []
        literal = self.variables.model.new_bool_var(f"anyone[{level},{','.join(dims)}]")
        self.variables.model.add_implication(literal, self.partial(level))
        self.variables.model.add(
            literal
            <= cp_model.LinearExpr.sum(
                [self.used(slot, d) for slot in self.slots(level) for d in dims]
            )
        )
        return [literal]

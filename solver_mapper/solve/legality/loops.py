"""Loop bounds as prime exponents, and the products of loop bounds that constraints are about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from ortools.sat.python import cp_model

from solver_mapper.core.constraints import Kind
from solver_mapper.mapspace.space import Slot

LoopSlot = tuple[str, Slot]
"""A dimension's loops at one slot."""


@dataclass(frozen=True)
class RequirementTable:
    """Exactly one of `literals` holds, the one for the value that a quantity has."""

    values: tuple[int, ...]
    literals: tuple[cp_model.IntVar, ...]

    @property
    def expr(self) -> cp_model.LinearExprT:
        """The value as a linear expression."""
        return cp_model.LinearExpr.weighted_sum(list(self.literals), list(self.values))

    def read(self, read: Callable[[cp_model.IntVar], int]) -> int:
        """The value in a solution."""
        return next(
            value
            for value, literal in zip(self.values, self.literals, strict=True)
            if read(literal)
        )

    def distance(self, wanted: int) -> cp_model.LinearExprT:
        """Twice how far the value is from `wanted`, and one more below it."""
        return cp_model.LinearExpr.weighted_sum(
            list(self.literals), [2 * abs(v - wanted) + (v < wanted) for v in self.values]
        )

    def where(self, condition: Callable[[int], bool]) -> list[cp_model.IntVar]:
        """Literals of the values that satisfy a condition."""
        return [
            literal
            for value, literal in zip(self.values, self.literals, strict=True)
            if condition(value)
        ]


@dataclass
class Loops:
    """`power[dim, prime, slot]` is the exponent of `prime` in the bound of `dim` at `slot`, at most
    `limits[dim][prime]`, which is also the most of all slots together.
    """

    model: cp_model.CpModel
    slots: tuple[Slot, ...]
    limits: Mapping[str, Mapping[int, int]]
    power: dict[tuple[str, int, Slot], cp_model.IntVar] = field(default_factory=dict)
    _tables: dict[
        tuple[frozenset[LoopSlot], ...], tuple[list[tuple[int, ...]], list[cp_model.IntVar]]
    ] = field(default_factory=dict)
    _used: dict[LoopSlot, cp_model.IntVar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for dim, primes in self.limits.items():
            for prime, limit in primes.items():
                for slot in self.slots:
                    name = f"power[{dim},{prime},{slot.level}{slot.axis or 'T'}]"
                    self.power[dim, prime, slot] = self.model.new_int_var(0, limit, name)
                self.model.add(self.total(dim, prime) <= limit)

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions with loops."""
        return tuple(self.limits)

    def hint_outermost(self) -> None:
        """Have the solver begin with all loops as temporal ones of the outermost level."""
        outermost = min((slot for slot in self.slots if not slot.axis), key=lambda slot: slot.level)
        for (dim, prime, slot), exponent in self.power.items():
            limit = self.limits[dim][prime]
            self.model.add_hint(exponent, limit if slot == outermost else 0)

    def total(self, dim: str, prime: int) -> cp_model.LinearExprT:
        """The exponent of `prime` in the product of all loops over `dim`."""
        return cp_model.LinearExpr.sum([self.power[dim, prime, slot] for slot in self.slots])

    def at(self, level: int, kind: Kind) -> tuple[Slot, ...]:
        """The slots of a level for temporal or for spatial loops."""
        return tuple(
            slot
            for slot in self.slots
            if slot.level == level and (slot.axis == "") == (kind == "temporal")
        )

    def inside(self, level: int) -> tuple[Slot, ...]:
        """The slots whose loops make up the tile of `level`."""
        return tuple(slot for slot in self.slots if slot.level >= level)

    def loop_slots(self, dims: Iterable[str], slots: Iterable[Slot]) -> frozenset[LoopSlot]:
        """All pairs of a dimension and a slot."""
        chosen = tuple(slots)
        return frozenset((dim, slot) for dim in dims if dim in self.limits for slot in chosen)

    def value(self, loop_slots: frozenset[LoopSlot]) -> RequirementTable:
        """The product of all loop bounds at `loop_slots`."""
        points, literals = self._table((loop_slots,))
        return RequirementTable(tuple(point[0] for point in points), tuple(literals))

    def joint(
        self, groups: tuple[frozenset[LoopSlot], ...], value: Callable[[tuple[int, ...]], int]
    ) -> RequirementTable:
        """A function of several such products."""
        points, literals = self._table(groups)
        return RequirementTable(tuple(value(point) for point in points), tuple(literals))

    def used(self, dim: str, slot: Slot) -> cp_model.IntVar:
        """The literal "there is a loop over `dim` at `slot`"."""
        key = (dim, slot)
        if key not in self._used:
            literal = self._used[key] = self.model.new_bool_var(
                f"used[{dim},{slot.level}{slot.axis or 'T'}]"
            )
            powers = cp_model.LinearExpr.sum(
                [self.power[dim, prime, slot] for prime in self.limits[dim]]
            )
            self.model.add(powers >= 1).only_enforce_if(literal)
            self.model.add(powers == 0).only_enforce_if(~literal)
        return self._used[key]

    def _table(
        self, groups: tuple[frozenset[LoopSlot], ...]
    ) -> tuple[list[tuple[int, ...]], list[cp_model.IntVar]]:
        """For each combination of values of the groups' products, in order, the literal that holds
        where they have it.
        """
        if groups not in self._tables:
            axes = [self._axes(group) for group in groups]
            choices = [list(product(*(range(limit + 1) for _, _, limit in each))) for each in axes]
            combined = list(product(*choices))
            literals = [self.model.new_bool_var("") for _ in combined]
            self.model.add_exactly_one(literals)
            for number, each in enumerate(axes):
                for position, (_, expr, _) in enumerate(each):
                    weights = [powers[number][position] for powers in combined]
                    self.model.add(cp_model.LinearExpr.weighted_sum(literals, weights) == expr)
            points = [
                tuple(
                    math.prod(
                        prime**power
                        for (prime, _, _), power in zip(axes[number], powers[number], strict=True)
                    )
                    for number in range(len(groups))
                )
                for powers in combined
            ]
            self._tables[groups] = points, literals
        return self._tables[groups]

    def _axes(self, loop_slots: frozenset[LoopSlot]) -> list[tuple[int, cp_model.LinearExprT, int]]:
        """(prime, its exponent in the product of loops at `loop_slots`, the most it can be)."""
        dims = sorted({dim for dim, _ in loop_slots})
        primes = sorted({prime for dim in dims for prime in self.limits[dim]})
        axes: list[tuple[int, cp_model.LinearExprT, int]] = []
        for prime in primes:
            powers = [
                self.power[dim, prime, slot]
                for dim, slot in sorted(loop_slots)
                if prime in self.limits[dim]
            ]
            axes.append(
                (
                    prime,
                    cp_model.LinearExpr.sum(powers),
                    sum(self.limits[dim].get(prime, 0) for dim in dims),
                )
            )
        return axes

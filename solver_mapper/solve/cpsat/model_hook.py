"""The compiled model as a user's own code sees it: variables by the names of the problem and the
architecture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from ortools.sat.python import cp_model

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.problem import Problem
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.selection import LookupTable, value_of

Where = Literal["temporal", "X", "Y"]
Loops = tuple[str, str, Where]
"""(dimension, level, where): the loop over a dimension among the temporal loops of a level, or its
spatial ones along an axis.
"""


@dataclass(frozen=True)
class Model:
    """What a model hook is handed before the search begins. Constraints that it adds to `cp` hold
    for every answer.

    Mappings of perfect factors only; dimensions of bound 1 have no variables, and neither have axes
    along which a level has one unit.
    """

    compiled: CompiledSpace

    @property
    def cp(self) -> cp_model.CpModel:
        """The CP-SAT model."""
        return self.compiled.model

    @property
    def architecture(self) -> Architecture:
        """The architecture that is mapped onto."""
        return self.compiled.variables.space.architecture

    @property
    def problem(self) -> Problem:
        """The problem that is mapped."""
        return self.compiled.variables.space.problem

    @cached_property
    def power(self) -> Mapping[tuple[str, int, str, Where], cp_model.IntVar]:
        """`power[dim, prime, level, where]`: the exponent of `prime` in a loop's bound. In the
        model: `power[C,2,0T]`, with the number of the level from the outside and T, X or Y.
        """
        names = self.architecture.level_names
        return {
            (dim, prime, names[slot.level], _where(slot)): variable
            for (dim, prime, slot), variable in self.compiled.variables.power.items()
        }

    @cached_property
    def keep(self) -> Mapping[tuple[str, str], cp_model.IntVar]:
        """`keep[tensor, level]`: 1 if the level holds the tensor. In the model: `keep[W,1]`."""
        names = self.architecture.level_names
        return {
            (tensor, names[level]): variable
            for (tensor, level), variable in self.compiled.variables.keep.items()
        }

    @cached_property
    def order(self) -> Mapping[str, tuple[tuple[tuple[str, ...], cp_model.IntVar], ...]]:
        """`order[level]`: the classes of temporal orders, each with its literal, exactly one of
        which holds. A class is named by its innermost dimensions, innermost first, as far as they
        matter: orders that cost the same share one, and orders that another one improves upon are
        left out. In the model: `pattern[1,0]`.
        """
        space = self.compiled.variables.space
        return {
            name: tuple(
                (pattern.order, literal)
                for pattern, literal in zip(
                    space.patterns[level], self.compiled.variables.pattern[level], strict=True
                )
            )
            for level, name in enumerate(self.architecture.level_names)
        }

    @property
    def cycles(self) -> cp_model.IntVar:
        """At least the cycles that the mapping takes. In the model: `cycles`."""
        return self.compiled.cycles

    @property
    def energy_pj(self) -> tuple[cp_model.LinearExprT, Fraction]:
        """(expression, scale): the expression over the scale is the energy in pJ, or a lower bound
        of it.
        """
        scale = self.compiled.energy.scale()
        expression, constant = self.compiled.energy.whole(scale)
        return expression + constant, scale

    def bound(self, dim: str, level: str, where: Where = "temporal") -> cp_model.LinearExprT:
        """The bound of one loop, 1 if there is none."""
        return self.product([(dim, level, where)])

    def product(self, loops: Iterable[Loops]) -> cp_model.LinearExprT:
        """The product of the bounds of several loops.

        Raises: KeyError for names that the problem or the architecture do not have.
        """
        variables = self.compiled.variables
        chosen: list[tuple[str, Slot]] = []
        for dim, level, where in loops:
            if (
                dim not in self.problem.dims
                or level not in self.architecture.level_names
                or where not in ("temporal", "X", "Y")
            ):
                raise KeyError((dim, level, where))
            slot = Slot(self.architecture.index(level), "" if where == "temporal" else where)
            if dim in variables.space.dims and slot in variables.space.slots:
                chosen.append((dim, slot))
        axes = variables.axes(frozenset(chosen))
        if not axes:
            return 1
        selection = variables.tables.select(axes, None, None, name="product")
        return LookupTable(
            selection, tuple(value_of(axes, point) for point in selection.points)
        ).expr


Hook = Callable[[Model], None]


def _where(slot: Slot) -> Where:
    return "temporal" if slot.axis == "" else "X" if slot.axis == "X" else "Y"

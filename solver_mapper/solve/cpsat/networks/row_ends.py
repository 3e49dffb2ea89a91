"""Rows that end between neighbours: what units along X cannot pass on where rows are only partly
filled.

Units are numbered by their loops, innermost along X first, and fill the grid row by row
(docs/explanation/model.md "Links"). A chain of neighbours along X therefore breaks where a row of
the grid ends inside it, and the unit behind the end asks the parent. How often that happens depends
on the chain's length and on the number of units alone. It is counted where each unit holds a window
of its own, so that no other neighbour has what it needs, and where no mesh further out makes
Timeloop spread the words that are passed on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.linear_form import LinearForm, total, weigh
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import LookupTable, ProductFactor, Tuple, value_of
from solver_mapper.solve.cpsat.sliding_windows.windows import Windows
from solver_mapper.solve.cpsat.variables import Variables, slots_where


def row_ends(length: int, units: int, width: int) -> int:
    """Ends of rows of `width` inside chains of `length` that follow each other, `units` in all."""
    return sum(1 for end in range(width, units, width) if end % length)


@dataclass(frozen=True)
class RowEnds:
    """The words of one tensor that the parent right above `child` sends because of such ends, and
    neighbours do not.
    """

    variables: Variables
    reuse: Reuse
    windows: Windows
    tensor: Tensor
    child: int

    def words(self, on: cp_model.IntVar | None) -> LinearForm:
        """In all; 0 where `on` does not hold."""
        if not self._partly():
            return LinearForm()
        told = self._told(on)
        terms = []
        for component in shape_of(self.tensor, self.variables.space.dims).components:
            for dim in component.dims:
                handed = self.windows.handed(self.tensor, component, self.child, dim)
                if handed is not None:
                    factors = [
                        self._ends(dim, told),
                        handed,
                        self._plain(),
                        *self._still(component),
                    ]
                    terms.append(
                        weigh([self.variables.tables.product(factors, positive=False)], [1])
                    )
        return total(terms)

    def _partly(self) -> bool:
        """Whether there are rows that may be partly filled, and no mesh further out."""
        slots = [
            slot for slot in self.variables.space.slots if slot.axis and slot.level < self.child
        ]
        return {Slot(self.child - 1, "X"), Slot(self.child - 1, "Y")} == set(slots)

    def _told(self, on: cp_model.IntVar | None) -> cp_model.IntVar:
        """Holds where `on` does and no loop over the mesh leaves the tensor alone."""
        model, space = self.variables.model, self.variables.space
        told = model.new_bool_var(f"told[{self.tensor.name},{self.child}]")
        idle = [
            self.variables.power[dim, prime, slot]
            for dim in sorted(space.irrelevant(self.tensor))
            for prime, _ in space.primes[dim]
            for slot in self._mesh()
        ]
        model.add(told + cp_model.LinearExpr.sum(idle) >= (1 if on is None else on))
        if on is not None:
            model.add_implication(told, on)
        return told

    def _mesh(self) -> list[Slot]:
        return slots_where(
            self.variables.space, temporal=False, below=self.child - 1, above=self.child
        )

    def _ends(self, dim: str, told: cp_model.IntVar) -> ProductFactor:
        """Ends of rows inside chains over `dim`."""
        space, variables = self.variables.space, self.variables
        width, height = space.architecture.fanout(self.child - 1)
        chain = variables.axes(variables.loop_slots([dim], [Slot(self.child - 1, "X")]))
        units = variables.axes(variables.loop_slots(space.dims, self._mesh()))

        def possible(point: Tuple) -> bool:
            used = value_of(units, point[len(chain) :])
            return used <= width * height and used % value_of(chain, point[: len(chain)]) == 0

        selection = variables.tables.select(
            [*chain, *units], told, possible, ("ends", self.child, dim)
        )
        ends = [
            row_ends(value_of(chain, p[: len(chain)]), value_of(units, p[len(chain) :]), width)
            for p in selection.points
        ]
        return variables.tables.factor(LookupTable(selection, tuple(ends)))

    def _plain(self) -> ProductFactor:
        """Words that plain dimensions and fetches make of each that one unit takes."""
        variables, space = self.variables, self.variables.space
        plain = shape_of(self.tensor, space.dims).plain
        moving = self.reuse.refetch_axes(self.tensor, self.child)
        spread = variables.axes(variables.loop_slots(plain, self._mesh()))
        words = math.prod(space.problem.bounds[dim] for dim in plain)
        selection = variables.tables.select(
            [*moving, *spread],
            None,
            lambda p: words % value_of(spread, p[len(moving) :]) == 0,
            ("one unit", self.tensor.name),
        )
        return variables.tables.factor(
            LookupTable(
                selection,
                tuple(
                    words * value_of(moving, p[: len(moving)]) // value_of(spread, p[len(moving) :])
                    for p in selection.points
                ),
            )
        )

    def _still(self, moving: RankComponent) -> list[ProductFactor]:
        """Words of the other components, as one unit takes them."""
        components = shape_of(self.tensor, self.variables.space.dims).components
        return [
            self.windows.alone(self.tensor, each, self.child)
            for each in components
            if each != moving
        ]

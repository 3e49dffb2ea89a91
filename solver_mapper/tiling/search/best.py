"""Step 2, the answer: tile shapes that fill the scratchpads best, found and proven by CP-SAT."""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver_mapper.errors import ExactnessError, InputError, LimitReached
from solver_mapper.solve.cpsat.engine import Read
from solver_mapper.tiling.search.candidates import Candidates, Extent, TileForm, TileShapes
from solver_mapper.tiling.search.solver import Expr, Limits, product, solve
from solver_mapper.tiling.tensors import padded


def best_choice(candidates: Candidates, limits: Limits) -> TileShapes:
    """The candidate of the largest total, the first in order of enumeration among equals.

    Both aims are one integer objective, `total * positions - position`, where a candidate's
    position in the order of enumeration is the mixed-radix number of its steps along the axes.

    Raises: DoesNotFit if no candidate fits, LimitReached, ExactnessError if plain arithmetic
    disagrees with the solver, InputError for more candidates than the solver's integers can number.
    """
    candidates.require_one()
    compiled = _Model(candidates)
    answer = solve(compiled.model, limits, compiled.read)
    if not answer.optimal:
        raise LimitReached("the time limit was reached before the fullest tiles were proven")
    values, claimed = answer.solution
    choice = candidates.choice(values)
    if not candidates.fits(values) or choice.total != claimed:
        raise ExactnessError(
            f"the solver claims tiles of {claimed} elements in all, they have {choice.total}:"
            f" {choice.tiles}"
        )
    return choice


class _Model:
    """`steps[axis]` counts steps from the first extent; `total` is the storage of all tiles."""

    def __init__(self, candidates: Candidates):
        self.model = cp_model.CpModel()
        self.candidates = candidates
        self.axes = {axis.name: axis for axis in candidates.axes}
        self.steps = {
            axis.name: self.model.new_int_var(0, len(axis.values) - 1, axis.name)
            for axis in candidates.axes
        }
        self.total: Expr = 0
        for capacity, forms in candidates.groups:
            shared: Expr = sum((self.storage(form, capacity) for form in forms), start=0)
            self.model.add(shared <= capacity)
            self.total = self.total + shared
        self.claimed = self.model.new_int_var(
            0, sum(capacity for capacity, _ in candidates.groups), "total"
        )
        self.model.add(self.claimed == self.total)
        position, positions = self.position()
        if positions * sum(capacity for capacity, _ in candidates.groups) >= 1 << 62:
            raise InputError(
                f"{candidates.operator}: too many tile shapes to choose from ({positions})"
            )
        self.model.maximize(self.claimed * positions - position)

    def read(self, value: Read) -> tuple[dict[str, int], int]:
        """Extents along the axes in a solution, and the total that it claims."""
        steps = {name: value(variable) for name, variable in self.steps.items()}
        return {name: axis.values[steps[name]] for name, axis in self.axes.items()}, value(
            self.claimed
        )

    def position(self) -> tuple[Expr, int]:
        """The candidate's position in the order of enumeration, and how many there are."""
        number: Expr = 0
        radix = 1
        for axis in reversed(self.candidates.axes):
            number = number + self.steps[axis.name] * radix
            radix *= len(axis.values)
        return number, radix

    def storage(self, form: TileForm, capacity: int) -> Expr:
        """The elements that a tile occupies, at most `capacity`."""
        *outer, last = (self.extent(each) for each in form.extents)
        return product(self.model, [*outer, self.stored(last, form)], capacity)

    def extent(self, extent: Extent) -> Expr:
        if extent.axis is None:
            return extent.plus
        axis = self.axes[extent.axis]
        grown = self.steps[axis.name] * axis.step + axis.first + extent.offset
        return (
            self.divided(
                grown, extent.divisor, extent.at({axis.name: axis.values[-1]}) - extent.plus
            )
            + extent.plus
        )

    def divided(self, numerator: Expr, divisor: int, most: int) -> Expr:
        """A quotient, rounded towards zero as in C."""
        if divisor == 1:
            return numerator
        quotient = self.model.new_int_var(min(0, most), max(0, most), "")
        self.model.add_division_equality(quotient, numerator, divisor)
        return quotient

    def stored(self, last: Expr, form: TileForm) -> Expr:
        """The last rank's extent with its padding."""
        alignment = self.candidates.backend.alignment
        if form.padding is not None:
            return last + form.padding
        if isinstance(last, int):
            return padded(last, alignment)
        if alignment <= 1:
            return last
        longest = form.extents[-1].at({name: axis.values[-1] for name, axis in self.axes.items()})
        return (
            self.divided(last + (alignment - 1), alignment, padded(longest, alignment) // alignment)
            * alignment
        )

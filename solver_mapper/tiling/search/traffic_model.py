"""The traffic objective as a CP-SAT model: which split of each loop and which plan move the fewest
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver_mapper.errors import ExactnessError, LimitReached
from solver_mapper.solve.cpsat.engine import Read
from solver_mapper.tiling.search.solver import Expr, Limits, product, solve
from solver_mapper.tiling.search.space import TilingPoint, TilingSpace
from solver_mapper.tiling.tensors import Tensor


@dataclass(frozen=True)
class LeastTraffic:
    """A choice, and the elements that no choice moves fewer than."""

    point: TilingPoint
    bound: int


def prove(space: TilingSpace, floor: int, start: TilingPoint, limits: Limits) -> LeastTraffic:
    """The best choice and the proven bound of its traffic. If a limit stops the solver at once:
    `start` and `floor`.

    Args: `floor`, elements that every tiling moves; `start`, a choice that fits.
    Raises: ExactnessError.
    """
    model = TrafficModel(space, floor, space.traffic(start))
    model.hint(start)
    try:
        answer = solve(model.model, limits, model.point)
    except LimitReached:
        return LeastTraffic(start, floor)
    point = answer.solution
    if space.traffic(point) != answer.objective or not space.fits(point):
        raise ExactnessError(
            f"{space.operator.name}: the solver claims {answer.objective} elements, "
            f"its choice moves {space.traffic(point)}"
        )
    if answer.floor > space.traffic(start):
        raise ExactnessError(
            f"{space.operator.name}: the solver proves that {answer.floor} elements move, "
            f"a choice is known that moves {space.traffic(start)}"
        )
    return LeastTraffic(point, answer.floor)


class TrafficModel:
    """One literal per split of each loop, one per plan, and exact products of what they choose.

    `floor` and `ceiling` are known limits of the least traffic; the model has a solution between
    them.
    """

    def __init__(self, space: TilingSpace, floor: int, ceiling: int):
        self.space, self.ceiling = space, ceiling
        self.model = cp_model.CpModel()
        self.splits = {
            loop: [self.model.new_bool_var(f"{loop} {split.trips}") for split in ways]
            for loop, ways in space.ways.items()
        }
        for literals in self.splits.values():
            self.model.add_exactly_one(literals)
        self.plans = [
            self.model.new_bool_var("plan " + "".join(plan.order)) for plan in space.plans
        ]
        self.model.add_exactly_one(self.plans)
        for loop in space.ways:
            iterates = self.any_plan([loop in plan.order for plan in space.plans])
            self.model.add_implication(~iterates, self.splits[loop][space.whole(loop)])
        resident = [
            self.tensor(position, tensor) for position, tensor in enumerate(space.operator.tensors)
        ]
        for _, elements, held in space.groups:
            room: Expr = sum((resident[position][0] for position in held), start=0)
            self.model.add(room <= elements)
        self.traffic: Expr = sum((moved for _, moved in resident), start=0)
        self.model.add(self.traffic >= floor)
        self.model.add(self.traffic <= ceiling)
        self.model.minimize(self.traffic)

    def hint(self, point: TilingPoint) -> None:
        """Start from a choice."""
        for loop, literals in self.splits.items():
            for position, literal in enumerate(literals):
                self.model.add_hint(literal, position == point.chosen[loop])
        for plan, literal in zip(self.space.plans, self.plans, strict=True):
            self.model.add_hint(literal, plan == point.plan)

    def point(self, value: Read) -> TilingPoint:
        """The choice in a solution."""
        plan = next(
            plan
            for plan, literal in zip(self.space.plans, self.plans, strict=True)
            if value(literal)
        )
        return TilingPoint(
            plan,
            {
                loop: next(position for position, literal in enumerate(literals) if value(literal))
                for loop, literals in self.splits.items()
            },
        )

    def any_plan(self, holds: Sequence[bool]) -> cp_model.IntVar:
        """A literal that is true exactly if the property that `holds` tells for each plan holds for
        the chosen one.
        """
        literal = self.model.new_bool_var("")
        self.model.add(
            sum(each for each, true in zip(self.plans, holds, strict=True) if true) == literal
        )
        return literal

    def tensor(self, position: int, tensor: Tensor) -> tuple[Expr, Expr]:
        """The room that a tensor's largest tile takes, and the elements it moves."""
        space = self.space
        capacity = next(elements for _, elements, held in space.groups if position in held)
        uses = [plan.uses[position] for plan in space.plans]
        sizes, sums = [], []
        for loop in tensor.loops:
            cut = self.any_plan([loop in use.cut for use in uses])
            sizes.append(
                self.where(cut, loop, space.largest(tensor, loop), space.held(tensor, loop))
            )
            sums.append(self.where(cut, loop, space.total(tensor, loop), space.held(tensor, loop)))
        for loop in space.ways:
            if any(loop in use.repeated for use in uses):
                repeated = self.any_plan([loop in use.repeated for use in uses])
                sums.append(
                    self.where(repeated, loop, [split.trips for split in space.ways[loop]], 1)
                )
        constant = space.constant(tensor)
        return product(self.model, [constant, *sizes], capacity), product(
            self.model, [constant, *sums], self.ceiling
        )

    def where(
        self, literal: cp_model.IntVar, loop: str, values: Sequence[int], otherwise: int
    ) -> cp_model.IntVar:
        """The loop's entry of a table if `literal`, else a constant."""
        variable = self.model.new_int_var_from_domain(
            cp_model.Domain.from_values([*values, otherwise]), ""
        )
        for value, split in zip(values, self.splits[loop], strict=True):
            self.model.add(variable == value).only_enforce_if(literal, split)
        self.model.add(variable == otherwise).only_enforce_if(~literal)
        return variable

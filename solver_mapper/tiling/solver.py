"""Running CP-SAT: one worker, a fixed seed, and nothing taken for proven that is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ortools.sat.python import cp_model

from solver_mapper.errors import ExactnessError, LimitReached


@dataclass(frozen=True)
class Limits:
    """`seconds` of wall clock (None: no limit) and the random seed."""

    seconds: float | None = None
    seed: int = 0


VERSION = f"CP-SAT {version('ortools')}"
Expr = cp_model.LinearExpr | int
"""A linear expression, or a number where nothing varies."""


@dataclass(frozen=True)
class Answer:
    """`objective` of the best solution and the proven `bound`; they are equal if the solution is optimal."""

    value: Callable[[Expr], int]
    objective: int
    bound: int

    @property
    def optimal(self) -> bool:
        return self.objective == self.bound


def solve(model: cp_model.CpModel, limits: Limits) -> Answer:
    """Optimise a model that is known to have a solution.

    `presolve_inclusion_work_limit=0` avoids a presolve step of OR-Tools 9.15 that has certified wrong optima
    (google/or-tools #5293).

    Raises: LimitReached, ExactnessError if the solver denies that there is a solution or refuses the model.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = limits.seed
    solver.parameters.presolve_inclusion_work_limit = 0
    if limits.seconds is not None:
        solver.parameters.max_time_in_seconds = limits.seconds
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        objective = round(solver.objective_value)
        bound = objective if status == cp_model.OPTIMAL else math.floor(solver.best_objective_bound)
        return Answer(solver.value, objective, bound)
    if status == cp_model.UNKNOWN:
        raise LimitReached("the time limit was reached before the solver found a tiling")
    raise ExactnessError(f"the solver calls a model {solver.status_name(status)} of which a solution is known: "
                         f"{model.validate() or 'no reason given'}")


def product(model: cp_model.CpModel, factors: Sequence[Expr], most: int) -> Expr:
    """A product, kept at or below `most` by the model. All factors must be at least 1, so that partial products are as well."""
    result: Expr = math.prod(factor for factor in factors if isinstance(factor, int))
    for factor in factors:
        if isinstance(factor, int):
            continue
        if isinstance(result, int):
            result = factor * result
            continue
        variable = model.new_int_var(0, most, "")
        model.add_multiplication_equality(variable, [result, factor])
        result = variable
    return result

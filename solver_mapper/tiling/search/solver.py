"""Tiling models on CP-SAT: nothing is taken for proven that is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.errors import ExactnessError, LimitReached
from solver_mapper.solve.cpsat.engine import Read, Settings, run

Expr = cp_model.LinearExpr | int
"""A linear expression, or a number where nothing varies."""
T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """`seconds` of wall clock for one operator (None: no limit) and the random seed. A `clock`
    stops from outside, and replaces `seconds`.
    """

    seconds: float | None = None
    seed: int = 0
    clock: Clock | None = None

    @property
    def settings(self) -> Settings:
        """Settings of CP-SAT for one operator."""
        return Settings(seed=self.seed)

    @property
    def parameters(self) -> dict[str, int | bool]:
        """What CP-SAT is told, for the certificate."""
        return self.settings.parameters()


@dataclass(frozen=True)
class Minimum(Generic[T]):
    """The best solution, its `objective`, and whether that is proven to be optimal; if not, `bound`
    limits all objectives.
    """

    solution: T
    objective: int
    bound: float
    optimal: bool

    @property
    def floor(self) -> int:
        """What no objective falls below, of a model that minimises."""
        return self.objective if self.optimal else math.floor(self.bound)


def solve(model: cp_model.CpModel, limits: Limits, capture: Callable[[Read], T]) -> Minimum[T]:
    """Optimise a model that is known to have a solution; `capture` takes from a solution what is
    needed of it.

    Raises: LimitReached; KeyboardInterrupt; ExactnessError if the solver denies that there is a
    solution or refuses the model.
    """
    found: list[T] = []
    clock = limits.clock or Clock(limits.seconds)
    outcome = run(model, limits.settings, clock, lambda read, bound: found.append(capture(read)))
    if clock.stopped:
        if limits.clock is not None:
            clock.check()
        raise KeyboardInterrupt
    if found and outcome.value is not None:
        return Minimum(found[-1], round(outcome.value), outcome.bound, outcome.status == "OPTIMAL")
    if outcome.status == "UNKNOWN":
        raise LimitReached("the time limit was reached before the solver found a tiling")
    raise ExactnessError(
        f"the solver calls a model {outcome.status} of which a solution is known: "
        f"{model.validate() or 'no reason given'}"
    )


def product(model: cp_model.CpModel, factors: Sequence[Expr], most: int) -> Expr:
    """A product, kept at or below `most` by the model. All factors must be at least 1, so that
    partial products are as well.
    """
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

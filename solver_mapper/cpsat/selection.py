"""The two pieces every count is made of: a table lookup over exponents, and a product of looked-up values.

A `Selection` has one literal for each reachable combination of exponents; exactly one holds, and each exponent equals the sum of its
values over the literals. Its linear relaxation is the convex hull of the table in exponent space. Since a product of loop bounds is
the exponential of a linear function there, that hull is as tight as a geometric program's relaxation, for primes of any mixture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

Tuple = tuple[int, ...]
LOG_SCALE = 1 << 12
TANGENT_RATIO = 1.6


@dataclass(frozen=True)
class Axis:
    """One exponent: a linear expression with values in 0..`limit`. Axes with equal `key` are the same expression."""

    key: Hashable
    expr: cp_model.LinearExprT
    limit: int


@dataclass(frozen=True)
class Selection:
    """`literals[i]` holds if the axes take the values `points[i]`."""

    points: tuple[Tuple, ...]
    literals: tuple[cp_model.IntVar, ...]


@dataclass(frozen=True)
class Looked:
    """A selection with a whole-number value for each point."""

    selection: Selection
    values: tuple[int, ...]

    @property
    def expr(self) -> cp_model.LinearExprT:
        return cp_model.LinearExpr.weighted_sum(self.selection.literals, self.values)


class Tables:
    """Adds selections to a model, sharing those over the same axes."""

    def __init__(self, model: cp_model.CpModel):
        self.model = model
        self._cache: dict[Hashable, Selection] = {}

    def select(self, axes: Sequence[Axis], on: cp_model.IntVar | None = None,
               possible: Callable[[Tuple], bool] | None = None, name: Hashable = None) -> Selection:
        """A selection over `axes`; with `on`, one literal holds if and only if `on` does.

        `possible` rules points out: the model then forbids them (while `on` holds). `name` tells different rules apart.
        """
        key = (tuple(axis.key for axis in axes), None if on is None else on.index, name)
        if key not in self._cache:
            self._cache[key] = self._build(axes, on, possible)
        return self._cache[key]

    def _build(self, axes: Sequence[Axis], on: cp_model.IntVar | None,
               possible: Callable[[Tuple], bool] | None) -> Selection:
        points: list[Tuple] = [()]
        for axis in axes:
            points = [(*point, power) for point in points for power in range(axis.limit + 1)]
        if possible is not None:
            points = [point for point in points if possible(point)]
        model = self.model
        literals = [model.new_bool_var("") for _ in points]
        if on is None:
            model.add_exactly_one(literals)
        else:
            model.add(cp_model.LinearExpr.sum(literals) == on)
        for i, axis in enumerate(axes):
            chosen = cp_model.LinearExpr.weighted_sum(literals, [point[i] for point in points])
            if on is None:
                model.add(chosen == axis.expr)
            else:
                model.add(chosen <= axis.expr)
                model.add(axis.expr <= chosen + axis.limit * (1 - on))
        return Selection(tuple(points), tuple(literals))

    def product(self, factors: Sequence[Looked], on: cp_model.IntVar | None = None) -> cp_model.IntVar:
        """An integer variable equal to the product of looked-up values (0 where `on` does not hold).

        The multiplication makes it exact; tangents of the exponential over the sum of logarithms make its relaxation tight.
        """
        high = math.prod(max(f.values, default=0) for f in factors)
        low = 0 if on is not None else math.prod(min(f.values, default=0) for f in factors)
        value = self.model.new_int_var(low, high, "")
        self._multiply(value, factors)
        self._tangents(value, factors, on, high)
        return value

    def _multiply(self, value: cp_model.IntVar, factors: Sequence[Looked]) -> None:
        rest = value
        for i, factor in enumerate(factors[:-1]):
            tail_high = math.prod(max(f.values, default=0) for f in factors[i + 1:])
            if i == len(factors) - 2:
                self.model.add_multiplication_equality(rest, [factor.expr, factors[-1].expr])
                return
            tail = self.model.new_int_var(0, tail_high, "")
            self.model.add_multiplication_equality(rest, [factor.expr, tail])
            rest = tail
        self.model.add(rest == factors[-1].expr)

    def _tangents(self, value: cp_model.IntVar, factors: Sequence[Looked], on: cp_model.IntVar | None, high: int) -> None:
        """`exp(t) >= exp(a) (1 + t - a)` at points a; logarithms are rounded down, so the cuts stay valid."""
        logs = []
        for factor in factors:
            weights = [math.floor(math.log(max(v, 1)) * LOG_SCALE) for v in factor.values]
            logs.append(cp_model.LinearExpr.weighted_sum(factor.selection.literals, weights))
        total = cp_model.LinearExpr.sum(logs)
        positive = [min((v for v in f.values if v > 0), default=1) for f in factors]
        at = math.log(math.prod(positive))
        while at <= math.log(max(high, 1)):
            height = math.exp(at)
            slope = math.floor(height)
            if slope < 1 << 40:
                flat = math.floor(height * (1 - at)) - 1
                cut = LOG_SCALE * value >= slope * total + LOG_SCALE * flat
                if on is None:
                    self.model.add(cut)
                else:
                    self.model.add(cut).only_enforce_if(on)
            at += math.log(TANGENT_RATIO)

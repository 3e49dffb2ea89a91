"""The two pieces every count is made of: a table lookup over exponents, and a product of looked-up
values.

A `Selection` has one literal for each reachable combination of exponents; exactly one holds, and
each exponent equals the sum of its values over the literals. Its linear relaxation is the convex
hull of the table in exponent space. Since a product of loop bounds is the exponential of a linear
function there, that hull is as tight as a geometric program's relaxation, for primes of any
mixture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver_mapper.deadline import check_time
from solver_mapper.solve.cpsat.linear_form import counter, highest

Tuple = tuple[int, ...]
LOG_SCALE = 1 << 12
TANGENT_RATIO = 1.3


@dataclass(frozen=True)
class ExponentAxis:
    """One exponent: a linear expression with values in 0..`limit`. Axes with equal `key` are the
    same expression.
    """

    key: Hashable
    expr: cp_model.LinearExprT
    limit: int


@dataclass(frozen=True)
class Selection:
    """`literals[i]` holds if the axes take the values `points[i]`; none does where `on` does not
    hold.
    """

    points: tuple[Tuple, ...]
    literals: tuple[cp_model.IntVar, ...]
    on: cp_model.IntVar | None = None


@dataclass(frozen=True)
class LookupTable:
    """A selection with a whole-number value for each point."""

    selection: Selection
    values: tuple[int, ...]

    @property
    def expr(self) -> cp_model.LinearExprT:
        """The value of the point that is selected, as a linear expression."""
        return cp_model.LinearExpr.weighted_sum(self.selection.literals, self.values)


@dataclass(frozen=True)
class ProductFactor:
    """One factor of a product: its value, its scaled natural logarithm (rounded down), its least
    positive and greatest value. Value and logarithm are 0 where `on` does not hold.
    """

    value: cp_model.IntVar
    log: cp_model.IntVar
    low: int
    high: int
    on: cp_model.IntVar | None = None


@dataclass(frozen=True)
class Mode:
    """One of several tables of which exactly one applies: the one whose `on` holds (None if there
    is only one).
    """

    axes: tuple[ExponentAxis, ...]
    on: cp_model.IntVar | None
    points: tuple[Tuple, ...]


class Tables:
    """Adds selections to a model, sharing those over the same axes."""

    def __init__(self, model: cp_model.CpModel):
        self.model = model
        self._cache: dict[Hashable, Selection] = {}
        self._logs: dict[Hashable, cp_model.IntVar] = {}

    def select(
        self,
        axes: Sequence[ExponentAxis],
        on: cp_model.IntVar | None = None,
        possible: Callable[[Tuple], bool] | None = None,
        name: Hashable = None,
        points: Iterable[Tuple] | None = None,
    ) -> Selection:
        """A selection over `axes`; with `on`, one literal holds if and only if `on` does.

        `possible` excludes points, and so does a list of `points`: the model forbids the others
        (while `on` holds). `name` tells different constraints apart.
        """
        key = (tuple(axis.key for axis in axes), None if on is None else on.index, name)
        if key not in self._cache:
            check_time()
            listed = _grid(axes) if points is None else points
            self._cache[key] = self._build(
                axes, on, [p for p in listed if possible is None or possible(p)]
            )
        return self._cache[key]

    def _build(
        self, axes: Sequence[ExponentAxis], on: cp_model.IntVar | None, points: list[Tuple]
    ) -> Selection:
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
        return Selection(tuple(points), tuple(literals), on)

    def select_modes(self, modes: Sequence[Mode], name: Hashable) -> list[Selection]:
        """A selection for each mode. Axes that all modes share are tied to their sum, which keeps
        the relaxation tight.
        """
        if len(modes) == 1 and modes[0].on is None:
            return [self.select(modes[0].axes, None, None, name, modes[0].points)]
        model = self.model
        selections = []
        for mode in modes:
            literals = [model.new_bool_var("") for _ in mode.points]
            model.add(cp_model.LinearExpr.sum(literals) == (1 if mode.on is None else mode.on))
            selections.append(Selection(mode.points, tuple(literals)))
        common = set.intersection(*({axis.key for axis in mode.axes} for mode in modes))
        shared: dict[Hashable, tuple[ExponentAxis, list[cp_model.LinearExpr]]] = {}
        for mode, selection in zip(modes, selections, strict=True):
            for i, axis in enumerate(mode.axes):
                chosen = cp_model.LinearExpr.weighted_sum(
                    selection.literals, [point[i] for point in selection.points]
                )
                if axis.key in common:
                    shared.setdefault(axis.key, (axis, []))[1].append(chosen)
                else:
                    model.add(chosen <= axis.expr)
                    model.add(
                        axis.expr <= chosen + axis.limit * (1 - (1 if mode.on is None else mode.on))
                    )
        for axis, parts in shared.values():
            model.add(cp_model.LinearExpr.sum(parts) == axis.expr)
        return selections

    def factor(self, table: LookupTable) -> ProductFactor:
        """The looked-up value and its logarithm as variables. Raises: InputError for values that
        64-bit integers cannot hold.
        """
        model, literals = self.model, table.selection.literals
        logs = [math.floor(math.log(max(v, 1)) * LOG_SCALE) for v in table.values]
        value = counter(model, max(table.values, default=0), "")
        model.add(value == table.expr)
        log = model.new_int_var(0, max(logs, default=0), "")
        model.add(log == cp_model.LinearExpr.weighted_sum(literals, logs))
        return ProductFactor(
            value,
            log,
            min((v for v in table.values if v > 0), default=1),
            max(table.values, default=0),
            table.selection.on,
        )

    def product(
        self, factors: Sequence[ProductFactor], on: cp_model.IntVar | None = None
    ) -> cp_model.IntVar:
        """An integer variable equal to the product of factors, none of which is 0 while `on` holds,
        and one of which is where it does not.

        The multiplication makes it exact; tangents of the exponential over the sum of logarithms
        make its relaxation tight.
        """
        high = math.prod(factor.high for factor in factors)
        result, rest = factors[0].value, factors[1:]
        reached = factors[0].high
        for factor in rest:
            reached *= factor.high
            target = counter(self.model, reached, "")
            self.model.add_multiplication_equality(target, [result, factor.value])
            result = target
        if rest:
            self._tangents(result, factors, on, high)
        return result

    def _log_on(self, factor: ProductFactor, on: cp_model.IntVar) -> cp_model.IntVar:
        """The factor's logarithm where `on` holds; at least 0 elsewhere.

        A factor that is 0 elsewhere by itself needs no other variable, whose relaxation would be
        looser: there `on` stands with a large coefficient.
        """
        if factor.on is not None and factor.on.index == on.index:
            return factor.log
        key = ("log", factor.log.index, on.index)
        if key not in self._logs:
            high = highest(factor.log)
            low = math.floor(math.log(factor.low) * LOG_SCALE)
            log = self.model.new_int_var(0, high, "")
            self.model.add(log >= factor.log - high * (1 - on))
            self.model.add(log >= low * on)
            self._logs[key] = log
        return self._logs[key]

    def _tangents(
        self,
        value: cp_model.IntVar,
        factors: Sequence[ProductFactor],
        on: cp_model.IntVar | None,
        high: int,
    ) -> None:
        """`exp(t) >= exp(a) (1 + t - a)` at points a; logarithms are rounded down, so the cuts stay
        valid.

        Under `on`, the cuts are scaled by it (a perspective): each logarithm counts as far as `on`
        does.
        """
        total = cp_model.LinearExpr.sum(
            [factor.log if on is None else self._log_on(factor, on) for factor in factors]
        )
        flag = self.model.new_constant(1) if on is None else on
        at = math.log(math.prod(factor.low for factor in factors))
        while at <= math.log(max(high, 1)):
            height = math.exp(at)
            slope = math.floor(height)
            if slope < 1 << 40:
                flat = math.floor(height * (1 - at)) - 1
                self.model.add(LOG_SCALE * value >= slope * total + LOG_SCALE * flat * flag)
            at += math.log(TANGENT_RATIO)


def _grid(axes: Sequence[ExponentAxis]) -> list[Tuple]:
    points: list[Tuple] = [()]
    for axis in axes:
        points = [(*point, power) for point in points for power in range(axis.limit + 1)]
    return points


def value_of(axes: list[ExponentAxis], point: Tuple) -> int:
    """The product of primes that a point of `axes` stands for."""
    return math.prod(_prime(axis) ** power for axis, power in zip(axes, point, strict=True))


def _prime(axis: ExponentAxis) -> int:
    key = axis.key
    while isinstance(key, tuple) and isinstance(key[0], tuple):
        key = key[0]
    assert isinstance(key, tuple)
    return int(key[0])

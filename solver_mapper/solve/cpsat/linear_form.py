"""Exact linear forms over solver variables, with rational weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.objective import out_of_range
from solver_mapper.errors import InputError

Number = int | Fraction
PARTS, MOST_LOST = 2**20, 2**60
"""In how many parts of one rests of weights are counted, and the most that their sum comes to."""


@dataclass(frozen=True)
class LinearForm:
    """`constant + sum(weight * variable)`; variables may repeat."""

    terms: tuple[tuple[cp_model.IntVar, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def __add__(self, other: LinearForm) -> LinearForm:
        return LinearForm(self.terms + other.terms, self.constant + other.constant)

    def __sub__(self, other: LinearForm) -> LinearForm:
        return self + other * -1

    def __mul__(self, factor: Number) -> LinearForm:
        if factor == 0:
            return LinearForm()
        return LinearForm(tuple((v, w * factor) for v, w in self.terms), self.constant * factor)

    def scale(self, room: float = 2.0**60) -> Fraction:
        """The factor that makes all weights whole, if their sum then stays below `room`; otherwise
        the largest that does.

        Raises: InputError for weights that floating-point numbers cannot hold.
        """
        try:
            high = float(self.constant) + sum(
                abs(float(w)) * highest(v) for v, w in _gather(self.terms)
            )
        except OverflowError:
            high = math.inf
        if high == math.inf:
            raise out_of_range("the objective")
        exact = math.lcm(self.constant.denominator, *(w.denominator for _, w in self.terms))
        if high * exact <= room:
            return Fraction(exact)
        return Fraction(room) / Fraction(high)

    def gathered(self) -> list[tuple[cp_model.IntVar, Fraction]]:
        """The terms, each variable once."""
        return _gather(self.terms)

    def highest(self) -> int:
        """At least the greatest value."""
        return math.ceil(
            self.constant + sum((w * highest(v) for v, w in self.terms if w > 0), Fraction(0))
        )

    def lowest(self) -> Fraction:
        """At most the least value; variables are not negative."""
        return self.constant + sum(
            (w * highest(v) for v, w in _gather(self.terms) if w < 0), Fraction(0)
        )

    def whole(self, scale: Fraction) -> tuple[cp_model.LinearExprT, int]:
        """`scale` times this form as an integer expression, rounded down weight by weight, and the
        constant that goes with it.

        Exact if `scale` makes all weights whole; never above the true value, since variables are
        not negative. Variables that are 0 are left out: their weights may be of any size.
        """
        gathered = [(v, w) for v, w in _gather(self.terms) if highest(v) > 0]
        expr = cp_model.LinearExpr.weighted_sum(
            [v for v, _ in gathered], [math.floor(w * scale) for _, w in gathered]
        )
        return expr, math.floor(self.constant * scale)


def rounded_down(
    model: cp_model.CpModel, form: LinearForm, scale: Fraction
) -> tuple[cp_model.LinearExprT, int, list[cp_model.Constraint]]:
    """`scale` times `form` as a whole number, and the constant that goes with it, as
    `LinearForm.whole` has them, but rounded down once for all terms.

    What `whole` takes off a weight is lost as often as its variable counts; a variable counts it
    here, under the constraint returned. Without that, or where these are too many, it may be 0.
    """
    expr, constant = form.whole(scale)
    lost = [
        (variable, weight * scale - math.floor(weight * scale))
        for variable, weight in form.gathered()
        if highest(variable) > 0
    ]
    most = math.ceil(sum((rest * highest(variable) for variable, rest in lost), Fraction(0)))
    parts = min(PARTS, MOST_LOST // max(1, most))
    if most <= len(lost) or parts < 2:
        return expr, constant, []
    carried = counter(model, most, "carried")
    gathered = cp_model.LinearExpr.weighted_sum(
        [variable for variable, _ in lost], [math.floor(rest * parts) for _, rest in lost]
    )
    terms = cp_model.LinearExpr.sum([expr, carried])
    return terms, constant, [model.add(parts * (carried + 1) >= gathered + 1)]


def counter(model: cp_model.CpModel, most: int, name: str, *, least: int = 0) -> cp_model.IntVar:
    """A variable for a count. Raises: InputError for one that 64-bit integers cannot hold."""
    if most >= 2**62:
        raise too_large()
    return model.new_int_var(least, most, name)


def too_large() -> InputError:
    """The error for a problem whose counts exceed the solver's integers."""
    return InputError(
        "the sizes of this problem are too large for the solver's 64-bit integers",
        hint="'bound' has no such limit",
    )


def highest(variable: cp_model.IntVar) -> int:
    """The largest value of a variable. (Protobuf's lists answer a negative index with 0, whatever
    they hold.)
    """
    domain = variable.proto.domain
    return int(domain[len(domain) - 1])


def limit_values(variable: cp_model.IntVar, most: int) -> None:
    """Take values above `most` out of a variable's domain, which is an interval, but for its least
    one.
    """
    domain = variable.proto.domain
    if most < highest(variable):
        domain[len(domain) - 1] = max(most, int(domain[0]))


def total(amounts: Iterable[LinearForm]) -> LinearForm:
    """The sum of linear forms."""
    terms: list[tuple[cp_model.IntVar, Fraction]] = []
    constant = Fraction(0)
    for amount in amounts:
        terms += amount.terms
        constant += amount.constant
    return LinearForm(tuple(terms), constant)


def weigh(variables: Iterable[cp_model.IntVar], weights: Iterable[Number]) -> LinearForm:
    """A weighted sum of variables; weights of 0 are left out."""
    return LinearForm(tuple((v, Fraction(w)) for v, w in zip(variables, weights, strict=True) if w))


def _gather(
    terms: tuple[tuple[cp_model.IntVar, Fraction], ...],
) -> list[tuple[cp_model.IntVar, Fraction]]:
    found: dict[int, tuple[cp_model.IntVar, Fraction]] = {}
    for variable, weight in terms:
        old = found.get(variable.index)
        found[variable.index] = (variable, weight + old[1] if old else weight)
    return [found[index] for index in sorted(found)]

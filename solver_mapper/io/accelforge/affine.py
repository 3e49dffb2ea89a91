"""Sums of rank variables (`2*p + r`) and the bounds that users put on them (`0 <= p < 14`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from solver_mapper.core.problem import Term
from solver_mapper.errors import InputError, SourceLocation

_JUXTAPOSED = re.compile(r"(?<![\w.])(?!0[xX])(\d+)\s*(?=(?!and\b|or\b)[A-Za-z_])")
_AND = re.compile(r"&&|\bAND\b")
_ROUNDS = 1000


@dataclass(frozen=True)
class Affine:
    """`sum(terms) + offset`, in whole numbers."""

    terms: tuple[Term, ...]
    offset: int = 0

    @property
    def variables(self) -> frozenset[str]:
        """The rank variables that occur."""
        return frozenset(term.dim for term in self.terms)

    def __str__(self) -> str:
        parts = [
            term.dim if term.coefficient == 1 else f"{term.coefficient}*{term.dim}"
            for term in self.terms
        ]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class AffineRange:
    """`low <= expression <= high`; None for an open side."""

    expression: Affine
    low: int | None
    high: int | None
    location: SourceLocation


Ranges = Mapping[str, tuple[int, int]]


def parse_affine(text: str, location: SourceLocation) -> Affine:
    """The sum that `text` writes (`p + r`, `2*p + r - 1`, `2p`).

    Raises: InputError for anything that is not a sum of whole multiples of rank variables.
    """
    return _AffineReader(text, location).read()


def parse_bounds(text: str, location: SourceLocation) -> tuple[AffineRange, ...]:
    """The bounds that an ISL-like text writes: chained comparisons joined by `and`.

    Raises: InputError for other operators and for bounds that are not sums of whole multiples of
    rank variables.
    """
    reader = _AffineReader(_AND.sub(" and ", text), location)
    body = reader.parse()
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    bounds: list[AffineRange] = []
    for part in parts:
        if not isinstance(part, ast.Compare):
            raise reader.error("a bound looks like '0 <= m < 64'")
        sides = [part.left, *part.comparators]
        for left, operator, right in zip(sides, part.ops, sides[1:], strict=False):
            bounds.append(reader.bound(left, operator, right))
    return tuple(bounds)


def ranges_of(
    variables: Iterable[str], bounds: Iterable[AffineRange]
) -> tuple[dict[str, tuple[int, int]], tuple[str, ...]]:
    """Smallest and largest value of each variable, by propagating all bounds to a fixed point.

    Returns: the ranges of the variables that are bounded on both sides, and the names of the
    others. A range whose lower end exceeds its upper end says that no point satisfies the bounds.
    """
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    listed = list(bounds)
    for _ in range(_ROUNDS):
        changed = [_tighten(bound, low, high) for bound in listed]
        if not any(changed):
            break
    names = list(variables)
    bounded = {name: (low[name], high[name]) for name in names if name in low and name in high}
    return bounded, tuple(name for name in names if name not in bounded)


def _tighten(bound: AffineRange, low: dict[str, int], high: dict[str, int]) -> bool:
    """Apply `bound` to each of its variables, given what is known of the others. Returns whether
    anything changed.
    """
    changed = False
    for term in bound.expression.terms:
        others = [other for other in bound.expression.terms if other is not term]
        least = _extreme(others, low, high)
        most = _extreme(others, high, low)
        offset = bound.expression.offset
        ends: list[tuple[Fraction, bool]] = []
        if bound.high is not None and least is not None:
            ends.append(
                (Fraction(bound.high - offset - least, term.coefficient), term.coefficient > 0)
            )
        if bound.low is not None and most is not None:
            ends.append(
                (Fraction(bound.low - offset - most, term.coefficient), term.coefficient < 0)
            )
        for value, is_upper in ends:
            if is_upper and (term.dim not in high or value < high[term.dim]):
                high[term.dim], changed = value.numerator // value.denominator, True
            elif not is_upper and (term.dim not in low or value > low[term.dim]):
                low[term.dim], changed = -(-value.numerator // value.denominator), True
        if term.dim in low and term.dim in high and low[term.dim] > high[term.dim]:
            return False
    return changed


def _extreme(
    terms: Iterable[Term], plus: Mapping[str, int], minus: Mapping[str, int]
) -> int | None:
    """The sum of `terms` with each at one end: `plus` for positive coefficients, `minus` for
    negative ones.
    """
    total = 0
    for term in terms:
        end = (plus if term.coefficient > 0 else minus).get(term.dim)
        if end is None:
            return None
        total += term.coefficient * end
    return total


class _AffineReader:
    def __init__(self, text: str, location: SourceLocation):
        self.text, self.location = text, location

    def error(self, reason: str) -> InputError:
        return InputError(f"cannot read '{self.text.strip()[:80]}': {reason}", self.location)

    def parse(self) -> ast.expr:
        try:
            return ast.parse(_JUXTAPOSED.sub(r"\1*", self.text.strip()), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise self.error("not a sum of rank variables") from None

    def read(self) -> Affine:
        return self.affine(self.parse())

    def affine(self, node: ast.expr) -> Affine:
        coefficients, offset = self.linear(node)
        return Affine(
            tuple(Term(name, value) for name, value in coefficients.items() if value), offset
        )

    def linear(self, node: ast.expr) -> tuple[dict[str, int], int]:
        if isinstance(node, ast.Name):
            return {node.id: 1}, 0
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int)
            and not isinstance(node.value, bool)
        ):
            return {}, node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return self.scaled(
                self.linear(node.operand), -1 if isinstance(node.op, ast.USub) else 1
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = self.linear(node.left), self.linear(node.right)
            return self.added(
                left, right if isinstance(node.op, ast.Add) else self.scaled(right, -1)
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self.linear(node.left), self.linear(node.right)
            if left[0] and right[0]:
                raise self.error(
                    "a product of rank variables is not an index that tiles can follow"
                )
            return self.scaled(right, left[1]) if not left[0] else self.scaled(left, right[1])
        raise self.error(
            "only sums of whole multiples of rank variables, such as '2*p + r', are supported"
        )

    @staticmethod
    def scaled(value: tuple[dict[str, int], int], by: int) -> tuple[dict[str, int], int]:
        return {name: by * coefficient for name, coefficient in value[0].items()}, by * value[1]

    @staticmethod
    def added(
        a: tuple[dict[str, int], int], b: tuple[dict[str, int], int]
    ) -> tuple[dict[str, int], int]:
        return {name: a[0].get(name, 0) + b[0].get(name, 0) for name in [*a[0], *b[0]]}, a[1] + b[1]

    def bound(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> AffineRange:
        """One comparison as a bound on `right - left`."""
        coefficients, offset = self.added(self.linear(right), self.scaled(self.linear(left), -1))
        difference = Affine(
            tuple(Term(name, value) for name, value in coefficients.items() if value), offset
        )
        if isinstance(operator, ast.LtE):
            return AffineRange(difference, 0, None, self.location)
        if isinstance(operator, ast.Lt):
            return AffineRange(difference, 1, None, self.location)
        if isinstance(operator, ast.GtE):
            return AffineRange(difference, None, 0, self.location)
        if isinstance(operator, ast.Gt):
            return AffineRange(difference, None, -1, self.location)
        if isinstance(operator, ast.Eq):
            return AffineRange(difference, 0, 0, self.location)
        raise self.error("compare with <, <=, >, >= or ==")

"""Arithmetic that users write where a number belongs: `64*1024*8`, `2 * width`, `max(a, b) / 3`.

The text is parsed, never executed. Values are exact fractions. Notations with more kinds of values
extend `ExpressionEvaluator`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

from solver_mapper.errors import InputError, SourceLocation, did_you_mean

CIMLOOP_HINT = "give the input that CiMLoop hands to Timeloop ('parsed-processed-input.yaml')"
_CIMLOOP = "Should have been set by"
"""What CiMLoop's files write where its Python processors put an expression."""
_LONGEST_TEXT = 2000
_LARGEST_BITS = 8192
_LARGEST_EXPONENT = 300


class ExpressionEvaluator:
    """Walks one parsed expression. `names` are the values that words stand for; `what` names the
    field, for messages.
    """

    more_functions: Collection[str] = ()
    """Functions that a subclass calls itself, for hints."""

    def __init__(self, names: Mapping[str, Any], location: SourceLocation, what: str):
        self.names, self.location, self.what = names, location, what
        self.text = ""

    def run(self, text: str) -> Any:
        """The value of `text`.

        Raises: InputError at the location of the expression for text that is not an expression,
        unknown names, division by zero, operators or functions that are not supported, and results
        of more than a few thousand digits.
        """
        self.text = text.strip()
        if len(self.text) > _LONGEST_TEXT:
            raise self.error("the expression is too long")
        try:
            tree = ast.parse(self.text, mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            if _CIMLOOP in self.text:
                raise self.error("CiMLoop's Python processors set it", CIMLOOP_HINT) from None
            raise self.error("this is not an arithmetic expression") from None
        try:
            return self.value(tree.body)
        except RecursionError:
            raise self.error("nested too deeply") from None

    def error(self, reason: str, hint: str | None = None) -> InputError:
        """The error for this expression."""
        return InputError(
            f"{self.what}: cannot evaluate '{self.text[:80]}': {reason}", self.location, hint
        )

    def call_error(self, reason: str, hint: str | None = None) -> InputError:
        """The error for a call that is not supported."""
        return self.error(reason, hint)

    def value(self, node: ast.expr) -> Any:
        """The value of a node."""
        handler = getattr(self, "on_" + type(node).__name__.lower(), None)
        if handler is None:
            raise self.error(f"{type(node).__name__} is not supported here")
        return handler(node)

    def on_constant(self, node: ast.Constant) -> Any:
        """A number or a truth value, exactly as written."""
        if isinstance(node.value, bool):
            return node.value
        if isinstance(node.value, (int, float)):
            written = ast.get_source_segment(self.text, node) or str(node.value)
            if written.lower().startswith("0x"):
                return self.checked(Fraction(node.value))
            exponent = written.lower().partition("e")[2]
            if exponent and abs(int(exponent)) > _LARGEST_EXPONENT:
                raise self.error(f"'{written}' is out of range")
            try:
                return self.checked(Fraction(written.replace("_", "")))
            except ValueError:
                raise self.error(f"'{written}' is not a decimal number") from None
        raise self.error(f"{node.value!r} is not a number")

    def on_name(self, node: ast.Name) -> Any:
        """The value that a name stands for."""
        if node.id in self.names:
            return self.names[node.id]
        raise self.error(f"unknown name '{node.id}'", did_you_mean(node.id, self.names))

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        """Signs and `not`."""
        return self.unary(node.op, self.value(node.operand))

    def on_binop(self, node: ast.BinOp) -> Any:
        """Arithmetic on two values."""
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def on_boolop(self, node: ast.BoolOp) -> Any:
        """`and` and `or`, which stop at the first value that decides."""
        result: Any = None
        for part in node.values:
            result = self.value(part)
            if bool(result) == isinstance(node.op, ast.Or):
                return result
        return result

    def on_ifexp(self, node: ast.IfExp) -> Any:
        """`a if b else c`."""
        return self.value(node.body if self.value(node.test) else node.orelse)

    def on_compare(self, node: ast.Compare) -> bool:
        """A chain of comparisons."""
        left = self.value(node.left)
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            if not self.compare(operator, left, right):
                return False
            left = right
        return True

    def on_call(self, node: ast.Call) -> Any:
        """A call of one of the functions that are known."""
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.call_error("only plain function calls are supported")
        function = FUNCTIONS.get(node.func.id)
        if function is None:
            raise self.call_error(
                f"unknown function '{node.func.id}'",
                did_you_mean(node.func.id, (*FUNCTIONS, *self.more_functions)),
            )
        values = [self.number(self.value(part)) for part in node.args]
        try:
            return self.checked(Fraction(function(*values)))
        except TypeError:
            raise self.error(f"wrong number of arguments for '{node.func.id}'") from None
        except ValueError as error:
            raise self.error(str(error)) from None

    def unary(self, operator: ast.unaryop, value: Any) -> Any:
        """An operator on one value."""
        if isinstance(operator, ast.Not):
            return not value
        if isinstance(operator, ast.USub):
            return -self.number(value)
        if isinstance(operator, ast.UAdd):
            return self.number(value)
        raise self.error("'~' needs a set")

    def binary(self, operator: ast.operator, left: Any, right: Any) -> Any:
        """An arithmetic operator on two numbers."""
        a, b = self.number(left), self.number(right)
        if isinstance(operator, ast.Pow):
            return self.power(a, b)
        function = _ARITHMETIC.get(type(operator))
        if function is None:
            raise self.error(f"operator {type(operator).__name__} is not supported between numbers")
        try:
            return self.checked(Fraction(function(a, b)))
        except ZeroDivisionError:
            raise self.error("division by zero") from None

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        """A power with a whole exponent of limited size."""
        if exponent.denominator != 1:
            raise self.error("powers must be whole numbers")
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(exponent) * bits > _LARGEST_BITS:
            raise self.error("the result is too large")
        if base == 0 and exponent < 0:
            raise self.error("division by zero")
        return base ** int(exponent)

    def compare(self, operator: ast.cmpop, left: Any, right: Any) -> bool:
        """One comparison."""
        function = _COMPARISONS.get(type(operator))
        if function is None:
            raise self.error(f"comparison {type(operator).__name__} is not supported")
        return function(self.number(left), self.number(right))

    def number(self, value: Any) -> Fraction:
        """A value as an exact number."""
        if isinstance(value, (Fraction, int)):
            return Fraction(value)
        raise self.error(f"{value} is not a number")

    def checked(self, value: Fraction) -> Fraction:
        """A number, unless it has too many digits."""
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LARGEST_BITS:
            raise self.error("the result is too large")
        return value


def evaluate(text: str, names: Mapping[str, Any], location: SourceLocation, what: str) -> Fraction:
    """The number that `text` stands for, exactly.

    Args: `names`, the values of variables; `location` and `what`, for messages.
    Raises: InputError (see `ExpressionEvaluator.run`), also when the value is not a number.
    """
    evaluator = ExpressionEvaluator(names, location, what)
    return evaluator.number(evaluator.run(text))


def _log2(value: Fraction) -> Fraction:
    number = int(value)
    if number != value or number < 1 or number & (number - 1):
        raise ValueError("log2 is exact for powers of two only: write the number")
    return Fraction(number.bit_length() - 1)


def _sqrt(value: Fraction) -> Fraction:
    root = Fraction(math.isqrt(max(0, value.numerator)), math.isqrt(value.denominator))
    if root * root != value:
        raise ValueError("sqrt is exact for squares only: write the number")
    return root


def _round(value: Fraction) -> Fraction:
    return Fraction(round(value))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "round": _round,
    "int": int,
    "float": Fraction,
    "log2": _log2,
    "sqrt": _sqrt,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Fraction, Fraction], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Fraction, Fraction], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}

"""The Jinja2 environment: a sandbox with the tag `assert`, bounded output, and strict about names
that are not set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

_LONGEST_VALUE = 1_000_000
_LARGEST_BITS = 8192


class FailedAssertion(Exception):
    """`{% assert condition, "message" %}` did not hold."""

    def __init__(self, message: str, line: int):
        super().__init__(message)
        self.line = line


class AssertTag(Extension):
    """`{% assert condition %}` and `{% assert condition, "message" %}`."""

    tags = {"assert"}  # noqa: RUF012 (declared so by jinja2)

    def parse(self, parser: Parser) -> nodes.Node:
        """Read `{% assert condition, message %}`."""
        line = next(parser.stream).lineno
        condition = parser.parse_expression()
        message: nodes.Expr = nodes.Const("the condition does not hold")
        if parser.stream.skip_if("comma"):
            message = parser.parse_expression()
        call = self.call_method("check", [condition, message, nodes.Const(line)])
        return nodes.CallBlock(call, [], [], []).set_lineno(line)

    def check(self, condition: Any, message: Any, line: int, caller: Callable[[], str]) -> str:
        """Nothing if the condition holds. Raises: FailedAssertion."""
        if not condition:
            raise FailedAssertion(str(message), line)
        return caller()


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates cannot reach Python's internals, and no operator makes values of unbounded size."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operation, refused where its result would be too large."""
        if operator == "**" and _bits(left) * _magnitude(right) > _LARGEST_BITS:
            raise SecurityError("the power is too large")
        if operator == "*" and (
            _size(left) * _magnitude(right) > _LONGEST_VALUE
            or _size(right) * _magnitude(left) > _LONGEST_VALUE
        ):
            raise SecurityError("the repeated value is too long")
        return super().call_binop(context, operator, left, right)


def sandbox() -> Sandbox:
    """A Jinja2 environment in which undefined names are errors and Python cannot be reached."""
    return Sandbox(
        undefined=StrictUndefined,
        extensions=[AssertTag],
        keep_trailing_newline=True,
        autoescape=False,
    )


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _magnitude(value: Any) -> int:
    return abs(value) if isinstance(value, int) else 0


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, tuple)) else 0

"""The Jinja2 environment: a sandbox with the tag `assert`, bounded output, and strict about names
that are not set.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sized
from typing import Any

from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import MAX_RANGE, ImmutableSandboxedEnvironment

from solver_mapper.deadline import check_time

_LONGEST_VALUE = 1_000_000
_LARGEST_BITS = 8192
_MOST_STEPS, _STEPS_OF_CALL = 500_000, 5
_STEP, _JOIN = "step_of_template", "join_of_template"
OWN_NAMES = frozenset({_STEP, _JOIN})
"""Names that no template wrote."""
_MULTIPLYING = ("replace", "join", "translate", "indent", "expandtabs", "wordwrap")
"""Filters and methods whose results may be as long as the product of their arguments."""
_TAKING_NUMBERS = (
    *("default", "d", "sum", "count", "index", "format", "format_map"),
    *("map", "select", "selectattr", "reject", "rejectattr"),
)
"""Filters and methods whose results are not the longer the larger the numbers given to them.
Formats are checked by themselves, and so are the filters that `map` and its likes apply.
"""


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


class StepCounter:
    """Counts what a template does: turns of loops and calls. Raises: SecurityError for too many."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, more: int) -> str:
        """Count `more` steps. Returns: the empty text, as templates print what they call. Raises:
        SecurityError for too many.
        """
        check_time()
        self.count += more
        if self.count > _MOST_STEPS:
            raise SecurityError(f"it takes more than {_MOST_STEPS:,} steps")
        return ""


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates cannot reach Python's internals, no operator, filter or method makes values of
    unbounded size, and loops end.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.steps = StepCounter()
        self.filters = {name: _bounded(name, each) for name, each in self.filters.items()}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """The tree, in which each turn of a loop, each call of a macro and each `~` is counted."""
        tree = super()._parse(source, name, filename)
        for loop in list(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock))):
            cost = nodes.Const(1 if isinstance(loop, nodes.For) else _STEPS_OF_CALL)
            step = nodes.Call(nodes.Name(_STEP, "load"), [cost], [], None, None)
            body: list[nodes.Node] = vars(loop)["body"]
            body.insert(0, nodes.ExprStmt(step))
        for join in list(tree.find_all(nodes.Concat)):
            join.nodes = [nodes.Call(nodes.Name(_JOIN, "load"), join.nodes, [], None, None)]
        return tree

    def make_globals(self, given: Any) -> Any:
        """The names that templates know, with those by which steps are counted."""
        return super().make_globals({**(given or {}), _STEP: self.steps, _JOIN: _concatenated})

    def call(self, context: Context, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Methods of texts may not be asked for large ones."""
        own = getattr(function, "__self__", None)
        if isinstance(own, (str, list, tuple, bytes)):
            _check_arguments(function.__name__, (own, *args, *kwargs.values()))
        return super().call(context, function, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Any:
        """Formats of texts may not ask for wide columns."""
        own = getattr(value, "__self__", None)
        if isinstance(own, str) and value.__name__ in ("format", "format_map"):
            _check_format(own)
        return super().wrap_str_format(value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operation, refused where its result would be too large."""
        if operator == "+" and _size(left) + _size(right) > _LONGEST_VALUE:
            raise SecurityError("the joined value is too long")
        if operator == "%" and isinstance(left, str):
            _check_format(left)
        if operator == "**" and _bits(left) * _magnitude(right) > _LARGEST_BITS:
            raise SecurityError("the power is too large")
        if operator == "*" and (
            _size(left) * _magnitude(right) > _LONGEST_VALUE
            or _size(right) * _magnitude(left) > _LONGEST_VALUE
        ):
            raise SecurityError("the repeated value is too long")
        return super().call_binop(context, operator, left, right)


def _concatenated(*parts: Any) -> str:
    """What `~` makes, if it is not too long."""
    texts = [str(part) for part in parts]
    if sum(map(len, texts)) > _LONGEST_VALUE:
        raise SecurityError("the joined value is too long")
    return "".join(texts)


def _bounded(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that refuses to make large values."""

    @functools.wraps(work)
    def checked(*args: Any, **kwargs: Any) -> Any:
        _check_arguments(name, (*args, *kwargs.values()))
        return work(*args, **kwargs)

    return checked


def _check_arguments(name: str, values: tuple[Any, ...]) -> None:
    """Raises: SecurityError where a filter or method would make a value of unbounded size. The
    first value is what it is applied to.
    """
    check_time()
    sizes = [_size(value) for value in values]
    numbers = [_magnitude(value) for value in values[1:]]
    if name not in _TAKING_NUMBERS and max(numbers, default=0) > _LONGEST_VALUE:
        raise SecurityError(f"a number given to '{name}' is too large")
    if name in ("format", "format_map"):
        for value in values:
            if isinstance(value, str):
                _check_format(value)
    if name in _MULTIPLYING:
        first, second = sorted([*sizes, *numbers, 0, 0])[-1:-3:-1]
        if first * second > _LONGEST_VALUE:
            raise SecurityError(f"what '{name}' makes is too long")


def _check_format(text: str) -> None:
    """Raises: SecurityError for a format that pads to more than a few digits of columns."""
    if re.search(r"[0-9]{5,}|\*", text) and re.search(r"[%{]", text):
        raise SecurityError("the width in this format is too large")


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
    return abs(value) if isinstance(value, int) else 0  # truth values count as 0 and 1


def _size(value: Any) -> int:
    """How many parts a value has; of what tells them one by one, as many as there may be."""
    if isinstance(value, (Undefined, Context)):  # filters that need the context get it as a value
        return 0
    if isinstance(value, Sized):
        return len(value)
    return MAX_RANGE if isinstance(value, Iterator) else 0

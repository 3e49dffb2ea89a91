"""How long a component takes: `sum(a.n_calls / a.throughput for a in actions)`, `max(...)`, or the
user's own expression.

An expression is turned into the largest of several sums of action counts, so that what is evaluated
for one mapping can also be bounded for many.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.expressions import ExpressionEvaluator

DEFAULT = "sum(a.n_calls / a.throughput for a in actions)"


@dataclass(frozen=True)
class Line:
    """`constant + sum(weights[action] * calls of that action)`, in seconds."""

    constant: Fraction
    weights: Mapping[str, Fraction]

    def at(self, calls: Mapping[str, Fraction]) -> Fraction:
        """Seconds for so many `calls` of each action."""
        return self.constant + sum(
            (weight * calls.get(action, 0) for action, weight in self.weights.items()), Fraction(0)
        )

    def plus(self, other: Line) -> Line:
        """The sum of both, for any number of calls."""
        weights = dict(self.weights)
        for action, weight in other.weights.items():
            weights[action] = weights.get(action, Fraction(0)) + weight
        return Line(self.constant + other.constant, weights)

    def times(self, factor: Fraction) -> Line:
        """The line scaled by `factor`."""
        return Line(
            self.constant * factor,
            {action: weight * factor for action, weight in self.weights.items()},
        )


@dataclass(frozen=True)
class Latency:
    """The largest of `lines`; 0 if there is none."""

    lines: tuple[Line, ...] = ()

    def at(self, calls: Mapping[str, Fraction]) -> Fraction:
        """Seconds for these action counts of one instance."""
        return max((line.at(calls) for line in self.lines), default=Fraction(0))


@dataclass(frozen=True)
class Rate:
    """What an expression may ask of one action: `throughput` per second, `inf` for unlimited, None
    if it is not given.
    """

    name: str
    throughput: Fraction | str | None
    energy: Fraction | None = None


def latency_of(
    text: str, rates: Iterable[Rate], names: Mapping[str, Any], location: SourceLocation, what: str
) -> Latency:
    """The latency that `text` describes for a component with these actions.

    Raises: InputError for expressions that are not a largest-of-sums of non-negative multiples of
    action counts, and for throughputs that are needed but not given.
    """
    rated = tuple(rates)
    value = _LatencyEvaluator({**names, "actions": rated}, location, what).run(text)
    lines = _lines(value)
    if lines is None:
        raise InputError(f"{what}: '{text}' is not a time", location)
    for line in lines:
        if line.constant < 0 or any(weight < 0 for weight in line.weights.values()):
            raise InputError(
                f"{what}: '{text}' falls where an action count grows",
                location,
                "latencies may only grow",
            )
    return Latency(lines)


def _lines(value: Any) -> tuple[Line, ...] | None:
    if isinstance(value, Latency):
        return value.lines
    if isinstance(value, (Fraction, int)):
        return (Line(Fraction(value), {}),)
    return None


_INFINITE = "inf"


class _LatencyEvaluator(ExpressionEvaluator):
    """Values are numbers, `Latency`, the word "inf", `Rate` and tuples of them.

    `read_actions` is the count of action `read`, `read_latency` the time that these take, and
    `action2latency` has the latter of all actions: other versions of AccelForge call them so.
    """

    def on_name(self, node: ast.Name) -> Any:
        if node.id == _INFINITE:
            return _INFINITE
        name, _, kind = node.id.rpartition("_")
        if node.id not in self.names and kind in ("actions", "latency"):
            for rate in self.names["actions"]:
                if rate.name == name:
                    return _calls(rate) if kind == "actions" else self.time_of(rate)
        return super().on_name(node)

    def time_of(self, rate: Rate) -> Any:
        """The time that all calls of an action take."""
        return self.binary(ast.Div(), _calls(rate), self.throughput(rate))

    def throughput(self, rate: Rate) -> Fraction | str:
        """Raises: InputError if the action has none."""
        if rate.throughput is None:
            raise self.error(
                f"action '{rate.name}' has no throughput",
                "write 'throughput: ...' (per second) on the action",
            )
        return rate.throughput

    def on_attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, Rate):
            raise self.error(f"'.{node.attr}' needs an action")
        if node.attr == "n_calls":
            return _calls(owner)
        if node.attr == "throughput":
            return self.throughput(owner)
        if node.attr == "energy" and owner.energy is not None:
            return owner.energy
        raise self.error(f"actions have no '.{node.attr}'", "known: .n_calls, .throughput, .energy")

    def on_subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, tuple) and isinstance(node.slice, ast.Constant):
            for item in owner:
                if isinstance(item, Rate) and item.name == node.slice.value:
                    return item
        raise self.error("there is no such action")

    def on_generatorexp(self, node: ast.GeneratorExp) -> Any:
        return self.comprehension(node.elt, node.generators)

    def on_listcomp(self, node: ast.ListComp) -> Any:
        return self.comprehension(node.elt, node.generators)

    def comprehension(self, body: ast.expr, loops: list[ast.comprehension]) -> tuple[Any, ...]:
        if len(loops) != 1 or not isinstance(loops[0].target, ast.Name):
            raise self.error("write 'for a in actions'")
        items = self.value(loops[0].iter)
        if not isinstance(items, tuple):
            raise self.error("write 'for a in actions'")
        outer, results = self.names, []
        for item in items:
            self.names = {**outer, loops[0].target.id: item}
            if all(self.value(test) for test in loops[0].ifs):
                results.append(self.value(body))
        self.names = outer
        return tuple(results)

    def on_call(self, node: ast.Call) -> Any:
        if ast.unparse(node) == "action2latency.values()":
            return tuple(self.time_of(rate) for rate in self.names["actions"])
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in ("sum", "max") or node.keywords:
            return super().on_call(node)
        values: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                spread = self.value(argument.value)
                if not isinstance(spread, tuple):
                    raise self.error("'*' needs a list, such as '*action2latency.values()'")
                values += spread
            else:
                values.append(self.value(argument))
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)
        if all(isinstance(item, (Fraction, int)) for item in items):
            return Fraction(sum(items)) if name == "sum" else max(items, default=Fraction(0))
        parts = [_lines(item) for item in items]
        listed = [part for part in parts if part is not None]
        if len(listed) != len(parts):
            raise self.error(f"{name}() needs numbers and action counts")
        if name == "max":
            return Latency(tuple(itertools.chain.from_iterable(listed)))
        total = Latency((Line(Fraction(0), {}),))
        for part in listed:
            total = _added(total, Latency(part))
        return total

    def binary(self, operator: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(operator, ast.Div) and right == _INFINITE:
            return Fraction(0)
        if (
            isinstance(operator, ast.Mult)
            and isinstance(right, Latency)
            and isinstance(left, Fraction)
        ):
            left, right = right, left
        if not isinstance(left, Latency) and not isinstance(right, Latency):
            return super().binary(operator, left, right)
        if isinstance(operator, ast.Add):
            parts = _lines(left), _lines(right)
            if parts[0] is not None and parts[1] is not None:
                return _added(Latency(parts[0]), Latency(parts[1]))
        if isinstance(left, Latency) and isinstance(right, Fraction) and right > 0:
            if isinstance(operator, ast.Mult):
                return Latency(tuple(line.times(right) for line in left.lines))
            if isinstance(operator, ast.Div):
                return Latency(tuple(line.times(1 / right) for line in left.lines))
        raise self.error("latencies are sums and maxima of positive multiples of action counts")


def _calls(rate: Rate) -> Latency:
    return Latency((Line(Fraction(0), {rate.name: Fraction(1)}),))


def _added(left: Latency, right: Latency) -> Latency:
    return Latency(tuple(a.plus(b) for a in left.lines for b in right.lines))

"""Names that arithmetic in a file may use: variables, and the attributes of containers and of the
component itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io.yaml.expressions import ExpressionEvaluator
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table

_OWN_FUNCTIONS = "expression_custom_functions"
"""Where the front end finds Python files whose functions expressions may call."""
_MADE = "give the input that the front end hands to Timeloop ('parsed-processed-input.yaml')"


class Scope(Mapping[str, Fraction]):
    """Values of the entries of `tables`, the innermost last; each is worked out when it is asked
    for.

    An entry that uses its own name means the one further out: `width: width * 2`.

    `root` is the whole input, which arithmetic knows as `spec`: `len(spec.problem.instance)`.

    Raises: InputError, from a look-up, for a value that is no arithmetic or that depends on itself.
    """

    def __init__(self, *tables: Table, root: Table | None = None):
        self.tables, self.root = tables, root
        self._open: set[int] = set()

    def __getitem__(self, name: str) -> Fraction:
        found = [table.entries[name] for table in self.tables if name in table.entries]
        if not found:
            raise KeyError(name)
        usable = [node for node in found if id(node) not in self._open]
        if not usable:
            raise InputError(f"'{name}' depends on itself", found[-1].location)
        node = usable[-1]
        if not isinstance(node, Scalar):
            raise InputError(f"'{name}' is not a number", node.location)
        return self.evaluate(node, f"'{name}'")

    def evaluate(self, node: Scalar, what: str) -> Fraction:
        """The value of `node`, in which its own name means an entry further out."""
        self._open.add(id(node))
        try:
            evaluator = _TreeEvaluator(self, node.location, what)
            return evaluator.number(evaluator.run(node.text))
        finally:
            self._open.discard(id(node))

    def __contains__(self, name: object) -> bool:
        return any(name in table.entries for table in self.tables)

    def __iter__(self) -> Iterator[str]:
        return iter({name: None for table in self.tables for name in table.entries})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def within(self, table: Table) -> Scope:
        """This scope with the entries of `table` further in."""
        return Scope(*self.tables, table, root=self.root)


class _TreeEvaluator(ExpressionEvaluator):
    """Arithmetic that also looks into the input: entries of mappings by `.`, `[]` and `get`, items
    of lists, and `len`.
    """

    def __init__(self, scope: Scope, location: SourceLocation, what: str):
        super().__init__(scope, location, what)
        self.scope = scope

    def on_name(self, node: ast.Name) -> Any:
        if node.id == "spec" and self.scope.root is not None and node.id not in self.scope:
            return self.scope.root
        return super().on_name(node)

    def on_attribute(self, node: ast.Attribute) -> Any:
        return self._entry(self.value(node.value), node.attr)

    def on_subscript(self, node: ast.Subscript) -> Any:
        whole = self.value(node.value)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self._entry(whole, node.slice.value)
        index = self.number(self.value(node.slice))
        if (
            not isinstance(whole, Sequence)
            or index.denominator != 1
            or not 0 <= index < len(whole.items)
        ):
            raise self.error(f"there is no item {index}")
        return self._leaf(whole.items[int(index)])

    def on_call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            whole = self.value(node.args[0])
            if isinstance(whole, Table):
                return Fraction(len(whole.entries))
            if isinstance(whole, Sequence):
                return Fraction(len(whole.items))
            raise self.error("'len' needs a mapping or a list")
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            return self._entry_or_default(node.func.value, node.args)
        return super().on_call(node)

    def call_error(self, reason: str, hint: str | None = None) -> InputError:
        if self.scope.root is None or not _has_own_functions(self.scope.root):
            return super().call_error(reason, hint)
        return self.error(
            f"{reason}, and the Python files of '{_OWN_FUNCTIONS}' are not run", _MADE
        )

    def _entry_or_default(self, owner: ast.expr, arguments: list[ast.expr]) -> Any:
        """`owner.get("name", default)`, as Timeloop's front end reads it."""
        whole = self.value(owner)
        if (
            len(arguments) != 2
            or not isinstance(arguments[0], ast.Constant)
            or not isinstance(arguments[0].value, str)
        ):
            raise self.error("'get' needs a name in quotes and a default")
        key = arguments[0].value
        if isinstance(whole, Table) and key not in whole.entries:
            return self.value(arguments[1])
        return self._entry(whole, key)

    def _entry(self, whole: Any, key: str) -> Any:
        if not isinstance(whole, Table):
            raise self.error(f"'{key}' is asked of something that is no mapping")
        if key not in whole.entries:
            raise self.error(f"there is no '{key}'", did_you_mean(key, whole.entries))
        return self._leaf(whole.entries[key])

    def _leaf(self, node: Node) -> Any:
        return self.scope.evaluate(node, self.what) if isinstance(node, Scalar) else node


def _has_own_functions(root: Table) -> bool:
    return any(
        _OWN_FUNCTIONS in node.entries
        for key, node in root.entries.items()
        if "globals" in key and isinstance(node, Table)
    )

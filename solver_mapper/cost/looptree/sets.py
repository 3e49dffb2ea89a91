"""Set expressions: `~(input | output)`, `Inputs & Intermediates`, `weight if len(All) == 3 else
Nothing`.

Words name sets of tensors (or of rank variables) of one Einsum; `~` complements within that Einsum.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.expressions import ExpressionEvaluator


@dataclass(frozen=True)
class NameSet:
    """A set of names of one `kind` ("tensor" or "rank variable") within the `universe` of those of
    one Einsum.
    """

    members: frozenset[str]
    universe: frozenset[str]
    kind: str = "tensor"

    def __bool__(self) -> bool:
        return bool(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.members))

    def of(self, members: frozenset[str]) -> NameSet:
        """A set of the same kind and universe with other members."""
        return replace(self, members=members)

    def __str__(self) -> str:
        return "{" + ", ".join(self) + "}"


@dataclass(frozen=True)
class EinsumScope:
    """What set expressions about one Einsum may mention.

    Args: `names`, what each word stands for (sets, or numbers for variables); `rank_variables` and
    `bits` of each tensor.
    """

    names: Mapping[str, NameSet | Fraction]
    rank_variables: Mapping[str, frozenset[str]]
    bits: Mapping[str, Fraction]

    def with_names(self, more: Mapping[str, NameSet | Fraction]) -> EinsumScope:
        """The scope with further words; these take precedence."""
        return replace(self, names={**self.names, **more})

    def evaluate(self, text: str, location: SourceLocation, what: str) -> Any:
        """The value of `text`: a `NameSet`, a Fraction or a bool. Raises: InputError (see
        `ExpressionEvaluator.run`).
        """
        return _SetEvaluator(self, location, what).run(text)

    def number(self, text: str, location: SourceLocation, what: str) -> Fraction:
        """The number that `text` stands for. Raises: InputError where its value is not a number."""
        evaluator = _SetEvaluator(self, location, what)
        return evaluator.number(evaluator.run(text))

    def tensors(self, text: str, location: SourceLocation, what: str) -> frozenset[str]:
        """The tensors that `text` names. Raises: InputError where its value is not a set of
        tensors.
        """
        value = self.evaluate(text, location, what)
        if not isinstance(value, NameSet) or value.kind != "tensor":
            raise InputError(f"{what}: '{text}' is {value}, not a set of tensors", location)
        return value.members

    def names_in(self, text: str, location: SourceLocation, what: str) -> NameSet:
        """The set that `text` names, of tensors or of rank variables."""
        value = self.evaluate(text, location, what)
        if not isinstance(value, NameSet):
            raise InputError(f"{what}: '{text}' is {value}, not a set", location)
        return value


class _SetEvaluator(ExpressionEvaluator):
    def __init__(self, scope: EinsumScope, location: SourceLocation, what: str):
        super().__init__(scope.names, location, what)
        self.scope = scope

    def unary(self, operator: ast.unaryop, value: Any) -> Any:
        if isinstance(operator, ast.Invert) and isinstance(value, NameSet):
            return value.of(value.universe - value.members)
        return super().unary(operator, value)

    def binary(self, operator: ast.operator, left: Any, right: Any) -> Any:
        if not isinstance(left, NameSet) or not isinstance(right, NameSet):
            return super().binary(operator, left, right)
        if left.kind != right.kind:
            raise self.error(f"a set of {left.kind}s and a set of {right.kind}s do not mix")
        if isinstance(operator, ast.BitAnd):
            return left.of(left.members & right.members)
        if isinstance(operator, ast.BitOr):
            return left.of(left.members | right.members)
        if isinstance(operator, ast.Sub):
            return left.of(left.members - right.members)
        if isinstance(operator, ast.BitXor):
            return left.of(left.members ^ right.members)
        raise self.error("sets know the operators & | - ^ ~")

    def compare(self, operator: ast.cmpop, left: Any, right: Any) -> bool:
        if (
            isinstance(left, NameSet)
            and isinstance(right, NameSet)
            and isinstance(operator, (ast.Eq, ast.NotEq))
        ):
            return (left.members == right.members) == isinstance(operator, ast.Eq)
        return super().compare(operator, left, right)

    def on_call(self, node: ast.Call) -> Any:
        if (
            isinstance(node.func, ast.Name)
            and node.func.id == "len"
            and len(node.args) == 1
            and not node.keywords
        ):
            value = self.value(node.args[0])
            if not isinstance(value, NameSet):
                raise self.error("len() needs a set")
            return Fraction(len(value))
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in self.names
            and not node.args
            and not node.keywords
        ):
            return self.names[node.func.id]
        return super().on_call(node)

    def on_set(self, node: ast.Set) -> Any:
        """The union of the sets in braces."""
        first, *others = (self.value(each) for each in node.elts)
        for other in others:
            first = self.binary(ast.BitOr(), first, other)
        if not isinstance(first, NameSet):
            raise self.error("braces join sets")
        return first

    def on_attribute(self, node: ast.Attribute) -> Any:
        value = self.value(node.value)
        if not isinstance(value, NameSet) or value.kind != "tensor":
            raise self.error(f"'.{node.attr}' needs a set of tensors")
        if node.attr == "tensors":
            return value
        if node.attr == "rank_variables":
            everything = frozenset().union(*self.scope.rank_variables.values())
            used = frozenset().union(*(self.scope.rank_variables[name] for name in value.members))
            return NameSet(used, everything, "rank variable")
        if node.attr == "bits_per_value":
            if len(value) != 1:
                raise self.error(f"'.bits_per_value' needs exactly one tensor, not {len(value)}")
            return self.scope.bits[next(iter(value))]
        raise self.error(
            f"sets have no '.{node.attr}'", "known: .tensors, .rank_variables, .bits_per_value"
        )

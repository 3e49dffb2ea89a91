"""The grammar of loop factors and permutations, shared by mappings and constraints.

Factors: `P=16`, `P 16`, `P16`, `P==16`, residuals `P=16,5`, `P=0` for the whole bound, comparisons
`<=`, `<`, `>=`, `>`, `!=`; in one string, as a list, or as a mapping. Permutations: letters,
innermost first, blanks skipped; names of several letters are separated by commas or blanks, or
given as a list. Text after `#` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from solver_mapper.core.constraints import Comparison
from solver_mapper.errors import InputError, SourceLocation, unknown_name
from solver_mapper.io.yaml.fields import integer_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, kind_of

_WORD = re.compile(r"[^\W\d]\w*")
_SIGNED = re.compile(r"\s*(<=|>=|!=|==?|<|>)\s*([0-9]+)(?:,([0-9]+))?")
_PLAIN = re.compile(r"\s+([0-9]+)(?:,([0-9]+))?")
_GLUED = re.compile(r"(.*?)([0-9]+)")
_LAST = re.compile(r",([0-9]+)")
_BETWEEN = re.compile(r"[\s;]*(?:,(?=\s*[^\W\d])[\s;]*)?")
_COMPARISONS: dict[str, Comparison] = {
    "": "==",
    "=": "==",
    "==": "==",
    "<=": "<=",
    "<": "<",
    ">=": ">=",
    ">": ">",
    "!=": "!=",
}
_DIGITS = 18
MARKS = ("_", "*")
"""Words of a permutation that are no dimensions: what `_` and `*` mean is up to constraints."""


def is_dimension_name(word: str) -> bool:
    """Whether factors and permutations can name a dimension so."""
    return word not in MARKS and word.isidentifier() and _WORD.fullmatch(word) is not None


@dataclass(frozen=True)
class Factor:
    """`dim` compares with `value`; `last` is the residual, where one was written."""

    dim: str
    comparison: Comparison
    value: int
    last: int | None
    location: SourceLocation

    def __str__(self) -> str:
        sign = "=" if self.comparison == "==" else self.comparison
        return f"{self.dim}{sign}{self.value}" + ("" if self.last is None else f",{self.last}")


def within(scalar: Scalar, offset: int) -> SourceLocation:
    """The location of a character of a scalar (of the scalar itself if it spans several lines)."""
    location = scalar.location
    if location.column is None or "\n" in scalar.text:
        return location
    return replace(location, column=location.column + offset + scalar.quoted)


def read_factors(node: Node, bounds: Mapping[str, int]) -> tuple[Factor, ...]:
    """All factors of one directive, as they stand; `bounds` are the problem's dimensions with their
    bounds.

    Raises: InputError for unknown dimensions and for text that is no factor.
    """
    if isinstance(node, Table):
        return tuple(
            factor
            for dim, value in node.entries.items()
            for factor in _keyed(dim, value, node.key_locations[dim], bounds)
        )
    if isinstance(node, Sequence):
        return tuple(factor for item in node.items for factor in read_factors(item, bounds))
    return tuple(_scan(node, bounds))


def _keyed(
    dim: str, node: Node, location: SourceLocation, bounds: Mapping[str, int]
) -> Iterator[Factor]:
    if dim not in bounds:
        raise unknown_name("dimension", dim, bounds, location)
    yield _factor(dim, "", str(integer_of(node, f"the factor of '{dim}'")), None, location, bounds)


def _scan(scalar: Scalar, bounds: Mapping[str, int]) -> Iterator[Factor]:
    text = scalar.text.split("#", 1)[0]
    position = _BETWEEN.match(text).end()  # type: ignore[union-attr]  # matches the empty string
    while position < len(text):
        location = within(scalar, position)
        word = _WORD.match(text, position)
        if word is None:
            raise InputError(
                f"'{text[position:].strip()}' is not a factor",
                location,
                "factors are written 'P=16' or 'P=16,5'",
            )
        sign, name, value, last, position = _one(text, word, bounds, location)
        yield _factor(name, sign, value, last, location, bounds)
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]


def _one(
    text: str, word: re.Match[str], bounds: Mapping[str, int], location: SourceLocation
) -> tuple[str, str, str, str | None, int]:
    """(sign, dimension, value, residual, end) of the factor that begins with `word`."""
    name = word[0]
    signed = _SIGNED.match(text, word.end())
    if signed:
        return signed[1], name, signed[2], signed[3], signed.end()
    plain, glued = _PLAIN.match(text, word.end()), _GLUED.fullmatch(name)
    if plain and (name in bounds or not glued):
        return "", name, plain[1], plain[2], plain.end()
    if glued:
        last = _LAST.match(text, word.end())
        return "", glued[1], glued[2], last and last[1], last.end() if last else word.end()
    if name in bounds:
        raise InputError(
            f"dimension '{name}' has no factor", location, f"write '{name}=1', or leave it out"
        )
    raise unknown_name("dimension", name, bounds, location)


def _factor(
    name: str,
    sign: str,
    value: str,
    last: str | None,
    location: SourceLocation,
    bounds: Mapping[str, int],
) -> Factor:
    if name not in bounds:
        raise unknown_name("dimension", name, bounds, location)
    if max(len(value), len(last or "")) > _DIGITS:
        raise InputError(f"the factor of '{name}' is too large", location)
    comparison, number = _COMPARISONS[sign], int(value)
    if number == 0:
        if comparison != "==":
            raise InputError(
                f"'{name}{comparison}0' does not limit a factor, which is at least 1", location
            )
        number = bounds[name]
    residual = None if last is None else int(last)
    if residual is not None and (comparison != "==" or not 1 <= residual <= number):
        raise InputError(
            f"the residual of '{name}={number},{residual}' must lie between 1 and {number}",
            location,
        )
    return Factor(name, comparison, number, residual, location)


@dataclass(frozen=True)
class OrderWord:
    """One word of a permutation: a dimension, or one of `MARKS`."""

    text: str
    location: SourceLocation


def read_order(node: Node, dims: Collection[str]) -> tuple[OrderWord, ...]:
    """The words of a permutation, innermost first.

    Raises: InputError for unknown or repeated dimensions.
    """
    if isinstance(node, Table) or (isinstance(node, Scalar) and node.is_null):
        raise InputError(
            f"a permutation must be a word or a list of dimensions, not {kind_of(node)}",
            node.location,
        )
    parts = node.items if isinstance(node, Sequence) else (node,)
    words: list[OrderWord] = []
    for part in parts:
        if not isinstance(part, Scalar):
            raise InputError(
                f"a dimension in a permutation must be a word, not {kind_of(part)}", part.location
            )
        words += _order_words(part, dims)
    seen: set[str] = set()
    for word in words:
        if word.text in seen and word.text not in MARKS:
            raise InputError(
                f"dimension '{word.text}' stands twice in the permutation", word.location
            )
        seen.add(word.text)
    return tuple(words)


def _order_words(scalar: Scalar, dims: Collection[str]) -> Iterator[OrderWord]:
    text = scalar.text.split("#", 1)[0]
    for match in re.finditer(r"[^\s,]+", text):
        if match[0] in dims or match[0] in MARKS:
            yield OrderWord(match[0], within(scalar, match.start()))
            continue
        for offset, letter in enumerate(match[0]):
            location = within(scalar, match.start() + offset)
            if letter not in dims and letter not in MARKS:
                whole = "," in text or max(map(len, dims)) > 1
                raise unknown_name("dimension", match[0] if whole else letter, dims, location)
            yield OrderWord(letter, location)

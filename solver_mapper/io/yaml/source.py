"""YAML as a tree that remembers where everything was written.

What is read from files or from Python's dicts becomes `Scalar`, `Sequence` and `Table`, each with a
`SourceLocation`. Scalars keep their text: what a word means (a number, a flag, the dimension called
`N`) is decided by whoever reads the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from solver_mapper.errors import SourceLocation


@dataclass(frozen=True, slots=True)
class Scalar:
    """A word, number or flag as it was written. `quoted` tells `"12"` from `12`; `tag` is a local
    tag such as `!Nothing`.
    """

    text: str
    location: SourceLocation
    quoted: bool = False
    tag: str | None = None

    @property
    def is_null(self) -> bool:
        """Whether this is an unquoted null."""
        return not self.quoted and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Sequence:
    """A YAML list."""

    items: tuple[Node, ...]
    location: SourceLocation
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A YAML mapping. Keys keep their spelling; `key_locations[key]` is where the key stands."""

    entries: dict[str, Node]
    key_locations: dict[str, SourceLocation]
    location: SourceLocation
    tag: str | None = None


Node = Scalar | Sequence | Table
Source = str | Path | IO[str] | IO[bytes] | AbstractMapping[str, Any] | Table


def kind_of(node: Node) -> str:
    """What a user calls this kind of YAML value."""
    if isinstance(node, Table):
        return "a mapping"
    return (
        "a list"
        if isinstance(node, Sequence)
        else ("nothing" if node.is_null else f"'{node.text}'")
    )


def from_python(value: object, location: SourceLocation) -> Node:
    """A tree from plain Python values: dicts, lists, ranges, arrays, numbers, strings, None."""
    if isinstance(value, AbstractMapping):
        entries = {str(key): from_python(item, location) for key, item in value.items()}
        return Table(entries, dict.fromkeys(entries, location), location)
    if isinstance(value, (list, tuple, set, frozenset, range)) or getattr(value, "ndim", None):
        items = cast(Iterable[object], value)
        return Sequence(tuple(from_python(item, location) for item in items), location)
    if value is None:
        return Scalar("", location)
    if isinstance(value, bool):
        return Scalar("true" if value else "false", location)
    return Scalar(str(value), location, quoted=isinstance(value, str))


def to_python(node: Node) -> Any:
    """Plain Python values of a tree: dicts, lists, whole numbers, None, and text for everything
    else.
    """
    if isinstance(node, Table):
        return {key: to_python(item) for key, item in node.entries.items()}
    if isinstance(node, Sequence):
        return [to_python(item) for item in node.items]
    if node.is_null:
        return None
    if not node.quoted and node.text in ("true", "false"):
        return node.text == "true"
    return (
        int(node.text)
        if not node.quoted and re.fullmatch(r"[+-]?[0-9]{1,300}", node.text)
        else node.text
    )


def same_content(one: Node, other: Node) -> bool:
    """Whether two trees have the same values and tags, wherever they were written."""
    if one.tag != other.tag:
        return False
    if isinstance(one, Table) and isinstance(other, Table):
        return one.entries.keys() == other.entries.keys() and all(
            same_content(node, other.entries[key]) for key, node in one.entries.items()
        )
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return len(one.items) == len(other.items) and all(map(same_content, one.items, other.items))
    return (
        isinstance(one, Scalar) and isinstance(other, Scalar) and to_python(one) == to_python(other)
    )

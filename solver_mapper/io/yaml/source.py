"""YAML as a tree that remembers where everything was written.

PyYAML composes the text; its nodes become `Scalar`, `Sequence` and `Table`, each with a
`SourceLocation`. Scalars keep their text: what a word means (a number, a flag, the dimension called
`N`) is decided by whoever reads the field.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import yaml

from solver_mapper.errors import InputError, SourceLocation


@dataclass(frozen=True, slots=True)
class Scalar:
    """A word, number or flag as it was written. `quoted` tells `"12"` from `12`; `tag` is a local
    tag such as `!Nothing`.
    """

    text: str
    place: SourceLocation
    quoted: bool = False
    tag: str | None = None

    @property
    def is_null(self) -> bool:
        return not self.quoted and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]
    place: SourceLocation
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A YAML mapping. Keys keep their spelling; `key_places[key]` is where the key stands."""

    entries: dict[str, Node]
    key_places: dict[str, SourceLocation]
    place: SourceLocation
    tag: str | None = None


Node = Scalar | Sequence | Table
_JOINED = (
    "architecture_constraints",
    "arch_constraints",
    "mapspace_constraints",
    "mapspace",
    "constraints",
    "variables",
    "compound_components",
    "primitive_components",
    "components",
)
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


def read_documents(*sources: Source) -> Table:
    """All sources merged by top-level key, as Timeloop does. Where two files define one key, lists
    are joined, and so are the entries of constraints, variables and libraries of components;
    anything else is an error.

    Args: paths, open files (text or bytes), mappings of plain Python values, or trees that were
    read before.
    Raises: InputError with file, line and column for text that is not YAML, an empty file, a binary
    file, a cyclic anchor, a repeated key.
    """
    if not sources:
        raise InputError("no input files were given")
    entries: dict[str, Node] = {}
    places: dict[str, SourceLocation] = {}
    tops = [read_one(source) for source in sources]
    for top in tops:
        for key, node in top.entries.items():
            old = entries.get(key)
            if old is None:
                entries[key], places[key] = node, top.key_places[key]
            else:
                entries[key] = _joined(key, old, node, places[key], top.key_places[key])
    return Table(entries, places, tops[0].place)


def _joined(key: str, old: Node, new: Node, first: SourceLocation, place: SourceLocation) -> Node:
    if isinstance(old, Sequence) and isinstance(new, Sequence):
        return Sequence(old.items + new.items, old.place, old.tag)
    if key not in _JOINED or not isinstance(old, Table) or not isinstance(new, Table):
        raise InputError(f"'{key}' is given twice, first at {first}", place, "keep one of them")
    entries, places = dict(old.entries), dict(old.key_places)
    for name, node in new.entries.items():
        if name not in entries:
            entries[name], places[name] = node, new.key_places[name]
        elif isinstance(entries[name], Sequence) and isinstance(node, Sequence):
            entries[name] = _joined(name, entries[name], node, places[name], new.key_places[name])
        elif to_python(entries[name]) != to_python(node):
            raise InputError(
                f"'{name}' of '{key}' is given twice, first at {places[name]}",
                new.key_places[name],
                "keep one of them",
            )
    return Table(entries, places, old.place, old.tag)


def read_one(source: Source) -> Table:
    """The top-level mapping of one source."""
    node: Node
    if isinstance(source, Table):
        node = source
    elif isinstance(source, AbstractMapping):
        try:
            node = from_python(source, SourceLocation("<python>"))
        except RecursionError:
            raise InputError("nested too deeply", SourceLocation("<python>")) from None
    else:
        name, text = _text_of(source)
        node = parse(text, name)
    if not isinstance(node, Table):
        raise InputError(
            f"the top level must be a mapping such as 'problem: ...', not {kind_of(node)}",
            node.place,
        )
    return node


def _text_of(source: str | Path | IO[str] | IO[bytes]) -> tuple[str, str]:
    if isinstance(source, (str, Path)):
        path = Path(source)
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raise InputError("no such file", SourceLocation(str(source))) from None
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})", SourceLocation(str(source))
            ) from None
        except ValueError as error:
            raise InputError(
                f"not a file name ({error})", SourceLocation(repr(str(source)))
            ) from None
        return str(source), _decode(raw, str(source))
    name = str(getattr(source, "name", "<stream>"))
    content: str | bytes = source.read()
    return name, _decode(content, name) if isinstance(content, bytes) else content


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        place = SourceLocation(name, before.count(b"\n") + 1, column)
        raise InputError("not a text file in UTF-8", place, "is this a binary file?") from None


def parse(text: str, name: str) -> Node:
    """One YAML document as a `Node`.

    Raises: InputError with the position of what is not YAML.
    """
    if not text.strip():
        raise InputError("the file is empty", SourceLocation(name, 1, 1))
    try:
        composed = yaml.compose(io.StringIO(text), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (
            SourceLocation(name, mark.line + 1, mark.column + 1)
            if mark
            else SourceLocation(name, 1, 1)
        )
        what = f"not valid YAML: {error.problem or error}{_context(error, place)}"
        raise InputError(what, place, _other_format(text, name)) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        place = SourceLocation(
            name, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        )
        raise InputError(
            f"not a text file: {error.reason}", place, "is this a binary file?"
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", SourceLocation(name, 1, 1)) from None
    if composed is None:
        raise InputError("the file holds no YAML, only comments", SourceLocation(name, 1, 1))
    try:
        return _Converter(name).convert(composed)
    except RecursionError:
        raise InputError("nested too deeply", SourceLocation(name, 1, 1)) from None


def _other_format(text: str, name: str) -> str | None:
    """A hint for text in a format that is often met beside YAML."""
    if "{{" in text or "{%" in text:
        return "this looks like a Jinja2 template: render it first"
    return "libconfig files are not read: write them as YAML" if name.endswith(".cfg") else None


def _context(error: yaml.MarkedYAMLError, place: SourceLocation) -> str:
    """What the parser was in the middle of, and where that begins if on another line."""
    if not error.context:
        return ""
    start = error.context_mark
    return (
        f" ({error.context}"
        + (f" from line {start.line + 1}" if start and start.line + 1 != place.line else "")
        + ")"
    )


@dataclass
class _Converter:
    """Turns composed PyYAML nodes into ours, sharing what anchors share and refusing what contains
    itself.
    """

    name: str
    open: set[int] = field(default_factory=set)
    done: dict[int, Node] = field(default_factory=dict)

    def place(self, node: yaml.Node) -> SourceLocation:
        return SourceLocation(self.name, node.start_mark.line + 1, node.start_mark.column + 1)

    def convert(self, node: yaml.Node) -> Node:
        if id(node) in self.done:
            return self.done[id(node)]
        if id(node) in self.open:
            raise InputError(
                "this anchor contains itself",
                self.place(node),
                "an alias may not stand inside what it names",
            )
        self.open.add(id(node))
        tag = node.tag if node.tag and node.tag.startswith("!") and node.tag != "!" else None
        result: Node
        if isinstance(node, yaml.MappingNode):
            result = self.table(node, tag)
        elif isinstance(node, yaml.SequenceNode):
            result = Sequence(
                tuple(self.convert(item) for item in node.value), self.place(node), tag
            )
        else:
            result = Scalar(
                node.value, self.place(node), getattr(node, "style", None) in ("'", '"'), tag
            )
        self.open.discard(id(node))
        self.done[id(node)] = result
        return result

    def table(self, node: yaml.MappingNode, tag: str | None) -> Table:
        entries: dict[str, Node] = {}
        places: dict[str, SourceLocation] = {}
        merged: list[Table] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InputError("a key must be a plain word", self.place(key))
            if key.value == "<<":
                merged += self.merges(value)
            elif key.value in entries:
                raise InputError(
                    f"'{key.value}' is given twice, first at {places[key.value]}", self.place(key)
                )
            else:
                entries[key.value], places[key.value] = self.convert(value), self.place(key)
        for other in merged:
            for word, inherited in other.entries.items():
                if word not in entries:
                    entries[word], places[word] = inherited, other.key_places[word]
        return Table(entries, places, self.place(node), tag)

    def merges(self, value: yaml.Node) -> list[Table]:
        converted = self.convert(value)
        parts = converted.items if isinstance(converted, Sequence) else (converted,)
        tables = [part for part in parts if isinstance(part, Table)]
        if len(tables) != len(parts):
            raise InputError("'<<' must name a mapping or a list of mappings", self.place(value))
        return tables


def from_python(value: object, place: SourceLocation) -> Node:
    """A tree from plain Python values (dicts, lists, numbers, strings, None)."""
    if isinstance(value, AbstractMapping):
        entries = {str(key): from_python(item, place) for key, item in value.items()}
        return Table(entries, dict.fromkeys(entries, place), place)
    if isinstance(value, (list, tuple, set, frozenset)):
        return Sequence(tuple(from_python(item, place) for item in value), place)
    if value is None:
        return Scalar("", place)
    if isinstance(value, bool):
        return Scalar("true" if value else "false", place)
    return Scalar(str(value), place, quoted=isinstance(value, str))


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

"""From the text of one YAML document to a tree with positions."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import yaml

from solver_mapper.deadline import check_time
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.templates import LOADED_TAG
from solver_mapper.io.yaml.extent import Extents
from solver_mapper.io.yaml.merge_keys import MERGE_KEYS, with_merged
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, kind_of
from solver_mapper.io.yaml.warnings import Notes

CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal obeys or that are none; tabs and ends of lines are text."""


@dataclass(frozen=True)
class Origin:
    """Where a text comes from: `name` of the file; `location`, the position that people wrote of a
    line and column in the text, if a template rendered it; `loaded`, the contents of other files by
    the names that stand for them."""

    name: str
    location: Callable[[int, int], SourceLocation] | None = None
    loaded: Mapping[str, Node | list[Node]] = field(default_factory=dict)

    def at(self, line: int, column: int) -> SourceLocation:
        """The location of a line and column of the text."""
        return (
            SourceLocation(self.name, line, column)
            if self.location is None
            else self.location(line, column)
        )


class _Loader(yaml.SafeLoader):
    """An anchor may be given again, as YAML 1.2 says: text that several files include defines its
    anchors several times.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        check_time()
        if not self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            self.anchors.pop(event.anchor, None)
        return super().compose_node(parent, index)


def parse_yaml(text: str, origin: Origin, notes: Notes, extents: Extents) -> Node:
    """One YAML document as a `Node`, if it is not too large by `extents`.

    Raises: InputError with the position of what is not YAML.
    """
    if not text.strip():
        raise InputError("the file is empty", origin.at(1, 1))
    try:
        composed = yaml.compose(io.StringIO(text), Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, origin) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        location = origin.at(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        raise InputError(
            f"not a text file: {error.reason}", location, "is this a binary file?"
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", origin.at(1, 1)) from None
    if composed is None:
        raise InputError("the file holds no YAML, only comments", origin.at(1, 1))
    try:
        return _Converter(origin, notes, extents).convert(composed)
    except RecursionError:
        raise InputError("nested too deeply", origin.at(1, 1)) from None


def _not_yaml(error: yaml.MarkedYAMLError, text: str, origin: Origin) -> InputError:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    what = f"not valid YAML: {error.problem or error}{_context(error, line, origin)}"
    if origin.location is None:
        hint = (
            "libconfig files are not read: write them as YAML"
            if origin.name.endswith(".cfg")
            else None
        )
        return InputError(what, origin.at(line, column), hint)
    lines = text.split("\n")
    rendered = lines[line - 1].strip()[:120] if line <= len(lines) else ""
    return InputError(what, origin.at(line, column), f"the template renders '{rendered}' here")


def _context(error: yaml.MarkedYAMLError, line: int, origin: Origin) -> str:
    """What the parser was in the middle of, and where that begins if on another line."""
    if not error.context:
        return ""
    start = error.context_mark
    if start is None or start.line + 1 == line:
        return f" ({error.context})"
    location = origin.at(start.line + 1, start.column + 1)
    return (
        f" ({error.context} from"
        f" {'line ' + str(location.line) if location.file == origin.name else location})"
    )


@dataclass
class _Converter:
    """Turns composed PyYAML nodes into ours, sharing what anchors share and refusing what contains
    itself.
    """

    origin: Origin
    notes: Notes
    extents: Extents
    open: set[int] = field(default_factory=set)
    done: dict[int, Node] = field(default_factory=dict)

    def location(self, node: yaml.Node) -> SourceLocation:
        return self.origin.at(node.start_mark.line + 1, node.start_mark.column + 1)

    def convert(self, node: yaml.Node) -> Node:
        if id(node) in self.done:
            return self.done[id(node)]
        if id(node) in self.open:
            raise InputError(
                "this anchor contains itself",
                self.location(node),
                "an alias may not stand inside what it names",
            )
        self.open.add(id(node))
        tag = node.tag if node.tag and node.tag.startswith("!") and node.tag != "!" else None
        result: Node
        if isinstance(node, yaml.MappingNode):
            result = self.table(node, tag)
        elif isinstance(node, yaml.SequenceNode):
            result = Sequence(
                tuple(self.convert(item) for item in node.value), self.location(node), tag
            )
        elif tag == LOADED_TAG:
            result = self.included(node.value, self.location(node))
        else:
            quoted = getattr(node, "style", None) in ("'", '"')
            result = Scalar(self.printable(node), self.location(node), quoted, tag)
        self.open.discard(id(node))
        self.done[id(node)] = result
        if isinstance(node, yaml.CollectionNode):
            self.extents.check(result)
        return result

    def printable(self, node: yaml.Node) -> str:
        """The text of a scalar. Raises: InputError for control characters, which names may not
        have: they would reach terminals and files.
        """
        found = CONTROL.search(node.value)
        if found is not None:
            raise InputError(
                f"the control character U+{ord(found[0]):04X} is not allowed here",
                self.location(node),
            )
        return str(node.value)

    def table(self, node: yaml.MappingNode, tag: str | None) -> Table:
        entries: dict[str, Node] = {}
        locations: dict[str, SourceLocation] = {}
        merges: list[tuple[str, Node]] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InputError("a key must be a plain word", self.location(key))
            self.printable(key)
            if key.value in MERGE_KEYS:
                merges.append((key.value, self.convert(value)))
            elif key.value in entries:
                raise InputError(
                    f"'{key.value}' is given twice, first at {locations[key.value]}",
                    self.location(key),
                )
            else:
                entries[key.value], locations[key.value] = self.convert(value), self.location(key)
        return with_merged(Table(entries, locations, self.location(node), tag), merges, self.notes)

    def included(self, text: str, location: SourceLocation) -> Node:
        """What `NAME.key.key` stands for. Of several files loaded under one name, a list of what
        each has under these keys.
        """
        name, *keys = text.strip().split(".")
        content = self.origin.loaded.get(name)
        if content is None:
            raise InputError(
                f"'{LOADED_TAG}' stands for files that templates include; there is none called"
                f" '{name}'",
                location,
            )
        if isinstance(content, list):
            return Sequence(tuple(_under(each, keys, location) for each in content), location)
        return _under(content, keys, location)


def _under(node: Node, keys: list[str], location: SourceLocation) -> Node:
    for key in keys:
        if not isinstance(node, Table) or key not in node.entries:
            known = (
                f"it has {', '.join(node.entries)}"
                if isinstance(node, Table)
                else f"it is {kind_of(node)}"
            )
            raise InputError(
                f"the included file has no '{key}' (of '{'.'.join(keys)}')",
                location,
                f"see {node.location}: {known}",
            )
        node = node.entries[key]
    return node

"""From the text of one YAML document to a tree with positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.templates import LOADED_TAG
from solver_mapper.io.yaml.compose import Event, composed
from solver_mapper.io.yaml.extent import Extents
from solver_mapper.io.yaml.merge_keys import MERGE_KEYS, with_merged
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, kind_of
from solver_mapper.io.yaml.warnings import Notes

CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal obeys or that are none; tabs and ends of lines are text."""

LIBCONFIG = "libconfig files are not read: write them as YAML"


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


def parse_yaml(text: str, origin: Origin, notes: Notes, extents: Extents) -> Node:
    """One YAML document as a `Node`, if it is not too large by `extents`.

    Raises: InputError with the position of what is not YAML.
    """
    if not text.strip():
        raise InputError("the file is empty", origin.at(1, 1))
    try:
        node = composed(text, lambda: _Builder(origin, notes, extents))
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
    if node is None:
        raise InputError("the file holds no YAML, only comments", origin.at(1, 1))
    return node


def hint_for(name: str) -> str | None:
    """What to do with a file of another format, by its name."""
    return LIBCONFIG if name.endswith(".cfg") else None


def _not_yaml(error: yaml.MarkedYAMLError, text: str, origin: Origin) -> InputError:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    what = f"not valid YAML: {error.problem or error}{_context(error, line, origin)}"
    if origin.location is None:
        return InputError(what, origin.at(line, column), hint_for(origin.name))
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
class _Builder:
    """Makes nodes of the parts that the parser finds, sharing what anchors share and refusing what
    contains itself.
    """

    origin: Origin
    notes: Notes
    extents: Extents
    anchors: dict[str, Node | None] = field(default_factory=dict)
    """None while the node is not complete."""
    starts: dict[str, SourceLocation] = field(default_factory=dict)
    """Where the nodes of anchors begin."""
    count: int = 0

    def location(self, event: Event) -> SourceLocation:
        mark = event.start_mark
        return self.origin.at(mark.line + 1, mark.column + 1)

    def node(self, event: Event, events: Iterator[Event], depth: int = 0) -> Node:
        """The node that begins with `event`; its parts are taken from `events`."""
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        self.count += 1
        location = self.location(event)
        self.extents.check_growth(self.count, depth, location)
        if event.anchor is not None:  # may be given again, as YAML 1.2 says
            self.anchors[event.anchor], self.starts[event.anchor] = None, location
        tag = event.tag if event.tag and event.tag.startswith("!") and event.tag != "!" else None
        result: Node
        if isinstance(event, yaml.MappingStartEvent):
            result = self.table(location, tag, events, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            result = Sequence(tuple(self.items(events, depth)), location, tag)
        elif tag == LOADED_TAG:
            result = self.included(event.value, location)
        else:
            text = self.printable(event.value, location)
            result = Scalar(text, location, event.style in ("'", '"'), tag)
        if event.anchor is not None:
            self.anchors[event.anchor] = result
        if isinstance(event, yaml.CollectionStartEvent):
            self.extents.check(result)
        return result

    def alias(self, event: Event) -> Node:
        """What an alias names."""
        if event.anchor not in self.anchors:
            what = f"found undefined alias {event.anchor!r}"
            raise yaml.composer.ComposerError(None, None, what, event.start_mark)
        found = self.anchors[event.anchor]
        if found is None:
            raise InputError(
                "this anchor contains itself",
                self.starts[event.anchor],
                "an alias may not stand inside what it names",
            )
        return found

    def items(self, events: Iterator[Event], depth: int) -> Iterator[Node]:
        """The items of a list."""
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield self.node(event, events, depth + 1)

    def printable(self, text: str, location: SourceLocation) -> str:
        """The text of a scalar. Raises: InputError for control characters, which names may not
        have: they would reach terminals and files.
        """
        found = CONTROL.search(text)
        if found is not None:
            raise InputError(
                f"the control character U+{ord(found[0]):04X} is not allowed here", location
            )
        return text

    def key(self, event: Event) -> Scalar:
        """A key. Raises: InputError for one that is no word."""
        node = self.alias(event) if isinstance(event, yaml.AliasEvent) else None
        if node is None and isinstance(event, yaml.ScalarEvent):
            location = self.location(event)
            node = Scalar(self.printable(event.value, location), location)
            if event.anchor is not None:
                self.anchors[event.anchor] = node
        if not isinstance(node, Scalar):
            raise InputError("a key must be a plain word", self.location(event))
        return node

    def table(
        self, location: SourceLocation, tag: str | None, events: Iterator[Event], depth: int
    ) -> Table:
        entries: dict[str, Node] = {}
        locations: dict[str, SourceLocation] = {}
        merges: list[tuple[str, Node]] = []
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self.key(event)
            value = self.node(next(events), events, depth + 1)
            if key.text in MERGE_KEYS:
                merges.append((key.text, value))
            elif key.text in entries:
                what = f"'{key.text}' is given twice, first at {locations[key.text]}"
                before = entries[key.text]
                if not (
                    isinstance(before, Scalar)
                    and isinstance(value, Scalar)
                    and before.text == value.text
                ):
                    raise InputError(what, key.location)
                self.notes.add("repeated-key", key.location, what)
            else:
                entries[key.text], locations[key.text] = value, key.location
        return with_merged(Table(entries, locations, location, tag), merges, self.notes)

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

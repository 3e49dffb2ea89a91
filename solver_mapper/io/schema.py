"""A JSON schema of the input, for editors: made by listening to what the readers ask while they
read a sample.

The sample has every kind of node once; the fields that each kind may have are those that its reader
asks for.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from solver_mapper.errors import SourceLocation
from solver_mapper.io.accelforge.specification import is_tree_input, read_tree_spec
from solver_mapper.io.timeloop.specification import read_spec
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.fields import Fields, Question, listener
from solver_mapper.io.yaml.source import Node, Sequence, Table

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: dict[str, dict[str, Any]] = {
    "integer": {"type": ["integer", "string"]},
    "number": {"type": ["number", "string"]},
    "text": {"type": ["string", "number", "boolean"]},
    "flag": {"type": ["boolean", "integer", "string"]},
    "table": {"type": ["object", "null"]},
    "list": {"type": ["array", "null"]},
    "any": {},
}
"""Numbers may be arithmetic in text. Words may look like numbers."""
_CLOSED: dict[str, Any] = {
    "additionalProperties": False,
    "patternProperties": {"[Ii]gnore": {}},
}
"""Other fields are mistakes, but for those whose name says that they are ignored."""


def json_schema(samples: tuple[Path, ...]) -> dict[str, Any]:
    """The schema of one input file, from sample inputs that have every kind of node. Raises:
    InputError if one cannot be read.
    """
    heard = _FieldRecorder()
    whole: dict[str, Any] = {}
    for sample in samples:
        reader = Reader((sample,))
        table = reader.all(sample)
        token = listener.set(heard)
        try:
            read_tree_spec(table) if is_tree_input(table) else read_spec(table, reader.notes)
        finally:
            listener.reset(token)
        whole = _merged(whole, heard.schema(table))
    return {"$schema": _DIALECT, "title": "Input of solver-mapper", **whole}


class _FieldRecorder:
    """The questions about each table of a sample, by where it stands: some readers join tables."""

    def __init__(self) -> None:
        self.kinds: defaultdict[SourceLocation, dict[str, str]] = defaultdict(dict)
        self.fields: defaultdict[SourceLocation, list[Fields]] = defaultdict(list)

    def __call__(self, question: Question) -> None:
        table = question.fields.table
        self.fields[table.location].append(question.fields)
        for name in question.names:
            known = self.kinds[table.location].get(name, "any")
            self.kinds[table.location][name] = question.kind if known == "any" else known

    def schema(self, node: Node) -> dict[str, Any]:
        if isinstance(node, Sequence):
            items: dict[str, Any] = {}
            for item in node.items:
                items = _merged(items, self.schema(item))
            return {"type": "array", "items": items} if items else {}
        if not isinstance(node, Table):
            return {}
        readers = self.fields[node.location]
        properties = {
            spelling: dict(_TYPES[kind])
            for name, kind in self.kinds[node.location].items()
            for spelling in _spellings(name)
        }
        for key, value in node.entries.items():
            properties[key] = _merged(properties.get(key, {}), self.schema(value))
        made: dict[str, Any] = {"type": "object", "properties": dict(sorted(properties.items()))}
        if any(reader.closed for reader in readers) and not any(reader.exact for reader in readers):
            made |= _CLOSED
        return made


def _spellings(name: str) -> set[str]:
    return {name, name.replace("-", "_"), name.replace("_", "-")}


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A schema for what either of the two describes."""
    if not one or not other:
        return one or other
    made: dict[str, Any] = {}
    types = [_types(schema) for schema in (one, other) if "type" in schema]
    if len(types) == 2:
        both = list(dict.fromkeys((*types[0], *types[1])))
        made["type"] = both[0] if len(both) == 1 else both
    if "items" in one or "items" in other:
        made["items"] = _merged(one.get("items", {}), other.get("items", {}))
    known = [schema for schema in (one, other) if "properties" in schema]
    if known:
        names = sorted({name for schema in known for name in schema["properties"]})
        each = [[schema["properties"].get(name, {}) for schema in known] for name in names]
        made["properties"] = {
            name: _merged(found[0], found[-1]) for name, found in zip(names, each, strict=True)
        }
        if all("additionalProperties" in schema for schema in known):
            made |= _CLOSED
    return made


def _types(schema: dict[str, Any]) -> list[str]:
    return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]

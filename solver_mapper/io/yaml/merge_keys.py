"""Merge keys: `<<` of YAML, and `<<<` and `<<<<` of Timeloop's front end and AccelForge. Lists of
mappings that stand for one mapping.

What a mapping says itself always counts before what it merges, and of several merged mappings the
first one.

    <<    adds the keys that the mapping does not have
    <<<   also merges mappings into mappings under the same key
    <<<<  also appends lists to lists under the same key
"""

from __future__ import annotations

from collections.abc import Sequence as AnySequence

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, kind_of, to_python
from solver_mapper.io.yaml.warnings import Notes

MERGE_KEYS = ("<<", "<<<", "<<<<")
NO_MERGE_TAG = "!nomerge"


def with_merged(own: Table, merges: AnySequence[tuple[str, Node]], notes: Notes) -> Table:
    """`own` with what its merge keys name. `merges` are those keys with their values.

    Raises: InputError for a value that is neither a mapping nor a list of mappings.
    """
    for key, value in merges:
        for other in value.items if isinstance(value, Sequence) else (value,):
            if not isinstance(other, Table):
                raise InputError(
                    f"'{key}' must name a mapping or a list of mappings", value.location
                )
            own = _merge(own, other, key, notes)
    return own


def joined(node: Node, what: str) -> Node:
    """The mappings of a list as one mapping: Timeloop's front end reads a list where it expects a
    mapping so (its class `DictNode`). Anything but a list stays as it is.

    Raises: InputError for an item that is no mapping, and for a key with two values.
    """
    if not isinstance(node, Sequence):
        return node
    entries: dict[str, Node] = {}
    locations: dict[str, SourceLocation] = {}
    for item in node.items:
        part = joined(item, what)
        if not isinstance(part, Table):
            raise InputError(
                f"{what} must be a mapping or a list of mappings; this item is {kind_of(part)}",
                part.location,
            )
        for key, value in part.entries.items():
            old = entries.get(key)
            if old is None or (isinstance(old, Scalar) and old.is_null):
                entries[key], locations[key] = value, part.key_locations[key]
            elif to_python(value) not in (None, to_python(old)):
                raise InputError(
                    f"'{key}' of {what} is given twice, first at {locations[key]}",
                    part.key_locations[key],
                    "keep one of them",
                )
    return Table(entries, locations, node.location, node.tag)


def resolved(node: Node, notes: Notes) -> Node:
    """`node` with the merge keys in it resolved, for trees that come from Python's dicts. Raises:
    InputError.
    """
    if isinstance(node, Sequence):
        return Sequence(
            tuple(resolved(item, notes) for item in node.items), node.location, node.tag
        )
    if not isinstance(node, Table):
        return node
    entries = {key: resolved(item, notes) for key, item in node.entries.items()}
    merges = [(key, entries.pop(key)) for key in list(entries) if key in MERGE_KEYS]
    return with_merged(
        Table(entries, {key: node.key_locations[key] for key in entries}, node.location, node.tag),
        merges,
        notes,
    )


def _merge(own: Table, other: Table, key: str, notes: Notes) -> Table:
    entries, locations = dict(own.entries), dict(own.key_locations)
    for word, node in other.entries.items():
        mine = entries.get(word)
        if mine is None:
            entries[word], locations[word] = node, other.key_locations[word]
        elif key == "<<" or mine.tag == NO_MERGE_TAG:
            continue
        elif isinstance(mine, Table) and isinstance(node, Table):
            entries[word] = _merge(mine, node, key, notes)
        elif isinstance(mine, Sequence) and isinstance(node, Sequence):
            entries[word] = _lists(word, mine, node, key, notes)
    return Table(entries, locations, own.location, own.tag)


def _lists(word: str, mine: Sequence, other: Sequence, key: str, notes: Notes) -> Sequence:
    """AccelForge joins lists under `<<<`, Timeloop's front end does not."""
    if key == "<<<<":
        return Sequence(mine.items + other.items, mine.location, mine.tag)
    if other.items:
        notes.add(
            "merge-list",
            mine.location,
            f"this list '{word}' replaces the list that '<<<' would merge; write '<<<<' to have"
            " both",
        )
    return mine

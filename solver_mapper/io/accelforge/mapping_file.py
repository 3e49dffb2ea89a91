"""LoopTree mappings as YAML: `mapping: {nodes: [...]}` with one tag a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from solver_mapper.core.results.rendering import yaml_of
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Nested,
    Node,
    Pipeline,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
    TreeMapping,
)
from solver_mapper.errors import InputError, did_you_mean
from solver_mapper.io.yaml.expressions import evaluate
from solver_mapper.io.yaml.fields import Fields, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node as YamlNode
from solver_mapper.io.yaml.source import Sequence, Table

Variables = Mapping[str, Fraction]


def read_tree(node: YamlNode, variables: Variables | None = None) -> TreeMapping:
    """The record of a `mapping:` section.

    Args: `variables`, values of words in arithmetic.
    Raises: InputError with the location of a node that is malformed or of an unknown kind.
    """
    fields = Fields(table_of(node, "'mapping'"), "the mapping")
    nodes = sequence_of(fields.require("nodes"), "'nodes' of the mapping")
    fields.ignore("version")
    fields.close()
    return TreeMapping(_nodes(nodes, variables or {}), location=node.location)


def _nodes(listed: Sequence, variables: Variables) -> tuple[Node, ...]:
    return tuple(node for item in listed.items for node in _read(item, variables))


def _read(item: YamlNode, variables: Variables) -> tuple[Node, ...]:
    table = table_of(item, "a node of the mapping")
    kind = (table.tag or "").lstrip("!")
    if kind in _SILENT:
        return ()
    reader = _READERS.get(kind)
    if reader is None:
        known = [f"!{name}" for name in _READERS]
        what = (
            f"unknown kind of node '!{kind}'"
            if kind
            else "a node of the mapping needs a tag that says its kind"
        )
        raise InputError(
            what,
            table.location,
            did_you_mean(f"!{kind}", known) if kind else f"known: {', '.join(known)}",
        )
    fields = Fields(table, f"!{kind}")
    node = reader(fields, variables)
    fields.ignore("text")
    fields.close()
    return (node,)


def _tensors(fields: Fields) -> tuple[str, ...]:
    node = fields.node("tensors", "tensor")
    if node is None:
        raise InputError(f"{fields.what} lacks 'tensors'", fields.location)
    if not isinstance(node, Sequence):
        return (text_of(node, "a tensor"),)
    names = tuple(text_of(item, "a tensor") for item in node.items)
    if not names:
        raise InputError(f"{fields.what} names no tensor", node.location)
    return names


def _component(fields: Fields) -> str:
    return text_of(fields.require("component"), f"'component' of {fields.what}")


def _storage(fields: Fields, variables: Variables) -> Node:
    binding = fields.sequence_at("binding")
    if binding is not None and binding.items:
        raise InputError("'binding' of distributed memories is not supported", binding.location)
    return Storage(
        _tensors(fields),
        _component(fields),
        fields.flag("persistent") or False,
        location=fields.location,
    )


def _toll(fields: Fields, variables: Variables) -> Node:
    return Toll(_tensors(fields), _component(fields), location=fields.location)


def _variable(fields: Fields) -> str:
    node = fields.require("rank_variable")
    names = (
        [text_of(item, "a rank variable") for item in node.items]
        if isinstance(node, Sequence)
        else list(node.entries)
        if isinstance(node, Table)
        else [text_of(node, "a rank variable")]
    )
    if not names:
        raise InputError(f"{fields.what} names no rank variable", node.location)
    return "|".join(names)


def _extent(fields: Fields, name: str, variables: Variables) -> int | None:
    node = fields.node(name)
    if node is None:
        return None
    value = evaluate(
        text_of(node, f"'{name}'"), variables, node.location, f"'{name}' of {fields.what}"
    )
    if value.denominator != 1 or value < 1:
        raise InputError(
            f"'{name}' must be a whole number of at least 1, not {value}", node.location
        )
    return int(value)


def _tiles(fields: Fields, variables: Variables) -> tuple[int, int | None]:
    """(tile shape, initial tile shape) of a loop, which AccelForge also calls its `tile_pattern`.

    Raises: InputError where trips are given: they follow from the tile around the loop, which may
    differ between Einsums.
    """
    pattern = fields.table_at("tile_pattern")
    both = None if pattern is None else fields.node("tile_shape", "initial_tile_shape")
    if both is not None:
        raise InputError(
            f"{fields.what} has both 'tile_pattern' and a tile shape",
            both.location,
            "keep one of them",
        )
    own = fields if pattern is None else Fields(pattern, f"'tile_pattern' of {fields.what}")
    for name in _TRIPS:
        node = own.node(name)
        if node is not None:
            raise InputError(
                f"{own.what} has '{name}', but a loop is given by the tile below it",
                node.location,
                "write 'tile_shape': the tile around the loop, divided by the iterations",
            )
    shape, first = (
        _extent(own, "tile_shape", variables),
        _extent(own, "initial_tile_shape", variables),
    )
    if shape is None:
        raise InputError(
            f"{own.what} lacks 'tile_shape'", own.location, "the extent of the tile below the loop"
        )
    if own is not fields:
        own.close()
    return shape, first


def _temporal(fields: Fields, variables: Variables) -> Node:
    return Temporal(_variable(fields), *_tiles(fields, variables), location=fields.location)


def _spatial(fields: Fields, variables: Variables) -> Node:
    shape, first = _tiles(fields, variables)
    return Spatial(
        _variable(fields),
        shape,
        _component(fields),
        text_of(fields.require("name"), "'name' of !Spatial"),
        first,
        location=fields.location,
    )


def _compute(fields: Fields, variables: Variables) -> Node:
    return Compute(
        text_of(fields.require("einsum"), "'einsum' of !Compute"),
        _component(fields),
        location=fields.location,
    )


def _list_of(fields: Fields, variables: Variables) -> tuple[Node, ...]:
    return _nodes(sequence_of(fields.require("nodes"), f"'nodes' of {fields.what}"), variables)


_TRIPS = ("n_iterations", "calculated_n_iterations", "loop_bound", "factor")
"""Words for the number of iterations of a loop."""

_READERS: dict[str, Callable[[Fields, Variables], Node]] = {
    "Storage": _storage,
    "Toll": _toll,
    "Temporal": _temporal,
    "Spatial": _spatial,
    "Compute": _compute,
    "Nested": lambda fields, variables: Nested(
        _list_of(fields, variables), location=fields.location
    ),
    "Sequential": lambda fields, variables: Sequential(
        _list_of(fields, variables), location=fields.location
    ),
    "Pipeline": lambda fields, variables: Pipeline(
        _list_of(fields, variables), location=fields.location
    ),
}
_SILENT = ("Reservation", "TextBox")
"""Kinds that say nothing a mapping needs: reservations are derived, boxes are for pictures."""


@yaml_of.register
def write_tree(mapping: TreeMapping) -> str:
    """The mapping as YAML text that `read_tree` and AccelForge read."""
    return "\n".join(["mapping:", "  nodes:", *_lines(mapping.nodes, "  ")]) + "\n"


def _lines(nodes: tuple[Node, ...], indent: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, (Nested, Sequential, Pipeline)):
            yield f"{indent}- !{type(node).__name__}"
            yield f"{indent}  nodes:"
            yield from _lines(node.nodes, indent + "  ")
        else:
            yield f"{indent}- !{type(node).__name__} {{{', '.join(_entries(node))}}}"


def _entries(node: Node) -> Iterator[str]:
    if isinstance(node, (Storage, Toll)):
        yield f"tensors: [{', '.join(map(_word, node.tensors))}]"
        yield f"component: {_word(node.component)}"
        if isinstance(node, Storage) and node.persistent:
            yield "persistent: true"
    elif isinstance(node, (Temporal, Spatial)):
        names = [_word(name) for name in node.variables]
        yield f"rank_variable: {names[0] if len(names) == 1 else '[' + ', '.join(names) + ']'}"
        yield f"tile_shape: {node.tile_shape}"
        if node.initial_tile_shape is not None:
            yield f"initial_tile_shape: {node.initial_tile_shape}"
        if isinstance(node, Spatial):
            yield f"component: {_word(node.component)}"
            yield f"name: {_word(node.name)}"
    elif isinstance(node, Compute):
        yield f"einsum: {_word(node.einsum)}"
        yield f"component: {_word(node.component)}"


def _word(text: str) -> str:
    """A YAML scalar that AccelForge reads back as this very string."""
    plain = text.isidentifier() and text.lower() not in (
        "yes",
        "no",
        "on",
        "off",
        "true",
        "false",
        "null",
        "nan",
        "inf",
    )
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

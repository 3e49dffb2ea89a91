"""Reading `arch:`: a list of nodes, outer to inner, each with a tag that says its kind."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.cost.looptree.architecture import (
    ActionText,
    Architecture,
    Branch,
    ComparisonText,
    Component,
    FanoutText,
    HoldingText,
    Text,
    Texts,
)
from solver_mapper.cost.looptree.hardware import Kind
from solver_mapper.errors import InputError, did_you_mean
from solver_mapper.io.yaml.fields import Fields, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, to_python

_ACTIONS = {Kind.MEMORY: ("read", "write"), Kind.TOLL: ("read",), Kind.COMPUTE: ("compute",)}
_SCALARS = (
    "enabled",
    "leak_power",
    "leak_power_scale",
    "energy_scale",
    "throughput_scale",
    "actions_scale",
    "n_parallel_instances",
    "total_latency",
)
_OF_HOLDERS = ("size", "bits_per_action")
_IGNORED = (
    "area",
    "area_scale",
    "total_area",
    "total_leak_power",
    "extra_attributes_for_component_model",
    "component_modeling_log",
)
_UNSUPPORTED = {
    "Network": "hops between instances are not modelled",
    "Array": "distributed buffers are not modelled",
}


def read_architecture(node: Node, variables: Node | None = None) -> Architecture:
    """The record of an `arch:` section.

    Args: `variables`, the top-level section of that name.
    Raises: InputError with the location of a node that is malformed, of an unknown kind or a second
    one of its name.
    """
    fields = Fields(table_of(node, "'arch'"), "the architecture")
    nodes = sequence_of(fields.require("nodes"), "'nodes' of the architecture")
    own = {**_variables(variables), **_variables(fields.node("variables"))}
    fields.ignore("extra_attributes_for_all_component_models", "version")
    fields.close()
    architecture = Architecture(
        Branch(tuple(_nodes(nodes)), location=nodes.location), own, node.location
    )
    _check(architecture)
    return architecture


def _variables(node: Node | None) -> Texts:
    if node is None:
        return {}
    table = table_of(node, "'variables'")
    return {
        name: Text(
            text_of(item, f"variable '{name}'")
            if isinstance(item, Scalar)
            else str(to_python(item)),
            item.location,
        )
        for name, item in table.entries.items()
    }


def _check(architecture: Architecture) -> None:
    seen: dict[str, Component] = {}
    for component in architecture.root.components():
        if component.name in seen:
            raise InputError(
                f"two nodes are called '{component.name}', first at"
                f" {seen[component.name].location}",
                component.location,
            )
        seen[component.name] = component
    if not architecture.computes:
        raise InputError("the architecture has no !Compute", architecture.location)
    if not any(component.kind is Kind.MEMORY for component in seen.values()):
        raise InputError("the architecture has no !Memory", architecture.location)


def _nodes(listed: Sequence) -> Iterator[Component | Branch]:
    for item in listed.items:
        table = table_of(item, "a node of the architecture")
        tag = (table.tag or "").lstrip("!")
        known = [f"!{kind.value}" for kind in Kind] + ["!Hierarchical", "!Fork"]
        if tag in _UNSUPPORTED:
            raise InputError(
                f"!{tag} is not supported: {_UNSUPPORTED[tag]}",
                table.location,
                f"known: {', '.join(known)}",
            )
        if tag in ("Hierarchical", "Fork"):
            yield _branch(table, tag == "Fork")
        elif tag in {kind.value for kind in Kind}:
            yield _component(table, Kind(tag))
        else:
            what = (
                f"unknown kind of node '!{tag}'"
                if tag
                else "a node of the architecture needs a tag that says its kind"
            )
            raise InputError(
                what,
                table.location,
                did_you_mean(f"!{tag}", known) if tag else f"known: {', '.join(known)}",
            )


def _branch(table: Table, fork: bool) -> Branch:
    fields = Fields(table, "!Fork" if fork else "!Hierarchical")
    fields.ignore("name")
    inner = Branch(
        tuple(_nodes(sequence_of(fields.require("nodes"), "'nodes'"))),
        fork,
        table.location,
        fork_gated=(fork and fields.flag("forked_power_gateable")) or False,
        rest_gated=(fork and fields.flag("non_forked_power_gateable")) or False,
    )
    fields.close()
    return inner


def _component(table: Table, kind: Kind) -> Component:
    fields = Fields(table, f"!{kind.value}")
    name = text_of(fields.require("name"), f"'name' of !{kind.value}")
    fields.what = f"{kind.value.lower()} '{name}'"
    fanouts = tuple(
        _fanout(item, name)
        for item in (fields.sequence_at("spatial") or Sequence((), table.location)).items
    )
    for number, fanout in enumerate(fanouts):
        if fanout.name in (other.name for other in fanouts[:number]):
            raise InputError(
                f"{fields.what} has two spatial dimensions '{fanout.name}'", fanout.location
            )
    if kind is Kind.CONTAINER:
        fields.close()
        return Component(name, kind, fanouts=fanouts, location=table.location)
    holder = kind is not Kind.COMPUTE
    values = _texts(fields, (*_SCALARS, *(_OF_HOLDERS if holder else ())))
    if kind is not Kind.TOLL:
        values |= _texts(fields, ("skip_initial_output_write",))
    direction = fields.node("direction") if kind is Kind.TOLL else None
    component = Component(
        name,
        kind,
        values,
        fanouts,
        tuple(_actions(fields, kind)),
        bits_per_value=fields.table_at("bits_per_value") if holder else None,
        values_per_action=fields.table_at("values_per_action") if holder else None,
        direction=(
            Text(direction.text, direction.location)
            if isinstance(direction, Scalar)
            else (table_of(direction, "'direction'") if direction is not None else None)
        ),
        holding=_holding(fields.node("tensors"), name) if holder else HoldingText(),
        component_class=fields.text("component_class"),
        location=table.location,
    )
    fields.ignore(*_IGNORED)
    fields.close()
    if kind is Kind.MEMORY:
        fields.require("size")
    return component


def _texts(fields: Fields, names: tuple[str, ...]) -> dict[str, Text]:
    found = ((name, fields.node(name)) for name in names)
    return {
        name: Text(text_of(node, f"'{name}' of {fields.what}"), node.location)
        for name, node in found
        if node is not None
    }


def _actions(fields: Fields, kind: Kind) -> Iterator[ActionText]:
    given: dict[str, ActionText] = {}
    for item in (fields.sequence_at("actions") or Sequence((), fields.location)).items:
        own = Fields(table_of(item, f"an action of {fields.what}"), f"an action of {fields.what}")
        name = text_of(own.require("name"), "'name' of an action")
        own.what = f"action '{name}' of {fields.what}"
        if name not in _ACTIONS[kind]:
            raise InputError(
                f"{fields.what} has no action '{name}'",
                own.location,
                f"known: {', '.join(_ACTIONS[kind])}",
            )
        if name in given:
            raise InputError(f"{fields.what} has two actions '{name}'", own.location)
        values = _texts(
            own,
            (
                "energy",
                "energy_scale",
                "throughput",
                "throughput_scale",
                "latency",
                "bits_per_action",
            ),
        )
        given[name] = ActionText(name, values, own.table_at("values_per_action"), own.location)
        own.ignore("extra_attributes_for_component_model", "latency_scale")
        own.close()
    for name in _ACTIONS[kind]:
        yield given.get(name, ActionText(name, location=fields.location))


def _fanout(node: Node, owner: str) -> FanoutText:
    fields = Fields(
        table_of(node, f"an entry of 'spatial' of '{owner}'"), f"an entry of 'spatial' of '{owner}'"
    )
    name = text_of(fields.require("name"), "'name' of a spatial entry")
    fields.what = f"spatial '{name}' of '{owner}'"
    fields.require("fanout")
    values = _texts(
        fields, ("fanout", "may_reuse", "reuse", "min_usage", "usage_scale", "power_gateable")
    )
    bounds = tuple(
        _comparison(item)
        for item in (fields.sequence_at("loop_bounds") or Sequence((), node.location)).items
    )
    fields.close()
    return FanoutText(name, values, bounds, node.location)


def _comparison(node: Node) -> ComparisonText:
    fields = Fields(table_of(node, "a comparison"), "a comparison")
    expression, value = fields.require("expression"), fields.require("value")
    operator = text_of(fields.require("operator"), "'operator'")
    fields.close()
    return ComparisonText(
        Text(text_of(expression, "'expression'"), expression.location),
        operator,
        Text(text_of(value, "'value'"), value.location),
    )


def _holding(node: Node | None, owner: str) -> HoldingText:
    if node is None:
        return HoldingText()
    fields = Fields(table_of(node, f"'tensors' of '{owner}'"), f"'tensors' of '{owner}'")
    values = _texts(
        fields, ("keep", "may_keep", "back", "no_refetch_from_above", "no_resend_to_below")
    )
    shapes = tuple(
        _comparison(item)
        for item in (fields.sequence_at("tile_shape") or Sequence((), node.location)).items
    )
    orders = tuple(
        tuple(
            Text(text_of(item, "a set of tensors"), item.location)
            for item in sequence_of(option, "an order").items
        )
        for option in (
            fields.sequence_at("tensor_order_options") or Sequence((), node.location)
        ).items
    )
    force = fields.flag("force_memory_hierarchy_order")
    fields.close()
    return HoldingText(values, shapes, orders, True if force is None else force, node.location)

"""Changing attributes of an architecture by their path, in what was read and before it is
interpreted.

Whatever depends on an attribute, such as an energy that a formula gives, therefore follows it.

    COMPONENT.ATTRIBUTE       an attribute: `shared_glb.entries`, `PE.meshX`, `*.meshX` (of every
    component that has it) COMPONENT.count           how many there are: the range of its name,
    `PE[0..15]` COMPONENT.energy.ACTION   an energy in pJ in its reference table:
    `shared_glb.energy.read`, `shared_glb.energy.*` variables.NAME            an entry of the
    top-level key `variables`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.io.timeloop.architecture.architecture_chain import count_of
from solver_mapper.io.timeloop.architecture.component import BUFFER, COMPUTE, NETWORK
from solver_mapper.io.timeloop.architecture.energy_tables import base_name
from solver_mapper.io.yaml.fields import normal
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table, from_python

_SAME = (
    ("entries", "depth", "memory_depth", "data_storage_depth", "sizeKB"),
    ("word-bits", "word_width", "datawidth"),
)
"""Attributes that give one quantity: who sets one of them replaces the others."""
_KNOWN = tuple(dict.fromkeys((*BUFFER, *COMPUTE, *NETWORK, "technology")))
_SPATIAL = ("meshx", "meshy")
_PARTS = ("name", "attributes", "spatial", "constraints", "class")
Edit = Callable[[Table], Table | None]
"""A component changed, or None if the change does not apply to it."""


def with_attributes(top: Table, values: Mapping[str, object]) -> Table:
    """`top` with other attributes.

    Args: `values`, by path: numbers, words, or YAML nodes.
    Raises: InputError for a path that leads nowhere.
    """
    for path, value in values.items():
        location = SourceLocation(path)
        node = (
            value if isinstance(value, (Scalar, Sequence, Table)) else from_python(value, location)
        )
        top = _set(top, path, _located(node, location))
    return top


def overlapping(first: str, second: str) -> bool:
    """Whether there can be an attribute that both paths set."""
    (component, attribute), (other, another) = _canonical(first), _canonical(second)
    if "variables" in (component, other):
        return (component, attribute) == (other, another)
    return _matching(component, other) and _matching(attribute, another)


def _canonical(path: str) -> tuple[str, str]:
    """Component and attribute, the latter in one spelling of all that give the same quantity."""
    component, _, attribute = path.strip().partition(".")
    if component == "variables" or attribute.startswith("energy."):
        return component, attribute
    word = normal(attribute)
    return component, next((group[0] for group in _SAME if word in map(normal, group)), word)


def _matching(first: str, second: str) -> bool:
    return fnmatchcase(first, second) or fnmatchcase(second, first)


def _located(node: Node, location: SourceLocation) -> Node:
    """A number or word that is known by the path it was given for unless it stands in a file; text
    from Python counts as if it stood in one.
    """
    if not isinstance(node, Scalar):
        return node
    known = node.location if node.location.line is not None else location
    return replace(node, location=known, quoted=False)


def _set(top: Table, path: str, value: Node) -> Table:
    component, _, attribute = path.strip().partition(".")
    if not component or not attribute:
        raise InputError(
            f"'{path}' is not the path of an attribute",
            SourceLocation(path),
            "for example 'shared_glb.entries'",
        )
    if component == "variables":
        return _entry(
            top,
            "variables",
            lambda table: _with(table, attribute, value, SourceLocation(path)),
            path,
        )
    if attribute.startswith("energy."):
        return _entry(
            top,
            "ERT",
            lambda table: _energy(table, component, attribute[7:], value, SourceLocation(path)),
            path,
        )
    key = "arch" if "arch" in top.entries else "architecture"
    return _entry(
        top,
        key,
        lambda table: _architecture(table, component, attribute, value, SourceLocation(path)),
        path,
    )


def _entry(top: Table, key: str, change: Callable[[Table], Table], path: str) -> Table:
    found = top.entries.get(key)
    if not isinstance(found, Table):
        raise InputError(f"there is no '{key}' in the input", SourceLocation(path))
    return replace(top, entries=top.entries | {key: change(found)})


def _with(table: Table, key: str, value: Node, location: SourceLocation) -> Table:
    """`table` with `key`, in whatever spelling it stands there, set to `value`."""
    spelled = next((known for known in table.entries if normal(known) == normal(key)), key)
    locations = (
        table.key_locations
        if spelled in table.key_locations
        else table.key_locations | {spelled: location}
    )
    return replace(table, entries=table.entries | {spelled: value}, key_locations=locations)


def _architecture(
    table: Table, component: str, attribute: str, value: Node, location: SourceLocation
) -> Table:
    if attribute == "count":
        return _Walk(component, lambda found: _counted(found, value), location).run(
            table, "has a range of names"
        )
    if normal(attribute) not in {normal(known) for known in _KNOWN}:
        raise InputError(
            f"no component has an attribute '{attribute}'",
            location,
            did_you_mean(attribute, (*_KNOWN, "count")),
        )
    wild = any(letter in component for letter in "*?[")
    return _Walk(
        component, lambda found: _attribute(found, attribute, value, location, wild), location
    ).run(table, f"has an attribute '{attribute}'")


@dataclass
class _Walk:
    """Applies an edit to each component whose name matches `component`."""

    component: str
    edit: Edit
    location: SourceLocation
    names: list[str] = field(default_factory=list)
    matched: bool = False
    changed: bool = False

    def run(self, table: Table, what: str) -> Table:
        """The changed architecture. Raises: InputError if no component matches, or none `what`."""
        done = self._node(table)
        assert isinstance(done, Table)
        if not self.matched:
            raise InputError(
                f"there is no component '{self.component}'",
                self.location,
                did_you_mean(self.component, self.names),
            )
        if not self.changed:
            raise InputError(f"no component '{self.component}' {what}", self.location)
        return done

    def _node(self, node: Node) -> Node:
        if isinstance(node, Sequence):
            return replace(node, items=tuple(self._node(item) for item in node.items))
        if isinstance(node, Scalar):
            return node
        name = node.entries.get("name")
        if isinstance(name, Scalar):
            word = base_name(name.text)
            self.names.append(word)
            if fnmatchcase(word, self.component):
                self.matched = True
                edited = self.edit(node)
                self.changed |= edited is not None
                node = edited or node
        inner = {
            key: each if key in _PARTS else self._node(each) for key, each in node.entries.items()
        }
        return replace(node, entries=inner)


def _counted(found: Table, value: Node) -> Table | None:
    """The range of the name of a component or subtree, counted from 0."""
    name = found.entries["name"]
    assert isinstance(name, Scalar)
    word, count = count_of(name.text, name.location)
    if count == 1 and "[" not in name.text:
        return None
    if not isinstance(value, Scalar) or not value.text.isdigit() or int(value.text) < 1:
        raise InputError("a count must be a whole number of at least 1", value.location)
    renamed = replace(name, text=f"{word}[0..{int(value.text) - 1}]")
    return replace(found, entries=found.entries | {"name": renamed})


def _attribute(
    found: Table, attribute: str, value: Node, location: SourceLocation, existing: bool
) -> Table | None:
    """A component with the attribute set; with `existing`, only where it, or another name of it, is
    set already.
    """
    if "local" in found.entries or "subtree" in found.entries:
        return None
    if found.tag is not None and normal(attribute) in _SPATIAL:
        return _part(found, "spatial", attribute, value, location, existing)
    flat = "attributes" not in found.entries and "class" not in found.entries
    return (
        _assigned(found, attribute, value, location, existing)
        if flat
        else _part(found, "attributes", attribute, value, location, existing)
    )


def _part(
    found: Table, part: str, attribute: str, value: Node, location: SourceLocation, existing: bool
) -> Table | None:
    inner = found.entries.get(part, Table({}, {}, found.location))
    if not isinstance(inner, Table):
        return None
    done = _assigned(inner, attribute, value, location, existing)
    if done is None:
        return None
    locations = found.key_locations | ({} if part in found.key_locations else {part: location})
    return replace(found, entries=found.entries | {part: done}, key_locations=locations)


def _assigned(
    table: Table, attribute: str, value: Node, location: SourceLocation, existing: bool
) -> Table | None:
    same = next((group for group in _SAME if normal(attribute) in map(normal, group)), (attribute,))
    spellings = {normal(each) for each in same}
    others = [key for key in table.entries if normal(key) in spellings]
    if existing and not others:
        return None
    entries = {key: each for key, each in table.entries.items() if key not in others}
    locations = {key: each for key, each in table.key_locations.items() if key not in others}
    return replace(
        table, entries=entries | {attribute: value}, key_locations=locations | {attribute: location}
    )


def _energy(
    ert: Table, component: str, action: str, value: Node, location: SourceLocation
) -> Table:
    """The reference table with the energy of an action replaced. Raises: InputError if there is no
    such action.
    """
    tables, changed = ert.entries.get("tables"), False
    actions: list[str] = []

    def rows(name: str, listed: Node) -> Node:
        nonlocal changed
        if not fnmatchcase(base_name(name), component):
            return listed
        actions.extend(_name(each) for each in _items(listed))
        done = Sequence(
            tuple(_row(each, action, value) for each in _items(listed)), listed.location
        )
        changed |= done != listed
        return done

    if isinstance(tables, Sequence):
        done: Node = replace(
            tables,
            items=tuple(
                (
                    replace(
                        each,
                        entries=each.entries
                        | {"actions": rows(_name(each), each.entries["actions"])},
                    )
                    if isinstance(each, Table) and "actions" in each.entries
                    else each
                )
                for each in tables.items
            ),
        )
    else:
        raise InputError("energies can be changed in a table of version 0.3 or 0.4 only", location)
    if not changed:
        raise InputError(
            f"the energy table has no action '{action}' of '{component}'",
            location,
            did_you_mean(action, actions),
        )
    return replace(ert, entries=ert.entries | {"tables": done})


def _items(node: Node) -> Iterator[Node]:
    yield from node.items if isinstance(node, Sequence) else ()


def _name(node: Node) -> str:
    name = node.entries.get("name") if isinstance(node, Table) else None
    return name.text if isinstance(name, Scalar) else ""


def _row(node: Node, action: str, value: Node) -> Node:
    if not isinstance(node, Table) or not fnmatchcase(_name(node), action):
        return node
    return replace(node, entries=node.entries | {"energy": value})

"""The tree form of Timeloop and Accelergy 0.2 and 0.3: `architecture: {version, subtree: [{name,
local, subtree}]}`.

Components are listed outer to inner; ranges in names (`PE[0..15]`) multiply the instances of all
that lies below.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.timeloop.architecture.architecture_chain import Parts, build, count_of
from solver_mapper.io.timeloop.architecture.component import BUFFER, Component
from solver_mapper.io.timeloop.architecture.declared_networks import CLASSES as NETWORKS
from solver_mapper.io.timeloop.architecture.energy_tables import EnergyTables
from solver_mapper.io.timeloop.architecture.versions import version_of
from solver_mapper.io.timeloop.unread_keys import note_unread
from solver_mapper.io.yaml.fields import Fields, normal, table_of, text_of
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Table
from solver_mapper.io.yaml.warnings import Notes

STORAGE = ("DRAM", "SRAM", "regfile", "smartbuffer", "storage")
COMPUTE = ("mac", "intmac", "fpmac", "compute")


def role_of(class_name: str, location: SourceLocation) -> str:
    """ "storage", "compute", "network" or "": what a class of component is to a mapping. Timeloop
    looks for words in its name.

    Raises: InputError for a class that only differs in letter case or by a slip from one that
    matters.
    """
    if any(word in class_name for word in STORAGE):
        return "storage"
    if any(word in class_name for word in COMPUTE):
        return "compute"
    if any(word in class_name for word in NETWORKS):
        return "network"
    folded = {word.lower(): word for word in (*STORAGE, *COMPUTE, *NETWORKS)}
    inside = [word for word in folded if word in class_name.lower()]
    close = inside or difflib.get_close_matches(class_name.lower(), list(folded), n=1, cutoff=0.75)
    if close:
        raise InputError(
            f"unknown class '{class_name}'", location, f"did you mean '{folded[close[0]]}'?"
        )
    return ""


@dataclass
class _Walk:
    """`flattened`: the front end has copied the attributes of subtrees into their components
    already.
    """

    tables: EnergyTables
    notes: Notes
    scope: Scope
    flattened: bool
    parts: Parts = field(default_factory=Parts)
    starts: list[tuple[str, int]] = field(default_factory=list)

    def subtree(self, node: Node, instances: int) -> None:
        """Read one subtree with all below it; `instances` copies of it exist."""
        fields = Fields(table_of(node, "a subtree"), "a subtree")
        name, count = count_of(
            text_of(fields.require("name"), "the name of a subtree"), fields.location_of("name")
        )
        self.starts.append((name, len(self.parts.levels)))
        local, below = fields.sequence_at("local"), fields.sequence_at("subtree")
        fields.ignore("class")
        self._check_attributes(fields)
        fields.close()
        for each in () if local is None else local.items:
            self.component(each, instances * count)
        if below is None:
            return
        if len(below.items) > 1:
            raise InputError(
                f"subtree '{name}' has {len(below.items)} subtrees, not one chain of levels",
                below.items[1].location,
            )
        for each in below.items:
            self.subtree(each, instances * count)

    def _check_attributes(self, fields: Fields) -> None:
        """Before v0.4 the attributes of a subtree do not reach the components in it."""
        attributes = fields.table_at("attributes")
        known = {normal(name) for name in BUFFER}
        for key, location in () if attributes is None else attributes.key_locations.items():
            if normal(key) in known and not self.flattened:
                self.notes.add(
                    "subtree-attribute",
                    location,
                    f"attribute '{key}' of a subtree does not reach its components before v0.4",
                )

    def component(self, node: Node, instances: int) -> None:
        fields = Fields(table_of(node, "a component"), "a component")
        name, count = count_of(
            text_of(fields.require("name"), "the name of a component"), fields.location_of("name")
        )
        fields.what = f"component '{name}'"
        fields.ignore("subclass", "required_actions", "area_scale", "energy_scale")
        class_name = text_of(fields.require("class"), f"the class of '{name}'")
        role = role_of(class_name, fields.location_of("class"))
        attributes = fields.table_at("attributes") or Table({}, {}, node.location)
        if fields.has("sparse_optimizations"):
            self.notes.sparse(fields.location_of("sparse_optimizations"), "sparse optimizations")
        if fields.flag("enabled") is False:
            return
        fields.close()
        technology = "DRAM" if "DRAM" in class_name else "SRAM"
        what = f"{'storage level' if role == 'storage' else 'component'} '{name}'"
        own = Fields(attributes, what, scope=self.scope.within(attributes))
        if role:
            component = Component(name, own, node.location, technology, instances * count)
            self.parts.take(component, role, class_name, self.tables, self.notes)


def read_tree(table: Table, tables: EnergyTables, notes: Notes, scope: Scope) -> Architecture:
    """Raises: InputError."""
    fields = Fields(table, "the architecture")
    flattened = version_of(fields, notes, "subtree", ("0.2", "0.3", "0.4")) == "0.4"
    fields.ignore("constraints")
    note_unread(fields, notes, "bank", "group_density")
    root = fields.sequence_at("subtree")
    fields.close()
    if root is None or len(root.items) != 1:
        raise InputError(
            "the architecture needs exactly one subtree at its root",
            table.location if root is None else root.location,
        )
    walk = _Walk(tables, notes, scope, flattened)
    walk.subtree(root.items[0], 1)
    names = [level.name for level in walk.parts.levels]
    groups = {name: tuple(names[start:]) for name, start in walk.starts if name not in names}
    return build(walk.starts[0][0], walk.parts, table.location, groups)

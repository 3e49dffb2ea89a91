"""Timeloop's flat form: `arch: {arithmetic: ..., storage: [innermost, ..., outermost]}`."""

from __future__ import annotations

from solver_mapper.core.architecture import Architecture
from solver_mapper.io.timeloop.architecture.architecture_chain import Parts, build, count_of
from solver_mapper.io.timeloop.architecture.component import Component
from solver_mapper.io.timeloop.architecture.energy_tables import EnergyTables
from solver_mapper.io.yaml.fields import Fields, table_of, text_of
from solver_mapper.io.yaml.scope import Scope
from solver_mapper.io.yaml.source import Node, Table
from solver_mapper.io.yaml.warnings import Notes


def read_flat(table: Table, tables: EnergyTables, notes: Notes, scope: Scope) -> Architecture:
    """Raises: InputError."""
    fields = Fields(table, "the architecture")
    storage = fields.sequence_at("storage")
    arithmetic = fields.node("arithmetic")
    name = fields.text("name") or "architecture"
    fields.ignore("version", "constraints")
    fields.close()
    parts = Parts()
    for node in reversed(storage.items if storage else ()):
        parts.take(_component(node, "storage level", scope), "storage", "", tables, notes)
    if arithmetic:
        parts.take(_component(arithmetic, "arithmetic", scope), "compute", "", tables, notes)
    return build(name, parts, table.location)


def _component(node: Node, kind: str, scope: Scope) -> Component:
    one = f"an {kind}" if kind == "arithmetic" else f"a {kind}"
    table = table_of(node, one)
    fields = Fields(table, one)
    written = (
        text_of(fields.require("name"), f"the name of {one}")
        if fields.has("name") or kind != "arithmetic"
        else "MACs"
    )
    name, count = count_of(written, fields.location_of("name"))
    inner = fields.table_at("attributes")
    attributes = table if inner is None else inner
    own = Fields(attributes, f"{kind} '{name}'", scope=scope.within(attributes))
    own.ignore("name")
    if inner is not None:
        fields.ignore("class")
        fields.close()
    technology = "DRAM" if "DRAM" in (fields.text("class") or "") else "SRAM"
    return Component(name, own, table.location, technology, None if count == 1 else count)

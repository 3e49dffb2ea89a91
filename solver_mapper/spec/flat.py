"""Timeloop's flat form: `arch: {arithmetic: ..., storage: [innermost, ..., outermost]}`."""

from __future__ import annotations

from solver_mapper.spec.architecture import Architecture
from solver_mapper.spec.attributes import Component, Notes, read_arithmetic, read_buffer
from solver_mapper.spec.chain import build, count_of
from solver_mapper.spec.energy_tables import EnergyTables
from solver_mapper.spec.fields import Fields, table_of, text_of
from solver_mapper.spec.source import Node, Table


def read_flat(table: Table, tables: EnergyTables, notes: Notes) -> Architecture:
    """Raises: InputError."""
    fields = Fields(table, "the architecture")
    storage = fields.sequence_at("storage")
    arithmetic = fields.node("arithmetic")
    name = fields.text("name") or "architecture"
    fields.ignore("version", "constraints")
    fields.close()
    levels = [] if storage is None else [read_buffer(_component(node, "storage level"), tables, notes) for node in storage.items]
    compute = [] if arithmetic is None else [read_arithmetic(_component(arithmetic, "arithmetic"), tables, notes)]
    return build(name, levels[::-1], compute, table.place)


def _component(node: Node, kind: str) -> Component:
    table = table_of(node, f"a {kind}")
    fields = Fields(table, f"a {kind}")
    written = text_of(fields.require("name"), f"the name of a {kind}") if fields.has("name") or kind != "arithmetic" else "MACs"
    name, count = count_of(written, fields.place_of("name"))
    inner = fields.table_at("attributes")
    own = Fields(table if inner is None else inner, f"{kind} '{name}'")
    own.ignore("name")
    if inner is not None:
        fields.ignore("class")
        fields.close()
    technology = "DRAM" if "DRAM" in (fields.text("class") or "") else "SRAM"
    return Component(name, own, table.place, technology, None if count == 1 else count)

"""Accelergy's energy and area reference tables (ERT versions 0.2 to 0.4, ART): energy per action,
area per component.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from solver_mapper.errors import NOWHERE, InputError, SourceLocation
from solver_mapper.io.yaml.fields import Fields, number_of, sequence_of, table_of, text_of
from solver_mapper.io.yaml.source import Node, Sequence, Table, kind_of

WIRE = "wire"
"""The component whose table prices all inferred networks."""
ACCESSES = {
    "read": ("random_read", "read"),
    "fill": ("random_fill", "random_write", "fill", "write"),
    "update": ("random_update", "random_write", "update", "random_fill", "write"),
}
"""Under which names the actions of an ERT price reads, fills and updates: the first that is listed.
"""
COMPUTE = ("mac_random", "mult_random", "mac", "mult", "compute")
_RANGE = re.compile(r"\[[^\]]*\]$")


@dataclass(frozen=True)
class ActionRow:
    """One row of an ERT: the energy in pJ of an action under `arguments`."""

    action: str
    energy: Fraction
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ActionTable:
    """All rows of one component. `name` is its full hierarchical name."""

    name: str
    rows: tuple[ActionRow, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def energy(self, *actions: str) -> Fraction | None:
        """Energy of the first of `actions` that has rows: its dearest row, as Timeloop has it."""
        for action in actions:
            energies = [row.energy for row in self.rows if row.action == action]
            if energies:
                return max(energies)
        return None

    @property
    def accesses(self) -> dict[str, Fraction]:
        """Energy of each kind of access (see `ACCESSES`) that the table prices."""
        found = {kind: self.energy(*actions) for kind, actions in ACCESSES.items()}
        return {kind: energy for kind, energy in found.items() if energy is not None}

    @property
    def compute(self) -> Fraction | None:
        """Energy of a multiply-accumulate; None if the table does not price it."""
        return self.energy(*COMPUTE)

    @property
    def leak(self) -> Fraction:
        """Leakage in pJ per cycle; 0 if none is listed."""
        return self.energy("leak") or Fraction(0)


@dataclass(frozen=True)
class EnergyTables:
    """What ERT and ART say. A component is found by the last part of its name, without its range:
    `x.PE[0..15].RF` is `RF`.
    """

    energies: tuple[ActionTable, ...] = ()
    areas: tuple[tuple[str, Fraction, SourceLocation], ...] = ()

    def table(self, component: str) -> ActionTable | None:
        """Raises: InputError if two different tables are about `component`."""
        found = [table for table in self.energies if base_name(table.name) == component]
        for other in found[1:]:
            if other.rows != found[0].rows:
                raise InputError(
                    f"two energy tables are about '{component}', the other one at"
                    f" {found[0].location}",
                    other.location,
                )
        return found[0] if found else None

    def wire_energy(self) -> Fraction | None:
        """Energy per bit and mm of a component `wire`, which prices all inferred networks."""
        for table in self.energies:
            if base_name(table.name).lower() == WIRE:
                return table.energy("transfer_random")
        return None

    def area(self, component: str) -> Fraction | None:
        """Area in um^2, None if unknown."""
        return next((area for name, area, _ in self.areas if base_name(name) == component), None)


def base_name(name: str) -> str:
    """`system.PE[0..15].RF[0..1]` -> `RF`."""
    return _RANGE.sub("", name).rsplit(".", 1)[-1]


def read_tables(ert: Node | None, art: Node | None) -> EnergyTables:
    """Read the values under the top-level keys `ERT` and `ART`.

    Raises: InputError for unknown versions, tables without names, energies that are not numbers.
    """
    return EnergyTables(
        () if ert is None else _read_ert(ert), () if art is None else _read_art(art)
    )


def _tables(node: Node, what: str, versions: tuple[str, ...]) -> Node:
    fields = Fields(table_of(node, what), what)
    version = fields.require("version")
    if text_of(version, f"the version of {what}") not in versions:
        raise InputError(
            f"{what} must have version {' or '.join(versions)}, not {text_of(version, 'it')}",
            version.location,
        )
    tables = fields.require("tables")
    fields.close()
    return tables


def _read_ert(node: Node) -> tuple[ActionTable, ...]:
    tables = _tables(node, "the ERT", ("0.2", "0.3", "0.4"))
    if isinstance(tables, Table):
        return tuple(
            _read_keyed(name, each, tables.key_locations[name])
            for name, each in tables.entries.items()
        )
    return tuple(_read_listed(each) for each in sequence_of(tables, "'tables' of the ERT").items)


def _read_listed(node: Node) -> ActionTable:
    """Versions 0.3 and 0.4: a list of `{name, actions: [{name, arguments, energy}]}`."""
    fields = Fields(table_of(node, "a table of the ERT"), "a table of the ERT")
    name = text_of(fields.require("name"), "the name of an energy table")
    actions = sequence_of(fields.require("actions"), f"the actions of '{name}'").items
    fields.ignore("primitive_estimations", "primitive_estimation", "estimator")
    fields.close()
    rows = []
    for action in actions:
        each = Fields(table_of(action, f"an action of '{name}'"), f"an action of '{name}'")
        rows.append(
            _read_row(text_of(each.require("name"), f"the name of an action of '{name}'"), each)
        )
    return ActionTable(name, tuple(rows), node.location)


def _read_keyed(name: str, node: Node, location: SourceLocation) -> ActionTable:
    """Version 0.2: `name: {action: energies}`, where energies are one `{energy}` or a list of
    `{arguments, energy}`.
    """
    rows = []
    for action, value in table_of(node, f"the energy table of '{name}'").entries.items():
        for row in value.items if isinstance(value, Sequence) else (value,):
            what = f"action '{action}' of '{name}'"
            rows.append(_read_row(action, Fields(table_of(row, what), what)))
    return ActionTable(name, tuple(rows), location)


def _read_row(action: str, fields: Fields) -> ActionRow:
    energy = _not_negative(fields.require("energy"), f"the energy of {fields.what}")
    arguments = fields.table_at("arguments")
    fields.close()
    pairs = (
        ()
        if arguments is None
        else tuple((key, text_of(value, key)) for key, value in arguments.entries.items())
    )
    return ActionRow(action, energy, pairs)


def _not_negative(node: Node, what: str) -> Fraction:
    value = number_of(node, what)
    if value < 0:
        raise InputError(f"{what} must be at least 0, not {kind_of(node)}", node.location)
    return value


def _read_art(node: Node) -> tuple[tuple[str, Fraction, SourceLocation], ...]:
    rows = []
    for each in sequence_of(
        _tables(node, "the ART", ("0.2", "0.3", "0.4")), "'tables' of the ART"
    ).items:
        fields = Fields(table_of(each, "a table of the ART"), "a table of the ART")
        name = text_of(fields.require("name"), "the name of an area table")
        area = _not_negative(fields.require("area"), f"the area of '{name}'")
        rows.append((name, area, each.location))
        fields.ignore("primitive_estimations", "primitive_estimation", "estimator")
        fields.close()
    return tuple(rows)

"""Warnings about energies: those that a formula supplies, those that are 0, wires without length,
and tables that nothing uses.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from math import prod

from solver_mapper.core.architecture import Architecture, Arithmetic, Buffer
from solver_mapper.core.spec import Spec
from solver_mapper.errors import SourceLocation
from solver_mapper.io.timeloop.architecture.energy_tables import (
    ACCESSES,
    COMPUTE,
    WIRE,
    ActionTable,
    EnergyTables,
    base_name,
)
from solver_mapper.io.timeloop.suspicious import stored_tensors
from solver_mapper.io.yaml.fields import normal
from solver_mapper.io.yaml.source import Node, Scalar, Sequence, Table
from solver_mapper.io.yaml.warnings import Notes

_AREAS = ("area", "cluster_area")
FORMULA = "PAT formula"
"""How the origin of an energy begins that comes from Timeloop's formulas."""


def note_energies(spec: Spec, node: Node, tables: EnergyTables, notes: Notes) -> None:
    """Warn about energies of the architecture in `spec`, which was read from `node`, and about
    `tables` of other components.
    """
    architecture = spec.need_architecture()
    stored = None if spec.problem is None else stored_tensors(spec)
    used = [
        level
        for level in architecture.levels
        if (level.entries != 0 if stored is None else stored[level.name])
    ]
    _note_formulas(
        [level for level in used if level.entries != 0], architecture.arithmetic, tables, notes
    )
    for level in used:
        energy = level.energy
        if energy.read == energy.fill == energy.update == 0:
            what = (
                f"every access of '{level.name}' costs 0 pJ ({energy.origin}), so no mapping is"
                " charged for its words"
            )
            notes.add("zero-energy", level.location, what)
    if not _areas_given(architecture, node, tables):
        _note_free_wires(architecture, notes)
    _note_unused(architecture, frozenset(_names(node)), tables, notes)


def _note_formulas(
    levels: list[Buffer], unit: Arithmetic, tables: EnergyTables, notes: Notes
) -> None:
    """Energies of `levels`, which store tensors, and of compute units that no table has."""
    parts: list[tuple[str, str, SourceLocation, str]] = [
        (level.name, level.energy.origin, level.location, "vector-access-energy")
        for level in levels
    ]
    parts.append((unit.name, unit.energy_origin, unit.location, "energy"))
    found = [part for part in parts if part[1].startswith(FORMULA)]
    if not tables.energies and found:
        names = _listed([f"'{part[0]}'" for part in found])
        what = (
            f"there is no energy table: the energy of {names} comes from Timeloop's formulas for"
            " its technology; give an ERT, or the attributes 'vector-access-energy' of levels and"
            " 'energy' of compute units"
        )
        notes.add("no-energy-table", found[0][2], what)
        return
    for name, origin, location, attribute in found:
        if tables.table(name) is None:
            what = (
                f"no energy table is about '{name}': its energy is a {origin}; give a table in the"
                f" ERT or its attribute '{attribute}'"
            )
            notes.add("no-energy-table", location, what)
    for level in levels:
        _note_missing_accesses(level, tables.table(level.name), notes)
    table = tables.table(unit.name)
    if table is not None and table.compute is None:
        what = (
            f"{_without(table, [COMPUTE])}: a multiply-accumulate of '{unit.name}' costs"
            f" {float(unit.energy):g} pJ ({unit.energy_origin}), as in Timeloop; add the action"
        )
        notes.add("no-energy-table", table.location, what)


def _note_missing_accesses(level: Buffer, table: ActionTable | None, notes: Notes) -> None:
    energy = level.energy
    if table is None or FORMULA not in energy.origin:
        return
    missing = [kind for kind in ACCESSES if kind not in table.accesses]
    price = float(getattr(energy, missing[0]))
    what = (
        f"{_without(table, [ACCESSES[kind] for kind in missing])}:"
        f" {_listed([f'{kind}s' for kind in missing])} of '{level.name}' cost {price:g} pJ each,"
        f" by the PAT formula ({level.technology}), as in Timeloop; add the action, or give"
        f" '{level.name}' the attribute 'vector-access-energy'"
    )
    notes.add("no-energy-table", table.location, what)


def _areas_given(architecture: Architecture, node: Node, tables: EnergyTables) -> bool:
    """Whether an area was written, be it 0, from which the length of a hop follows (see
    `tile_widths`).
    """
    parts = {*architecture.level_names[1:], architecture.arithmetic.name}
    return any(base_name(name) in parts for name, _, _ in tables.areas) or any(
        normal(key) in _AREAS for key in _keys(node)
    )


def _note_free_wires(architecture: Architecture, notes: Notes) -> None:
    """Wires that have an energy per mm and no length."""
    found = [
        (level, network)
        for index, level in enumerate(architecture.levels)
        for network in (level.network, level.update_network)
        if network is not None
        and network.wire_energy
        and network.energy_per_hop is None
        and network.tile_width is None
        and prod(architecture.fanout(index)) > 1
    ]
    if not found:
        return
    names = _listed(list(dict.fromkeys(f"'{level.name}'" for level, _ in found)))
    price = float(found[0][1].wire_energy or 0)
    width = "" if architecture.fanouts else ", or 'tile-width' (um) of the levels above the wires"
    what = (
        f"wires below {names} cost nothing: their energy is {price:g} pJ per bit and mm, but the"
        " length of a hop follows from the areas of inner levels and compute units, and none is"
        " given; give an ART, or the attributes 'cluster-area' (um^2) of levels and 'area' of"
        f" compute units{width}"
    )
    notes.add("free-wires", found[0][0].location, what)


def _without(table: ActionTable, missing: list[tuple[str, ...]]) -> str:
    """Which actions a table lacks, each by the last of its names, and which it has."""
    lacks = " or ".join(f"'{word}'" for word in dict.fromkeys(names[-1] for names in missing))
    has = _listed([f"'{word}'" for word in dict.fromkeys(row.action for row in table.rows)])
    return f"the energy table of '{table.name}' has no action {lacks} (it has {has or 'none'})"


def _note_unused(
    architecture: Architecture, names: frozenset[str], tables: EnergyTables, notes: Notes
) -> None:
    parts: list[Buffer | Arithmetic] = [*architecture.levels, architecture.arithmetic]
    bare = [
        part.name
        for part in parts
        if tables.table(part.name) is None and getattr(part, "entries", None) != 0
    ]
    known = {*names, *(part.name for part in parts)}
    for table in tables.energies:
        name = base_name(table.name)
        if name in known or name.lower() == WIRE:
            continue
        close = difflib.get_close_matches(name, bare, n=1, cutoff=0.5) or difflib.get_close_matches(
            name, sorted(known), n=1
        )
        meant = f"; did you mean '{close[0]}'?" if close else ""
        what = (
            f"the architecture has no '{name}': the energy table of '{table.name}' is not"
            f" used{meant}"
        )
        notes.add("unused-energy", table.location, what)


def _names(node: Node) -> Iterator[str]:
    """The names of all components below `node`, whatever they are, without ranges."""
    if isinstance(node, Table):
        name = node.entries.get("name")
        if isinstance(name, Scalar):
            yield base_name(name.text)
    for each in _inner(node):
        yield from _names(each)


def _keys(node: Node) -> Iterator[str]:
    """The keys of all mappings in `node`."""
    if isinstance(node, Table):
        yield from node.entries
    for each in _inner(node):
        yield from _keys(each)


def _inner(node: Node) -> Iterable[Node]:
    if isinstance(node, Table):
        return node.entries.values()
    return node.items if isinstance(node, Sequence) else ()


def _listed(words: list[str]) -> str:
    return ", ".join(words) if len(words) < 2 else f"{', '.join(words[:-1])} and {words[-1]}"

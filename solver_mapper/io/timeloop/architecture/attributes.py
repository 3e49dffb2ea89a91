"""The attributes of one component: what a buffer, an array of compute units and their wires are, in
every notation alike.

Names, defaults and the derivation of one attribute from others follow Timeloop v3.0.3
(`buffer.cpp`, `arithmetic.cpp`, `network-legacy.cpp`); keys that it would ignore for a misplaced
hyphen are read here.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from solver_mapper.core.architecture import AccessEnergy, Arithmetic, Buffer, Network
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.timeloop.architecture import energy_formulas as pat
from solver_mapper.io.timeloop.architecture.component import (
    BUFFER,
    COMPUTE,
    WORD_BITS,
    Component,
    finish,
    refuse_misspelt,
)
from solver_mapper.io.timeloop.architecture.energy_tables import ACCESSES, EnergyTables
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.warnings import Notes

_DEPTH = ("depth", "memory_depth", "data_storage_depth")


def read_buffer(component: Component, tables: EnergyTables, notes: Notes) -> Buffer:
    """Raises: InputError for values that are impossible or contradict each other, and for misspelt
    attributes.
    """
    fields = component.fields
    refuse_misspelt(fields, BUFFER)
    technology = "DRAM" if fields.text("technology") == "DRAM" else component.technology
    word_bits = fields.integer(*WORD_BITS, least=1) or 16
    block, cluster = _block_and_cluster(fields, word_bits)
    if technology == "DRAM" and cluster != 1:
        raise InputError(
            f"{fields.what} is a DRAM and cannot be clustered", fields.location_of("cluster-size")
        )
    entries, entries_location = _entries(fields, word_bits, block, notes)
    least = fields.number("min-utilization") or Fraction(0)
    if least and entries is None:
        raise InputError(
            f"{fields.what} has a 'min-utilization' but no size",
            fields.location_of("min-utilization"),
        )
    if fields.flag("allow_overbooking"):
        raise InputError("overbooking is not modelled", fields.location_of("allow_overbooking"))
    read, write, shared = _bandwidths(fields)
    instances, mesh_x, mesh_y = _mesh(component)
    supported = fields.flag("reduction_supported")
    area = fields.number("cluster-area")
    buffer = Buffer(
        name=component.name,
        entries=entries,
        instances=instances,
        mesh_x=mesh_x,
        mesh_y=mesh_y,
        word_bits=word_bits,
        block_size=block,
        cluster_size=cluster,
        multiple_buffering=_positive(fields, "multiple-buffering") or Fraction(1),
        min_utilization=least,
        read_bandwidth=read,
        write_bandwidth=write,
        shared_bandwidth=shared,
        technology=technology,
        reduction_supported=technology != "DRAM" if supported is None else supported,
        address_energy=fields.number("addr-gen-energy", least=None) or Fraction(0),
        energy=_access_energy(component, tables, technology, entries, word_bits, block, cluster),
        area=tables.area(component.name) or (Fraction(0) if area is None else area / cluster),
        network=replace(
            read_legacy_network(fields, "", component.location, tables.wire_energy()),
            fill_latency=fields.integer("network_fill_latency") or 0,
            drain_latency=fields.integer("network_drain_latency") or 0,
        ),
        location=component.location,
        entries_location=entries_location,
        bandwidth_locations=_bandwidth_locations(fields),
    )
    finish(component, notes)
    return buffer


def read_arithmetic(component: Component, tables: EnergyTables, notes: Notes) -> Arithmetic:
    """Raises: InputError for values that are impossible or contradict each other, and for misspelt
    attributes.
    """
    fields = component.fields
    refuse_misspelt(fields, COMPUTE)
    word_bits = fields.integer("word-bits", "datawidth", "word_width", least=1) or 16
    instances, mesh_x, mesh_y = _mesh(component)
    own, table = fields.number("energy"), tables.table(component.name)
    priced = None if table is None else table.compute
    if priced is not None:
        energy, origin = priced, "ERT"
    elif own is not None:
        energy, origin = own, "energy attribute"
    else:
        energy, origin = pat.multiplier_energy(word_bits), "PAT formula (multiplier)"
    area = fields.number("area")
    fields.ignore("width")
    finish(component, notes)
    return Arithmetic(
        name=component.name,
        instances=instances,
        mesh_x=mesh_x,
        mesh_y=mesh_y,
        word_bits=word_bits,
        energy=energy,
        energy_origin=origin,
        leak=Fraction(0) if table is None else table.leak,
        area=tables.area(component.name) or area or Fraction(0),
        location=component.location,
    )


def read_legacy_network(
    fields: Fields, name: str, location: SourceLocation, wire_energy: Fraction | None
) -> Network:
    """The wires below a level, which Timeloop infers from the attributes of that level (or of a
    declared `XY_NoC`).
    """
    return Network(
        name=name,
        kind="Legacy",
        word_bits=fields.integer("network-word-bits", *WORD_BITS, least=1) or 16,
        wire_energy=fields.number("wire-energy") if wire_energy is None else wire_energy,
        router_energy=fields.number("router-energy") or Fraction(0),
        energy_per_hop=fields.number("energy-per-hop"),
        ingress_energy=fields.number("energy-per-ingress") or Fraction(0),
        tile_width=fields.number("tile-width"),
        location=location,
    )


def _positive(fields: Fields, *names: str) -> Fraction | None:
    value = fields.number(*names)
    if value is not None and value <= 0:
        raise InputError(
            f"'{names[0]}' of {fields.what} must be greater than 0", fields.location_of(*names)
        )
    return value


def _block_and_cluster(fields: Fields, word_bits: int) -> tuple[int, int]:
    """Words a block and blocks a cluster; a `width` in bits gives the one that is missing."""
    block = fields.integer("block-size", "n_words", least=1)
    cluster = fields.integer("cluster-size", least=1)
    width = fields.integer("width", "memory_width", "data_storage_width", least=1)
    if width is None:
        return block or 1, cluster or 1
    location = fields.location_of("width", "memory_width", "data_storage_width")
    rest = width % (word_bits * (block or 1) * (cluster or 1))
    words = width // (word_bits * (block or 1) * (cluster or 1))
    if rest or (block and cluster and words != 1):
        parts = " x ".join(
            text
            for text, given in (
                (f"block-size {block}", block),
                (f"cluster-size {cluster}", cluster),
                (f"word-bits {word_bits}", True),
            )
            if given
        )
        wanted = "equal" if block and cluster else "be a multiple of"
        raise InputError(
            f"the width of {fields.what}, {width} bits, must {wanted} {parts}", location
        )
    return (block, cluster or words) if block else (words, cluster or 1)


def _entries(
    fields: Fields, word_bits: int, block: int, notes: Notes
) -> tuple[int | None, SourceLocation]:
    """Words of storage and where they are given: `entries`, or `depth` in blocks, or `sizeKB`.

    Beside `entries` Timeloop does not read `depth` (`buffer.cpp`).
    """
    given = [names for names in (("entries",), _DEPTH, ("sizeKB",)) if fields.has(*names)]
    if not given:
        return None, fields.location
    if len(given) > 1 and ("sizeKB",) in given:
        raise InputError(
            f"the size of {fields.what} is given twice, as '{given[0][0]}' and as '{given[1][0]}'",
            fields.location_of(*given[1]),
            "keep one of them",
        )
    location = fields.location_of(*given[0])
    if given[0] == ("sizeKB",):
        return int((fields.number("sizeKB") or 0) * 8192 / word_bits), location
    words, blocks = fields.integer("entries"), fields.integer(*_DEPTH)
    if words is None:
        return (blocks or 0) * block, location
    if blocks is not None and blocks * block != words:
        name = next(name for name in _DEPTH if fields.has(name))
        notes.add(
            "unread-key",
            fields.location_of(*_DEPTH),
            f"the size of {fields.what} is given twice: 'entries' {words} is taken, as in Timeloop,"
            f" and '{name}' {blocks} (x block-size {block}) is not read; keep one of them",
        )
    return words, location


def _bandwidths(fields: Fields) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """(read, write, shared), in words per cycle and instance. The old `bandwidth` is shared out
    half and half.
    """
    half = _positive(fields, "bandwidth")
    half = None if half is None else half / 2
    read, write = _positive(fields, "read_bandwidth"), _positive(fields, "write_bandwidth")
    return (
        (half if read is None else read),
        (half if write is None else write),
        _positive(fields, "shared_bandwidth"),
    )


def _bandwidth_locations(fields: Fields) -> dict[str, SourceLocation]:
    return {
        way: fields.location_of(f"{way}_bandwidth", "bandwidth")
        for way in ("read", "write", "shared")
    }


def _mesh(component: Component) -> tuple[int, int, int]:
    """(instances, X, Y): any two imply the third, instances alone lie along X."""
    if component.mesh is not None:
        return component.mesh[0] * component.mesh[1], *component.mesh
    fields = component.fields
    instances = fields.integer("instances", least=1) or component.instances
    x, y = fields.integer("meshX", least=1), fields.integer("meshY", least=1)
    if instances is None:
        if x is None or y is None:
            raise InputError(
                f"{fields.what} needs 'instances', or both 'meshX' and 'meshY'", fields.location
            )
        return x * y, x, y
    if x is None:
        x = instances // y if y else instances
    y = y or instances // x
    if x * y != instances:
        name = "meshX" if fields.has("meshX") else "meshY"
        raise InputError(
            f"{fields.what} has {instances} instances, which do not fill a mesh of {x} x"
            f" {max(y, 1)}",
            fields.location_of(name),
        )
    return instances, x, y


def _access_energy(
    component: Component,
    tables: EnergyTables,
    technology: str,
    entries: int | None,
    word_bits: int,
    block: int,
    cluster: int,
) -> AccessEnergy:
    """A figure given by the user beats the ERT, which beats the PAT, for each action by itself."""
    fields = component.fields
    own, table = fields.number("vector-access-energy"), tables.table(component.name)
    leak = Fraction(0) if table is None else table.leak
    if own is not None:
        return AccessEnergy(own, own, own, leak, "vector-access-energy")
    if entries == 0 and (table is None or table.energy("read", "random_read") is None):
        return AccessEnergy(Fraction(0), Fraction(0), Fraction(0), leak, "none (no storage)")
    priced = {} if table is None else table.accesses
    missing = [kind for kind in ACCESSES if kind not in priced]
    if not missing:
        return AccessEnergy(priced["read"], priced["fill"], priced["update"], leak)
    if technology == "DRAM":
        energy = pat.dram_energy(word_bits * block)
    elif entries is None:
        has = "" if table is None else f" that prices a {missing[0]}"
        raise InputError(
            f"the energy of {fields.what} is not known: no size, 'vector-access-energy' or"
            f" ERT{has}",
            fields.location,
            "give 'entries', or 'class: DRAM' if this is the backing store",
        )
    else:
        energy = pat.sram_energy(entries, word_bits, block, cluster)
    origin = f"PAT formula ({technology})"
    if priced:
        origin = f"ERT; {origin} for {', '.join(missing)}"
    read, fill, update = (priced.get(kind, energy) for kind in ACCESSES)
    return AccessEnergy(read, fill, update, leak, origin)

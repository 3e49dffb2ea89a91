"""One component before its attributes are read, and which attributes there are."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.fields import Fields, normal
from solver_mapper.io.yaml.source import Table, kind_of
from solver_mapper.io.yaml.warnings import Notes

# Attributes that decide figures, under all names that are in use, for buffers, compute units and
# declared networks.
WORD_BITS = ("word-bits", "word_width", "datawidth")
_MESH = ("instances", "meshX", "meshY")
_WIRES = (
    "network-word-bits",
    "wire-energy",
    "router-energy",
    "energy-per-hop",
    "energy-per-ingress",
    "tile-width",
)
BUFFER = (
    *WORD_BITS,
    *_MESH,
    *_WIRES,
    "block-size",
    "n_words",
    "cluster-size",
    "width",
    "memory_width",
    "data_storage_width",
    "entries",
    "depth",
    "memory_depth",
    "data_storage_depth",
    "sizeKB",
    "multiple-buffering",
    "min-utilization",
    "bandwidth",
    "read_bandwidth",
    "write_bandwidth",
    "shared_bandwidth",
    "per_dataspace_bandwidth_consumption_scale",
    "reduction_supported",
    "allow_overbooking",
    "vector-access-energy",
    "addr-gen-energy",
    "cluster-area",
    "network_fill_latency",
    "network_drain_latency",
    "network_read",
    "network_update",
    "network_fill",
    "network_drain",
)
COMPUTE = (*WORD_BITS, *_MESH, "energy", "area", "network_operand", "network_result")
NETWORK = (
    *WORD_BITS,
    *_WIRES,
    "adder-energy",
    "fill_latency",
    "drain_latency",
    "action_name",
    "multicast_factor_argument",
    "per_datatype_ERT",
)
# Attributes for estimators of energy and area only.
_WITHOUT_BEARING = (
    "technology",
    "n_banks",
    "num-banks",
    "n_ports",
    "num-ports",
    "n_rdwr_ports",
    "n_rd_ports",
    "n_wr_ports",
    "latency",
    "global_cycle_seconds",
    "cycle_time",
    "action_latency_cycles",
    "type",
    "metadata_block_size",
    "metadata_datawidth",
    "metadata_word_bits",
    "metadata_storage_width",
    "metadata_storage_depth",
    "concordant_compressed_tile_traversal",
    "tile_partition_supported",
    "decompression_supported",
    "compression_supported",
    "num_exponent",
    "num_mantissa",
    "exponent",
    "mantissa",
    "multiplier_width",
    "adder_width",
    "width_a",
    "width_b",
    "datawidth_a",
    "datawidth_b",
    "length",
    "class",
    "subclass",
    "voltage",
    "node",
    "network-type",
    "power_gated_at",
    "update_fifo_depth",
    "name",
)
# Names like `instances` and `entries`: only Accelergy multiplies leakage and area by the one (where
# it asks its plug-ins), and designs call a figure of their own by the other, to work out `depth`.
_NO_MISTAKE = ("n_instances", "n_entries")
_SIZES = ("entries", "depth", "memory_depth", "data_storage_depth", "sizeKB")
_TYPO = 0.85


@dataclass(frozen=True)
class Component:
    """One component as a notation hands it over.

    `instances` is what names such as `PE[0..15]` say, None if nothing; `mesh` is given where not
    the attributes but the notation says how many there are. `inherited` are attributes that were
    not written at this component.
    """

    name: str
    fields: Fields
    location: SourceLocation
    technology: str = "SRAM"
    instances: int | None = None
    mesh: tuple[int, int] | None = None
    inherited: frozenset[str] = frozenset()


def refuse_misspelt(fields: Fields, known: tuple[str, ...]) -> None:
    """Raise InputError for an attribute that is none of `known` but looks like one of them, or has
    the same letters.
    """
    spellings = {normal(name): name for name in known}
    others = {normal(name) for name in _WITHOUT_BEARING}
    others |= {name for name in _NO_MISTAKE if name != "n_entries" or fields.has(*_SIZES)}
    for key, location in fields.leftovers():
        if normal(key) in spellings.keys() | others:
            continue
        close = [name for name in spellings if sorted(name) == sorted(normal(key))]
        close += difflib.get_close_matches(normal(key), sorted(spellings), n=1, cutoff=_TYPO)
        if close:
            meant = f"did you mean '{spellings[close[0]]}'?"
            raise InputError(f"{fields.what} has no attribute '{key}'", location, meant)


def finish(component: Component, notes: Notes) -> None:
    """Note the attributes that were not read: estimators of energy and area have many."""
    fields = component.fields
    scale = fields.node("per_dataspace_bandwidth_consumption_scale")
    if scale is not None and not (isinstance(scale, Table) and not scale.entries):
        raise InputError("bandwidths that differ between tensors are not modelled", scale.location)
    if fields.flag("has_power_gating"):
        what = f"power gating of {fields.what} is not modelled: all instances leak"
        notes.add("power-gating", fields.location_of("has_power_gating"), what)
    fields.ignore(*_WITHOUT_BEARING)
    for key, location in fields.leftovers():
        if normal(key) not in component.inherited:
            value = kind_of(fields.table.entries[key])
            notes.add(
                "accelergy-attribute",
                location,
                f"attribute '{key}' of {fields.what} ({value}) has no effect on any result",
            )

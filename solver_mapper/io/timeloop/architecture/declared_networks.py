"""Networks that an architecture declares, and how levels are plugged into them (`network_read` and
so on).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from solver_mapper.core.architecture import Buffer, Network
from solver_mapper.errors import NOWHERE, InputError, SourceLocation, unknown_name
from solver_mapper.io.timeloop.architecture.attributes import read_legacy_network
from solver_mapper.io.timeloop.architecture.component import (
    NETWORK,
    Component,
    finish,
    refuse_misspelt,
)
from solver_mapper.io.timeloop.architecture.energy_tables import EnergyTables
from solver_mapper.io.yaml.fields import Fields
from solver_mapper.io.yaml.warnings import Notes

CLASSES = ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast")


@dataclass(frozen=True)
class Ports:
    """The networks that a level names: `down` and `up` below it, `above_down` and `above_up` above
    it.
    """

    down: str | None = None
    up: str | None = None
    above_down: str | None = None
    above_up: str | None = None
    location: SourceLocation = NOWHERE


def buffer_ports(fields: Fields) -> Ports:
    """Reads leave and updates arrive below a buffer, fills arrive and drains leave above it."""
    down, up, above_down, above_up = (
        _name(fields, way) for way in ("read", "update", "fill", "drain")
    )
    return Ports(down, up, above_down, above_up, fields.location)


def compute_ports(fields: Fields) -> Ports:
    """Operands arrive and results leave above the compute units."""
    return Ports(None, None, _name(fields, "operand"), _name(fields, "result"), fields.location)


def _name(fields: Fields, way: str) -> str | None:
    """The network named for traffic of one kind, without its range."""
    text = fields.text(f"network_{way}")
    return None if text is None else text.partition("[")[0]


def read_network(
    component: Component, class_name: str, tables: EnergyTables, notes: Notes
) -> Network:
    """A declared network of one of `CLASSES`.

    Raises: InputError for a multicast network without prices, and for misspelt attributes.
    """
    refuse_misspelt(component.fields, NETWORK)
    fields, kind = component.fields, next(word for word in CLASSES if word in class_name)
    network = replace(
        read_legacy_network(fields, component.name, component.location, None),
        kind="Legacy" if kind == "XY_NoC" else kind,
        declared=True,
        adder_energy=fields.number("adder-energy") or Fraction(0),
        fill_latency=fields.integer("fill_latency") or 0,
        drain_latency=fields.integer("drain_latency") or 0,
    )
    if kind == "SimpleMulticast":
        network = replace(
            network, multicast_energies=_multicast_energies(component.name, fields, tables)
        )
    fields.ignore("meshX", "meshY", "instances")
    finish(component, notes)
    return network


def _multicast_energies(
    name: str, fields: Fields, tables: EnergyTables
) -> tuple[tuple[int, Fraction], ...]:
    """pJ per word for each number of receivers, from the rows of the action in the network's energy
    table.
    """
    action = fields.text("action_name")
    argument = fields.text("multicast_factor_argument")
    if fields.flag("per_datatype_ERT"):
        raise InputError(
            "multicast prices that differ between tensors are not modelled",
            fields.location_of("per_datatype_ERT"),
            "to price all tensors alike, remove 'per_datatype_ERT', and give the ERT rows of an"
            f" action '{action or 'transfer'}' instead of '{action or 'transfer'}_TENSOR'; figures"
            " are then Timeloop's where the tensors' prices are equal",
        )
    if action is None:
        raise InputError(
            f"{fields.what} lacks 'action_name', the action that prices a transfer", fields.location
        )
    table = tables.table(name)
    rows = [] if table is None else [row for row in table.rows if row.action == action]
    if not rows:
        raise InputError(
            f"there is no energy table of '{name}' with an action '{action}'",
            fields.location_of("action_name"),
        )
    if len(rows) == 1:
        return ((1, rows[0].energy),)
    prices = []
    for row in rows:
        factor = dict(row.arguments).get(argument or "")
        if factor is None or not factor.isdecimal() or len(factor) > 9:
            raise InputError(
                f"action '{action}' of '{name}' has several prices, but no number of receivers for"
                " each",
                fields.location_of("multicast_factor_argument"),
                "name it by 'multicast_factor_argument'",
            )
        prices.append((int(factor), row.energy))
    return tuple(prices)


def plug(
    outer: Buffer, above: Ports, below: Ports, inner: str, networks: dict[str, Network]
) -> Buffer:
    """`outer` with the networks to the next inner level: those declared, else one inferred from the
    attributes of `outer`.

    Raises: InputError for networks that do not exist or that only one of the two levels names.
    """
    inferred = outer.network or Network("")
    down = _declared("read", above.down, below.above_down, above, below, networks)
    up = _declared("update", above.up, below.above_up, above, below, networks)
    if down is None:
        down = replace(inferred, name=f"{outer.name} <==> {inner}")
    elif up is None:
        down = replace(down, drain_latency=inferred.drain_latency)
    return replace(outer, network=down, update_network=up)


def _declared(
    way: str,
    name: str | None,
    other: str | None,
    above: Ports,
    below: Ports,
    networks: dict[str, Network],
) -> Network | None:
    if name != other:
        message = (
            f"two neighbouring levels name different networks for {way}s, '{name or 'none'}' and"
            f" '{other or 'none'}'"
        )
        raise InputError(
            message, above.location if name else below.location, "name the same network at both"
        )
    if name is None:
        return None
    if name not in networks:
        raise unknown_name("network", name, networks, above.location)
    return networks[name]

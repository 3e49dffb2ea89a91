"""Declared networks, and the inferred ones with the attributes of the level above."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import InputError
from solver_mapper.io.timeloop.specification import load


def read(
    networks: list[dict[str, Any]],
    glb: dict[str, Any],
    rf: dict[str, Any],
    mac: dict[str, Any] | None = None,
    rows: list[dict[str, Any]] | None = None,
) -> Architecture:
    local = [
        {"name": "GLB", "class": "SRAM", "attributes": {"entries": 64, "word-bits": 8, **glb}},
        *networks,
    ]
    inner = [
        {"name": "RF", "class": "regfile", "attributes": {"entries": 8, "word-bits": 8, **rf}},
        {"name": "MAC", "class": "intmac", "attributes": mac or {}},
    ]
    tables = [{"name": "system.NoC", "actions": rows}] if rows else []
    return load(
        {
            "architecture": {
                "version": 0.3,
                "subtree": [
                    {
                        "name": "system",
                        "local": local,
                        "subtree": [{"name": "PE[0..3]", "local": inner}],
                    }
                ],
            },
            "ERT": {"version": 0.4, "tables": tables},
        }
    ).need_architecture()


def declared(class_name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": "NoC", "class": class_name, "attributes": attributes}


BOTH = (
    {"network_read": "NoC", "network_update": "NoC"},
    {"network_fill": "NoC", "network_drain": "NoC"},
)


def test_inferred_networks_take_attributes_of_the_level_above() -> None:
    glb = {
        "router-energy": 0.5,
        "wire-energy": 0.1,
        "tile-width": 20,
        "energy-per-hop": 2,
        "energy-per-ingress": 3,
        "network-word-bits": 12,
        "network_fill_latency": 4,
        "network_drain_latency": 5,
    }
    architecture = read([], glb, {})
    network = architecture.levels[0].network
    assert network is not None
    assert (network.name, network.kind, network.declared) == ("GLB <==> RF", "Legacy", False)
    assert (network.router_energy, network.wire_energy, network.tile_width) == (
        Fraction(1, 2),
        Fraction(1, 10),
        20,
    )
    assert (network.energy_per_hop, network.ingress_energy, network.word_bits) == (2, 3, 12)
    assert (network.fill_latency, network.drain_latency) == (4, 5)
    assert architecture.levels[0].update_network is None
    inner = architecture.levels[1].network
    assert inner is not None
    assert (inner.name, inner.word_bits) == ("RF <==> MAC", 8)


def test_wire_energy_of_the_energy_table_prices_inferred_networks() -> None:
    wire = {"name": "system.Wire", "actions": [{"name": "transfer_random", "energy": 0.25}]}
    arch = {
        "arithmetic": {"name": "MAC", "instances": 1},
        "storage": [{"name": "RF", "entries": 8, "instances": 1}],
    }
    network = (
        load({"arch": arch, "ERT": {"version": 0.4, "tables": [wire]}})
        .need_architecture()
        .levels[0]
        .network
    )
    assert network is not None
    assert network.wire_energy == Fraction(1, 4)


@pytest.mark.parametrize(
    ("class_name", "kind"),
    [("XY_NoC", "Legacy"), ("Legacy", "Legacy"), ("ReductionTree", "ReductionTree")],
)
def test_declared_networks(class_name: str, kind: str) -> None:
    noc = declared(
        class_name,
        **{
            "datawidth": 16,
            "adder-energy": 0.2,
            "wire-energy": 1,
            "fill_latency": 2,
            "drain_latency": 3,
        },
    )
    level = read([noc], *BOTH).levels[0]
    assert level.network == level.update_network
    assert level.network is not None
    assert (level.network.name, level.network.kind, level.network.declared) == ("NoC", kind, True)
    assert (level.network.word_bits, level.network.adder_energy, level.network.wire_energy) == (
        16,
        Fraction(1, 5),
        1,
    )
    assert (level.network.fill_latency, level.network.drain_latency) == (2, 3)


def test_separate_networks_for_the_two_directions() -> None:
    tree = {"name": "Tree[0..1]", "class": "ReductionTree"}
    level = read(
        [declared("XY_NoC"), tree],
        {"network_read": "NoC", "network_update": "Tree[0..1]"},
        {"network_fill": "NoC", "network_drain": "Tree"},
    ).levels[0]
    assert level.network is not None
    assert level.update_network is not None
    assert (level.network.name, level.update_network.name) == ("NoC", "Tree")


def test_networks_to_the_multipliers() -> None:
    ports = {"network_read": "NoC", "network_update": "NoC"}
    level = read(
        [declared("Legacy")], {}, ports, {"network_operand": "NoC", "network_result": "NoC"}
    ).levels[1]
    assert level.network is not None
    assert level.network.name == "NoC"


def test_multicast_prices_come_from_the_energy_table() -> None:
    noc = declared("SimpleMulticast", action_name="transfer", multicast_factor_argument="n")
    rows = [
        {"name": "transfer", "arguments": {"n": factor}, "energy": factor / 4}
        for factor in (1, 2, 4)
    ]
    level = read([noc], *BOTH, rows=rows).levels[0]
    assert level.network is not None
    assert level.network.multicast_energies == ((1, Fraction(1, 4)), (2, Fraction(1, 2)), (4, 1))


@pytest.mark.parametrize(
    ("networks", "glb", "rf", "message"),
    [
        ([], {"network_read": "NoC"}, {"network_fill": "NoC"}, "unknown network 'NoC'"),
        (
            [declared("XY_NoC")],
            {"network_read": "NoC"},
            {},
            "different networks for reads, 'NoC' and 'none'",
        ),
        (
            [declared("XY_NoC")],
            {},
            {"network_drain": "NoC"},
            "different networks for updates, 'none' and 'NoC'",
        ),
        ([declared("XY_NoC", router_enrgy=1)], *BOTH, "did you mean 'router-energy'"),
        ([declared("SimpleMulticast")], *BOTH, "lacks 'action_name'"),
        (
            [declared("SimpleMulticast", action_name="transfer")],
            *BOTH,
            "no energy table of 'NoC' with an action 'transfer'",
        ),
        (
            [declared("SimpleMulticast", action_name="transfer", per_datatype_ERT=True)],
            *BOTH,
            "differ between tensors are not modelled; to price all tensors alike, remove"
            " 'per_datatype_ERT', and give the ERT rows of an action 'transfer' instead of"
            " 'transfer_TENSOR'",
        ),
        ([declared("xy_noc")], *BOTH, "unknown class 'xy_noc'; did you mean 'XY_NoC'"),
    ],
)
def test_errors(
    networks: list[dict[str, Any]], glb: dict[str, Any], rf: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(networks, glb, rf)
    assert message in str(caught.value)


def test_several_multicast_prices_need_their_argument() -> None:
    rows = [{"name": "transfer", "arguments": {"n": factor}, "energy": factor} for factor in (1, 2)]
    with pytest.raises(InputError, match="multicast_factor_argument"):
        read([declared("SimpleMulticast", action_name="transfer")], *BOTH, rows=rows)

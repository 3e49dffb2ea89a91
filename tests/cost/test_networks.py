"""What networks cost: inferred and declared ones, hop by hop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer, Network
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop import Statistics, evaluate
from tests.strategies import tensor

FREE = AccessEnergy(Fraction(0), Fraction(0), Fraction(0))
KEEP = frozenset("ABZ")
MATMUL = Problem(
    "matmul",
    ("M", "N", "K"),
    {"M": 4, "N": 6, "K": 8},
    (tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("Z", "M", "N", read_write=True)),
)
SUMMED = Mapping(
    (
        LevelMapping("GLB", (loop("N", 6),), (loop("M", 4, "Y"), loop("K", 8, "X")), KEEP),
        LevelMapping("RF", keep=KEEP),
    )
)


def array(network: Network, update: Network | None = None, reduces: bool = True) -> Architecture:
    """An 8 x 4 array below one buffer; only the network below that buffer costs anything."""
    buffer = Buffer(
        "GLB", energy=FREE, network=network, update_network=update, reduction_supported=reduces
    )
    return Architecture(
        "array", (buffer, Buffer("RF", None, 32, 8, 4, energy=FREE)), Arithmetic("MAC", 32, 8, 4)
    )


def priced(network: Network, **options: object) -> Statistics:
    return evaluate(array(network, **options), MATMUL, SUMMED)  # type: ignore[arg-type]


def test_hops_go_along_the_row_and_then_from_the_middle_to_the_rows_that_want_the_word() -> None:
    """A (32 words to one place each), B (8 words to a column of 4, six times), Z (4 sums over a row
    of 8, six times).

    A: columns 0..7 average 3.5, rows 0..3 lie 1.5, .5, .5, 1.5 from the middle: 4.5 hops. B: 3.5
    along, 1.5 up and 1.5 down. Z: 7 along, and in each of the 8 columns 1 on average from the
    middle to its row.
    """
    statistics = priced(Network("", energy_per_hop=Fraction(1)))
    tensors = statistics.networks["GLB <==> RF"].tensors
    assert {name: each.hops for name, each in tensors.items()} == {
        "A": Fraction(9, 2),
        "B": Fraction(13, 2),
        "Z": Fraction(15),
    }
    assert {name: each.ingresses for name, each in tensors.items()} == {"A": 32, "B": 48, "Z": 24}
    assert statistics.energy_pj == 32 * Fraction(9, 2) + 48 * Fraction(13, 2) + 24 * 15


def test_wires_cost_by_bit_and_millimetre_routers_by_whole_hops_and_entries_by_word() -> None:
    network_links = priced(
        Network("", word_bits=8, wire_energy=Fraction(1, 4), tile_width=Fraction(500))
    )
    assert network_links.energy_pj == priced(Network("", energy_per_hop=Fraction(1))).energy_pj
    assert priced(Network("", router_energy=Fraction(1))).energy_pj == 32 * 5 + 48 * 7 + 24 * 16
    assert priced(Network("", ingress_energy=Fraction(1))).energy_pj == 32 + 48 + 24


def test_a_hop_is_as_wide_as_the_square_root_of_what_lies_below() -> None:
    architecture = array(Network("", word_bits=1, wire_energy=Fraction(1000)))
    glb, rf = architecture.levels
    architecture = replace(
        architecture,
        levels=(glb, replace(rf, area=Fraction(7))),
        arithmetic=replace(architecture.arithmetic, area=Fraction(2)),
    )
    assert (
        evaluate(architecture, MATMUL, SUMMED).energy_pj
        == 3 * priced(Network("", energy_per_hop=Fraction(1))).energy_pj
    )


def test_partial_sums_also_travel_down_below_a_level_that_cannot_add() -> None:
    """Z is updated 24 times, once for each of 24 words: nothing is read back. With K outside it is,
    for all but the first.
    """
    network = Network("", ingress_energy=Fraction(1))
    assert priced(network, reduces=False).energy_pj == priced(network).energy_pj
    outer = LevelMapping("GLB", (loop("K", 8), loop("N", 6)), (loop("M", 4, "Y"),), KEEP)
    again = Mapping((outer, LevelMapping("RF", keep=KEEP)))
    adding, not_adding = (
        evaluate(array(network, reduces=reduces), MATMUL, again) for reduces in (True, False)
    )
    z = not_adding.networks["GLB <==> RF"].tensors["Z"]
    assert z.ingresses == 2 * 8 * 24 - 24
    assert not_adding.energy_pj - adding.energy_pj == 7 * 24


def test_a_declared_pair_carries_reads_down_and_sums_up() -> None:
    down = Network(
        "down",
        "SimpleMulticast",
        declared=True,
        multicast_energies=((1, Fraction(1)), (4, Fraction(2)), (8, Fraction(3))),
    )
    up = Network(
        "up",
        "ReductionTree",
        declared=True,
        adder_energy=Fraction(1, 2),
        energy_per_hop=Fraction(1),
    )
    statistics = priced(down, update=up)
    assert {name: each.energy_pj for name, each in statistics.networks["down"].tensors.items()} == {
        "A": 32,
        "B": 96,
        "Z": 72,
    }
    tree = statistics.networks["up"].tensors["Z"]
    assert (tree.spatial_reductions, tree.hops) == (7 * 24, Fraction(3, 2))
    assert statistics.networks["up"].energy_pj == Fraction(7 * 24, 2) + 24 * Fraction(3, 2)
    assert statistics.energy_pj == 200 + 84 + 36


def test_a_single_price_holds_for_every_multicast_factor_and_a_missing_one_is_free() -> None:
    single = Network(
        "down", "SimpleMulticast", declared=True, multicast_energies=((1, Fraction(5)),)
    )
    assert priced(single).energy_pj == 5 * (32 + 48 + 24)
    partial = replace(single, multicast_energies=((1, Fraction(5)), (2, Fraction(7))))
    assert priced(partial).energy_pj == 5 * 32


def test_a_network_shared_by_two_levels_is_charged_at_the_inner_one() -> None:
    shared = Network("bus", ingress_energy=Fraction(1), declared=True)
    both = array(shared)
    both = replace(both, levels=(both.levels[0], replace(both.levels[1], network=shared)))
    statistics = evaluate(both, MATMUL, SUMMED)
    assert list(statistics.networks) == ["bus"]
    assert statistics.networks["bus"].energy_pj == 32 * (6 + 6 + 6)


def test_the_latencies_of_networks_are_added_once() -> None:
    slow = Network("down", fill_latency=3, drain_latency=4)
    assert priced(slow).cycles == 6 + 3 + 4
    assert priced(slow).timeloop_cycles == 6 + 3 + 4
    statistics = priced(
        replace(slow, declared=True), update=replace(slow, name="up", declared=True, fill_latency=1)
    )
    assert (statistics.cycles, statistics.timeloop_cycles) == (6 + 3 + 4, 6 + 3 + 1)


def test_no_more_partial_sums_are_elided_than_move() -> None:
    """Z[m, m] has 4 words in a box of 16: Timeloop's `2 * words - partition` would be -8 for the 4
    that enter.
    """
    diagonal = Problem(
        "diagonal", ("M",), {"M": 4}, (tensor("A", "M"), tensor("Z", "M", "M", read_write=True))
    )
    both = frozenset("AZ")
    once = Mapping((LevelMapping("GLB", (loop("M", 4),), keep=both), LevelMapping("RF", keep=both)))
    statistics = evaluate(
        array(Network("", ingress_energy=Fraction(1)), reduces=False), diagonal, once
    )
    assert {
        name: each.ingresses for name, each in statistics.networks["GLB <==> RF"].tensors.items()
    } == {"A": 4, "Z": 4}
    assert statistics.energy_pj == 8

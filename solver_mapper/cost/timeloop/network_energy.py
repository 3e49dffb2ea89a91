"""Energy of the networks between levels, by Timeloop's three models (network-*.cpp)."""

from __future__ import annotations

from fractions import Fraction
from math import floor, isqrt
from typing import NamedTuple

from solver_mapper.core.architecture import Architecture, Buffer, Network
from solver_mapper.cost.timeloop.accesses import ratio
from solver_mapper.cost.timeloop.movement import MulticastRecord, Rational, Traffic

_DIGITS = 10**12
_FREE = Fraction(0)
DOWN, UP = "down", "up"


class NetworkBelow(NamedTuple):
    """A network below one level, and what it carries.

    `per_hop` is pJ per word and hop. `ways` are those that traffic takes: DOWN (reads and fills),
    UP (updates and drains). `reduces` says whether the level above adds up partial sums by itself,
    `free` that nothing here costs anything.
    """

    network: Network
    per_hop: Fraction
    ways: frozenset[str]
    reduces: bool
    free: bool


class NetworkUse(NamedTuple):
    """One tensor on one network, per instance of the level above; `energy` in pJ over all
    instances.
    """

    multicast: int
    ingresses: Rational
    link_transfers: int
    spatial_reductions: Rational
    hops: Rational
    energy: Fraction


def network_use(
    below: NetworkBelow, traffic: Traffic, read_write: bool, partition: int, used: int
) -> NetworkUse:
    """What `used` instances' `traffic` costs. `partition`: distinct words that an instance of the
    level above holds.
    """
    if below.network.kind == "ReductionTree":
        return _reduction_tree(below, traffic, read_write)
    if below.network.kind == "SimpleMulticast":
        return _simple_multicast(below, traffic, used)
    return _legacy(below, traffic, read_write, partition, used)


def _legacy(
    below: NetworkBelow, traffic: Traffic, read_write: bool, partition: int, used: int
) -> NetworkUse:
    """Every word enters, travels its hops along wires, and passes a router at each."""
    records = arriving(below, traffic, read_write, partition)
    upward = read_write and UP in below.ways
    words: Rational = 0
    doubled = largest = 0
    reductions: Rational = 0
    for record in records:
        words += record.words
        largest = max(largest, record.multicast)
        if record.words > 0:
            doubled += record.double_hops
        if upward:
            reductions += (record.multicast - 1) * record.words
    hops = ratio(doubled, 2 * words) if words > 0 else 0
    energy = (
        _FREE
        if below.free
        else _legacy_energy(below, records, words, doubled, traffic.link_transfers) * used
    )
    return NetworkUse(largest, words, traffic.link_transfers, reductions, hops, energy)


def arriving(
    below: NetworkBelow, traffic: Traffic, read_write: bool, partition: int
) -> tuple[MulticastRecord, ...]:
    """Words that enter a network, per number of receivers.

    Where the level above a Legacy network cannot add, partial sums also travel down: all but the
    first of each distinct word. Timeloop subtracts these from every record, also from one of fewer
    words; here no more are elided than are moved.
    """
    if below.network.kind != "Legacy" or not read_write or UP not in below.ways or below.reduces:
        return traffic.records
    return tuple(
        record._replace(words=record.words + max(0, record.words - partition))
        for record in traffic.records
    )


def _legacy_energy(
    below: NetworkBelow,
    records: tuple[MulticastRecord, ...],
    words: Rational,
    doubled: int,
    links: int,
) -> Fraction:
    network = below.network
    routed: Rational = sum(
        (1 + floor(Fraction(record.double_hops) / (2 * record.words))) * record.words
        for record in records
        if record.words > 0
    )
    passing = (
        Fraction(doubled, 2) * below.per_hop
        + routed * network.router_energy
        + words * network.ingress_energy
    )
    return passing + links * (below.per_hop + 2 * network.router_energy)


def _reduction_tree(below: NetworkBelow, traffic: Traffic, read_write: bool) -> NetworkUse:
    """An adder tree for partial sums. Timeloop charges one tree, however many instances lie above
    it.
    """
    if not read_write:
        return NetworkUse(0, 0, 0, 0, 0, _FREE)
    words = traffic.words
    reductions = sum(((r.multicast - 1) * r.words for r in traffic.records), Fraction(0))
    hops = sum(
        (Fraction(r.multicast.bit_length() - 1, 2) * r.words for r in traffic.records), Fraction(0)
    )
    largest = max((record.multicast for record in traffic.records), default=0)
    energy = hops * below.per_hop + reductions * below.network.adder_energy
    return NetworkUse(largest, words, 0, reductions, ratio(hops, words) if words else 0, energy)


def _simple_multicast(below: NetworkBelow, traffic: Traffic, used: int) -> NetworkUse:
    """A price per multicast factor. Timeloop charges only the last record, the one with the largest
    factor.
    """
    largest = max((record.multicast for record in traffic.records), default=0)
    energy = _FREE
    for record in traffic.records:
        energy = multicast_energy(below.network, record.multicast) * record.words
    return NetworkUse(largest, traffic.words, 0, 0, 0, energy * used)


def multicast_energy(network: Network, factor: int) -> Fraction:
    """pJ per word sent to `factor` receivers: a single price holds for all factors, an unlisted
    factor is free.
    """
    if len(network.multicast_energies) == 1:
        return network.multicast_energies[0][1]
    return dict(network.multicast_energies).get(factor, _FREE)


def networks_below(architecture: Architecture) -> list[list[NetworkBelow]]:
    """The networks below each level, outer to inner.

    A declared network that serves several levels is charged at the innermost of them only, but
    returns partial sums to the outermost, as in Timeloop.
    """
    found: dict[str, tuple[int, NetworkBelow]] = {}
    widths = tile_widths(architecture)
    for index in reversed(range(len(architecture.levels))):
        level = architecture.levels[index]
        for network, ways in _connections(level):
            name = network.name if network.declared else f"below level {index}"
            if name not in found:
                per_hop = hop_energy(network, widths[index])
                free = network.kind == "Legacy" and not (
                    per_hop or network.router_energy or network.ingress_energy
                )
                found[name] = (
                    index,
                    NetworkBelow(network, per_hop, ways, level.reduction_supported, free),
                )
            else:
                position, below = found[name]
                reduces = level.reduction_supported if UP in ways else below.reduces
                found[name] = (
                    position,
                    below._replace(ways=below.ways | ways, reduces=reduces),
                )
    return [
        [below for position, below in found.values() if position == index]
        for index in range(len(architecture.levels))
    ]


def _connections(level: Buffer) -> list[tuple[Network, frozenset[str]]]:
    """The networks below one level and the ways that each carries."""
    down, up = level.network or Network(""), level.update_network
    if up is None:
        return [(down, frozenset({DOWN, UP}))]
    return [(down, frozenset({DOWN})), (up, frozenset({UP}))]


def hop_energy(network: Network, width: Fraction) -> Fraction:
    """pJ per word and hop of `width` um. Timeloop's built-in wire model, for wires without an
    energy, gives 0.
    """
    if network.energy_per_hop is not None:
        return network.energy_per_hop
    bits = 16 if network.word_bits is None else network.word_bits
    return (
        bits
        * (width if network.tile_width is None else network.tile_width)
        / 1000
        * (network.wire_energy or 0)
    )


def tile_widths(architecture: Architecture) -> tuple[Fraction, ...]:
    """For each level, the length in um of a hop below it: the side of a square as large as
    everything one inner tile contains.

    Square roots are taken to twelve decimal places.
    """
    area = architecture.arithmetic.area
    inner = architecture.arithmetic.instances
    widths = []
    for level in reversed(architecture.levels):
        widths.append(Fraction(isqrt(int(area * _DIGITS**2)), _DIGITS))
        area = level.area + area * (inner // level.instances)
        inner = level.instances
    return tuple(reversed(widths))

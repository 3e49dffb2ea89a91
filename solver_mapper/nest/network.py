"""Energy of the networks between levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isqrt

from solver_mapper.nest.movement import Record, Traffic
from solver_mapper.spec.architecture import Architecture, Network

_DIGITS = 10**12


@dataclass(frozen=True, slots=True)
class NetworkUse:
    """One tensor on one network, per instance of the level above. `energy` in pJ per instance."""

    multicast: int
    ingresses: Fraction
    link_transfers: int
    spatial_reductions: Fraction
    hops: Fraction
    energy: Fraction


def legacy_use(network: Network, width: Fraction, traffic: Traffic, read_write: bool, unreduced: int | None) -> NetworkUse:
    """Timeloop's inferred network: every word enters, travels its hops, and passes a router at each.

    `width` (um) is the length of a hop. `unreduced` is None where the sink adds up partial sums by itself; else partial sums
    also travel back to be added, all but the first of each of the `unreduced` distinct words.
    """
    records = traffic.records
    if read_write and unreduced is not None:
        records = tuple(replace(record, words=2 * record.words - unreduced) for record in records)
    per_hop = hop_energy(network, width)
    words = sum((r.words for r in records), Fraction(0))
    wire = sum((r.hops for r in records if r.words > 0), Fraction(0))
    routed = sum((_routers(r) * r.words for r in records if r.words > 0), Fraction(0))
    energy = wire * per_hop + routed * network.router_energy + words * network.ingress_energy
    energy += traffic.link_transfers * (per_hop + 2 * network.router_energy)
    return NetworkUse(
        max((r.multicast for r in records), default=0),
        words,
        traffic.link_transfers,
        sum(((r.multicast - 1) * r.words for r in records), Fraction(0)) if read_write else Fraction(0),
        wire / words if words else Fraction(0),
        energy,
    )


def _routers(record: Record) -> int:
    return 1 + floor(record.hops / record.words)


def hop_energy(network: Network, width: Fraction) -> Fraction:
    """pJ per word and hop."""
    if network.energy_per_hop is not None:
        return network.energy_per_hop
    bits = 16 if network.word_bits is None else network.word_bits
    return bits * width / 1000 * (network.wire_energy or 0)


def tile_widths(architecture: Architecture) -> tuple[Fraction, ...]:
    """For each level, the length in um of a hop below it: the side of a square as large as everything one inner tile contains.

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

"""Reads, fills and updates of every level, from the traffic below it.

The steps are Timeloop's (v3.0.3, tiling.cpp): partition sizes, shares of the parent's traffic, bypass, link transfers, and
the split into reads, fills and updates with its roundings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from solver_mapper.nest.movement import Traffic
from solver_mapper.nest.tiles import Nest
from solver_mapper.spec.problem import Tensor


@dataclass(frozen=True, slots=True)
class Accesses:
    """Words of one tensor per instance of a level. `tile` is the largest tile held, `partition` the distinct words ever held."""

    tile: int
    partition: int
    reads: int
    fills: int
    updates: int
    temporal_reductions: int


@dataclass(frozen=True)
class TensorMovement:
    """One tensor's accesses at each level (None where it is bypassed) and its traffic below each level."""

    accesses: tuple[Accesses | None, ...]
    traffic: tuple[Traffic, ...]


def partitions(nest: Nest, tensor: Tensor) -> tuple[int, ...]:
    """Distinct words that one instance of each level ever sees, assuming that instances split the data disjointly."""
    sizes = [nest.tile_words(tensor, 0)]
    for level in range(1, nest.depth):
        own = nest.tile_words(tensor, level)
        union = tensor.footprint(nest.largest(level - 1, union=True)) if nest.spatial[level - 1] else own
        sizes.append(sizes[-1] * own // union)
    return tuple(sizes)


def count_accesses(nest: Nest, tensor: Tensor, keep: tuple[bool, ...], below: tuple[Traffic, ...]) -> TensorMovement:
    """Accesses of `tensor`, kept where `keep` says so, given the traffic below each level as if nothing were bypassed."""
    distinct = partitions(nest, tensor)
    shares = [Fraction(0)] + [traffic.delivered / traffic.fanout for traffic in below[:-1]]
    traffic, contents = _bypass(keep, below)
    top = keep.index(True)
    shares[top] = Fraction(0)
    peers = [Fraction(0)] * nest.depth
    for level in range(nest.depth - 1):
        if traffic[level].link_transfers:
            peers[level + 1] = Fraction(traffic[level].link_transfers, nest.instances[level + 1])
    accesses: list[Accesses | None] = []
    for level, kept in enumerate(keep):
        if not kept:
            accesses.append(None)
            continue
        split = _split_read_write if tensor.read_write else _split_read_only
        tile = nest.tile_words(tensor, level)
        accesses.append(split(tile, distinct[level], contents[level], shares[level], peers[level], level == top))
    return TensorMovement(tuple(accesses), traffic)


def _bypass(keep: tuple[bool, ...], below: tuple[Traffic, ...]) -> tuple[tuple[Traffic, ...], list[Fraction]]:
    """Traffic after bypass, and the words that each level itself serves.

    Where a level does not hold the tensor, the level outside serves what it would have served: the traffic below that outer
    level is scaled up, its links fall away. Above the outermost level that holds the tensor there is no traffic.
    """
    traffic = list(below)
    contents = [each.words for each in below]
    for level in range(len(keep) - 1, -1, -1):
        if keep[level]:
            continue
        if level > 0:
            outer = traffic[level - 1]
            if outer.delivered:
                scale = contents[level] * outer.fanout / outer.delivered
                scaled = tuple(replace(record, words=record.words * scale) for record in outer.records)
                traffic[level - 1] = Traffic(scaled, 0, outer.fanout)
                contents[level - 1] = traffic[level - 1].words
        contents[level] = Fraction(0)
    for level in range(keep.index(True)):
        traffic[level] = Traffic((), 0, below[level].fanout)
    return tuple(traffic), contents


def _split_read_only(tile: int, partition: int, content: Fraction, share: Fraction, peer: Fraction, top: bool) -> Accesses:
    return Accesses(tile, partition, round_half_away(content + peer), int(share + peer), 0, 0)


def _split_read_write(tile: int, partition: int, content: Fraction, share: Fraction, peer: Fraction, top: bool) -> Accesses:
    """The first write of each word needs no read of an old value: `partition` words are elided."""
    reads = round_half_away(content + peer - partition)
    fills = round_half_away(share + peer - (0 if top else partition))
    return Accesses(tile, partition, reads, fills, round_half_away(content), reads)


def round_half_away(value: Fraction) -> int:
    """The nearest integer, halves away from zero."""
    doubled = int(2 * abs(value)) + 1
    return doubled // 2 if value >= 0 else -(doubled // 2)

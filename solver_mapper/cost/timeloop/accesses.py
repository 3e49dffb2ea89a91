"""Reads, fills and updates of every level, from the traffic below it.

The steps are Timeloop's (v3.0.3, tiling.cpp): partition sizes, shares of the parent's traffic,
bypass, link transfers, and the split into reads, fills and updates with its roundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from solver_mapper.cost.timeloop.movement import Rational, Traffic
from solver_mapper.cost.timeloop.projection import Projection
from solver_mapper.cost.timeloop.tiles import Nest


class Accesses(NamedTuple):
    """Words of one tensor per instance of a level. `tile` is the largest tile held, `partition` the
    distinct words ever held.
    """

    tile: int
    partition: int
    reads: int
    fills: int
    updates: int
    temporal_reductions: int


class TensorMovement(NamedTuple):
    """One tensor's accesses at each level (None where it is bypassed) and its traffic below each
    level.
    """

    accesses: list[Accesses | None]
    traffic: list[Traffic]


def count_accesses(
    nest: Nest, projection: Projection, keep: Sequence[bool], below: Sequence[Traffic]
) -> TensorMovement:
    """Accesses of a tensor, kept where `keep` says so, given the traffic below each level as if
    nothing were bypassed.
    """
    tiles = [nest.tile_words(projection, level) for level in range(nest.depth)]
    distinct = partitions(nest, projection, tiles)
    shares: list[Rational] = [0, *(ratio(each.delivered, each.fanout) for each in below[:-1])]
    traffic, contents = bypass(keep, below)
    top = keep.index(True)
    shares[top] = 0
    accesses: list[Accesses | None] = []
    for level, kept in enumerate(keep):
        if not kept:
            accesses.append(None)
            continue
        links = traffic[level - 1].link_transfers if level else 0
        peer = ratio(links, nest.instances[level]) if links else 0
        split = _split_read_write if projection.read_write else _split_read_only
        accesses.append(
            split(tiles[level], distinct[level], contents[level], shares[level], peer, level == top)
        )
    return TensorMovement(accesses, traffic)


def partitions(nest: Nest, projection: Projection, tiles: Sequence[int]) -> list[int]:
    """Distinct words that one instance of each level ever sees, assuming that instances split the
    data disjointly.
    """
    sizes = [tiles[0]]
    for level in range(1, nest.depth):
        size = sizes[-1]
        if nest.spatial[level - 1]:
            size = size * tiles[level] // nest.union_words(projection, level - 1)
        sizes.append(size)
    return sizes


def bypass(keep: Sequence[bool], below: Sequence[Traffic]) -> tuple[list[Traffic], list[Rational]]:
    """Traffic after bypass, and the words that each level itself serves.

    Where a level does not hold the tensor, the level outside serves what it would have served: the
    traffic below that outer level is scaled up, its links fall away. Above the outermost level that
    holds the tensor there is no traffic.
    """
    traffic = list(below)
    contents = [each.words for each in below]
    for level in range(len(keep) - 1, -1, -1):
        if keep[level]:
            continue
        if level > 0:
            outer = traffic[level - 1]
            wanted = contents[level] * outer.fanout
            records = tuple(
                record._replace(words=ratio(record.words * wanted, outer.delivered))
                for record in outer.records
            )
            contents[level - 1] = sum(record.words for record in records)
            traffic[level - 1] = Traffic(records, 0, outer.fanout, contents[level - 1], wanted)
        contents[level] = 0
    for level in range(keep.index(True)):
        traffic[level] = Traffic((), 0, below[level].fanout, 0, 0)
    return traffic, contents


def _split_read_only(
    tile: int, partition: int, content: Rational, share: Rational, peer: Rational, top: bool
) -> Accesses:
    return Accesses(tile, partition, round_half_away(content + peer), int(share + peer), 0, 0)


def _split_read_write(
    tile: int, partition: int, content: Rational, share: Rational, peer: Rational, top: bool
) -> Accesses:
    """The first write of each word needs no read of an old value: `partition` words are elided, as
    far as so many are moved.
    """
    reads = max(0, round_half_away(content + peer - partition))
    fills = max(0, round_half_away(share + peer - (0 if top else partition)))
    return Accesses(tile, partition, reads, fills, round_half_away(content), reads)


def ratio(numerator: Rational, denominator: Rational) -> Rational:
    """The exact quotient, an int where it is whole."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        whole, rest = divmod(numerator, denominator)
        return Fraction(numerator, denominator) if rest else whole
    return Fraction(numerator) / denominator


def round_half_away(value: Rational) -> int:
    """The nearest integer, halves away from zero."""
    if isinstance(value, int):
        return value
    doubled = int(2 * abs(value)) + 1
    return doubled // 2 if value >= 0 else -(doubled // 2)

"""Trunks: the loops that a group co-iterates over, in every order and with every number of
iterations that can matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
from solver_mapper.bounds.fusion.groups.links import SharedRank, alone
from solver_mapper.bounds.fusion.special import NONE_SPECIAL, SpecialRanks
from solver_mapper.core.primes import divisors


@dataclass(frozen=True)
class TrunkLoop:
    """`trips` iterations over a rank, or over an alike set of ranks with `parts[i]` iterations of
    each.
    """

    ranks: tuple[SharedRank, ...]
    parts: tuple[int, ...]

    @property
    def trips(self) -> int:
        """Iterations of the loop: the product of its parts."""
        return math.prod(self.parts)

    def variables(self, einsum: int) -> tuple[tuple[str, int], ...]:
        """The variables of an Einsum that the loop drives, with their iterations; none if the
        Einsum merely repeats.
        """
        return tuple(
            (rank.variables[einsum], part)
            for rank, part in zip(self.ranks, self.parts, strict=True)
            if einsum in rank.variables
        )


Trunk = tuple[TrunkLoop, ...]
"""Outermost first; every loop has at least two iterations."""


def trunks_of(
    net: DataflowGraph, group: FusionGroup, special: SpecialRanks = NONE_SPECIAL
) -> Iterator[Trunk]:
    """All trunks of `group` that can matter.

    A rank that every tensor of every member indexes plainly is cut completely and outermost: no
    reuse is lost and every tile shrinks. If the same tensors index all remaining ranks, each
    plainly, these are taken as one: no loop can stand between them to any effect, so only the
    product of their trips enters a figure. Special ranks stand outermost, with any number of
    iterations (all, if every tensor of every member indexes them).
    """
    forced = special.of_group(net, group)
    first, rest = leading(net, group, forced)
    whole = tuple(TrunkLoop((rank,), (rank.bound,)) for rank in first)
    outer = [
        [TrunkLoop((rank,), parts) for parts in parts_of([rank])[-1 if rank in first else 1 :]]
        for rank in forced
    ]
    for top in product(*outer):
        head = top + tuple(loop for loop in whole if loop.ranks[0] not in forced)
        yield from (trunk for trunk in _below(net, group, head, rest) if in_order(trunk))


def in_order(trunk: Trunk) -> bool:
    """Does every loop stand inside loops that cut completely what must be above it (see
    `SharedRank`)?
    """
    done: list[SharedRank] = []
    for loop in trunk:
        if not all(more in done for rank in loop.ranks for more in rank.above):
            return False
        done += [
            rank for rank, part in zip(loop.ranks, loop.parts, strict=True) if part == rank.bound
        ]
    return True


def _below(
    net: DataflowGraph, group: FusionGroup, head: Trunk, rest: Sequence[SharedRank]
) -> Iterator[Trunk]:
    """All trunks that begin with `head` and go on over some of the ranks `rest`."""
    if head:
        yield head
    bundles = bundled(net, group, rest)
    options = [
        [TrunkLoop(tuple(bundle), parts) for parts in parts_of(bundle)[1:]] for bundle in bundles
    ]
    tops = [TrunkLoop((rank,), parts) for rank in group.above for parts in parts_of([rank])[1:]]
    for size in range(len(bundles) + 1):
        for chosen in permutations(options, size):
            for loops in product(*chosen):
                if loops:
                    yield head + loops
                for top in tops:
                    yield (*head, top, *loops)


def leading(
    net: DataflowGraph, group: FusionGroup, forced: Sequence[SharedRank] = ()
) -> tuple[list[SharedRank], list[SharedRank]]:
    """Ranks that are cut completely at the top of every trunk, and those of the others that are not
    `forced` to the top.
    """
    everywhere = [
        rank
        for rank in group.ranks
        if all(
            rank.indexes(net, i, name)
            for i in group.members
            for name in net.problems[i].tensor_names
        )
        and plain_rank(net, group, rank)
    ]
    return everywhere, [
        rank for rank in group.ranks if rank not in everywhere and rank not in forced
    ]


def bundled(
    net: DataflowGraph, group: FusionGroup, ranks: Sequence[SharedRank]
) -> list[list[SharedRank]]:
    """All ranks in one bundle if they are alike, else each in its own."""
    uses = [(i, name) for i in group.members for name in net.problems[i].tensor_names]
    patterns = {tuple(rank.indexes(net, i, name) for i, name in uses) for rank in ranks}
    alike = len(patterns) == 1 and all(plain_rank(net, group, rank) for rank in ranks)
    return [list(ranks)] if alike else [[rank] for rank in ranks]


def plain_rank(net: DataflowGraph, group: FusionGroup, rank: SharedRank) -> bool:
    """Does the rank, wherever it indexes a tensor, have one plain position of its own?"""
    for i in group.members:
        variable = rank.variables.get(i)
        for tensor in net.problems[i].tensors:
            ranks = [each for each in tensor.ranks if any(term.dim == variable for term in each)]
            if len(ranks) > 1 or not all(alone(each) for each in ranks):
                return False
    return True


def parts_of(bundle: Sequence[SharedRank]) -> list[tuple[int, ...]]:
    """Ways to cut a bundle, one for each product of trips, rising: not at all first, completely
    last.
    """
    products: dict[int, tuple[int, ...]] = {1: ()}
    for rank in bundle:
        grown: dict[int, tuple[int, ...]] = {}
        for total, parts in products.items():
            for trips in divisors(rank.bound):
                grown.setdefault(total * trips, (*parts, trips))
        products = grown
    return [parts for _, parts in sorted(products.items())]


def trips_of(trunk: Trunk) -> int:
    """Iterations of all loops together."""
    return math.prod(loop.trips for loop in trunk)


def cut(bounds: Mapping[str, int], trunk: Trunk, einsum: int) -> dict[str, int]:
    """The bounds of an Einsum inside `trunk`."""
    inside = dict(bounds)
    for loop in trunk:
        for variable, trips in loop.variables(einsum):
            inside[variable] //= trips
    return inside

"""How many values move between the holders of one tensor, for one Einsum: LoopTree's cost model.

Each time control reaches a holder, once per iteration of every loop above, relevant or not, it
fetches its whole tile from the holder above. Outputs are also returned on leaving. The first fetch
of each output value by each holder instance does not happen, since values start at zero. Where a
spatial loop between two holders is irrelevant to the tensor and the wires may reuse it, the upper
holder is accessed once for all copies. (Reference: the rules of AccelForge 1.0.467, confirmed by
execution.)

Counts are exact for tiles that do not divide as well: every tile is counted with the extent it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from solver_mapper.cost.looptree.mapping.einsum_path import EinsumPath, LoopStep, StorageStep
from solver_mapper.cost.looptree.workload import Access, Relevance

Profile = Mapping[int, int]
"""How many tiles of each extent the loops over one variable produce."""


def profile(extent: int, loops: Iterable[LoopStep], once: frozenset[int]) -> dict[int, int]:
    """The tiles of an interval below `loops`; those at the positions `once` are entered for their
    first, largest tile only.
    """
    found = {extent: 1}
    for loop in loops:
        below: dict[int, int] = {}
        for size, count in found.items():
            tiles = loop.tiles(size)
            for tile, repeats in tiles[:1] if loop.index in once else tiles:
                below[tile] = below.get(tile, 0) + (
                    count if loop.index in once else count * repeats
                )
        found = below
    return found


def values(access: Access, profiles: Mapping[str, Profile]) -> int:
    """The sum of the footprints of all tiles: every combination of the tiles of each variable."""
    total = 1
    for group in _groups(access, tuple(profiles)):
        part = 0
        for sizes in itertools.product(*(profiles[variable].items() for variable in group)):
            tile = dict(zip(group, (size for size, _ in sizes), strict=True))
            count = 1
            for _, repeats in sizes:
                count *= repeats
            for rank in access.tensor.ranks:
                if rank and rank[0].dim in tile:
                    count *= 1 + sum(abs(term.coefficient) * (tile[term.dim] - 1) for term in rank)
            part += count
        total *= part
    return total


def _groups(access: Access, variables: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The variables in groups: those that share a rank stand together, the others alone."""
    groups = [{variable} for variable in variables]
    for rank in access.tensor.ranks:
        names = {term.dim for term in rank}
        joined = set().union(*(group for group in groups if group & names)) if names else set()
        groups = [group for group in groups if not group & names] + ([joined] if joined else [])
    return [tuple(sorted(group)) for group in groups]


@dataclass(frozen=True)
class Traffic:
    """Values of one tensor that cross between a holder and the next one below it, as one of the two
    counts them, all its copies together.

    `reads` go down and `writes` come back up; `skipped` are the reads that do not happen. `unit_`
    figures are those of the busiest single copy.
    """

    reads: int
    writes: int
    skipped: int
    unit_reads: int
    unit_writes: int
    unit_skipped: int


@dataclass(frozen=True)
class TensorCount:
    """Counts the traffic of one tensor on one Einsum's path through the tree."""

    branch: EinsumPath
    access: Access

    @cached_property
    def holders(self) -> tuple[StorageStep, ...]:
        """Storage and tolls of the tensor, outer to inner."""
        return self.branch.holders(self.access.name)

    def position(self, holder: int) -> tuple[int, int]:
        """(index on the branch, level in the chain) of a holder; the compute comes last."""
        if holder == len(self.holders):
            return self.branch.length, self.branch.compute_level
        return self.holders[holder].index, self.holders[holder].level

    def next_real(self, holder: int) -> int:
        """The next holder below that is no toll; `len(holders)` for the compute."""
        holder += 1
        while holder < len(self.holders) and self.holders[holder].toll:
            holder += 1
        return holder

    def below(self, viewer: int, holder: int) -> Traffic:
        """The traffic that `holder` (no toll) causes, as seen at `viewer`: `holder` itself, or a
        holder above it.

        Spatial loops between the two are seen once where the wires reuse the tensor, else once per
        copy.
        """
        seen_from = self.position(viewer)[1]
        loops = self.branch.loops_above(*self.position(holder))
        spatial = [(loop, loop.level) for loop in loops if loop.level is not None]
        merged = frozenset(
            loop.index for loop, where in spatial if where > seen_from and self.reused(loop)
        )
        copies = frozenset(loop.index for loop, where in spatial if where <= seen_from)
        repeats = frozenset(
            loop.index
            for loop in loops
            if not loop.spatial and self.access.relevance(loop.variable) is not Relevance.RELEVANT
        )
        copy = self.branch.einsum.copy
        output, skips = self.access.output, self.access.output and self.skips(holder) and not copy

        def count(once: frozenset[int]) -> int:
            return self.count(loops, once)

        total, unit = count(merged), count(merged | copies)
        if copy and output:
            return Traffic(
                reads=0, writes=total, skipped=0, unit_reads=0, unit_writes=unit, unit_skipped=0
            )
        return Traffic(
            reads=total,
            writes=total if output else 0,
            skipped=count(merged | repeats) if skips else 0,
            unit_reads=unit,
            unit_writes=unit if output else 0,
            unit_skipped=count(merged | copies | repeats) if skips else 0,
        )

    def count(self, loops: tuple[LoopStep, ...], once: frozenset[int]) -> int:
        """The sum of the tensor's tiles below `loops`.

        Where a variable is irrelevant to the tensor only trips count, and those of a loop depend on
        all loops above it, also on those that do not divide the holder.
        """
        mine = frozenset(loop.index for loop in loops)
        below: dict[str, Profile] = {}
        for variable, bound in self.branch.einsum.bounds.items():
            all_loops = [loop for loop in self.branch.loops if loop.variable == variable]
            if self.access.relevance(variable) is Relevance.IRRELEVANT:
                below[variable] = profile(
                    bound,
                    all_loops,
                    once | {loop.index for loop in all_loops if loop.index not in mine},
                )
            else:
                below[variable] = profile(
                    bound, [loop for loop in all_loops if loop.index in mine], once
                )
        return values(self.access, below)

    def reused(self, loop: LoopStep) -> bool:
        """Whether a spatial loop passes one value on to all its units: the fanout may reuse the
        tensor, and the loop does not index it.
        """
        return (
            loop.fanout is not None
            and self.access.name in loop.fanout.may_reuse
            and self.access.relevance(loop.variable) is Relevance.IRRELEVANT
        )

    def skips(self, holder: int) -> bool:
        """Whether the first fetch of each output value by this holder is skipped."""
        unit = (
            self.branch.chain.compute if holder == len(self.holders) else self.holders[holder].unit
        )
        return unit.skip_first

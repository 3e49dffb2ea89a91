"""The mapspace of imperfect factors: every chain of loops over a dimension whose last rounds may be
shorter.

A dimension of size D has loops of bounds b_1, ..., b_n, outer to inner, whose product is at least
D. The iterations of their last rounds are the digits of D - 1 in the mixed radix of these bounds,
plus one. Only chains belong to the mapspace whose bounds are all reached: the outermost loop above
1 runs exactly ceil(D / t) times over tiles of t points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from math import prod
from operator import mul

from solver_mapper.core.constraints import FactorConstraint
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.verify.mapspace import Chain, EnumeratedMapspace, LoopSlot, Skeleton


def last_rounds(size: int, bounds: Chain) -> Chain:
    """Iterations of each loop, outer to inner, in the final round of all loops outside it."""
    strides = list(accumulate(reversed(bounds), mul, initial=1))[-2::-1]
    return tuple(
        (size - 1) // stride % bound + 1 for stride, bound in zip(strides, bounds, strict=True)
    )


def reaches(size: int, bounds: Chain) -> bool:
    """Whether loops of these bounds cover `size` points, and each bound is reached."""
    if prod(bounds) < size:
        return False
    outer = next((number for number, bound in enumerate(bounds) if bound > 1), None)
    return outer is None or -(-size // prod(bounds[outer + 1 :])) == bounds[outer]


class ImperfectMapspace(EnumeratedMapspace):
    """The mapspace of imperfect factors that `constraints` leave."""

    def chains(self, dim: str) -> list[Chain]:
        """All chains of bounds over the sites that meshes and constraints allow."""
        return [
            chain
            for chain in self._chains(self.problem.bounds[dim], len(self.loop_slots))
            if self._allowed(dim, dict(zip(self.loop_slots, chain, strict=True)))
        ]

    def _chains(self, size: int, sites: int, stride: int = 1) -> Iterator[Chain]:
        """Chains over the outermost `sites`, where those inside cover `stride` points."""
        left = -(-size // stride)
        if sites == 0 or left == 1:
            if left == 1:
                yield (1,) * sites
            return
        level, axis = self.loop_slots[sites - 1]
        room = self.architecture.fanout(level)[axis == "Y"] if axis else left
        for bound in range(1, min(left, room) + 1):
            for outer in self._chains(size, sites - 1, stride * bound):
                yield (*outer, bound)

    def _allowed(self, dim: str, chain: dict[LoopSlot, int]) -> bool:
        return super()._allowed(dim, chain) and all(
            self._meets_residue(constraint, chain)
            for constraint in self.constraints
            if isinstance(constraint, FactorConstraint)
            and constraint.dim == dim
            and constraint.last is not None
        )

    def _meets_residue(self, constraint: FactorConstraint, chain: dict[LoopSlot, int]) -> bool:
        bounds = tuple(chain.get(site, 1) for site in self.loop_slots)
        lasts = last_rounds(self.problem.bounds[constraint.dim], bounds)
        level = self.architecture.index(constraint.level)
        found = [
            last
            for (number, axis), last in zip(self.loop_slots, lasts, strict=True)
            if number == level and (axis == "") == (constraint.kind == "temporal")
        ]
        return max(found, default=1) == constraint.last

    def contains(self, mapping: Mapping) -> bool:
        """Whether a mapping that makes up the problem is one of this mapspace. Meshes are checked,
        capacities are not.
        """
        whole = replace(
            mapping,
            levels=tuple(
                replace(level, temporal=_whole(level.temporal), spatial=_whole(level.spatial))
                for level in mapping.levels
            ),
        )
        return super().contains(whole) and all(
            reaches(size, tuple(each.bound for each in mapping.loops() if each.dim == dim))
            for dim, size in self.problem.bounds.items()
        )

    def levels(self, skeleton: Skeleton) -> tuple[LevelMapping, ...]:
        """The levels with these loops and their last rounds, holding nothing."""
        levels = super().levels(skeleton)
        strides = dict.fromkeys(self.problem.dims, 1)

        def with_residues(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
            found = []
            for each in reversed(loops):
                last = (self.problem.bounds[each.dim] - 1) // strides[each.dim] % each.bound + 1
                strides[each.dim] *= each.bound
                found.append(replace(each, last=last))
            return tuple(reversed(found))

        inwards = []
        for level in reversed(levels):
            spatial = with_residues(level.spatial)
            inwards.append(replace(level, temporal=with_residues(level.temporal), spatial=spatial))
        return tuple(reversed(inwards))


def _whole(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    return tuple(replace(each, last=each.bound) for each in loops)

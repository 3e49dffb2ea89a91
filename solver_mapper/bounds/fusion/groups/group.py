"""The bound curve of one group: every trunk, every combination of its members' choices.

Capacity is the sum of what stays across the trunk's loops (additive) plus the largest of what is
live while one member runs (maximal): its streamed tiles and the tiles of all tensors that are on
their way past it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from solver_mapper.bounds.bound_curve import EMPTY, BoundCurve, Ints, strict
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
from solver_mapper.bounds.fusion.groups.leaf import Leaves, MemberChoice
from solver_mapper.bounds.fusion.groups.trunk import Trunk, cut, trips_of
from solver_mapper.core.dominance import undominated_rows


@dataclass(frozen=True)
class Subgroup:
    """Members of a group that co-iterate over further loops, `trunk`, inside the group's; `tiled`
    they alone tile that finely.
    """

    members: tuple[int, ...]
    tiled: tuple[str, ...]
    trunk: Trunk


@dataclass(frozen=True)
class GroupPlan:
    """One way to run a group: its trunk, the tensors tiled between members (none for a single
    Einsum), and each member's choice.
    """

    members: tuple[int, ...]
    tiled: tuple[str, ...]
    trunk: Trunk
    choices: tuple[MemberChoice, ...]
    parts: tuple[Subgroup, ...] = ()

    def part(self, einsum: int) -> Subgroup | None:
        """The part that a member is in."""
        return next((part for part in self.parts if einsum in part.members), None)

    def path(self, einsum: int) -> Trunk:
        """All loops that a member shares with others, its part's included. Its choice counts
        positions along it.
        """
        part = self.part(einsum)
        return self.trunk + part.trunk if part else self.trunk


@dataclass(frozen=True)
class Plans:
    """A bound curve with its plans: `stairs.codes` index `plans`."""

    stairs: BoundCurve
    plans: tuple[GroupPlan, ...]


@dataclass(frozen=True)
class MemberCombinations:
    """Combinations of the choices of the first members: figures, and which choice each took."""

    additive: Ints
    maximal: Ints
    accesses: Ints
    picks: Ints

    @staticmethod
    def starting(net: DataflowGraph, accesses: int) -> MemberCombinations:
        """No member yet."""
        zero = np.zeros(1, dtype=net.dtype)
        return MemberCombinations(zero, zero, zero + accesses, np.zeros((1, 0), dtype=np.int64))

    def joined(
        self, choices: Sequence[MemberChoice], live: int, net: DataflowGraph
    ) -> MemberCombinations:
        """With one more member, past which `live` units of tiled tensors are on their way."""
        additive, own, accesses = (
            np.array([getattr(choice, name) for choice in choices], dtype=net.dtype)
            for name in ("additive", "own", "accesses")
        )
        total = (self.additive[:, None] + additive).ravel()
        peak = np.maximum(self.maximal[:, None], own + live).ravel()
        moved = (self.accesses[:, None] + accesses).ravel()
        kept = undominated_rows(np.column_stack([total, peak, moved]))
        before, pick = np.divmod(kept, len(choices))
        return MemberCombinations(
            total[kept], peak[kept], moved[kept], np.column_stack([self.picks[before], pick])
        )


class Fuser:
    """Bound curves of single Einsums and of groups, for one net."""

    def __init__(self, net: DataflowGraph, uneven: bool = False):
        self.net = net
        self.leaves = Leaves(net, uneven)

    def single(self, einsum: int, held: frozenset[str]) -> Plans:
        """One Einsum by itself. Tensors in `held` are on chip as a whole and counted elsewhere."""
        choices = self.leaves.choices(einsum, (), held)
        own = np.array([choice.own for choice in choices], dtype=self.net.dtype)
        accesses = np.array([choice.accesses for choice in choices], dtype=self.net.dtype)
        stairs = strict(own, accesses, np.arange(len(choices)))
        return Plans(stairs, tuple(GroupPlan((einsum,), (), (), (choice,)) for choice in choices))

    def group(self, group: FusionGroup, held: frozenset[str], trunks: Iterator[Trunk]) -> Plans:
        """A group under each of `trunks`. Tensors in `held` are on chip as a whole and counted
        elsewhere.
        """
        stairs = EMPTY
        plans: list[GroupPlan] = []
        for trunk in trunks:
            fold = self._fold(group, held, trunk)
            if not len(fold.accesses):
                continue
            capacity = fold.additive + fold.maximal
            fresh = np.flatnonzero(stairs.better(capacity, fold.accesses))
            codes = np.arange(len(plans), len(plans) + len(fresh), dtype=np.int64)
            stairs = stairs.merged(capacity[fresh], fold.accesses[fresh], codes)
            for i in fresh:
                plans.append(
                    GroupPlan(
                        group.members,
                        group.tiled,
                        trunk,
                        self._picked(group, held, trunk, fold.picks[i]),
                    )
                )
        return Plans(stairs, tuple(plans))

    def _fold(self, group: FusionGroup, held: frozenset[str], trunk: Trunk) -> MemberCombinations:
        live = live_tiles(self.net, group, trunk)
        fold = MemberCombinations.starting(self.net, self.inputs(group, trunk))
        for i in group.members:
            fold = fold.joined(self._choices(group, held, trunk, i), live[i], self.net)
        return fold

    def inputs(self, group: FusionGroup, trunk: Trunk) -> int:
        """Traffic of the workload inputs that a group tiles."""
        return sum(tiled_input(self.net, group, name, trunk) for name in group.tiled)

    def _choices(
        self, group: FusionGroup, held: frozenset[str], trunk: Trunk, einsum: int
    ) -> tuple[MemberChoice, ...]:
        return self.leaves.choices(einsum, trunk, held | set(group.tiled), group.common)

    def _picked(
        self, group: FusionGroup, held: frozenset[str], trunk: Trunk, picks: Ints
    ) -> tuple[MemberChoice, ...]:
        return tuple(
            self._choices(group, held, trunk, i)[int(pick)]
            for i, pick in zip(group.members, picks, strict=True)
        )


def tile_units(net: DataflowGraph, members: Sequence[int], tensor: str, trunk: Trunk) -> int:
    """Units of one tile of a tiled tensor: the largest box that a member touches in one iteration
    of the trunk.
    """
    return net.weights[tensor] * max(
        net.use(i, tensor).footprint(cut(net.problems[i].bounds, trunk, i))
        for i in net.users[tensor] & set(members)
    )


def live_tiles(net: DataflowGraph, group: FusionGroup, trunk: Trunk) -> Mapping[int, int]:
    """Units of tiled tensors on chip while each member runs: from a tensor's first user in the
    group to its last.
    """
    live = dict.fromkeys(group.members, 0)
    for tensor in group.tiled:
        users = net.users[tensor] & set(group.members)
        units = tile_units(net, group.members, tensor, trunk)
        for i in group.members:
            live[i] += units if min(users) <= i <= max(users) else 0
    return live


def tiled_input(net: DataflowGraph, group: FusionGroup, tensor: str, trunk: Trunk) -> int:
    """Traffic of a tiled tensor: a workload input is fetched tile by tile, once for all members;
    what the group makes is not.
    """
    if net.producer[tensor] is not None:
        return 0
    repeats = net.repeats[min(net.users[tensor] & set(group.members))]
    return repeats * tile_units(net, group.members, tensor, trunk) * trips_of(trunk)

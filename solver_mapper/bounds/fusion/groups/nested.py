"""Uneven fusion: some members of a group co-iterate over further loops while the others wait and
buffer.

The fused loops of a reader are then the outer ones of its writer's: each stands among the writer's,
with a bound that divides the writer's bound on that rank, and the reader buffers all that the
writer makes in one of its own iterations. As a tree: inside the group's trunk, a run of members
forms a part with an inner trunk of its own. A part is searched as a group by itself, on what the
outer trunk leaves of every bound; tensors that stay across outer loops count as on chip there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from solver_mapper.bounds.bound_curve import BoundCurve
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup, holds_together
from solver_mapper.bounds.fusion.groups.group import Fuser, GroupPlan, Plans, Subgroup, tile_units
from solver_mapper.bounds.fusion.groups.leaf import (
    MemberChoice,
    choice_of,
    distinct_tiles,
    residence,
    resident_positions,
)
from solver_mapper.bounds.fusion.groups.links import common_ranks
from solver_mapper.bounds.fusion.groups.search import group_plans
from solver_mapper.bounds.fusion.groups.trunk import Trunk, cut, trips_of, trunks_of
from solver_mapper.core.dominance import undominated_rows


@dataclass(frozen=True)
class Child:
    """A run of members inside the trunk, in units: `additive` stays across outer loops, `peak` only
    while the run lasts.
    """

    additive: int
    peak: int
    accesses: int
    choices: tuple[MemberChoice, ...]
    part: Subgroup | None


@dataclass(frozen=True)
class _Row:
    """Children of the first members, together."""

    additive: int
    peak: int
    accesses: int
    children: tuple[Child, ...]


class Nester:
    """Groups with parts, for one net. Groups whose members all share every fused loop are `Fuser`'s
    business.
    """

    def __init__(self, net: DataflowGraph, fuser: Fuser):
        self.net, self.fuser = net, fuser
        self._inner: dict[object, Plans] = {}

    def improve(self, known: Plans, group: FusionGroup, held: frozenset[str]) -> Plans:
        """`known`, a group's bound curve, with everything that has at least one part entered."""
        stairs, plans = known.stairs, list(known.plans)
        for trunk in trunks_of(self.net, group):
            for row in self._rows(group, held, trunk):
                if any(child.part for child in row.children):
                    stairs = _entered(stairs, row, len(plans))
                    choices = tuple(choice for child in row.children for choice in child.choices)
                    parts = tuple(child.part for child in row.children if child.part)
                    plans.append(GroupPlan(group.members, group.tiled, trunk, choices, parts))
        return Plans(stairs, tuple(plans))

    def _rows(self, group: FusionGroup, held: frozenset[str], trunk: Trunk) -> list[_Row]:
        """Undominated ways to split the members into runs and run them, for one trunk."""
        inputs = self.fuser.inputs(group, trunk)
        rows: list[list[_Row]] = [[_Row(0, 0, inputs, ())]]
        for end in range(1, len(group.members) + 1):
            found: list[_Row] = []
            for start in range(end):
                run = group.members[start:end]
                if len(run) == len(group.members):
                    continue
                children = list(
                    self._leaf(group, held, trunk, run[0])
                    if len(run) == 1
                    else self._parts(group, held, trunk, run)
                )
                found += [
                    _Row(
                        row.additive + child.additive,
                        max(row.peak, child.peak),
                        row.accesses + child.accesses,
                        (*row.children, child),
                    )
                    for row in rows[start]
                    for child in children
                ]
            figures = [(row.additive, row.peak, row.accesses) for row in found]
            kept = undominated_rows(np.array(figures, dtype=self.net.dtype))
            rows.append([found[at] for at in kept])
        return rows[-1]

    def _leaf(
        self, group: FusionGroup, held: frozenset[str], trunk: Trunk, einsum: int
    ) -> Iterator[Child]:
        live = self._live(group, trunk, (einsum,), ())
        for choice in self.fuser.leaves.choices(
            einsum, trunk, held | set(group.tiled), group.common
        ):
            yield Child(choice.additive, choice.own + live, choice.accesses, (choice,), None)

    def _parts(
        self, group: FusionGroup, held: frozenset[str], trunk: Trunk, run: tuple[int, ...]
    ) -> Iterator[Child]:
        """A run of members as a part: every choice of what it tiles finer and of what stays across
        outer loops.
        """
        inside = frozenset(run)
        own = [
            name
            for name in group.tiled
            if self.net.users[name] & inside == self.net.users[name] & set(group.members)
            and len(self.net.users[name] & inside) > 1
        ]
        net = inner_net(self.net, trunk, run)
        made = {
            name
            for name in group.common
            if self.net.producer[name] in inside and len(self.net.users[name] & inside) > 1
        }
        common = frozenset(name for name in net.shared if len(net.users[name] & inside) > 1)
        for count in range(1, len(own) + 1):
            for tiled in combinations(own, count):
                ranks = (
                    common_ranks(net, run, tiled, sorted(made.union(tiled)))
                    if holds_together(net, inside, tiled)
                    else ()
                )
                if ranks:
                    part = FusionGroup(run, tiled, ranks, (), common)
                    live = self._live(group, trunk, run, tiled)
                    for child in self._part(
                        net, part, held | set(group.tiled) - set(tiled), group.common, trunk
                    ):
                        yield replace(child, peak=child.peak + live)

    def _part(
        self,
        net: DataflowGraph,
        part: FusionGroup,
        held: frozenset[str],
        common: frozenset[str],
        trunk: Trunk,
    ) -> Iterator[Child]:
        """One part. Tensors in `held` are on chip by other means; those in `common` have users
        outside of it, too.
        """
        outside = [
            (i, tensor.name)
            for i in part.members
            for tensor in net.problems[i].tensors
            if tensor.name not in held and tensor.name not in part.tiled
        ]
        positions = [
            (None, *(() if name in common else resident_positions(self.net.use(i, name), trunk, i)))
            for i, name in outside
        ]
        for chosen in product(*positions):
            kept = {
                name: at for (_, name), at in zip(outside, chosen, strict=True) if at is not None
            }
            owner = {name: i for i, name in outside}
            resident = [
                residence(self.net, owner[name], self.net.use(owner[name], name), trunk, at)
                for name, at in kept.items()
            ]
            plans = self._found(net, part, held | set(kept))
            extra = sum(
                moved * self.net.repeats[owner[name]]
                for name, (_, moved) in zip(kept, resident, strict=True)
            )
            extra += sum(
                self._read_back(net, i, name, trunk) for i, name in outside if name not in kept
            )
            for buffer, accesses, code in zip(
                plans.stairs.buffers, plans.stairs.accesses, plans.stairs.codes, strict=True
            ):
                yield self._child(
                    plans.plans[int(code)],
                    kept,
                    trunk,
                    sum(tile for tile, _ in resident),
                    int(buffer),
                    int(accesses) * trips_of(trunk) + extra,
                )

    def _found(self, net: DataflowGraph, part: FusionGroup, held: frozenset[str]) -> Plans:
        used = {name for i in part.members for name in net.problems[i].tensor_names}
        bounds = tuple(tuple(net.problems[i].bounds.items()) for i in part.members)
        key = part.members, part.tiled, bounds, held & used
        if key not in self._inner:
            self._inner[key] = group_plans(Fuser(net, self.fuser.leaves.uneven), part, held)
        return self._inner[key]

    def _read_back(self, net: DataflowGraph, einsum: int, name: str, trunk: Trunk) -> int:
        """Words of an output that are new in the first of several outer iterations only (see
        `streaming` in `leaf.py`).
        """
        tensor = self.net.use(einsum, name)
        if not tensor.read_write:
            return 0
        again = trips_of(trunk) - distinct_tiles(tensor, trunk, einsum)
        return (
            again
            * self.net.repeats[einsum]
            * self.net.weights[name]
            * tensor.footprint(net.problems[einsum].bounds)
        )

    def _child(
        self,
        plan: GroupPlan,
        kept: Mapping[str, int],
        trunk: Trunk,
        additive: int,
        peak: int,
        accesses: int,
    ) -> Child:
        choices = []
        for i, choice in zip(plan.members, plan.choices, strict=True):
            stays = {
                name: at for name, at in kept.items() if name in self.net.problems[i].tensor_names
            }
            stays |= {name: len(trunk) + at for name, at in choice.resident.items()}
            flowing = tuple(self.net.use(i, name) for name in choice.flowing)
            choices.append(
                choice_of(self.net, i, trunk + plan.trunk, stays, flowing, choice.streamed)
            )
        return Child(
            additive, peak, accesses, tuple(choices), Subgroup(plan.members, plan.tiled, plan.trunk)
        )

    def _live(
        self, group: FusionGroup, trunk: Trunk, run: tuple[int, ...], finer: tuple[str, ...]
    ) -> int:
        """Units of the group's tiled tensors, those that a part tiles finer aside, on chip while a
        run of members lasts.
        """
        total = 0
        for name in group.tiled:
            users = self.net.users[name] & set(group.members)
            if name not in finer and min(users) <= run[-1] and run[0] <= max(users):
                total += tile_units(self.net, group.members, name, trunk)
        return total


def inner_net(net: DataflowGraph, trunk: Trunk, members: tuple[int, ...]) -> DataflowGraph:
    """`net` as one iteration of `trunk` sees it: the members' bounds are cut."""
    return replace(
        net,
        problems=tuple(
            replace(problem, bounds=cut(problem.bounds, trunk, i)) if i in members else problem
            for i, problem in enumerate(net.problems)
        ),
    )


def _entered(stairs: BoundCurve, row: _Row, code: int) -> BoundCurve:
    kind = stairs.buffers.dtype
    return stairs.merged(
        np.array([row.additive + row.peak], dtype=kind),
        np.array([row.accesses], dtype=kind),
        np.array([code]),
    )

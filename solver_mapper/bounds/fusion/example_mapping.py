"""Plans as LoopTrees on the Snowcat architecture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from solver_mapper.bounds.example_mapping import streamed_nest
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.group import GroupPlan, Subgroup
from solver_mapper.bounds.fusion.groups.leaf import MemberChoice
from solver_mapper.bounds.fusion.groups.trunk import Trunk, TrunkLoop, cut
from solver_mapper.bounds.fusion.plan import FusionPlan, FusionStep
from solver_mapper.core.problem import Problem
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Nested,
    Node,
    Sequential,
    Storage,
    Temporal,
    TreeMapping,
)
from solver_mapper.cost.snowcat.machine_files import BUFFER, STORE
from solver_mapper.errors import InputError


def tree_of(net: DataflowGraph, plan: FusionPlan) -> TreeMapping:
    """`plan` as a LoopTree whose components are called MainMemory, Buffer and MAC.

    Whole tensors are stored at the root, resident ones above the trunk loop that they outlast,
    tiled ones right above the fork, and streamed ones below their innermost relevant loop.
    """
    whole = sorted({name for step in plan.steps for name in step.whole})
    tiled = {name for step in plan.steps for name in step.plan.tiled}
    away = [
        name
        for name in net.workload.tensors
        if net.producer[name] is None
        or not (name in whole or name in tiled)
        or len(net.users[name]) == 1
    ]
    root: list[Node] = [
        *(Storage((name,), STORE) for name in away),
        *(Storage((name,), BUFFER) for name in whole),
    ]
    branches = [tuple(_group(net, step)) for step in plan.steps]
    if len(branches) == 1:
        return TreeMapping((*root, *branches[0]))
    return TreeMapping((*root, Sequential(tuple(Nested(branch) for branch in branches))))


def _group(net: DataflowGraph, step: FusionStep) -> Iterator[Node]:
    plan = step.plan
    yield from _loops(net, plan, plan.members, (), plan.trunk)
    finer = {name for part in plan.parts for name in part.tiled}
    yield from (Storage((name,), BUFFER) for name in plan.tiled if name not in finer)
    branches: list[tuple[Node, ...]] = []
    for i, choice in zip(plan.members, plan.choices, strict=True):
        part = plan.part(i)
        if part is None:
            branches.append(tuple(leaf(net.problems[i], plan.trunk, i, choice)))
        elif i == part.members[0]:
            branches.append(tuple(_part(net, plan, part)))
    yield from _fork(branches)


def _part(net: DataflowGraph, plan: GroupPlan, part: Subgroup) -> Iterator[Node]:
    yield from _loops(net, plan, part.members, plan.trunk, part.trunk)
    yield from (Storage((name,), BUFFER) for name in part.tiled)
    yield from _fork(
        [
            tuple(leaf(net.problems[i], plan.path(i), i, choice))
            for i, choice in zip(plan.members, plan.choices, strict=True)
            if i in part.members
        ]
    )


def _fork(branches: Sequence[tuple[Node, ...]]) -> Iterator[Node]:
    if len(branches) == 1:
        yield from branches[0]
    else:
        yield Sequential(tuple(Nested(branch) for branch in branches))


def _loops(
    net: DataflowGraph, plan: GroupPlan, members: Sequence[int], outer: Trunk, trunk: Trunk
) -> Iterator[Node]:
    """The loops of `trunk` below those of `outer`, each with what members keep above it."""
    for at, loop in enumerate(trunk, start=len(outer)):
        for i, choice in zip(plan.members, plan.choices, strict=True):
            if i in members:
                yield from (
                    Storage((name,), BUFFER)
                    for name, position in choice.resident.items()
                    if position == at
                )
        yield from _trunk_loop(net, (outer + trunk)[:at], loop)


def _trunk_loop(net: DataflowGraph, above: Trunk, loop: TrunkLoop) -> Iterator[Temporal]:
    """One loop for each rank of a trunk loop; members that call the rank by other names are listed.

    Raises: InputError for tiles of different sizes, where the rank is a digit of a member's
    variable.
    """
    for rank, part in zip(loop.ranks, loop.parts, strict=True):
        if part > 1:
            names = list(dict.fromkeys(rank.variables.values()))
            tiles = {
                (i, variable): cut(net.problems[i].bounds, above, i)[variable] // part
                for i, variable in rank.variables.items()
            }
            (one, mine), size = next(iter(tiles.items()))
            for (other, yours), theirs in tiles.items():
                if theirs != size:
                    raise InputError(
                        f"this mapping has no LoopTree: its shared loops cut '{mine}' of"
                        f" {net.problems[one].name} into tiles of another size than '{yours}' of"
                        f" {net.problems[other].name}",
                        net.workload.location,
                    )
            yield Temporal("|".join(names), size)


def leaf(problem: Problem, trunk: Trunk, einsum: int, choice: MemberChoice) -> Iterator[Node]:
    """The nest of one Einsum below the loops `trunk` that it shares with others."""
    inside = cut(problem.bounds, trunk, einsum)
    for name in (name for name, at in choice.resident.items() if at == len(trunk)):
        yield Storage((name,), BUFFER)
    flowing = [problem.tensor(name) for name in choice.flowing]
    order = choice.streamed.order if choice.streamed else ()
    tile = dict(inside) | (dict(choice.streamed.tile) if choice.streamed else {})
    yield from streamed_nest(problem, flowing, tile, order)


def trunk_text(trunk: Trunk) -> str:
    """`m:4 n:8`, outermost first."""
    pairs = [
        (rank, part) for loop in trunk for rank, part in zip(loop.ranks, loop.parts, strict=True)
    ]
    return " ".join(f"{rank.name}:{part}" for rank, part in pairs if part > 1)

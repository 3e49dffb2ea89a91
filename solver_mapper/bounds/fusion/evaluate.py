"""What a plan costs, counted once more from its loops and storage alone.

The search adds up tables; this walks over the finished plan, tensor by tensor, with nothing but the
rules: a tile is moved each time control reaches its storage, an output's tile is not read the first
time, a streamed tensor follows the single-Einsum model in every iteration of the trunk, and tensors
on chip between Einsums do not move.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.group import GroupPlan
from solver_mapper.bounds.fusion.groups.leaf import MemberChoice, inner_nest
from solver_mapper.bounds.fusion.groups.trunk import Trunk, cut, trips_of
from solver_mapper.bounds.fusion.plan import FusionPlan, FusionStep
from solver_mapper.core.problem import Tensor
from solver_mapper.cost.snowcat.accesses import Movement, movement


@dataclass(frozen=True)
class MovedWords:
    """Words of `tensor` that one Einsum moves over all its runs; `tile` words are on chip for it at
    a time.
    """

    einsum: int
    tensor: str
    move: Movement


@dataclass(frozen=True)
class PlanCost:
    """What a plan costs: capacity and traffic in units, and the words behind the traffic."""

    buffer: int
    accesses: int
    flows: tuple[MovedWords, ...]


def account(net: DataflowGraph, plan: FusionPlan) -> PlanCost:
    """The figures of `plan`."""
    flows: list[MovedWords] = []
    seen: set[str] = set()
    peak = 0
    for step in plan.steps:
        peak = max(peak, sum(net.sizes[name] for name in step.whole) + _capacity(net, step))
        flows += _member_flows(net, step)
        flows += _input_flows(net, step, seen)
    accesses = sum(net.weights[flow.tensor] * flow.move.accesses for flow in flows)
    return PlanCost(peak, accesses, tuple(flows))


def _member_flows(net: DataflowGraph, step: FusionStep) -> Iterator[MovedWords]:
    plan = step.plan
    for i, choice in zip(plan.members, plan.choices, strict=True):
        for tensor in net.problems[i].tensors:
            if tensor.name not in step.whole and tensor.name not in plan.tiled:
                moved = _moved(net, i, tensor, plan.path(i), choice)
                yield MovedWords(
                    i,
                    tensor.name,
                    Movement(
                        moved.tile, moved.reads * net.repeats[i], moved.writes * net.repeats[i]
                    ),
                )


def _moved(
    net: DataflowGraph, einsum: int, tensor: Tensor, trunk: Trunk, choice: MemberChoice
) -> Movement:
    at = choice.resident.get(tensor.name)
    outer = trunk if at is None else trunk[:at]
    arrivals = trips_of(outer)
    returns = math.prod(_steps(outer, einsum, tensor))
    if at is not None:
        words = tensor.footprint(cut(net.problems[einsum].bounds, outer, einsum))
        reads = words * (arrivals - returns if tensor.read_write else arrivals)
        return Movement(words, reads, words * arrivals if tensor.read_write else 0)
    if choice.streamed is None:
        raise ValueError(f"the plan says nothing of {tensor.name}")
    streamed = tuple(each for each in net.problems[einsum].tensors if each.name in choice.flowing)
    nest = inner_nest(net.problems[einsum], trunk, einsum, streamed)
    once = movement(tensor, nest, choice.streamed.tile, choice.streamed.order)
    again = (arrivals - returns) * (once.writes - once.reads)
    return Movement(
        once.tile,
        once.reads * arrivals + (again if tensor.read_write else 0),
        once.writes * arrivals,
    )


def _steps(loops: Trunk, einsum: int, tensor: Tensor) -> Iterator[int]:
    """Trips of the loops that change the tile of `tensor`."""
    return (
        trips
        for loop in loops
        for variable, trips in loop.variables(einsum)
        if variable in tensor.dims
    )


def _input_flows(net: DataflowGraph, step: FusionStep, seen: set[str]) -> Iterator[MovedWords]:
    """Workload inputs that stay on chip: whole ones arrive once, tiled ones tile by tile for all
    members together.
    """
    for name in sorted(step.whole - seen):
        seen.add(name)
        if net.producer[name] is None:
            first = min(net.users[name])
            words = net.sizes[name] // net.weights[name]
            yield MovedWords(first, name, Movement(words, words * net.repeats[first], 0))
    for name in step.plan.tiled:
        if net.producer[name] is None:
            first = min(net.users[name] & set(step.plan.members))
            loops = _loops_above(step.plan, name)
            words = _tile(net, step.plan, name, loops)
            yield MovedWords(
                first, name, Movement(words, words * trips_of(loops) * net.repeats[first], 0)
            )


def _capacity(net: DataflowGraph, step: FusionStep) -> int:
    """Units that the group of a step needs: for each member, all that is alive while it runs; the
    largest counts.
    """
    return max(_alive(net, step.plan, i) for i in step.plan.members)


def _alive(net: DataflowGraph, plan: GroupPlan, einsum: int) -> int:
    """Units on chip while `einsum` runs: tiles of fused tensors on their way past it; what any
    member keeps across a loop that it shares with `einsum`; and its own.
    """
    total = sum(
        net.weights[name] * _tile(net, plan, name, _loops_above(plan, name))
        for name in plan.tiled
        if _passes(net, plan, name, einsum)
    )
    for i, choice in zip(plan.members, plan.choices, strict=True):
        common = len(plan.path(einsum)) if plan.part(i) == plan.part(einsum) else len(plan.trunk)
        for name, at in choice.resident.items():
            if at < common or i == einsum:
                words = net.use(i, name).footprint(
                    cut(net.problems[i].bounds, plan.path(i)[:at], i)
                )
                total += net.weights[name] * words
        for name in choice.flowing if i == einsum else ():
            total += net.weights[name] * net.use(i, name).footprint(
                choice.streamed.tile if choice.streamed else {}
            )
    return total


def _loops_above(plan: GroupPlan, tensor: str) -> Trunk:
    """The loops below which a fused tensor is stored."""
    return next(
        (plan.trunk + part.trunk for part in plan.parts if tensor in part.tiled), plan.trunk
    )


def _passes(net: DataflowGraph, plan: GroupPlan, tensor: str, einsum: int) -> bool:
    """Is a fused tensor alive while a member runs? In a part, the members of the part run in turn;
    of other parts, all of them run between what comes before and what comes after.
    """
    users = net.users[tensor] & set(plan.members)
    if any(tensor in part.tiled for part in plan.parts):
        return min(users) <= einsum <= max(users) and plan.part(einsum) == plan.part(min(users))
    part = plan.part(einsum)
    run = part.members if part else (einsum,)
    return min(users) <= run[-1] and run[0] <= max(users)


def _tile(net: DataflowGraph, plan: GroupPlan, tensor: str, loops: Trunk) -> int:
    """Words of one tile of a tensor on chip: the largest box that a member touches."""
    return max(
        net.use(i, tensor).footprint(cut(net.problems[i].bounds, loops, i))
        for i in net.users[tensor] & set(plan.members)
    )

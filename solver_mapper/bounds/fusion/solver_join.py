"""Joining groups with CP-SAT, for graphs with too many orders of execution to walk through.

One literal for every step of every group's bound curve; each Einsum is in exactly one. A tensor
that is whole on chip occupies the buffer from the first group that uses it to the last, so groups
have positions in the order of execution, and a group needs its own capacity plus all whole tensors
that it uses or that pass it by. The bound curve is swept from the right: least accesses within a
capacity, then least capacity for those accesses, then on just below it. Both answers of each step
are proven.

Positions are left out at first: then whole tensors count only in groups that use them, which bounds
every order from below. If the groups so chosen can be put in an order that needs no more, that is
the answer; else positions are put in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ortools.sat.python import cp_model

from solver_mapper.bounds.bound_curve import LARGEST
from solver_mapper.bounds.fusion.blocks import Block, Blocks
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.group import GroupPlan
from solver_mapper.bounds.fusion.ordering import ExecutionPositions, best_order
from solver_mapper.bounds.fusion.plan import FusionPlan, FusionStep
from solver_mapper.core.clock import Clock
from solver_mapper.errors import ExactnessError, LimitReached
from solver_mapper.solve.cpsat.engine import Read, Settings, run


@dataclass(frozen=True)
class _Pick:
    """One step of the bound curve of `block` with the tensors `held` whole on chip: a literal of
    the model.
    """

    literal: cp_model.IntVar
    block: Block
    held: frozenset[str]
    buffer: int
    accesses: int
    plan: GroupPlan

    @property
    def members(self) -> frozenset[int]:
        return self.block.members


Goal = Literal["accesses", "capacity"]


class SolverJoin:
    """The join of a net's groups as a model, with positions if `ordered`.

    Raises: LimitReached if its figures do not fit CP-SAT's integers.
    """

    def __init__(
        self, net: DataflowGraph, blocks: Blocks, clock: Clock | None = None, ordered: bool = False
    ):
        self.net, self.blocks, self.clock, self.ordered = net, blocks, clock or Clock(), ordered
        self.model = cp_model.CpModel()
        self.picks = list(self._picks())
        self.count = len(net.problems)
        most = self.count * max((pick.accesses for pick in self.picks), default=0) + sum(
            net.sizes.values()
        )
        if most > LARGEST:
            raise LimitReached(
                "the workload's figures are too large to join its groups with CP-SAT"
            )
        self.whole = {name: self.model.new_bool_var(f"whole {name}") for name in net.shared}
        self.capacity = self.model.new_int_var(0, self._most_capacity(), "capacity")
        self.accesses = self.model.new_int_var(0, most, "accesses")
        self._constrain()

    def plans(self) -> tuple[FusionPlan, ...]:
        """The bound curve, a plan for each step."""
        found: list[FusionPlan] = []
        limit = self._most_capacity()
        while (best := self._least("accesses", limit, None)) is not None:
            smallest = self._least("capacity", limit, best.accesses)
            if (
                smallest is None
                or smallest.accesses != best.accesses
                or smallest.buffer > best.buffer
            ):
                raise ExactnessError(
                    f"CP-SAT finds {best.accesses} accesses within {limit}, but not again"
                )
            found.append(smallest)
            limit = smallest.buffer - 1
        return tuple(reversed(found))

    def within(self, capacity: int) -> FusionPlan | None:
        """A plan of least accesses for one capacity; None if there is none."""
        return self._least("accesses", min(capacity, self._most_capacity()), None)

    def _picks(self) -> Iterator[_Pick]:
        for block in self.blocks.all:
            for held in self.blocks.homes(block):
                plans = self.blocks.plans(block, held)
                for buffer, accesses, code in zip(
                    plans.stairs.buffers, plans.stairs.accesses, plans.stairs.codes, strict=True
                ):
                    yield _Pick(
                        self.model.new_bool_var(""),
                        block,
                        held,
                        int(buffer),
                        int(accesses),
                        plans.plans[int(code)],
                    )

    def _most_capacity(self) -> int:
        return max((pick.buffer for pick in self.picks), default=0) + sum(
            self.net.sizes[name] for name in self.net.shared
        )

    def _constrain(self) -> None:
        for i in range(self.count):
            self.model.add_exactly_one(pick.literal for pick in self.picks if i in pick.members)
        order = ExecutionPositions(self.model, self.net, self.whole) if self.ordered else None
        for pick in self.picks:
            for name in self.blocks.open(pick.block):
                self.model.add_implication(
                    pick.literal, self.whole[name] if name in pick.held else self.whole[name].Not()
                )
            passing = order.passing(pick.literal, pick.members) if order else 0
            own = pick.buffer + sum(self.net.sizes[name] for name in pick.held)
            self.model.add(self.capacity >= own + passing).only_enforce_if(pick.literal)
        loads = sum(self.whole[name] * self.blocks.load(name) for name in self.net.shared)
        self.model.add(
            self.accesses == sum(pick.literal * pick.accesses for pick in self.picks) + loads
        )

    def _least(self, goal: Goal, capacity: int, accesses: int | None) -> FusionPlan | None:
        """The best plan within `capacity` (and of at most so many accesses)."""
        model = self.model.clone()
        model.add(self.capacity <= capacity)
        if accesses is not None:
            model.add(self.accesses <= accesses)
        model.minimize(self.accesses if goal == "accesses" else self.capacity)
        best: list[tuple[FusionPlan | None, int]] = []

        def note(read: Read, _: float) -> None:
            best[:] = [(self._plan(read), read(self.capacity))]

        outcome = run(model, Settings(), self.clock, note)
        if outcome.status == "INFEASIBLE":
            return None
        if outcome.status != "OPTIMAL" or not best:
            raise LimitReached(f"CP-SAT ended with {outcome.status} while groups were joined")
        plan, claimed = best[0]
        if plan is None or plan.buffer > claimed:
            if self.ordered:
                raise ExactnessError(
                    f"CP-SAT claims a capacity of {claimed} for groups that have no such order"
                )
            return SolverJoin(self.net, self.blocks, self.clock, ordered=True)._least(
                goal, capacity, accesses
            )
        return plan

    def _plan(self, read: Read) -> FusionPlan | None:
        """The picked groups in the order that needs least; None if they have no order."""
        chosen = [pick for pick in self.picks if read(pick.literal)]
        whole = frozenset(
            name for name in self.net.shared if any(name in pick.held for pick in chosen)
        )
        order = best_order(self.net, chosen, whole)
        if order is None:
            return None
        steps = []
        for at, pick in enumerate(order):
            earlier = frozenset().union(*(other.members for other in order[:at]))
            later = frozenset().union(*(other.members for other in order[at + 1 :]))
            passing = {
                name
                for name in whole
                if self.net.users[name] & earlier and self.net.users[name] & later
            }
            steps.append(FusionStep(pick.plan, pick.held | passing))
        peak = max(
            pick.buffer + sum(self.net.sizes[name] for name in step.whole)
            for pick, step in zip(order, steps, strict=True)
        )
        moved = sum(pick.accesses for pick in chosen) + sum(
            self.blocks.load(name) for name in whole
        )
        return FusionPlan(peak, moved, tuple(steps))

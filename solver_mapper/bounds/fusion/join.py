"""Joining groups into the whole workload: the exact bound curve over all orders of execution.

A state is the set of Einsums that have run and the whole tensors that a later one still needs on
chip. Each state has a bound curve of (peak capacity so far, accesses so far). What follows a state
costs the same however the state was reached, capacities combine by maximum and accesses by sum,
both monotone; so dropping every point of a state that another point of it beats loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from solver_mapper.bounds.bound_curve import EMPTY, BoundCurve
from solver_mapper.bounds.fusion.blocks import Block, Blocks
from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.group import Plans
from solver_mapper.bounds.fusion.plan import FusionPlan, FusionStep, PlanRules
from solver_mapper.bounds.fusion.solver_join import SolverJoin
from solver_mapper.deadline import check_time

State = tuple[frozenset[int], frozenset[str]]
"""Einsums that have run; whole tensors on chip that a later Einsum needs."""


@dataclass
class _Front:
    """The bound curve of a state. `stairs.codes` index `history`: the state before, the code there,
    and the step taken.
    """

    stairs: BoundCurve = EMPTY
    history: list[tuple[State, int, FusionStep] | None] = field(default_factory=list)


class Joined(NamedTuple):
    """The bound curve of a net, a plan for each step, and what proves it."""

    plans: tuple[FusionPlan, ...]
    proof: str


def joined(net: DataflowGraph, rules: PlanRules) -> Joined:
    """The bound curve of a net under `rules`: by states, or by CP-SAT if there are too many."""
    blocks = Blocks(net, rules)
    walk = StateJoin(net, blocks, rules.states)
    found = walk.plans()
    counted = f"every mapping of {len(blocks.all)} Einsums and groups was counted"
    if found is not None:
        return Joined(
            found,
            f"{counted}; they were joined in every order of execution, over {walk.states:,} states",
        )
    return Joined(
        SolverJoin(net, blocks).plans(),
        f"{counted}; CP-SAT joined them and proved that no step can be lower",
    )


class StateJoin:
    """The join by states; there is no answer beyond `most` of them."""

    def __init__(self, net: DataflowGraph, blocks: Blocks, most: int):
        self.net, self.blocks, self.most, self.states = net, blocks, most, 1

    def plans(self) -> tuple[FusionPlan, ...] | None:
        """The bound curve, a plan for each step; None if there are too many states."""
        zero = np.zeros(1, dtype=self.net.dtype)
        start: State = frozenset(), frozenset()
        fronts = {start: _Front(BoundCurve(zero, zero, np.zeros(1, dtype=np.int64)), [None])}
        layers: list[list[State]] = [[] for _ in range(len(self.net.problems) + 1)]
        layers[0].append(start)
        for layer in layers:
            for state in layer:
                for after in self._extend(state, fronts):
                    layers[len(after[0])].append(after)
                    self.states = len(fronts)
                    if self.states > self.most:
                        return None
        end: State = self.net.everything, frozenset()
        stairs = fronts[end].stairs if end in fronts else EMPTY
        return tuple(
            FusionPlan(
                int(stairs.buffers[i]),
                int(stairs.accesses[i]),
                _steps(fronts, end, int(stairs.codes[i])),
            )
            for i in range(len(stairs))
        )

    def _extend(self, state: State, fronts: dict[State, _Front]) -> Iterator[State]:
        """Run every block that can run next; yields the states that nobody had reached before."""
        done, live = state
        for block in self.blocks.all:
            check_time()
            if block.members & done or not self.blocks.needs(block) <= done:
                continue
            for held in self._homes(block, done, live):
                plans = self.blocks.plans(block, held)
                during = live | held
                now = done | block.members
                after = now, frozenset(name for name in during if not self.net.users[name] <= now)
                known = after in fronts
                loads = sum(self.blocks.load(name) for name in held - live)
                self._enter(
                    fronts[state], fronts.setdefault(after, _Front()), state, plans, during, loads
                )
                if not known:
                    yield after

    def _enter(
        self,
        before: _Front,
        after: _Front,
        state: State,
        plans: Plans,
        during: frozenset[str],
        loads: int,
    ) -> None:
        resident = sum(self.net.sizes[name] for name in during)
        peak = np.maximum(before.stairs.buffers[:, None], plans.stairs.buffers + resident).ravel()
        moved = (before.stairs.accesses[:, None] + (plans.stairs.accesses + loads)).ravel()
        fresh = np.flatnonzero(after.stairs.better(peak, moved))
        after.stairs = after.stairs.merged(
            peak[fresh], moved[fresh], len(after.history) + np.arange(len(fresh))
        )
        for i in fresh:
            old, new = divmod(int(i), len(plans.stairs))
            step = FusionStep(plans.plans[int(plans.stairs.codes[new])], during)
            after.history.append((state, int(before.stairs.codes[old]), step))

    def _homes(
        self, block: Block, done: frozenset[int], live: frozenset[str]
    ) -> Iterator[frozenset[str]]:
        """Homes of the tensors of a block. A choice made at a tensor's first use binds its later
        users.
        """
        options: list[tuple[frozenset[str], ...]] = []
        for name in self.blocks.open(block):
            if self.net.users[name] & done:
                options.append((frozenset([name]) if name in live else frozenset(),))
            else:
                options.append(self.blocks.home(name))
        return (frozenset().union(*chosen) for chosen in product(*options))


def _steps(fronts: dict[State, _Front], state: State, code: int) -> tuple[FusionStep, ...]:
    steps: list[FusionStep] = []
    while (entry := fronts[state].history[code]) is not None:
        state, code, step = entry
        steps.append(step)
    return tuple(reversed(steps))

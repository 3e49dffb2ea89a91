"""Joining groups into the whole workload: the exact staircase over all orders of execution.

A state is the set of Einsums that have run and the whole tensors that a later one still needs on chip. Each state has a
staircase of (peak capacity so far, accesses so far). What follows a state costs the same however the state was reached,
capacities combine by maximum and accesses by sum, both monotone; so dropping every point of a state that another point of it
beats loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from solver_mapper.bounds.staircase import EMPTY, Staircase
from solver_mapper.fusion.group import Fuser, GroupPlan, Plans
from solver_mapper.fusion.groups import Group, groups_of
from solver_mapper.fusion.nested import Nester
from solver_mapper.fusion.net import Net
from solver_mapper.fusion.search import group_plans

State = tuple[frozenset[int], frozenset[str]]
"""Einsums that have run; whole tensors on chip that a later Einsum needs."""


@dataclass(frozen=True)
class Step:
    """One group (or single Einsum) in the order of execution. `whole` are the tensors that are on chip in full meanwhile."""

    plan: GroupPlan
    whole: frozenset[str]


@dataclass(frozen=True)
class Plan:
    """One point of the workload's staircase: its groups in order of execution."""

    buffer: int
    accesses: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Rules:
    """What a search may use.

    `most`: Einsums fused tile by tile, 1 for none. `whole`: tensors kept on chip in full. `inputs`: workload inputs shared on
    chip by the Einsums that read them. `recompute`: a loop above the common ones. `uneven_tensors`: tensors held whole during
    an Einsum's run (see `Leaves`). `uneven`: fused loops that differ (see `nested`). `forced`: variables whose loops stand
    outermost in every trunk (see `trunks_of`). `must`: shared tensors that may not pass through the backing store; `never`:
    shared tensors that must.
    """

    most: int = 64
    whole: bool = True
    inputs: bool = False
    recompute: bool = False
    uneven_tensors: bool = False
    uneven: bool = False
    forced: tuple[frozenset[str], ...] = ()
    must: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


@dataclass
class _Front:
    """The staircase of a state. `stairs.codes` index `history`: the state before, the code there, and the step taken."""

    stairs: Staircase = EMPTY
    history: list[tuple[State, int, Step] | None] = field(default_factory=list)


class Joiner:
    """The staircase of a net under `rules`."""

    def __init__(self, net: Net, rules: Rules):
        self.net, self.rules = net, rules
        self.fuser = Fuser(net, rules.uneven_tensors)
        self.nester = Nester(net, self.fuser)
        self._groups = [group for group in groups_of(net, rules.most, rules.inputs, rules.recompute)
                        if not rules.never & set(group.tiled)]
        self._plans: dict[tuple[Group | int, frozenset[str]], Plans] = {}

    def plans(self) -> tuple[Plan, ...]:
        """The strict staircase, a plan for each step."""
        zero = np.zeros(1, dtype=self.net.dtype)
        start: State = frozenset(), frozenset()
        fronts = {start: _Front(Staircase(zero, zero, np.zeros(1, dtype=np.int64)), [None])}
        layers: list[list[State]] = [[] for _ in range(len(self.net.problems) + 1)]
        layers[0].append(start)
        for layer in layers:
            for state in layer:
                for after in self._extend(state, fronts):
                    layers[len(after[0])].append(after)
        end: State = self.net.everything, frozenset()
        stairs = fronts[end].stairs if end in fronts else EMPTY
        return tuple(Plan(int(stairs.buffers[i]), int(stairs.accesses[i]), _steps(fronts, end, int(stairs.codes[i])))
                     for i in range(len(stairs)))

    def _extend(self, state: State, fronts: dict[State, _Front]) -> Iterator[State]:
        """Run every group that can run next; yields the states that nobody had reached before."""
        done, live = state
        for block, members, tiled in self._ready(done):
            for held in self._holdings(members, tiled, done, live):
                plans = self._planned(block, held)
                during = live | held
                now = done | members
                after = now, frozenset(name for name in during if not self.net.users[name] <= now)
                known = after in fronts
                self._enter(fronts[state], fronts.setdefault(after, _Front()), state, plans, during, self._loads(held - live))
                if not known:
                    yield after

    def _enter(self, before: _Front, after: _Front, state: State, plans: Plans, during: frozenset[str], loads: int) -> None:
        resident = sum(self.net.sizes[name] for name in during)
        peak = np.maximum(before.stairs.buffers[:, None], plans.stairs.buffers + resident).ravel()
        moved = (before.stairs.accesses[:, None] + (plans.stairs.accesses + loads)).ravel()
        fresh = np.flatnonzero(after.stairs.better(peak, moved))
        after.stairs = after.stairs.merged(peak[fresh], moved[fresh], len(after.history) + np.arange(len(fresh)))
        for i in fresh:
            old, new = divmod(int(i), len(plans.stairs))
            step = Step(plans.plans[int(plans.stairs.codes[new])], during)
            after.history.append((state, int(before.stairs.codes[old]), step))

    def _ready(self, done: frozenset[int]) -> Iterator[tuple[Group | int, frozenset[int], frozenset[str]]]:
        """Single Einsums and groups that have not run and whose inputs are there."""
        for i in sorted(self.net.everything - done):
            if self.net.needs[i] <= done:
                yield i, frozenset([i]), frozenset()
        for group in self._groups:
            members = frozenset(group.members)
            if not members & done and all(self.net.needs[i] <= done | members for i in members):
                yield group, members, frozenset(group.tiled)

    def _holdings(self, members: frozenset[int], tiled: frozenset[str], done: frozenset[int],
                  live: frozenset[str]) -> Iterator[frozenset[str]]:
        """Which shared tensors of a group are on chip as a whole. A choice made at a tensor's first use binds its later
        users.
        """
        options: list[tuple[frozenset[str], ...]] = []
        for name in self.net.shared:
            if not self.net.users[name] & members or name in tiled:
                continue
            keep, drop = frozenset([name]), frozenset[str]()
            if self.net.users[name] & done:
                options.append((keep if name in live else drop,))
            else:
                options.append((() if name in self.rules.must else (drop,)) + ((keep,) if self._may_stay(name) else ()))
        return (frozenset().union(*chosen) for chosen in product(*options))

    def _may_stay(self, name: str) -> bool:
        once = len({self.net.repeats[i] for i in self.net.users[name]}) == 1
        made = self.net.producer[name] is not None
        return self.rules.whole and once and (made or self.rules.inputs) and name not in self.rules.never

    def _loads(self, fresh: frozenset[str]) -> int:
        """Traffic of whole tensors that come from the backing store: inputs, once."""
        return sum(self.net.sizes[name] * self.net.repeats[min(self.net.users[name])] for name in fresh
                   if self.net.producer[name] is None)

    def _planned(self, block: Group | int, held: frozenset[str]) -> Plans:
        if (block, held) not in self._plans:
            if isinstance(block, int):
                found = self.fuser.single(block, held)
            else:
                found = group_plans(self.fuser, block, held, self.rules.forced)
                if self.rules.uneven:
                    found = self.nester.improve(found, block, held)
            self._plans[block, held] = found
        return self._plans[block, held]


def _steps(fronts: dict[State, _Front], state: State, code: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    while (entry := fronts[state].history[code]) is not None:
        state, code, step = entry
        steps.append(step)
    return tuple(reversed(steps))


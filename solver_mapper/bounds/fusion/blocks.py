"""What a workload is put together from: single Einsums and groups, each with a bound curve for
every home of its tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.groups.candidates import FusionGroup, groups_of
from solver_mapper.bounds.fusion.groups.group import Fuser, Plans
from solver_mapper.bounds.fusion.groups.nested import Nester
from solver_mapper.bounds.fusion.groups.search import group_plans
from solver_mapper.bounds.fusion.plan import PlanRules


@dataclass(frozen=True, eq=False)
class Block:
    """A group, or a single Einsum (`group` is None)."""

    members: frozenset[int]
    group: FusionGroup | None

    @property
    def tiled(self) -> frozenset[str]:
        """Tensors that stay on chip tile by tile between members; none for a single Einsum."""
        return frozenset(self.group.tiled) if self.group else frozenset()


class Blocks:
    """The blocks of a net under `rules`, and their bound curves, remembered."""

    def __init__(self, net: DataflowGraph, rules: PlanRules):
        self.net, self.rules = net, rules
        self._fuser = Fuser(net, rules.uneven_tensors)
        self._nester = Nester(net, self._fuser)
        self._plans: dict[tuple[Block, frozenset[str]], Plans] = {}

    @cached_property
    def all(self) -> tuple[Block, ...]:
        """Single Einsums in order, then every group that the rules allow."""
        singles = [Block(frozenset([i]), None) for i in sorted(self.net.everything)]
        groups = [
            Block(frozenset(group.members), group)
            for group in groups_of(
                self.net, self.rules.most, self.rules.inputs, self.rules.recompute
            )
            if not self.rules.never & set(group.tiled)
        ]
        return (*singles, *groups)

    def needs(self, block: Block) -> frozenset[int]:
        """Einsums outside that have to run before."""
        return frozenset().union(*(self.net.needs[i] for i in block.members)) - block.members

    def homes(self, block: Block) -> Iterator[frozenset[str]]:
        """Which of the shared tensors that a block uses and does not tile are on chip as a whole:
        every choice.
        """
        return (
            frozenset().union(*chosen)
            for chosen in product(*(self.home(name) for name in self.open(block)))
        )

    def open(self, block: Block) -> list[str]:
        """Shared tensors that a block uses and does not tile."""
        return [
            name
            for name in self.net.shared
            if self.net.users[name] & block.members and name not in block.tiled
        ]

    def home(self, name: str) -> tuple[frozenset[str], ...]:
        """The homes of a shared tensor that is not tiled: nothing for the backing store, itself for
        the buffer.
        """
        away = () if name in self.rules.must else (frozenset[str](),)
        return (*away, frozenset([name])) if self._may_stay(name) else away

    def _may_stay(self, name: str) -> bool:
        once = len({self.net.repeats[i] for i in self.net.users[name]}) == 1
        made = self.net.producer[name] is not None
        return (
            self.rules.whole
            and once
            and (made or self.rules.inputs)
            and name not in self.rules.never
        )

    def load(self, name: str) -> int:
        """Traffic of a tensor that is on chip as a whole: a workload input arrives once, what is
        made on chip does not move.
        """
        return (
            self.net.sizes[name] * self.net.repeats[min(self.net.users[name])]
            if self.net.producer[name] is None
            else 0
        )

    def plans(self, block: Block, held: frozenset[str]) -> Plans:
        """The bound curve of a block. Tensors in `held` are on chip as a whole and not counted."""
        if (block, held) not in self._plans:
            self._plans[block, held] = self._searched(block, held)
        return self._plans[block, held]

    def _searched(self, block: Block, held: frozenset[str]) -> Plans:
        if block.group is None:
            return self._fuser.single(min(block.members), held)
        found = group_plans(self._fuser, block.group, held, self.rules.special)
        return self._nester.improve(found, block.group, held) if self.rules.uneven else found

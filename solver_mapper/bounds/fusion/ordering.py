"""Orders of execution of chosen groups: which needs least, and how CP-SAT is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from ortools.sat.python import cp_model

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph


class Chosen(Protocol):
    """A group that runs. It needs `buffer` units besides the tensors that are whole on chip."""

    @property
    def buffer(self) -> int:
        """Space, in the curve's units, without tensors that are whole on chip."""

    @property
    def members(self) -> frozenset[int]:
        """Positions of its Einsums."""


C = TypeVar("C", bound=Chosen)


def best_order(
    net: DataflowGraph, groups: Sequence[C], whole: frozenset[str]
) -> tuple[C, ...] | None:
    """The order with the lowest peak, the tensors in `whole` being on chip from first to last user;
    None if groups wait for each other in a circle.

    Dynamic programming over sets of groups that have run: what is on chip depends on that set only.
    """
    best: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {frozenset(): (0, ())}
    for _ in groups:
        grown: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
        for ran, (peak, order) in best.items():
            done = frozenset().union(*(groups[i].members for i in ran))
            for at, group in enumerate(groups):
                if at in ran or not all(
                    net.needs[i] <= done | group.members for i in group.members
                ):
                    continue
                on = sum(
                    net.sizes[name]
                    for name in whole
                    if net.users[name] & (done | group.members) and not net.users[name] <= done
                )
                after = max(peak, group.buffer + on), (*order, at)
                now = ran | {at}
                if now not in grown or after[0] < grown[now][0]:
                    grown[now] = after
        best = grown
    everything = frozenset(range(len(groups)))
    return tuple(groups[i] for i in best[everything][1]) if everything in best else None


class ExecutionPositions:
    """Positions of Einsums in the order of execution, as variables: equal in a group, different
    between groups.
    """

    def __init__(
        self, model: cp_model.CpModel, net: DataflowGraph, whole: Mapping[str, cp_model.IntVar]
    ):
        self.model, self.net, self.whole = model, net, whole
        everything = sorted(net.everything)
        self.positions = [
            model.new_int_var(0, len(everything) - 1, f"position {i}") for i in everything
        ]
        self.before = {(i, j): self._before(i, j) for i in everything for j in everything if i != j}
        for i, needs in enumerate(net.needs):
            for j in needs:
                model.add(self.positions[j] <= self.positions[i])

    def _before(self, i: int, j: int) -> cp_model.IntVar:
        literal = self.model.new_bool_var(f"{i} before {j}")
        self.model.add(self.positions[i] < self.positions[j]).only_enforce_if(literal)
        self.model.add(self.positions[i] >= self.positions[j]).only_enforce_if(literal.Not())
        return literal

    def passing(self, literal: cp_model.IntVar, members: frozenset[int]) -> cp_model.LinearExprT:
        """Put a group, if `literal` holds, at a position of its own. Units of the whole tensors
        that pass it without being used.
        """
        first, *others = sorted(members)
        for i in range(len(self.positions)):
            if i in others:
                self.model.add(self.positions[i] == self.positions[first]).only_enforce_if(literal)
            elif i != first:
                self.model.add(self.positions[i] != self.positions[first]).only_enforce_if(literal)
        unused = [name for name in self.net.shared if not self.net.users[name] & members]
        return sum(self._passes(name, first) * self.net.sizes[name] for name in unused)

    def _passes(self, name: str, einsum: int) -> cp_model.IntVar:
        """A literal that has to hold if a whole tensor has a user before an Einsum that does not
        use it, and one after.
        """
        literal = self.model.new_bool_var(f"{name} passes {einsum}")
        for i in self.net.users[name]:
            for j in self.net.users[name]:
                if i != j:
                    away = (
                        self.whole[name].Not(),
                        self.before[i, einsum].Not(),
                        self.before[einsum, j].Not(),
                    )
                    self.model.add_bool_or(literal, *away)
        return literal

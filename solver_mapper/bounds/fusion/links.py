"""Ranks that Einsums of a group can iterate over together.

A loop is co-iterated by a group when every tensor that stays on chip between its Einsums is
partitioned by it, the same way for writer and readers. So reduction ranks of a writer never
qualify: only final values cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.core.problem import Term

Node = tuple[int, str]
"""A rank variable of one Einsum."""


@dataclass(frozen=True)
class Rank:
    """`variables[i]`: the variable of Einsum i that runs over this rank of `bound` points. An
    Einsum without one repeats.
    """

    variables: Mapping[int, str]
    bound: int

    @property
    def name(self) -> str:
        return next(iter(self.variables.values()))

    def indexes(self, net: DataflowGraph, einsum: int, tensor: str) -> bool:
        return self.variables.get(einsum) in net.use(einsum, tensor).dims


def common_ranks(
    net: DataflowGraph, group: Sequence[int], tiled: Sequence[str], internal: Sequence[str]
) -> tuple[Rank, ...]:
    """The ranks over which `group` can co-iterate while the tensors `tiled` stay on chip.

    `internal` are all tensors that the group both writes and reads. Those that are not tiled must
    be partitioned as well, else a reader would need what its writer has not made yet.
    """
    groups = _linked(net, group, tiled)
    ranks = []
    for members in groups:
        variables = dict(sorted(members))
        bounds = {net.problems[i].bounds[variable] for i, variable in members}
        if (
            len(variables) == len(members) == len(group)
            and len(bounds) == 1
            and all(_partitions(net, tensor, variables) for tensor in internal)
        ):
            ranks.append(Rank(variables, bounds.pop()))
    order = list(net.problems[group[0]].dims)
    return tuple(
        sorted(
            (rank for rank in ranks if rank.bound > 1),
            key=lambda rank: order.index(rank.variables[group[0]]),
        )
    )


def _linked(net: DataflowGraph, group: Sequence[int], tiled: Sequence[str]) -> list[set[Node]]:
    """Variables joined through the ranks of `tiled` that they index."""
    sets: dict[Node, set[Node]] = {
        (i, variable): {(i, variable)} for i in group for variable in net.problems[i].dims
    }
    for tensor in tiled:
        users = sorted(net.users[tensor] & set(group))
        for position in range(len(net.use(users[0], tensor).ranks)):
            nodes = [
                (i, net.use(i, tensor).ranks[position][0].dim)
                for i in users
                if alone(net.use(i, tensor).ranks[position])
            ]
            for other in nodes[1:]:
                joined = sets[nodes[0]] | sets[other]
                for node in joined:
                    sets[node] = joined
    return list({id(members): members for members in sets.values()}.values())


def alone(rank: tuple[Term, ...]) -> bool:
    """Is the index a variable and nothing else?"""
    return len(rank) == 1 and rank[0].coefficient == 1


def _partitions(net: DataflowGraph, tensor: str, variables: Mapping[int, str]) -> bool:
    """Does the rank split `tensor` at one and the same position, with a plain index, in all of its
    users in the group?
    """
    positions = set()
    for i in net.users[tensor] & variables.keys():
        ranks = net.use(i, tensor).ranks
        own = [
            position
            for position, rank in enumerate(ranks)
            if any(term.dim == variables[i] for term in rank)
        ]
        if len(own) != 1 or not alone(ranks[own[0]]):
            return False
        positions.add(own[0])
    return len(positions) == 1

"""Ranks across which nothing is reused: attention heads, and batches where they are like heads.
Their fused loops stand outermost.

The rules of Orojenesis v2: if there are fused loops and one can run over a head rank of more than
one value, the outermost does. If so, and one batch rank of more than one value indexes all tensors
of an operation, the operation has no other batch rank and three tensors, then the batch rank comes
next. Elementwise operations have two tensors: a batch rank indexes all of them trivially, although
it may not index all tensors of the operations around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver_mapper.core.problem import Problem
from solver_mapper.cost.looptree.workload import Workload

if TYPE_CHECKING:
    from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
    from solver_mapper.bounds.fusion.groups.candidates import FusionGroup
    from solver_mapper.bounds.fusion.groups.links import SharedRank

HEAD, BATCH = "head", "batch"


@dataclass(frozen=True)
class SpecialRanks:
    """Rank variables of heads and batches. `tiled` (template v2): a fused loop over one that
    stands outermost (see `first`) makes two Einsums tiled-fused, so that their footprints add.
    """

    head: frozenset[str] = frozenset()
    batch: frozenset[str] = frozenset()
    tiled: bool = False

    @property
    def any(self) -> bool:
        """Whether there are rank variables of heads or batches."""
        return bool(self.head or self.batch)

    def first(self, problem: Problem, common: Sequence[str]) -> tuple[str, ...]:
        """The variables among `common`, those that fused loops of an operation can run over, whose
        loops stand outermost.
        """
        heads = tuple(dim for dim in common if dim in self.head)
        return heads + tuple(
            dim for dim in common if heads and dim == self.batch_of(problem) and dim not in heads
        )

    def batch_of(self, problem: Problem) -> str | None:
        """The batch variable of an operation that is like a head."""
        batches = [dim for dim in problem.dims if dim in self.batch and problem.bounds[dim] > 1]
        if len(problem.tensors) != 3 or len(batches) != 1:
            return None
        return batches[0] if all(batches[0] in tensor.dims for tensor in problem.tensors) else None

    def of_group(self, net: DataflowGraph, group: FusionGroup) -> tuple[SharedRank, ...]:
        """The ranks of a group whose loops stand outermost: what one of its members asks for holds
        for all.
        """
        heads = [rank for rank in group.ranks if self.head & set(rank.variables.values())]
        batches = [
            rank
            for rank in group.ranks
            if heads
            and rank not in heads
            and any(
                variable == self.batch_of(net.problems[i]) for i, variable in rank.variables.items()
            )
        ]
        return (*heads, *batches)


NONE_SPECIAL = SpecialRanks()


def named(workload: Workload) -> SpecialRanks:
    """The variables with `head` or `batch` in their name, or in that of a rank that they index
    alone.
    """
    names = {variable: {variable} for variable in workload.variables}
    for einsum in workload.einsums:
        for access in einsum.accesses:
            for rank, terms in zip(access.rank_names, access.tensor.ranks, strict=True):
                if len(terms) == 1:
                    names[terms[0].dim].add(rank)

    def called(word: str) -> frozenset[str]:
        return frozenset(
            variable
            for variable, known in names.items()
            if any(word in name.lower() for name in known)
        )

    return SpecialRanks(called(HEAD), called(BATCH))

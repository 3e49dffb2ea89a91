"""What may be shared between neighbouring Einsums of a chain: fused intermediates, where they live,
and the loops above them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.hardware import Chain, Kind
from solver_mapper.cost.looptree.workload import Workload, indexes_alone


@dataclass(frozen=True)
class Edge:
    """`tensor` is handed over in `memory`, below shared loops over the ranks `loops`, outer to
    inner.
    """

    tensor: str
    memory: str
    loops: tuple[str, ...]


@dataclass(frozen=True)
class Option:
    """What one Einsum shares with the one before and the one after; None for nothing but the
    outermost memory.

    `prefix` are the shared loops as this Einsum calls them: those of the deeper edge, of which the
    other's are the first.
    """

    left: Edge | None
    right: Edge | None
    prefix: tuple[str, ...]

    def depth(self, edge: Edge | None) -> int:
        return len(edge.loops) if edge is not None else 0


@dataclass(frozen=True)
class Chainable:
    """A workload in execution order, with what may be fused. `edges[j]` lead from Einsum j to j +
    1.
    """

    workload: Workload
    edges: tuple[tuple[Edge, ...], ...]
    names: tuple[Mapping[tuple[str, str], tuple[str, str]], ...]
    """For each boundary, (tensor, rank) -> the rank variables of producer and consumer."""

    def variable(self, einsum: int, edge: Edge, rank: str) -> str:
        """What the Einsum at one end of an edge calls the shared loop over a rank."""
        boundary = next(index for index, edges in enumerate(self.edges) if edge in edges)
        return self.names[boundary][edge.tensor, rank][0 if einsum == boundary else 1]

    def loops(self, einsum: int, edge: Edge | None) -> tuple[str, ...]:
        return (
            () if edge is None else tuple(self.variable(einsum, edge, rank) for rank in edge.loops)
        )

    def options(self, einsum: int) -> Iterator[Option]:
        """Every pair of edges of one Einsum that agree on the loops that both share."""
        before = (None, *self.edges[einsum - 1]) if einsum else (None,)
        after = (None, *self.edges[einsum]) if einsum < len(self.edges) else (None,)
        for left, right in itertools.product(before, after):
            one, two = self.loops(einsum, left), self.loops(einsum, right)
            shorter, longer = sorted((one, two), key=len)
            if longer[: len(shorter)] == shorter and len(set(longer)) == len(longer):
                yield Option(left, right, longer)

    def common(self) -> frozenset[str]:
        """Tensors that more than one Einsum uses."""
        return self.workload.shared


def chainable(architecture: Architecture, workload: Workload) -> Chainable:
    """What may be fused: tensors that one Einsum writes and only the next one reads, in any on-chip
    memory that is not replicated, below loops over ranks that both index plainly, in any order."""
    edges: list[tuple[Edge, ...]] = []
    names: list[dict[tuple[str, str], tuple[str, str]]] = []
    for position in range(len(workload.einsums) - 1):
        found: list[Edge] = []
        known: dict[tuple[str, str], tuple[str, str]] = {}
        for tensor in workload.tensors:
            if (
                workload.users(tensor) == (position, position + 1)
                and workload.producers(tensor) == (position,)
                and not (workload.access(tensor).persistent)
            ):
                pairs = _pairs(workload, tensor, position)
                known |= {(tensor, rank): pair for rank, pair in pairs.items()}
                for memory in _memories(architecture, workload, position):
                    for count in range(len(pairs) + 1):
                        found += [
                            Edge(tensor, memory, ranks)
                            for ranks in itertools.permutations(pairs, count)
                        ]
        edges.append(tuple(found))
        names.append(known)
    return Chainable(workload, tuple(edges), tuple(names))


def _pairs(workload: Workload, tensor: str, position: int) -> dict[str, tuple[str, str]]:
    """Ranks over which producer and consumer may share a loop, with their rank variables."""
    ends = [workload.einsums[position], workload.einsums[position + 1]]
    accesses = [einsum.by_tensor[tensor] for einsum in ends]
    found: dict[str, tuple[str, str]] = {}
    for rank in accesses[0].rank_names:
        indices = [access.tensor.ranks[access.rank_names.index(rank)] for access in accesses]
        if all(len(index) == 1 for index in indices):
            one, two = indices[0][0].dim, indices[1][0].dim
            bounds = ends[0].bounds[one], ends[1].bounds[two]
            if (
                indexes_alone(accesses[0], one)
                and indexes_alone(accesses[1], two)
                and bounds[0] == bounds[1] > 1
            ):
                found[rank] = one, two
    return found


def _memories(architecture: Architecture, workload: Workload, position: int) -> list[str]:
    """Memories below the outermost that both Einsums pass, on all their computes, before any
    fan-out.
    """
    lists: list[list[str]] = []
    for einsum in workload.einsums[position : position + 2]:
        for compute in architecture.enabled_computes(einsum):
            lists.append(_single(architecture.chain(einsum, compute)))
    return [name for name in lists[0] if all(name in other for other in lists)]


def _single(chain: Chain) -> list[str]:
    names: list[str] = []
    for unit in chain.units:
        if any(fanout.size > 1 for fanout in unit.fanouts):
            break
        if unit.kind is Kind.MEMORY:
            names.append(unit.name)
    return names[1:]

"""From the nodes chosen for each Einsum to one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Leaf,
    Nested,
    Node,
    Sequential,
    Storage,
    TreeMapping,
)
from solver_mapper.solve.fused.build import Part
from solver_mapper.solve.fused.cuts import Step


@dataclass(frozen=True)
class EinsumNodes:
    """One Einsum's nodes: in the outermost memory, above each loop shared with others, and below
    them all.
    """

    step: Step
    part: Part

    @property
    def open(self) -> int:
        """The loops shared with the next Einsum."""
        return len(self.step.right.loops)


def tree_of(einsums: Sequence[EinsumNodes]) -> TreeMapping:
    """The tree of a graph, Einsums in execution order."""
    roots = dict.fromkeys(storage for nodes in einsums for storage in nodes.part.roots)
    return TreeMapping((*roots, *_below(einsums, 0)))


def _below(einsums: Sequence[EinsumNodes], depth: int) -> tuple[Node, ...]:
    """What stands below the first `depth` shared loops of Einsums that all share these.

    Above a fork stand the tensors that are handed over there; what else Einsums keep stands in
    their branches.
    """
    runs: list[list[EinsumNodes]] = [[]]
    for nodes in einsums:
        runs[-1].append(nodes)
        if nodes is not einsums[-1] and nodes.open == depth:
            runs.append([])
    if len(runs) == 1:
        together = dict.fromkeys(node for nodes in einsums for node in _slot(nodes, depth))
        return (*together, *_inside(einsums, depth))
    handed = dict.fromkeys(
        node for nodes in einsums for node in _slot(nodes, depth) if node in _handed(nodes, depth)
    )
    bodies = []
    for run in runs:
        own = dict.fromkeys(
            node for nodes in run for node in _slot(nodes, depth) if node not in handed
        )
        bodies.append(Nested((*own, *_inside(run, depth))))
    return (*handed, Sequential(tuple(bodies)))


def _inside(einsums: Sequence[EinsumNodes], depth: int) -> tuple[Node, ...]:
    """The next shared loop and what is below it; or the rest of an Einsum that shares no more."""
    if len(einsums) == 1 and depth == len(einsums[0].part.shared):
        return ()
    loops = [nodes.part.shared[depth] for nodes in einsums]
    variable = "|".join(dict.fromkeys(loop.variable for loop in loops))
    return replace(loops[0], variable=variable), *_below(einsums, depth + 1)


def _slot(nodes: EinsumNodes, depth: int) -> tuple[Leaf, ...]:
    return nodes.part.inner if depth == len(nodes.part.shared) else nodes.part.slots[depth]


def _handed(nodes: EinsumNodes, depth: int) -> frozenset[Leaf]:
    """The storage of tensors that an Einsum takes or leaves at this depth."""
    return frozenset(
        Storage((tensor,), home.memory)
        for tensor, home in nodes.step.view.fused
        if home.depth == depth
    )

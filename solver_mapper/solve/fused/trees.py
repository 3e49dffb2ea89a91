"""From the nodes chosen for each Einsum to one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solver_mapper.cost.looptree.mapping_tree import (
    Leaf,
    Nested,
    Node,
    Sequential,
    Storage,
    Temporal,
    TreeMapping,
)
from solver_mapper.solve.fused.build import Part
from solver_mapper.solve.fused.cuts import Step


@dataclass(frozen=True)
class Limb:
    """One Einsum's nodes: in the outermost memory, above each loop shared with others, and below
    them all.
    """

    step: Step
    part: Part

    @property
    def open(self) -> int:
        """The loops shared with the next Einsum."""
        return len(self.step.right.loops)


def tree_of(limbs: Sequence[Limb]) -> TreeMapping:
    """The tree of a graph, Einsums in execution order."""
    roots = dict.fromkeys(storage for limb in limbs for storage in limb.part.roots)
    return TreeMapping((*roots, *_below(limbs, 0)))


def _below(limbs: Sequence[Limb], depth: int) -> tuple[Node, ...]:
    """What stands below the first `depth` shared loops of Einsums that all share these.

    Above a fork stand the tensors that are handed over there; what else Einsums keep stands in
    their branches.
    """
    runs: list[list[Limb]] = [[]]
    for limb in limbs:
        runs[-1].append(limb)
        if limb is not limbs[-1] and limb.open == depth:
            runs.append([])
    if len(runs) == 1:
        nodes = dict.fromkeys(node for limb in limbs for node in _slot(limb, depth))
        return (*nodes, *_inside(limbs, depth))
    handed = dict.fromkeys(
        node for limb in limbs for node in _slot(limb, depth) if node in _handed(limb, depth)
    )
    bodies = []
    for run in runs:
        own = dict.fromkeys(
            node for limb in run for node in _slot(limb, depth) if node not in handed
        )
        bodies.append(Nested((*own, *_inside(run, depth))))
    return (*handed, Sequential(tuple(bodies)))


def _inside(limbs: Sequence[Limb], depth: int) -> tuple[Node, ...]:
    """The next shared loop and what is below it; or the rest of an Einsum that shares no more."""
    if len(limbs) == 1 and depth == len(limbs[0].part.shared):
        return ()
    loops = [limb.part.shared[depth] for limb in limbs]
    return (
        Temporal("|".join(dict.fromkeys(loop.variable for loop in loops)), loops[0].tile_shape),
        *_below(limbs, depth + 1),
    )


def _slot(limb: Limb, depth: int) -> tuple[Leaf, ...]:
    return limb.part.inner if depth == len(limb.part.shared) else limb.part.slots[depth]


def _handed(limb: Limb, depth: int) -> frozenset[Leaf]:
    """The storage of tensors that an Einsum takes or leaves at this depth."""
    return frozenset(
        Storage((tensor,), home.memory)
        for tensor, home in limb.step.view.fused
        if home.depth == depth
    )

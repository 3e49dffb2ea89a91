"""From the branches chosen for each Einsum to one tree."""

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
from solver_mapper.solve.fused.edges import Option


@dataclass(frozen=True)
class Branch:
    """One Einsum's nodes: in the outermost memory, above each loop shared with others, and below
    them all.
    """

    option: Option
    part: Part


def tree_of(branches: Sequence[Branch]) -> TreeMapping:
    """The tree of a chain: outermost storage, then a fork of runs of fused Einsums."""
    roots = dict.fromkeys(storage for branch in branches for storage in branch.part.roots)
    runs: list[list[Branch]] = [[]]
    for branch in branches:
        runs[-1].append(branch)
        if branch.option.right is None:
            runs.append([])
    bodies = [_below(run, 0) for run in runs if run]
    return TreeMapping((*roots, *(bodies[0] if len(bodies) == 1 else (_fork(bodies),))))


def _below(run: Sequence[Branch], depth: int) -> tuple[Node, ...]:
    """What stands below the first `depth` shared loops of Einsums that all share these, but for
    what stands above the fork.
    """
    pieces: list[list[Branch]] = [[]]
    for branch in run:
        pieces[-1].append(branch)
        if branch is not run[-1] and branch.option.depth(branch.option.right) == depth:
            pieces.append([])
    if len(pieces) > 1:
        return (*_above_fork(run, depth), _fork([_below(piece, depth) for piece in pieces]))
    own = [node for branch in run for node in _own(branch, depth)]
    if len(run) == 1 and depth == len(run[0].part.shared):
        return tuple(own)
    loops = [branch.part.shared[depth] for branch in run]
    names = "|".join(dict.fromkeys(loop.variable for loop in loops))
    return (*own, Temporal(names, loops[0].tile_shape), *_below(run, depth + 1))


def _above_fork(run: Sequence[Branch], depth: int) -> tuple[Leaf, ...]:
    """The tensors handed over here, below what their Einsums keep further out."""
    first: dict[Leaf, None] = {}
    handed: dict[Leaf, None] = {}
    for branch in run:
        for node in _slot(branch, depth)[: _split(branch, depth)]:
            (handed if node in _handed(branch, depth) else first)[node] = None
    return (*first, *handed)


def _own(branch: Branch, depth: int) -> tuple[Leaf, ...]:
    """What an Einsum keeps below its first `depth` shared loops and below all that is handed over
    there.
    """
    return _slot(branch, depth)[_split(branch, depth) :]


def _slot(branch: Branch, depth: int) -> tuple[Leaf, ...]:
    return branch.part.inner if depth == len(branch.part.shared) else branch.part.slots[depth]


def _split(branch: Branch, depth: int) -> int:
    """The number of nodes down to the last that is handed over at this depth."""
    handed = _handed(branch, depth)
    return max(
        (index + 1 for index, node in enumerate(_slot(branch, depth)) if node in handed), default=0
    )


def _handed(branch: Branch, depth: int) -> frozenset[Leaf]:
    """The storage of tensors that an Einsum takes or leaves at this depth."""
    edges = [
        edge
        for edge in (branch.option.left, branch.option.right)
        if edge is not None and len(edge.loops) == depth
    ]
    return frozenset(Storage((edge.tensor,), edge.memory) for edge in edges)


def _fork(bodies: Sequence[tuple[Node, ...]]) -> Sequential:
    return Sequential(tuple(Nested(body) for body in bodies))

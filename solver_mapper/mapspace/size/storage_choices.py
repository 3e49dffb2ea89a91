"""What a level may hold at each tile: the bypass choices that constraints leave and that fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, prod

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.problem import Tensor
from solver_mapper.deadline import check_time
from solver_mapper.mapspace.size.lattice import Counts, Lattice
from solver_mapper.mapspace.space import Space

Held = frozenset[str]


def keep_sets(space: Space, level: int) -> list[Held]:
    """The sets of tensors that constraints let the level hold."""
    if space.empty:
        return []
    names = space.problem.tensor_names
    choices = [
        (space.keep[name, level],) if (name, level) in space.keep else (True, False)
        for name in names
    ]
    return [
        frozenset(name for name, kept in zip(names, chosen, strict=True) if kept)
        for chosen in product(*choices)
    ]


def uncertain(space: Space) -> Held:
    """Tensors that no level is certain to hold."""
    certain = {name for (name, _), kept in space.keep.items() if kept}
    return frozenset(space.problem.tensor_names) - certain


def words_of(tensor: Tensor, lattice: Lattice) -> Counts:
    """The tensor's words in each tile: the box around them."""
    extents = {dim: lattice.extent(dim) - 1 for dim in tensor.dims}
    ranks = [
        1
        + sum(
            (abs(term.coefficient) * extents[term.dim] for term in rank if term.coefficient),
            lattice.zeros(),
        )
        for rank in tensor.ranks
    ]
    return prod(ranks, start=lattice.zeros() + 1)


def fitting(
    space: Space, lattice: Lattice, level: int, sized: bool
) -> Iterator[tuple[Held, Counts]]:
    """Each set of tensors with 1 where their tiles may lie in the level together, else 0. If not
    `sized`, all fit.
    """
    buffer = space.architecture.levels[level]
    words = {tensor.name: words_of(tensor, lattice) for tensor in space.problem.tensors}
    for held in keep_sets(space, level):
        check_time()
        yield (
            held,
            (
                _fits(buffer, sum((words[name] for name in held), lattice.zeros()))
                if sized
                else lattice.zeros() + 1
            ),
        )


def _fits(buffer: Buffer, words: Counts) -> Counts:
    if buffer.capacity is None:
        return words * 0 + 1
    fits: Counts = (words <= buffer.capacity) & (
        words >= ceil(buffer.capacity * buffer.min_utilization)
    )
    return fits.astype(bool).astype(object) * 1

"""The least traffic over every choice, by enumeration: checks the solver and starts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from solver_mapper.tiling.search.plans import PlannedTensor
from solver_mapper.tiling.search.space import TilingPoint, TilingSpace
from solver_mapper.tiling.tensors import Tensor

_FAR = np.iinfo(np.int64).max
Grid = NDArray[np.int64]


def enumerate_least(space: TilingSpace) -> TilingPoint | None:
    """The choice that moves least, the one of fewest invocations among equals, by looking at all;
    None if none fits.

    All splits of all loops span a grid with one axis per loop; a plan's figures are products of
    vectors along its axes.
    """
    tables = _TensorTables(space)
    best: tuple[int, int] | None = None
    found = None
    for plan in space.plans:
        fits: NDArray[np.bool_] = np.ones((), dtype=bool)
        for _, elements, held in space.groups:
            room = sum(
                (tables.room(position, plan.uses[position]) for position in held),
                start=np.zeros((), dtype=np.int64),
            )
            fits = fits & (room <= elements)
        cost = sum(
            (tables.moves(position, use) for position, use in enumerate(plan.uses)),
            start=np.zeros((), dtype=np.int64),
        )
        cost = np.broadcast_to(np.where(fits, cost, _FAR), tables.shape)
        least = int(cost.min())
        if least == _FAR or (best is not None and least > best[0]):
            continue
        invocations = tables.invocations(plan.order)
        candidates = np.where(cost == least, np.broadcast_to(invocations, tables.shape), _FAR)
        flat = int(candidates.argmin())
        rank = (least, int(candidates.flat[flat]))
        if best is None or rank < best:
            best = rank
            where = np.unravel_index(flat, tables.shape)
            found = TilingPoint(
                plan,
                {
                    loop: int(index) if loop in plan.order else space.whole(loop)
                    for loop, index in zip(space.ways, where, strict=True)
                },
            )
    return found


class _TensorTables:
    """Figures of one tensor over the whole grid, computed once for each use of it."""

    def __init__(self, space: TilingSpace):
        self.space = space
        self.loops = list(space.ways)
        self.shape = tuple(len(ways) for ways in space.ways.values())
        self._rooms: dict[tuple[int, frozenset[str]], Grid] = {}
        self._moves: dict[tuple[int, PlannedTensor], Grid] = {}

    def along(self, loop: str, values: Sequence[int]) -> Grid:
        """A vector laid along the axis of a loop."""
        shape = [1] * len(self.loops)
        shape[self.loops.index(loop)] = len(values)
        return np.array(values, dtype=np.int64).reshape(shape)

    def trips(self, loop: str) -> Grid:
        return self.along(loop, [split.trips for split in self.space.ways[loop]])

    def invocations(self, order: tuple[str, ...]) -> Grid:
        result = np.ones((1,) * len(self.loops), dtype=np.int64)
        for loop in order:
            result = result * self.trips(loop)
        return result

    def room(self, position: int, use: PlannedTensor) -> Grid:
        if (position, use.cut) not in self._rooms:
            tensor = self.space.operator.tensors[position]
            vectors = {loop: self.space.largest(tensor, loop) for loop in use.cut}
            self._rooms[position, use.cut] = self._product(tensor, use, vectors)
        return self._rooms[position, use.cut]

    def moves(self, position: int, use: PlannedTensor) -> Grid:
        if (position, use) not in self._moves:
            tensor = self.space.operator.tensors[position]
            moved = self._product(
                tensor, use, {loop: self.space.total(tensor, loop) for loop in use.cut}
            )
            for loop in sorted(use.repeated):
                moved = moved * self.trips(loop)
            self._moves[position, use] = moved
        return self._moves[position, use]

    def _product(
        self, tensor: Tensor, use: PlannedTensor, vectors: Mapping[str, Sequence[int]]
    ) -> Grid:
        result = np.full((1,) * len(self.loops), self.space.constant(tensor), dtype=np.int64)
        for loop in tensor.loops:
            result = result * (
                self.along(loop, vectors[loop])
                if loop in use.cut
                else self.space.held(tensor, loop)
            )
        return result

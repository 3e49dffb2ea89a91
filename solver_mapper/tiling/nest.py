"""Step 4: the loop nest that schedules tiles, what stays resident in it, and what it moves.

The nest iterates over pieces of the operator's loops. At each innermost iteration, one invocation,
every tensor has one tile in its scratchpad. An operand's tile is loaded when it is not there
already, an output tile is stored when it is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solver_mapper.errors import InputError
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.strategy import EVERY_TIME
from solver_mapper.tiling.tensors import SAME, Span, TiledTensor

_CHUNK = 1 << 18
MOST_INVOCATIONS = 1 << 30


class BadNest(ValueError):
    """Tiles and loops do not belong together; the message says why."""


@dataclass(frozen=True)
class NestLoop:
    """A loop of the nest: the piece of the operator's loop `name` that each iteration does."""

    name: str
    pieces: tuple[Span, ...]

    @property
    def trips(self) -> int:
        """How often the loop runs."""
        return len(self.pieces)


@dataclass(frozen=True)
class MovedElements:
    """Elements that the nest moves, alignment padding and halo included: `loaded[operand]`,
    `stored`, and invocations.
    """

    invocations: int
    loaded: Mapping[str, int]
    stored: int

    @property
    def total(self) -> int:
        """Elements loaded and stored, of all tensors."""
        return sum(self.loaded.values()) + self.stored


@dataclass(frozen=True)
class TilingNest:
    """`loops` outer to inner; `tiled[tensor]` the tiles.

    `reloads` holds habits of a reference schedule: a tensor is loaded at every invocation
    (`EVERY_TIME`), or whenever the named loop is at its first piece, even if its tile is in place.
    With `stores_first`, an output tile that several invocations fill is stored after the first of
    them too.
    """

    operator: Operator
    loops: tuple[NestLoop, ...]
    tiled: Mapping[str, TiledTensor]
    reloads: Mapping[str, str] = field(default_factory=dict)
    stores_first: bool = False

    @cached_property
    def invocations(self) -> int:
        """How often the operator's kernel is called: the product of all trips."""
        return math.prod(loop.trips for loop in self.loops)

    @cached_property
    def drivers(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """For each tensor, the (rank, depth of the loop) pairs that select its tile.

        Raises: BadNest where a grid has neither one tile nor one for each piece. Tiles that no
        iteration needs may be left over.
        """
        return {name: tuple(self._drivers(tiled)) for name, tiled in self.tiled.items()}

    def _drivers(self, tiled: TiledTensor) -> Iterator[tuple[int, int]]:
        for position, grid in enumerate(tiled.grid):
            if grid == 1:
                continue
            rank = tiled.tensor.ranks[position]
            depth = next(
                (depth for depth, loop in enumerate(self.loops) if loop.name == rank.loop), None
            )
            if depth is None:
                raise BadNest(
                    f"no loop iterates over the {grid} tiles of {tiled.name} along {rank.name}"
                )
            trips = self.loops[depth].trips
            if grid < trips or (
                grid > trips and next(self._lacking(tiled, position), None) is not None
            ):
                raise BadNest(
                    f"{tiled.name} has {grid} tiles along {rank.name} for {trips} iterations of"
                    f" {rank.loop}"
                )
            yield position, depth

    def check(self) -> None:
        """Raise BadNest unless every iteration is done once, with all that it needs in the tiles in
        place.
        """
        for loop in self.loops:
            _check_partition(loop, self.operator.loops[loop.name])
        for tiled in self.tiled.values():
            for position in range(len(tiled.axes)):
                for lack in self._lacking(tiled, position):
                    raise BadNest(lack)
        self._check_output()

    def _lacking(self, tiled: TiledTensor, position: int) -> Iterator[str]:
        """What iterations of a loop need along a rank that the tile in place does not hold."""
        rank, axis = tiled.tensor.ranks[position], tiled.axes[position]
        pieces = next((loop.pieces for loop in self.loops if loop.name == rank.loop), (None,))
        for number, piece in enumerate(pieces):
            span, held = rank.span(piece), axis[number if len(axis) > 1 else 0]
            if span.size and not held.covers(span):
                yield (
                    f"{tiled.name}: iteration {number} needs {rank.name} {span.start} to"
                    f" {span.stop - 1}, its tile holds {held.start} to {held.stop - 1}"
                )

    def _check_output(self) -> None:
        """An output tile is complete before it is left: it cannot be loaded again."""
        depths = [
            depth
            for _, depth in self.drivers[self.operator.output.name]
            if self.loops[depth].trips > 1
        ]
        for depth, loop in enumerate(self.loops):
            if depth < max(depths, default=0) and depth not in depths and loop.trips > 1:
                raise BadNest(f"loop {loop.name} comes back to output tiles that were stored")

    def moved(self) -> MovedElements:
        """Elements moved, by stepping through all invocations.

        Raises: InputError for too many of them; BadNest.
        """
        if self.invocations > MOST_INVOCATIONS:
            raise InputError(
                f"{self.operator.name}: {self.invocations} invocations are too many to be counted, "
                f"{MOST_INVOCATIONS} is the limit"
            )
        loaded = dict.fromkeys((tensor.name for tensor in self.operator.operands), 0)
        stored = 0
        previous: dict[str, int] = {}
        for first in range(0, self.invocations, _CHUNK):
            block = _Steps(self, first, min(_CHUNK, self.invocations - first))
            for name in loaded:
                loaded[name] += int(
                    block.sizes(name)[block.loads(name, previous.get(name, -1))].sum()
                )
                previous[name] = int(block.tile(name)[-1])
            output = self.operator.output.name
            stored += int(block.sizes(output)[block.stores()].sum())
        return MovedElements(self.invocations, loaded, stored)

    @cached_property
    def trips(self) -> tuple[int, ...]:
        """Iterations of each loop; one trip if there is no loop."""
        return tuple(loop.trips for loop in self.loops) or (1,)

    def tile_at(self, tensor: str, indices: tuple[int, ...]) -> tuple[int, ...]:
        """Grid index of the tile that is in place when the loops are at `indices`."""
        index = [0] * len(self.tiled[tensor].grid)
        for rank, depth in self.drivers[tensor]:
            index[rank] = indices[depth]
        return tuple(index)


class _Steps:
    """A run of invocations as arrays: the index of every loop, and which tiles are in place."""

    def __init__(self, nest: TilingNest, first: int, count: int):
        self.nest = nest
        self.first = first
        numbers = np.arange(first, min(first + count + 1, nest.invocations))
        self.indices = np.unravel_index(numbers, nest.trips)
        self.count = count
        self._tiles: dict[str, NDArray[np.int64]] = {}

    def tile(self, tensor: str) -> NDArray[np.int64]:
        """Row-major number of the tile in place at each invocation."""
        return self._all_tiles(tensor)[: self.count]

    def _all_tiles(self, tensor: str) -> NDArray[np.int64]:
        if tensor not in self._tiles:
            grid = self.nest.tiled[tensor].grid
            number = np.zeros(len(self.indices[0]), dtype=np.int64)
            for rank, depth in self.nest.drivers[tensor]:
                number += self.indices[depth].astype(np.int64) * math.prod(grid[rank + 1 :])
            self._tiles[tensor] = number
        return self._tiles[tensor]

    def sizes(self, tensor: str) -> NDArray[np.int64]:
        """Storage of the tile in place at each invocation."""
        tiled = self.nest.tiled[tensor]
        driven = dict(self.nest.drivers[tensor])
        total = np.ones(self.count, dtype=np.int64)
        for rank, lengths in enumerate(tiled.lengths):
            total *= (
                np.array(lengths)[self.indices[driven[rank]][: self.count]]
                if rank in driven
                else lengths[0]
            )
        return total

    def loads(self, tensor: str, previous: int) -> NDArray[np.bool_]:
        """Whether each invocation loads its tile; `previous` is the tile before the first, -1 for
        none.
        """
        tile = self.tile(tensor)
        result: NDArray[np.bool_] = np.diff(tile, prepend=previous) != 0
        habit = self.nest.reloads.get(tensor)
        if habit == EVERY_TIME:
            result[:] = True
        elif habit is not None:
            depth = next(
                (depth for depth, loop in enumerate(self.nest.loops) if loop.name == habit), None
            )
            result |= True if depth is None else self.indices[depth][: self.count] == 0
        return result

    def stores(self) -> NDArray[np.bool_]:
        """Whether each invocation stores the output tile after it."""
        output = self.nest.operator.output.name
        tile = self._all_tiles(output)
        if len(tile) == self.count:
            tile = np.append(tile, -1)
        result: NDArray[np.bool_] = np.diff(tile) != 0
        if self.nest.stores_first:
            selecting = {depth for _, depth in self.nest.drivers[output]}
            begins = np.ones(self.count, dtype=bool)
            for depth, indices in enumerate(self.indices):
                if depth not in selecting:
                    begins &= indices[: self.count] == 0
            result |= begins
        return result


def _check_partition(loop: NestLoop, size: int) -> None:
    position = 0
    for piece in loop.pieces:
        if piece.start != position or piece.size < 1:
            raise BadNest(f"the pieces of {loop.name} do not follow each other at {position}")
        position = piece.stop
    if position != size:
        raise BadNest(f"the pieces of {loop.name} do {position} of {size} iterations")


def nest_of(
    operator: Operator,
    tiled: Mapping[str, TiledTensor],
    order: tuple[str, ...],
    reloads: Mapping[str, str] | None = None,
    stores_first: bool = False,
) -> TilingNest:
    """The nest over these loops, outer to inner, whose pieces are the finest that the tiles are cut
    into.

    Only tensors that follow a loop one to one say where its pieces end.
    """
    loops = []
    for name in order:
        ranks = [
            (tensor.name, position, rank)
            for tensor in (operator.output, *operator.operands)
            for position, rank in enumerate(tensor.ranks)
            if rank.loop == name and rank.projection == SAME
        ]
        loops.append(
            NestLoop(
                name, max((tiled[tensor].axes[position] for tensor, position, _ in ranks), key=len)
            )
        )
    return TilingNest(operator, tuple(loops), tiled, dict(reloads or {}), stores_first)

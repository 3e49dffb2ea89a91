"""The Snowcat model of one mapping, in plain integers: what a tile and an order of the loops above
it cost.

One unbounded backing store, one buffer that holds a tile of every tensor, one unit (Orojenesis,
ISCA 2024). Every figure that leaves this package has been computed here once more, whatever search
found it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.snowcat.reuse_classes import window_dims


@dataclass(frozen=True)
class Movement:
    """Words of one tensor: `tile` in the buffer, `reads` from and `writes` to the backing store."""

    tile: int
    reads: int
    writes: int

    @property
    def accesses(self) -> int:
        """Words read and written together."""
        return self.reads + self.writes


def movement(
    tensor: Tensor, problem: Problem, tile: Mapping[str, int], order: Sequence[str]
) -> Movement:
    """What `tensor` moves when tiles of `tile[dim]` points are visited in `order` (loops over
    tiles, outermost first).

    Reads elide the first visit of an output tile, which starts at zero. An input window that slides
    one step along its innermost relevant loop fetches only what the previous window lacks; any
    other change fetches the whole tile.
    """
    trips = {dim: problem.bounds[dim] // tile[dim] for dim in order}
    loops = [dim for dim in order if trips[dim] > 1]
    while loops and loops[-1] not in tensor.dims:
        loops.pop()
    visits = distinct = 1
    for dim in loops:
        visits *= trips[dim]
        distinct *= trips[dim] if dim in tensor.dims else 1
    words = tensor.footprint(tile)
    if tensor.read_write:
        return Movement(words, words * (visits - distinct), words * visits)
    if not loops or loops[-1] not in window_dims(tensor):
        return Movement(words, words * visits, 0)
    steps = trips[loops[-1]]
    fresh = words - overlap(tensor, tile, loops[-1])
    return Movement(words, visits // steps * (words + (steps - 1) * fresh), 0)


def unkept(tensor: Tensor, problem: Problem) -> Movement:
    """What a tensor without a tile moves: a word for each operation. An output's words are not read
    the first time.
    """
    if tensor.read_write:
        return Movement(0, problem.macs - tensor.footprint(problem.bounds), problem.macs)
    return Movement(0, problem.macs, 0)


def overlap(tensor: Tensor, tile: Mapping[str, int], dim: str) -> int:
    """Words common to a tile and the next one along `dim`: the intersection of their boxes."""
    words = 1
    for rank, extent in zip(tensor.ranks, tensor.extents(tile), strict=True):
        shift = sum(abs(term.coefficient) * tile[dim] for term in rank if term.dim == dim)
        words *= max(0, extent - shift)
    return words


def movements(
    problem: Problem, tile: Mapping[str, int], order: Sequence[str]
) -> dict[str, Movement]:
    """`movement` of every tensor, by name."""
    return {tensor.name: movement(tensor, problem, tile, order) for tensor in problem.tensors}

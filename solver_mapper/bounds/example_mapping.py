"""Example mappings of bounds as LoopTrees on the Snowcat architecture."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Node,
    Storage,
    Temporal,
    TreeMapping,
)
from solver_mapper.cost.snowcat.machine_files import BUFFER, STORE, UNIT


def tree_of_tile(
    problem: Problem, tile: Mapping[str, int], order: Sequence[str], kept: Collection[str]
) -> TreeMapping:
    """The nest that visits tiles of `tile[dim]` points in `order` (outermost first), the tile of
    each tensor in `kept` stored below its innermost relevant loop.
    """
    away = [Storage((name,), STORE) for name in problem.tensor_names]
    held = [tensor for tensor in problem.tensors if tensor.name in kept]
    return TreeMapping((*away, *streamed_nest(problem, held, tile, order)))


def streamed_nest(
    problem: Problem, tensors: Sequence[Tensor], tile: Mapping[str, int], order: Sequence[str]
) -> Iterator[Node]:
    """Loops over tiles in `order`, storage of `tensors` among them, and the points of a tile."""
    yield from _stored(tensors, order, 0)
    for depth, dim in enumerate(order, start=1):
        yield Temporal(dim, tile[dim])
        yield from _stored(tensors, order, depth)
    for dim in problem.dims:
        if tile[dim] > 1:
            yield Temporal(dim, 1)
    yield Compute(problem.name, UNIT)


def _stored(tensors: Sequence[Tensor], order: Sequence[str], depth: int) -> Iterator[Storage]:
    """Tensors whose innermost relevant loop is the last of the first `depth` loops."""
    for tensor in tensors:
        if max((i + 1 for i, dim in enumerate(order) if dim in tensor.dims), default=0) == depth:
            yield Storage((tensor.name,), BUFFER)

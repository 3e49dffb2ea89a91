"""The bound curve of one loop nest with sliding windows counted as the cost model counts them
(docs/explanation/model.md, "Words into a level").

A tile is reused only while it keeps moving by the shift of the innermost loop. So an idle step ends
an overlap, and a window may slide on where an outer loop, the inner ones starting over, happens to
move it by that same shift. Both depend on the whole order of loops, not only on its innermost part;
every order of every tile is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from solver_mapper.bounds import search
from solver_mapper.bounds.bound_curve import EMPTY, LARGEST, BoundCurve, Ints
from solver_mapper.bounds.listing import staged_orders
from solver_mapper.bounds.search import (
    FoundTile,
    Restriction,
    allowed_tiles,
    extents_of,
    largest_traffic,
    product_of,
    trivial_sets,
    words_of,
)
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.snowcat.accesses import Movement
from solver_mapper.deadline import check_time


def regular_movement(
    tensor: Tensor, problem: Problem, tile: Mapping[str, int], order: Sequence[str]
) -> Movement:
    """What `tensor` moves when tiles of `tile[dim]` points are visited in `order` (loops over
    tiles, outermost first).
    """
    loops = [dim for dim in order if tile[dim] < problem.bounds[dim]]
    trips = {dim: np.asarray(problem.bounds[dim] // tile[dim], dtype=object) for dim in loops}
    sizes = {dim: np.asarray(size, dtype=object) for dim, size in tile.items()}
    words = tensor.footprint(tile)
    moved = int(_fetched(tensor, sizes, trips, loops))
    if tensor.read_write:
        return Movement(words, max(0, moved - tensor.footprint(problem.bounds)), moved)
    return Movement(words, moved, 0)


def regular_movements(
    problem: Problem, tile: Mapping[str, int], order: Sequence[str]
) -> dict[str, Movement]:
    """`regular_movement` of every tensor, by name."""
    return {
        tensor.name: regular_movement(tensor, problem, tile, order) for tensor in problem.tensors
    }


def regular_traffic(
    problem: Problem, weights: Mapping[str, int], restriction: Restriction
) -> tuple[FoundTile, ...]:
    """`least_traffic` (`bounds/search.py`) by this count."""
    stairs, examples = EMPTY, list[FoundTile]()
    kind = np.int64 if largest_traffic(problem, weights) < LARGEST else np.dtype(object)
    for trivial in trivial_sets(problem, restriction):
        allowed = allowed_tiles(problem, restriction, trivial)
        sizes = [tuple(allowed.get(dim, divisors(problem.bounds[dim]))) for dim in problem.dims]
        dims = [dim for dim in problem.dims if problem.bounds[dim] > 1 and dim not in trivial]
        for block in _blocks(sizes):
            grid = np.meshgrid(*(np.array(each, dtype=kind) for each in block), indexing="ij")
            tile = {dim: each.ravel() for dim, each in zip(problem.dims, grid, strict=True)}
            for order in staged_orders(dims, restriction.stages):
                stairs = _entered(stairs, examples, problem, weights, tile, order)
    return tuple(examples[int(code)] for code in stairs.codes)


def _blocks(sizes: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """The grid of all tiles in blocks that fit in memory."""
    cut = 0
    while cut < len(sizes) and math.prod(len(each) for each in sizes[cut:]) > search.BLOCK:
        cut += 1
    for outer in product(*sizes[:cut]):
        yield [*((size,) for size in outer), *sizes[cut:]]


def _entered(
    stairs: BoundCurve,
    examples: list[FoundTile],
    problem: Problem,
    weights: Mapping[str, int],
    tile: Mapping[str, Ints],
    order: Sequence[str],
) -> BoundCurve:
    """`stairs` with every tile in one order. The innermost loop has to be a real one, for it sets
    the shift; tiles for which it is not are met in another order.
    """
    trips = {dim: problem.bounds[dim] // tile[dim] for dim in order}
    real = trips[order[-1]] > 1 if order else np.ones(len(next(iter(tile.values()))), dtype=bool)
    real = real | (product_of(list(trips.values())) == 1)
    buffers = accesses = np.zeros((), dtype=next(iter(tile.values())).dtype)
    for tensor in problem.tensors:
        weight = weights.get(tensor.name, 1)
        moved = _fetched(tensor, tile, trips, order)
        buffers = buffers + weight * words_of(tensor, tile)
        again = np.maximum(0, moved - tensor.footprint(problem.bounds)) if tensor.read_write else 0
        accesses = accesses + weight * (moved + again)
    shape = real.shape
    buffers, accesses = (
        np.broadcast_to(buffers, shape)[real],
        np.broadcast_to(accesses, shape)[real],
    )
    fresh = np.flatnonzero(stairs.better(buffers, accesses))
    merged = stairs.merged(buffers[fresh], accesses[fresh], -1 - fresh)
    cells, codes = np.flatnonzero(real), merged.codes.copy()
    for step in np.flatnonzero(codes < 0):
        at = int(cells[-1 - codes[step]])
        codes[step] = len(examples)
        chosen = {dim: int(sizes[at]) for dim, sizes in tile.items()}
        loops = tuple(dim for dim in order if chosen[dim] < problem.bounds[dim])
        examples.append(
            FoundTile(int(merged.buffers[step]), int(merged.accesses[step]), chosen, loops)
        )
    return BoundCurve(merged.buffers, merged.accesses, codes)


def _fetched(
    tensor: Tensor, tile: Mapping[str, Ints], trips: Mapping[str, Ints], order: Sequence[str]
) -> Ints:
    """Words brought into the buffer over all loops: `tile + sum of N_k * (delta if v_k = v_n else
    tile)`.
    """
    check_time()
    words = words_of(tensor, tile)
    shifts = _shifts(tensor, tile, trips, order)
    if not shifts:
        return words
    shared = [
        np.maximum(0, extent - abs(shift))
        for extent, shift in zip(extents_of(tensor, tile), shifts[-1], strict=True)
    ]
    fresh = words - product_of(shared)
    total, before = words, np.ones((), dtype=words.dtype)
    for dim, shift in zip(order, shifts, strict=True):
        alike = np.all([one == other for one, other in zip(shift, shifts[-1], strict=True)], axis=0)
        total = total + (trips[dim] - 1) * before * np.where(alike, fresh, words)
        before = before * trips[dim]
    return np.asarray(total)


def _shifts(
    tensor: Tensor, tile: Mapping[str, Ints], trips: Mapping[str, Ints], order: Sequence[str]
) -> list[list[Ints]]:
    """Per loop of `order`, how far the tile moves along each rank when that loop advances and those
    inside start over.
    """
    found: list[list[Ints]] = []
    back = [np.zeros((), dtype=np.int64)] * len(tensor.ranks)
    for dim in reversed(order):
        stride = [
            sum(term.coefficient for term in rank if term.dim == dim) * tile[dim]
            for rank in tensor.ranks
        ]
        found.append([step - again for step, again in zip(stride, back, strict=True)])
        back = [again + (trips[dim] - 1) * step for step, again in zip(stride, back, strict=True)]
    return found[::-1]

"""Orojenesis v2: what one Einsum can do, sorted into families by the tensors it fuses and its
ordered fused loops.

An Einsum that fuses a set F of tensors has, outer to inner: fused loops, over ranks that index all
of F; storage of F; loops over the other ranks; one tile of every tensor. Tensors of F do not move.
Ranks that index all of F have no loop below their storage.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.special import SpecialRanks
from solver_mapper.bounds.fusion.tensor_cores import Block
from solver_mapper.bounds.search import Restriction, least_traffic
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem, Tensor


@dataclass(frozen=True)
class Row:
    """A mapping of one Einsum: the tile of each dimension, the loops over tiles (outermost first),
    and the tensors that it fetches or writes `whole`, once, above all loops. Figures in units.
    """

    buffer: int
    accesses: int
    tile: Mapping[str, int]
    order: tuple[str, ...]
    whole: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """Mappings of Einsum `einsum` that fuse `fused` with fused loops over `loops`, outermost first.
    With `trips` (uneven fusion only) all have those iteration counts. `points` is their staircase.
    """

    einsum: int
    fused: frozenset[str]
    loops: tuple[str, ...]
    trips: tuple[int, ...] | None
    points: tuple[Row, ...]


def families(
    net: DataflowGraph,
    einsum: int,
    fusable: Collection[str],
    rule: SpecialRanks,
    sized: bool = False,
    uneven_tensors: bool = False,
) -> Iterator[Family]:
    """All families of an Einsum. `sized`: one for each iteration count of the fused loops as well.
    `uneven_tensors`: any tensor may be whole on chip while the others are tiled.
    """
    problem = net.problems[einsum]
    candidates = [name for name in problem.tensor_names if name in fusable]
    for count in range(len(candidates) + 1):
        for fused in map(frozenset, combinations(candidates, count)):
            common = [
                dim
                for dim in problem.dims
                if fused
                and problem.bounds[dim] > 1
                and all(dim in problem.tensor(name).dims for name in fused)
            ]
            for size in range(len(common) + 1):
                for loops in permutations(common, size):
                    first = rule.first(problem, common)
                    if not loops or loops[: len(first)] == first:
                        yield from _family(
                            net, einsum, fused, common, loops, first, sized, uneven_tensors
                        )


def _family(
    net: DataflowGraph,
    einsum: int,
    fused: frozenset[str],
    common: Sequence[str],
    loops: tuple[str, ...],
    first: Collection[str],
    sized: bool,
    uneven_tensors: bool,
) -> Iterator[Family]:
    """The families of one order of fused loops. A loop over one of `first` cuts its variable
    completely where all tensors have it: nothing is reused across it.
    """
    problem = net.problems[einsum]
    alone = {dim for dim in first if all(dim in tensor.dims for tensor in problem.tensors)}
    allowed: dict[str, Sequence[int]] = {}
    for dim in common:
        sizes = divisors(problem.bounds[dim])
        allowed[dim] = sizes[-1:] if dim not in loops else sizes[:1] if dim in alone else sizes[:-1]
    held = [_occupant(net, problem, name, common) for name in fused]
    inner = tuple(dim for dim in problem.dims if dim not in loops)
    stages = (inner, *((dim,) for dim in reversed(loops)))
    for tiles in _each(allowed, loops) if sized else [allowed]:
        order = tuple(filter(None, stages)) if fused else ()
        spaces = [
            Restriction(_blocked(problem, tiles, block), order) for block in net.blocks[einsum]
        ]
        points = tuple(
            row
            for whole in _wholes(problem, fused, uneven_tensors)
            for space in spaces
            for row in _rows(net, einsum, fused, whole, space, held)
        )
        if points:
            trips = tuple(problem.bounds[dim] // tiles[dim][0] for dim in loops) if sized else None
            yield Family(einsum, fused, loops, trips, points)


def _wholes(
    problem: Problem, fused: frozenset[str], uneven_tensors: bool
) -> Iterator[tuple[str, ...]]:
    others = [name for name in problem.tensor_names if name not in fused]
    for count in range(len(others) if uneven_tensors else 1):
        yield from combinations(others, count)


def _rows(
    net: DataflowGraph,
    einsum: int,
    fused: frozenset[str],
    whole: tuple[str, ...],
    space: Restriction,
    held: Sequence[tuple[Tensor, int]],
) -> Iterator[Row]:
    """The staircase with `whole` tensors whole: each takes all its room and moves once; the others
    stream.
    """
    problem = net.problems[einsum]
    moving = replace(
        problem,
        tensors=tuple(tensor for tensor in problem.tensors if tensor.name not in {*fused, *whole}),
    )
    units = sum(
        net.weights[name] * net.use(einsum, name).footprint(problem.bounds) for name in whole
    )
    for found in least_traffic(moving, net.weights, space, held):
        yield Row(found.buffer + units, found.accesses + units, found.tile, found.order, whole)


def _blocked(
    problem: Problem, tiles: Mapping[str, Sequence[int]], block: Block
) -> dict[str, Sequence[int]]:
    """`tiles` and those of the other blocked dimensions, as far as they are whole blocks."""
    known = {dim: tiles.get(dim, divisors(problem.bounds[dim])) for dim in {*tiles, *block}}
    return {
        dim: [size for size in sizes if size % block.get(dim, 1) == 0]
        for dim, sizes in known.items()
    }


def _each(
    allowed: dict[str, Sequence[int]], loops: Sequence[str]
) -> Iterator[dict[str, Sequence[int]]]:
    """`allowed` with one tile size for each of `loops`."""
    if not loops:
        yield allowed
        return
    for size in allowed[loops[0]]:
        yield from _each({**allowed, loops[0]: (size,)}, loops[1:])


def _occupant(
    net: DataflowGraph, problem: Problem, name: str, common: Sequence[str]
) -> tuple[Tensor, int]:
    """A fused tensor as something that takes space: its tile is cut along `common` ranks and whole
    along the others.
    """
    tensor = problem.tensor(name)
    whole = [rank for rank in tensor.ranks if not any(term.dim in common for term in rank)]
    cut = tuple(rank for rank in tensor.ranks if rank not in whole)
    extent = math.prod(Tensor(name, (rank,)).footprint(problem.bounds) for rank in whole)
    return Tensor(name, cut), net.weights[name] * extent

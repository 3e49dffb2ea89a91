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
from itertools import combinations, permutations, product

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.special import SpecialRanks
from solver_mapper.bounds.fusion.tensor_cores import BlockSizes
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
    With `trips` (uneven fusion only) all have those iteration counts. `points` is their bound
    curve.
    """

    einsum: int
    fused: frozenset[str]
    loops: tuple[str, ...]
    trips: tuple[int, ...] | None
    points: tuple[Row, ...]


@dataclass(frozen=True)
class FusionPattern:
    """The tensors that Einsum `einsum` fuses and its ordered fused `loops`, outermost first.
    `tiles[dim]`: the tile sizes of the ranks that index all fused tensors. `held`: what the fused
    tensors occupy, as tensors with weights.
    """

    einsum: int
    fused: frozenset[str]
    loops: tuple[str, ...]
    tiles: Mapping[str, Sequence[int]]
    held: tuple[tuple[Tensor, int], ...]

    def inner(self, problem: Problem) -> tuple[str, ...]:
        """The dimensions whose loops over tiles stand inside the fused loops."""
        return tuple(dim for dim in problem.dims if dim not in self.loops)


def fusion_patterns(
    net: DataflowGraph, einsum: int, fusable: Collection[str], rule: SpecialRanks
) -> Iterator[FusionPattern]:
    """All patterns of an Einsum.

    A fused loop has more than one iteration. One over a special rank (see `SpecialRanks.first`)
    cuts its variable completely where all tensors have it: nothing is reused across it.
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
            held = tuple(_occupant(net, problem, name, common) for name in sorted(fused))
            first = rule.first(problem, common)
            alone = {dim for dim in first if all(dim in each.dims for each in problem.tensors)}
            for size in range(len(common) + 1):
                for loops in permutations(common, size):
                    if loops and loops[: len(first)] != first:
                        continue
                    tiles: dict[str, Sequence[int]] = {}
                    for dim in common:
                        sizes = divisors(problem.bounds[dim])
                        tiles[dim] = (
                            sizes[-1:]
                            if dim not in loops
                            else sizes[:1]
                            if dim in alone
                            else sizes[:-1]
                        )
                    yield FusionPattern(einsum, fused, loops, tiles, held)


def by_trips(
    problem: Problem, pattern: FusionPattern
) -> Iterator[tuple[FusionPattern, tuple[int, ...]]]:
    """`pattern` once for each choice of iteration counts of its fused loops, with these counts."""
    for sizes in product(*(pattern.tiles[dim] for dim in pattern.loops)):
        chosen = dict(zip(pattern.loops, sizes, strict=True))
        tiles = {**pattern.tiles, **{dim: (size,) for dim, size in chosen.items()}}
        trips = tuple(problem.bounds[dim] // size for dim, size in chosen.items())
        yield replace(pattern, tiles=tiles), trips


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
    for pattern in fusion_patterns(net, einsum, fusable, rule):
        for each, trips in by_trips(net.problems[einsum], pattern) if sized else [(pattern, None)]:
            points = tuple(pattern_points(net, each, uneven_tensors))
            if points:
                yield Family(einsum, pattern.fused, pattern.loops, trips, points)


def pattern_points(
    net: DataflowGraph, pattern: FusionPattern, uneven_tensors: bool
) -> Iterator[Row]:
    """The bound curves of one pattern: one for each set of whole tensors and each block."""
    problem = net.problems[pattern.einsum]
    for whole in whole_sets(problem, pattern.fused, uneven_tensors):
        for space in restrictions(net, pattern):
            yield from _rows(net, pattern, whole, space)


def restrictions(net: DataflowGraph, pattern: FusionPattern) -> tuple[Restriction, ...]:
    """The tile sizes and loop orders of a pattern, for each block of the tensor core (see
    `tensor_cores`).
    """
    problem = net.problems[pattern.einsum]
    stages = (pattern.inner(problem), *((dim,) for dim in reversed(pattern.loops)))
    order = tuple(filter(None, stages)) if pattern.fused else ()
    return tuple(
        Restriction(_blocked(problem, pattern.tiles, block), order)
        for block in net.blocks[pattern.einsum]
    )


def whole_sets(
    problem: Problem, fused: frozenset[str], uneven_tensors: bool
) -> Iterator[tuple[str, ...]]:
    """The sets of tensors that may be whole on chip while at least one other streams past them."""
    others = [name for name in problem.tensor_names if name not in fused]
    yield ()
    for count in range(1, len(others) if uneven_tensors else 1):
        yield from combinations(others, count)


def moving_problem(
    net: DataflowGraph, pattern: FusionPattern, whole: Collection[str]
) -> tuple[Problem, int]:
    """The Einsum with the tensors alone that move tile by tile, and the units that its `whole`
    tensors occupy and move once.
    """
    problem = net.problems[pattern.einsum]
    moving = replace(
        problem,
        tensors=tuple(
            tensor for tensor in problem.tensors if tensor.name not in {*pattern.fused, *whole}
        ),
    )
    units = sum(
        net.weights[name] * net.use(pattern.einsum, name).footprint(problem.bounds)
        for name in whole
    )
    return moving, units


def _rows(
    net: DataflowGraph, pattern: FusionPattern, whole: tuple[str, ...], space: Restriction
) -> Iterator[Row]:
    """The bound curve with `whole` tensors whole: each takes all its room and moves once; the
    others stream.
    """
    moving, units = moving_problem(net, pattern, whole)
    for found in least_traffic(moving, net.weights, space, pattern.held):
        yield Row(found.buffer + units, found.accesses + units, found.tile, found.order, whole)


def _blocked(
    problem: Problem, tiles: Mapping[str, Sequence[int]], block: BlockSizes
) -> dict[str, Sequence[int]]:
    """`tiles` and those of the other blocked dimensions, as far as they are whole blocks."""
    known = {dim: tiles.get(dim, divisors(problem.bounds[dim])) for dim in {*tiles, *block}}
    return {
        dim: [size for size in sizes if size % block.get(dim, 1) == 0]
        for dim, sizes in known.items()
    }


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

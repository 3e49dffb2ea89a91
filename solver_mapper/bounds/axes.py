"""The axes of a tile search: candidate tile sizes per dimension, with dimensions that cannot be
told apart taken as one.

Two dimensions are alike when every tensor either indexes neither or gives each a rank of its own
with coefficient 1. Tile sizes and iteration counts of alike dimensions then occur in every
footprint and every visit count as products only, and every reuse class treats them alike; so one
axis with all products of their candidates loses no (buffer, accesses) point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem, Tensor
from solver_mapper.cost.snowcat.reuse_classes import ReuseClass


@dataclass(frozen=True)
class TileAxis:
    """`dims` taken as one dimension of `bound` points, called by the first. `sizes` rise;
    `parts[i]` are tile sizes, one for each of `dims`, whose product is `sizes[i]`.
    """

    dims: tuple[str, ...]
    bound: int
    sizes: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """The first of its dimensions."""
        return self.dims[0]


def plain(tensor: Tensor, dim: str) -> bool:
    """Does `dim`, where it indexes `tensor`, have one rank to itself with coefficient 1?"""
    ranks = [rank for rank in tensor.ranks if any(term.dim == dim for term in rank)]
    return not ranks or (len(ranks) == 1 and len(ranks[0]) == 1 and ranks[0][0].coefficient == 1)


def axes_of(
    problem: Problem, allowed: Mapping[str, Sequence[int]] | None = None, merge: bool = True
) -> tuple[TileAxis, ...]:
    """The axes of `problem`. `allowed[dim]` restricts tile sizes to some divisors of the bound;
    `merge` joins what is alike.
    """
    tensors = problem.tensors
    groups: dict[object, list[str]] = {}
    for dim in problem.dims:
        alike = merge and all(plain(tensor, dim) for tensor in tensors)
        key = tuple(dim in tensor.dims for tensor in tensors) if alike else dim
        groups.setdefault(key, []).append(dim)
    return tuple(_joined(dims, problem, allowed or {}) for dims in groups.values())


def _joined(
    dims: Sequence[str], problem: Problem, allowed: Mapping[str, Sequence[int]]
) -> TileAxis:
    products: dict[int, tuple[int, ...]] = {1: ()}
    bound = 1
    for dim in dims:
        sizes = sorted(allowed.get(dim, divisors(problem.bounds[dim])))
        grown: dict[int, tuple[int, ...]] = {}
        for product, parts in products.items():
            for size in sizes:
                grown.setdefault(product * size, (*parts, size))
        products, bound = grown, bound * problem.bounds[dim]
    sizes = sorted(products)
    return TileAxis(tuple(dims), bound, tuple(sizes), tuple(products[size] for size in sizes))


def joined_problem(problem: Problem, axes: Sequence[TileAxis]) -> Problem:
    """`problem` with each axis as one dimension: of the ranks of alike dimensions, only the first
    one's stays.
    """
    names = {axis.name for axis in axes}
    tensors = tuple(
        replace(
            tensor,
            ranks=tuple(rank for rank in tensor.ranks if len(rank) != 1 or rank[0].dim in names),
        )
        for tensor in problem.tensors
    )
    bounds = {axis.name: axis.bound for axis in axes}
    return replace(problem, dims=tuple(bounds), bounds=bounds, tensors=tensors)


def smallest_suffices(axis: TileAxis, kind: ReuseClass, tensors: Sequence[Tensor]) -> bool:
    """Is the smallest tile along `axis` never worse in this class?

    A tensor that indexes the dimension plainly has tile x visits independent of its tile size, and
    one that does not index it but reuses across its loop does not feel it at all; so a larger tile
    only adds footprint. It may pay only for a tensor that is refetched along it, or whose windows
    overlap along it.
    """
    return all(
        plain(tensor, axis.name) and (axis.name in tensor.dims or axis.name in reused)
        for tensor, reused in zip(tensors, kind.reused, strict=True)
    )

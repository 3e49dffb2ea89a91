"""The tensor operation: dimensions, their bounds, and how each tensor is indexed by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from solver_mapper.errors import NOWHERE, SourceLocation


@dataclass(frozen=True, slots=True)
class Term:
    """`coefficient * dim`, one summand of a rank's index expression (the coefficient is a stride or
    a dilation).
    """

    dim: str
    coefficient: int = 1


@dataclass(frozen=True)
class Tensor:
    """One dataspace. `ranks[i]` is the index expression of its i-th rank: a sum of terms,
    `(P*stride + R*dilation)`.

    Terms of one dimension are added up, so that each dimension stands at most once in a rank: M + M
    is 2*M, and M - M is nothing.
    """

    name: str
    ranks: tuple[tuple[Term, ...], ...]
    read_write: bool = False
    location: SourceLocation = field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", tuple(_merged(rank) for rank in self.ranks))

    @cached_property
    def dims(self) -> frozenset[str]:
        """The dimensions that are relevant to this tensor."""
        return frozenset(term.dim for rank in self.ranks for term in rank)

    def extents(self, tile: Mapping[str, int]) -> tuple[int, ...]:
        """Extent of each rank, in words, of the bounding box of an iteration-space box with
        `tile[dim]` points per dimension.

        A rank `sum(c * d)` spans `sum(c * (tile[d] - 1)) + 1`: holes left by strides count
        (docs/explanation/model.md "Tiles").
        """
        return tuple(
            1 + sum(abs(t.coefficient) * (tile[t.dim] - 1) for t in rank) for rank in self.ranks
        )

    def footprint(self, tile: Mapping[str, int]) -> int:
        """Words in the bounding box of a tile: the product of `extents`."""
        words = 1
        for extent in self.extents(tile):
            words *= extent
        return words


@dataclass(frozen=True)
class Problem:
    """A perfectly nested loop over `dims` (in declaration order) that reads and writes `tensors`;
    `bounds[dim]` iterations.
    """

    name: str
    dims: tuple[str, ...]
    bounds: Mapping[str, int]
    tensors: tuple[Tensor, ...]
    location: SourceLocation = field(default=NOWHERE, compare=False)
    bound_locations: Mapping[str, SourceLocation] = field(default_factory=dict, compare=False)

    @cached_property
    def macs(self) -> int:
        """Operations: the product of all bounds."""
        total = 1
        for bound in self.bounds.values():
            total *= bound
        return total

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return next(tensor for tensor in self.tensors if tensor.name == name)

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """Names of all tensors, in the order of the file."""
        return tuple(tensor.name for tensor in self.tensors)


def _merged(rank: tuple[Term, ...]) -> tuple[Term, ...]:
    """The rank with the terms of each dimension added up, without those that come to nothing."""
    if len({term.dim for term in rank}) == len(rank) and all(term.coefficient for term in rank):
        return rank
    sums: dict[str, int] = {}
    for term in rank:
        sums[term.dim] = sums.get(term.dim, 0) + term.coefficient
    return tuple(Term(dim, coefficient) for dim, coefficient in sums.items() if coefficient)

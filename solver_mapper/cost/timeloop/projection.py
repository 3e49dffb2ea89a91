"""How iterations reach a tensor's words, prepared for counting: dimensions as indices, shifts as
single integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solver_mapper.core.problem import Problem, Tensor

Vector = tuple[int, ...]
Box = tuple[Vector, Vector]
"""Low corner (inclusive) and high corner (exclusive), in words along each rank."""

_RADIX = 1 << 64


@dataclass(frozen=True)
class Projection:
    """One tensor of a problem whose dimensions are numbered in declaration order.

    `ranks` lists (dimension, coefficient) of each rank, but for what always adds nothing: terms of
    coefficient 0, and dimensions of one point; and ranks of nothing else. `codes[d]` is the shift
    of the data when dimension `d` advances by one point, all ranks packed into one integer: codes
    add up as vectors do, and are equal only if the vectors are. `sliding` says that some rank is a
    sum of dimensions, so that tiles can overlap.
    """

    tensor: Tensor
    ranks: tuple[tuple[tuple[int, int], ...], ...]
    codes: tuple[int, ...]
    sliding: bool
    plain: tuple[int, ...]
    """Dimensions that are a rank of their own, with coefficient 1."""
    wide: tuple[tuple[tuple[int, int], ...], ...]
    """The other ranks, as (dimension, absolute coefficient)."""

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.tensor.name

    @property
    def read_write(self) -> bool:
        """Whether the tensor is an output."""
        return self.tensor.read_write

    def words(self, extents: Sequence[int]) -> int:
        """Words in the bounding box of a box of iterations with `extents[d]` points along each
        dimension.
        """
        total = 1
        for dim in self.plain:
            total *= extents[dim]
        for rank in self.wide:
            span = 1
            for dim, coefficient in rank:
                span += coefficient * (extents[dim] - 1)
            total *= span
        return total

    def box(self, extents: Sequence[int]) -> Box:
        """That bounding box, relative to the first point of the iterations."""
        low, high = [], []
        for rank in self.ranks:
            ends = [coefficient * (extents[dim] - 1) for dim, coefficient in rank]
            low.append(sum(min(end, 0) for end in ends))
            high.append(sum(max(end, 0) for end in ends) + 1)
        return tuple(low), tuple(high)

    def mixes(self, dims: Sequence[int]) -> bool:
        """Whether two different ones of `dims` meet in one rank, so that different iterations may
        reach the same word.
        """
        return self.sliding and any(
            len({d for d, _ in rank if d in dims}) > 1 for rank in self.ranks
        )


def code_of(shift: Vector) -> int:
    """The single integer that stands for a shift."""
    return sum(step * _RADIX**rank for rank, step in enumerate(shift))


def vector_of(code: int, ranks: int) -> Vector:
    """The shift for which a code stands; its steps are less than half of the radix."""
    steps = []
    for _ in range(ranks):
        step = (code + _RADIX // 2) % _RADIX - _RADIX // 2
        steps.append(step)
        code = (code - step) // _RADIX
    return tuple(steps)


def project(problem: Problem, tensor: Tensor) -> Projection:
    """The projection of a tensor, with the problem's dimensions numbered in order."""
    index = {dim: number for number, dim in enumerate(problem.dims)}
    terms = (
        tuple(
            (index[term.dim], term.coefficient)
            for term in rank
            if term.coefficient and problem.bounds[term.dim] > 1
        )
        for rank in tensor.ranks
    )
    ranks = tuple(filter(None, terms))
    codes = [0] * len(index)
    for position, rank in enumerate(ranks):
        for dim, coefficient in rank:
            codes[dim] += coefficient * _RADIX**position
    single = [rank[0][0] for rank in ranks if len(rank) == 1 and rank[0][1] == 1]
    others = tuple(
        tuple((d, abs(c)) for d, c in rank)
        for rank in ranks
        if not (len(rank) == 1 and rank[0][1] == 1)
    )
    sliding = any(len(rank) > 1 for rank in ranks)
    return Projection(tensor, ranks, tuple(codes), sliding, tuple(single), others)

"""Tensors of an operator, how their ranks follow the operator's loops, and the boxes they are cut
into.

Sizes are in elements. A tensor is stored row-major with its last rank padded to the backend's
alignment, so a box of sizes `(a, .., y, z)` occupies `a * .. * y * (z rounded up)` elements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol


class Span(NamedTuple):
    """A half-open range of indices: `size` of them from `start`."""

    start: int
    size: int

    @property
    def stop(self) -> int:
        """The first index behind the range."""
        return self.start + self.size

    def covers(self, other: Span) -> bool:
        """Whether every index of `other` lies in this range."""
        return self.start <= other.start and other.stop <= self.stop


def padded(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`; 0 and 1 mean no alignment."""
    return size if alignment <= 1 else -(-size // alignment) * alignment


def storage(sizes: tuple[int, ...], alignment: int) -> int:
    """Elements that a box occupies in memory."""
    return math.prod(sizes[:-1]) * padded(sizes[-1], alignment)


class RankProjection(Protocol):
    """How a rank follows its loop: which of its indices a span of loop iterations touches.

    Must be hashable, and monotone: more iterations never touch fewer indices.
    """

    def span(self, iterations: Span) -> Span:
        """The indices that `iterations` touch; they are contiguous."""


@dataclass(frozen=True, slots=True)
class Same:
    """Iteration `i` touches index `i`."""

    def span(self, iterations: Span) -> Span:
        """The same range of indices."""
        return iterations


@dataclass(frozen=True, slots=True)
class Window:
    """Iteration `i` reads the `field` indices from `i * stride - before`, as far as they lie in
    `[0, limit)`.

    The rest of the window is zero padding, which is never stored.
    """

    field: int
    stride: int
    before: int
    limit: int

    def reach(self, iterations: Span) -> tuple[int, int]:
        """First index and end of the windows, padding included."""
        first = iterations.start * self.stride - self.before
        return first, first + (iterations.size - 1) * self.stride + self.field

    def span(self, iterations: Span) -> Span:
        """The indices that the windows of `iterations` read, zero padding left out; size 0 if there
        are none.
        """
        first, end = self.reach(iterations)
        first, end = max(first, 0), min(end, self.limit)
        return Span(first, max(end - first, 0))

    def padding(self, iterations: Span) -> tuple[int, int]:
        """Indices of zero padding before and after the stored ones."""
        first, end = self.reach(iterations)
        return max(-first, 0), max(end - self.limit, 0)


SAME = Same()


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank of a tensor. `loop` names the loop that moves along it, None if every tile holds the
    rank whole.
    """

    name: str
    size: int
    loop: str | None = None
    projection: RankProjection = SAME

    def span(self, iterations: Span | None) -> Span:
        """Indices that these iterations of its loop touch; all of them without a loop."""
        return (
            Span(0, self.size)
            if self.loop is None or iterations is None
            else self.projection.span(iterations)
        )


@dataclass(frozen=True)
class Tensor:
    """An operand or the result of an operator."""

    name: str
    ranks: tuple[Rank, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Size of each rank."""
        return tuple(rank.size for rank in self.ranks)

    @cached_property
    def loops(self) -> tuple[str, ...]:
        """The loops that move along this tensor, in rank order."""
        return tuple(rank.loop for rank in self.ranks if rank.loop is not None)

    def rank_of(self, loop: str) -> int:
        """Position of the rank that follows `loop`."""
        return next(position for position, rank in enumerate(self.ranks) if rank.loop == loop)


@dataclass(frozen=True)
class TiledTensor:
    """A tensor cut into a grid of boxes: `axes[r]` are the spans along rank r, and tile `(i, j,
    ..)` is their product.

    Spans may overlap (halo) or leave gaps (strides larger than the window).
    """

    tensor: Tensor
    axes: tuple[tuple[Span, ...], ...]
    alignment: int

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.tensor.name

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Number of tiles along each rank."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def count(self) -> int:
        """Number of tiles."""
        return math.prod(self.grid)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Grid indices of all tiles, row-major."""
        return itertools.product(*(range(size) for size in self.grid))

    def box(self, index: tuple[int, ...]) -> tuple[Span, ...]:
        """The region of the tensor that a tile holds."""
        return tuple(axis[position] for axis, position in zip(self.axes, index, strict=True))

    def sizes(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Extent of the tile at `index` along each rank."""
        return tuple(span.size for span in self.box(index))

    @cached_property
    def lengths(self) -> tuple[tuple[int, ...], ...]:
        """Elements that each span contributes to a tile's storage; a tile's storage is the product
        over the ranks.
        """
        *outer, last = self.axes
        return (
            *(tuple(span.size for span in axis) for axis in outer),
            tuple(padded(span.size, self.alignment) for span in last),
        )

    @cached_property
    def total(self) -> int:
        """Storage of all tiles, halo counted as often as it is stored."""
        return math.prod(sum(each) for each in self.lengths)

    @cached_property
    def largest(self) -> int:
        """Storage of the largest tile."""
        return math.prod(max(each) for each in self.lengths)

    def runs(self) -> list[list[list[int]]]:
        """Run-length encoding of the sizes along each rank: `[[size, repeat], ...]`."""
        return [
            [
                [size, len(list(same))]
                for size, same in itertools.groupby(span.size for span in axis)
            ]
            for axis in self.axes
        ]


def whole(tensor: Tensor, alignment: int) -> TiledTensor:
    """The tensor as one tile."""
    return TiledTensor(tensor, tuple((Span(0, size),) for size in tensor.shape), alignment)

"""Step 2, the question: which tile shapes a strategy may choose from, as axes and the tiles that
follow from them.

Each `ExtentGrid` runs over a grid of extents; each `TileForm` says how large one tensor's tile is
for given positions on the axes. The order of the axes is the order in which SMAUG enumerates, which
decides between tiles that fill the scratchpads equally well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from solver_mapper.errors import InfeasibleError
from solver_mapper.tiling.backend import Backend, Scratchpad
from solver_mapper.tiling.tensors import padded


class DoesNotFit(InfeasibleError):
    """Not even the least tiles fit.

    Attributes: `tensors` (what shares the scratchpad), `tiles` (their least tiles), `needed` and
    `capacity` in elements, and `scratchpad`, its name.
    """

    def __init__(
        self,
        operator: str,
        tiles: Mapping[str, tuple[int, ...]],
        needed: int,
        scratchpad: Scratchpad,
        capacity: int,
        why: str = "",
    ):
        self.tensors, self.tiles, self.needed = tuple(tiles), dict(tiles), needed
        self.scratchpad, self.capacity = scratchpad.name, capacity
        listed = " and ".join(
            f"{name} {' x '.join(map(str, sizes))}" for name, sizes in tiles.items()
        )
        super().__init__(
            f"{operator}: no tiling fits: the least tile of {listed} takes {needed} elements, "
            f"scratchpad '{scratchpad.name}' ({scratchpad.bytes} bytes) holds {capacity}"
            + (f"; {why}" if why else "")
        )


@dataclass(frozen=True, slots=True)
class ExtentGrid:
    """Extents `first, first + step, ...` up to `last`. The last extent is on the grid only if the
    steps happen to reach it.
    """

    name: str
    first: int
    step: int
    last: int

    @property
    def values(self) -> range:
        """All extents on the grid, rising."""
        return range(self.first, self.last + 1, self.step)


@dataclass(frozen=True, slots=True)
class Extent:
    """`(axis + offset) / divisor + plus`, the quotient truncated towards zero as in C; `plus` alone
    if there is no axis.
    """

    axis: str | None = None
    offset: int = 0
    divisor: int = 1
    plus: int = 0

    def at(self, values: Mapping[str, int]) -> int:
        """The extent for `values` of all axes, by name."""
        if self.axis is None:
            return self.plus
        numerator = values[self.axis] + self.offset
        quotient = abs(numerator) // self.divisor
        return (quotient if numerator >= 0 else -quotient) + self.plus


def fixed(size: int) -> Extent:
    """An extent that does not vary."""
    return Extent(plus=size)


@dataclass(frozen=True)
class TileForm:
    """A tensor's tile: one extent per rank. `padding` is added to the last; None rounds the last up
    to the alignment.

    SMAUG pads a shape once; a tile shape made by overwriting extents of the whole tensor's keeps
    the tensor's padding. That is what a number here stands for. Extents must not shrink as an axis
    grows.
    """

    tensor: str
    extents: tuple[Extent, ...]
    padding: int | None = None

    def sizes(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Extent of the tile along each rank, for `values` of all axes."""
        return tuple(extent.at(values) for extent in self.extents)

    def storage(self, values: Mapping[str, int], alignment: int) -> int:
        """Elements that the tile counts for."""
        *outer, last = self.sizes(values)
        return math.prod(outer) * (
            padded(last, alignment) if self.padding is None else last + self.padding
        )


@dataclass(frozen=True)
class TileShapes:
    """One tile shape for each tensor, and the sum of their storage in elements, as the reference
    counts it.
    """

    tiles: Mapping[str, tuple[int, ...]]
    total: int


@dataclass(frozen=True)
class Candidates:
    """All tile shapes that a strategy allows; `axes` from the slowest to the fastest in the order
    of enumeration.
    """

    operator: str
    axes: tuple[ExtentGrid, ...]
    forms: tuple[TileForm, ...]
    backend: Backend

    @cached_property
    def groups(self) -> tuple[tuple[int, tuple[TileForm, ...]], ...]:
        """For each scratchpad, its capacity in elements and the tiles that share it."""
        named = {form.tensor: form for form in self.forms}
        return tuple(
            (self.backend.elements(pad), tuple(named[name] for name in held))
            for pad, held in self.backend.groups(tuple(named))
        )

    def fits(self, values: Mapping[str, int]) -> bool:
        """Whether the tiles at `values` fit their scratchpads together."""
        alignment = self.backend.alignment
        return all(
            sum(form.storage(values, alignment) for form in forms) <= capacity
            for capacity, forms in self.groups
        )

    def choice(self, values: Mapping[str, int]) -> TileShapes:
        """The tile shapes at `values`, and their storage in elements."""
        alignment = self.backend.alignment
        return TileShapes(
            {form.tensor: form.sizes(values) for form in self.forms},
            sum(form.storage(values, alignment) for form in self.forms),
        )

    def least(self) -> dict[str, int]:
        """The first position of every axis."""
        return {axis.name: axis.first for axis in self.axes}

    def require_one(self) -> None:
        """Raise DoesNotFit if there is no candidate: then the least tiles are too large, since
        extents only grow.

        Raises: InfeasibleError for a least tile without elements, where the reference's arithmetic
        breaks down.
        """
        values = self.least()
        for form in self.forms:
            if min(form.sizes(values)) < 1:
                raise InfeasibleError(
                    f"{self.operator}: no tiling fits: the least tile of {form.tensor}, "
                    f"{' x '.join(map(str, form.sizes(values)))}, is empty"
                )
        for pad, held in self.backend.groups(tuple(form.tensor for form in self.forms)):
            forms = [form for form in self.forms if form.tensor in held]
            needed = sum(form.storage(values, self.backend.alignment) for form in forms)
            if needed > self.backend.elements(pad):
                tiles = {form.tensor: form.sizes(values) for form in forms}
                raise DoesNotFit(self.operator, tiles, needed, pad, self.backend.elements(pad))

    def enumerate(self) -> Iterator[dict[str, int]]:
        """All candidates that fit, in the reference's order."""
        yield from self._descend(0, self.least())

    def _descend(self, depth: int, values: dict[str, int]) -> Iterator[dict[str, int]]:
        if depth == len(self.axes):
            yield dict(values)
            return
        axis = self.axes[depth]
        for value in axis.values:
            values[axis.name] = value
            if not self.fits(values):
                break
            yield from self._descend(depth + 1, values)
        values[axis.name] = axis.first

"""All tiles of perfect factors: each dimension's divisors, by their primes' exponents."""

from __future__ import annotations

from collections.abc import Collection
from math import inf, prod

import numpy as np

from solver_mapper.core.primes import factorize
from solver_mapper.solve.outward.inner import Floats, Ints


class Lattice:
    """The tiles of dimensions of some sizes, in one order.

    tiles: (tiles, dimensions). `rest`: what is left of the sizes, the same shape.

    Raises: ValueError if `tiles` would have more than `most` figures.
    """

    def __init__(self, sizes: Ints, most: float = inf):
        self._shape: list[int] = []
        self._numbers: list[tuple[Ints, Ints]] = []
        axes = []
        self._axes: list[list[int]] = []
        for size in map(int, sizes):
            extents = np.ones(1, dtype=np.int64)
            self._axes.append([])
            for prime, times in factorize(size):
                self._axes[-1].append(len(self._shape))
                self._shape.append(times + 1)
                powers = prime ** np.arange(times + 1)
                extents = (extents[:, None] * powers).reshape(-1)
            order = np.argsort(extents)
            self._numbers.append((extents[order], order))
            axes.append(extents)
        if len(self) * len(sizes) > most:
            raise ValueError(f"there are too many tiles: {len(self)}")
        grid = np.meshgrid(*axes, indexing="ij")
        self.tiles: Ints = np.column_stack([each.reshape(-1) for each in grid])
        self.rest: Floats = sizes / self.tiles

    def __len__(self) -> int:
        return prod(self._shape)

    def places(self, tile: Ints) -> Ints:
        """Where tiles (rows, dimensions) stand."""
        places = np.zeros(len(tile), dtype=np.int64)
        for dim, (extents, order) in enumerate(self._numbers):
            places = places * len(extents) + order[np.searchsorted(extents, tile[:, dim])]
        return places

    def least_outside(self, figures: Floats, dims: Collection[int] | None = None) -> Floats:
        """For each tile the least figure (..., tiles) of all its multiples; or of those alone that
        are larger along some dimensions.
        """
        shape = (*figures.shape[:-1], *self._shape)
        found = figures.reshape(shape).copy()
        for dim in range(len(self._axes)) if dims is None else dims:
            for axis in self._axes[dim]:
                along = found.swapaxes(axis - len(self._shape), 0)
                for n in reversed(range(1, len(along))):
                    inner, outer = along[n - 1 : n], along[n : n + 1]
                    np.minimum(inner, outer, out=inner)
        return found.reshape(figures.shape)

    def further(self, figures: Floats, dim: int) -> Floats:
        """For each tile the least figure (..., tiles) of those that have one prime of a dimension
        once more; infinity if there is none.
        """
        shaped = figures.reshape((*figures.shape[:-1], *self._shape))
        found = np.full_like(shaped, np.inf)
        for axis in (each - len(self._shape) for each in self._axes[dim]):
            mine = found.swapaxes(axis, 0)[:-1]
            np.minimum(mine, shaped.swapaxes(axis, 0)[1:], out=mine)
        return found.reshape(figures.shape)

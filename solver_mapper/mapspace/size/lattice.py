"""Tiles as points of a lattice: for each prime of each dimension one axis, along which its exponent
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.primes import divisors, exponents_of, factorize
from solver_mapper.deadline import check_time

Counts = NDArray[Any]
"""A Python integer of any size for each tile."""
Point = tuple[int, ...]


@dataclass(frozen=True)
class Lattice:
    """The divisors of `bounds`, all together; dimensions of bound 1 have no axis."""

    bounds: Mapping[str, int]

    @cached_property
    def axes(self) -> tuple[tuple[str, int, int], ...]:
        """(dimension, prime, multiplicity)."""
        return tuple(
            (dim, prime, count)
            for dim, bound in self.bounds.items()
            for prime, count in factorize(bound)
        )

    @cached_property
    def shape(self) -> Point:
        """Never empty: arithmetic on numpy arrays without axes gives plain numbers, not arrays."""
        return tuple(count + 1 for _, _, count in self.axes) or (1,)

    @property
    def size(self) -> int:
        """How many tiles there are."""
        return prod(len(divisors(bound)) for bound in self.bounds.values())

    @property
    def whole(self) -> Point:
        """The tile that is the whole problem."""
        return tuple(extent - 1 for extent in self.shape)

    @cached_property
    def _primes(self) -> Mapping[str, tuple[int, ...]]:
        return {
            dim: tuple(prime for each, prime, _ in self.axes if each == dim) for dim in self.bounds
        }

    def point(self, factors: Mapping[str, int]) -> Point:
        """Divisors of the bounds as a point; dimensions left out have 1."""
        powers = {
            dim: exponents_of(factors.get(dim, 1), primes) for dim, primes in self._primes.items()
        }
        return tuple(power for dim in self.bounds for power in powers[dim] or ()) or (0,)

    def factors(self, point: Point) -> dict[str, int]:
        """The dimensions' divisors at `point`."""
        found = dict.fromkeys(self.bounds, 1)
        for (dim, prime, _), power in zip(self.axes, point, strict=bool(self.axes)):
            found[dim] *= prime**power
        return found

    def zeros(self) -> Counts:
        """A count of 0 for each tile."""
        return np.zeros(self.shape, dtype=object)

    def at(self, point: Point) -> Counts:
        """1 at `point` and 0 everywhere else."""
        counts = self.zeros()
        counts[point] = 1
        return counts

    def moved(self, counts: Counts, by: Point, inward: bool) -> Counts:
        """What each tile receives from the one that is `by` larger (`inward`: loops of these bounds
        go to it) or smaller.
        """
        check_time()
        result = self.zeros()
        large = tuple(slice(power, None) for power in by)
        small = tuple(
            slice(0, extent - power) for power, extent in zip(by, self.shape, strict=True)
        )
        if inward:
            result[small] = counts[large]
        else:
            result[large] = counts[small]
        return result

    def looped(self, counts: Counts, dim: str, factors: Iterable[int], inward: bool) -> Counts:
        """What each tile receives over loops of any of `factors` over `dim`, which are above 1."""
        wanted = frozenset(factors)
        if wanted == frozenset(divisors(self.bounds[dim])) - {1}:
            return self._all(counts, dim, inward) - counts
        result = self.zeros()
        for factor in sorted(wanted):
            result += self.moved(counts, self.point({dim: factor}), inward)
        return result

    def _all(self, counts: Counts, dim: str, inward: bool) -> Counts:
        """The same over all divisors: sums along the dimension's axes."""
        for number, (each, _, _) in enumerate(self.axes):
            if each == dim:
                check_time()
                counts = (
                    np.flip(np.cumsum(np.flip(counts, number), number), number)
                    if inward
                    else np.cumsum(counts, number)
                )
        return counts

    def extent(self, dim: str) -> Counts:
        """The dimension's divisor at each tile, in a shape that spreads over the lattice."""
        result = np.ones((1,) * len(self.shape), dtype=object)
        for number, (each, prime, count) in enumerate(self.axes):
            if each == dim:
                powers = np.array([prime**power for power in range(count + 1)], dtype=object)
                result = result * powers.reshape(
                    [-1 if axis == number else 1 for axis in range(len(self.shape))]
                )
        return result

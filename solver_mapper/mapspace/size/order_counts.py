"""Orders of loops, counted and listed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import comb, factorial

from solver_mapper.core.loop_orders import Pair, inside, outside

Dims = frozenset[str]
Order = tuple[str, ...]
"""Dimensions, innermost first."""


@dataclass(frozen=True)
class OrderCount:
    """Orders of loops in which for each of `pairs` (inner, outer) the one lies inside the other if
    both are there.
    """

    pairs: frozenset[Pair] = frozenset()
    _counted: dict[Dims, int] = field(default_factory=dict, compare=False)

    @property
    def bound(self) -> Dims:
        """The dimensions that any pair is about."""
        return frozenset(dim for pair in self.pairs for dim in pair)

    def count(self, dims: Dims) -> int:
        """How many orders the loops over `dims` have."""
        named = dims & self.bound
        free = len(dims) - len(named)
        return self._extensions(named) * comb(len(dims), free) * factorial(free)

    def _extensions(self, dims: Dims) -> int:
        """Whichever of `dims` may lie innermost, times the orders of the others."""
        if not dims:
            return 1
        if dims not in self._counted:
            self._counted[dims] = sum(self._extensions(dims - {dim}) for dim in self._firsts(dims))
        return self._counted[dims]

    def _firsts(self, dims: Dims) -> list[str]:
        waiting = {outer for inner, outer in self.pairs if inner in dims}
        return sorted(dims - waiting)

    def listed(self, dims: Dims) -> Iterator[Order]:
        """All of them."""
        if not dims:
            yield ()
        for dim in self._firsts(dims):
            for rest in self.listed(dims - {dim}):
                yield (dim, *rest)


@dataclass(frozen=True)
class Layouts:
    """Orders of spatial loops, those along X inside those along Y. `splits` are the numbers of
    innermost positions among all `dims` that lie along X.
    """

    orders: OrderCount
    splits: frozenset[int]
    dims: tuple[str, ...]

    def allowed(self, across: Collection[str], along: Collection[str]) -> bool:
        """Whether loops over `across` may lie along X and loops over `along` along Y."""
        pairs = self.orders.pairs
        if any(inner in along and outer in across for inner, outer in pairs):
            return False
        first, last = len(inside(across, pairs)), len(self.dims) - len(outside(along, pairs))
        return all(first <= min(split, len(self.dims)) <= last for split in self.splits)

    def count(self, across: Dims, along: Dims) -> int:
        """The number of layouts with these dimensions along X and along Y."""
        return (
            self.orders.count(across) * self.orders.count(along)
            if self.allowed(across, along)
            else 0
        )

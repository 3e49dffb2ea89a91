"""The axes of a component's table: exponents of a component's dimensions, in groups of loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from solver_mapper.deadline import check_time
from solver_mapper.mapspace.components import RankComponent
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.selection import ExponentAxis, Tuple
from solver_mapper.solve.cpsat.variables import Variables


@dataclass
class Layout:
    """Which axes of a table hold what: groups of (dimension, prime, position of the axis)."""

    variables: Variables
    component: RankComponent
    axes: list[ExponentAxis] = field(default_factory=list)
    groups: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)

    def add(self, group: str, slots: list[Slot], dims: tuple[str, ...] | None = None) -> None:
        """Append the axes of `dims`, or all of the component, at `slots` to `group`."""
        for dim in self.component.dims if dims is None else dims:
            for axis in self.variables.axes(self.variables.loop_slots([dim], slots)):
                assert isinstance(axis.key, tuple)
                self.groups.setdefault(group, []).append((dim, int(axis.key[0]), len(self.axes)))
                self.axes.append(axis)

    def points(self) -> Iterator[Tuple]:
        """All points whose groups together divide the problem's bounds."""
        primes: dict[tuple[str, int], list[int]] = {}
        for group in self.groups.values():
            for dim, prime, position in group:
                primes.setdefault((dim, prime), []).append(position)
        choices = [
            list(self._shares(dim, prime, positions)) for (dim, prime), positions in primes.items()
        ]
        order = [position for positions in primes.values() for position in positions]
        rank = [order.index(position) for position in range(len(self.axes))]
        for chosen in product(*choices):
            check_time()
            flat = [power for share in chosen for power in share]
            yield tuple(flat[index] for index in rank)

    def _shares(self, dim: str, prime: int, positions: list[int]) -> Iterator[Tuple]:
        """Exponents of one prime at its axes, no more in all than its multiplicity."""
        most = dict(self.variables.space.primes[dim])[prime]
        for powers in product(*(range(self.axes[position].limit + 1) for position in positions)):
            if sum(powers) <= most:
                yield powers

    def read(self, group: str, point: Tuple) -> dict[str, int]:
        """The product of bounds that a point gives each dimension in the group."""
        values = dict.fromkeys(self.component.dims, 1)
        for dim, prime, position in self.groups.get(group, []):
            values[dim] *= prime ** point[position]
        return values

    def rest(self, *groups: dict[str, int]) -> dict[str, int]:
        """Iterations of each dimension outside the given groups of loops."""
        bounds = self.variables.space.problem.bounds
        return {
            d: bounds[d] // math.prod(group[d] for group in groups) for d in self.component.dims
        }

"""Counting all mappings of a space: how many ways lead from the whole problem to each tile, and
from there to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from solver_mapper.mapspace.size.lattice import Counts, Lattice
from solver_mapper.mapspace.size.level_choices import NOTHING, Key, Level, Tiles
from solver_mapper.mapspace.size.limited_products import amounts_of, work
from solver_mapper.mapspace.size.storage_choices import Held, uncertain
from solver_mapper.mapspace.space import Space

MOST_TILES = 200_000
MOST_WORK = 40_000_000
"""Numbers moved from one product to another that this takes seconds for."""


def countable(space: Space) -> bool:
    """Whether the space has few enough tiles, and its constraints on several loops few enough
    products.
    """
    tiles = Lattice(space.problem.bounds).size
    return tiles <= MOST_TILES and (
        not amounts_of(space).listed or tiles * work(space) <= MOST_WORK
    )


@dataclass(frozen=True)
class MappingCounter:
    """All mappings of `space`. Without `orders`, mappings that differ only there count once;
    without `bypass` likewise. Without `sized`, capacities are not looked at.
    """

    space: Space
    orders: bool = True
    bypass: bool = True
    sized: bool = True

    @cached_property
    def lattice(self) -> Lattice:
        """The tiles of the problem."""
        return Lattice({dim: self.space.problem.bounds[dim] for dim in self.space.dims})

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The choices of each level, outer to inner."""
        return tuple(self.level(number, self.space) for number in range(self.space.depth))

    def level(self, number: int, space: Space) -> Level:
        """A level as another space has it."""
        return Level(space, self.lattice, number, self.orders, self.bypass, self.sized)

    @cached_property
    def total(self) -> int:
        """The number of legal mappings."""
        return self.join(self._origin, self.outward[0]) if self.possible else 0

    @cached_property
    def possible(self) -> bool:
        """Whether constraints leave every dimension a factor at every level, where only 1 can be
        asked for.
        """
        return all(
            1 in allowed
            for (_, _, dim), allowed in self.space.factors.items()
            if dim not in self.lattice.bounds
        )

    @property
    def start(self) -> Key:
        """What no part of a mapping amounts to."""
        return Key(amounts_of(self.space).none, NOTHING)

    @property
    def _origin(self) -> Tiles:
        return {self.start: self.lattice.at(self.lattice.whole)}

    @cached_property
    def inward(self) -> tuple[Tiles, ...]:
        """For each level and the compute units, how many ways lead to each tile from outside."""
        found = [self._origin]
        for level in self.levels:
            found.append(level.inward(found[-1]))
        return tuple(found)

    @cached_property
    def outward(self) -> tuple[Tiles, ...]:
        """For each level, and for the compute units, how many ways lead on from each tile to single
        operations.
        """
        found: list[Tiles] = [{self.start: self.lattice.at((0,) * len(self.lattice.shape))}]
        for level in reversed(self.levels):
            found.append(level.outward(found[-1]))
        return tuple(reversed(found))

    def join(self, outer: Tiles, inner: Tiles) -> int:
        """How many mappings there are of these ways to tiles and these ways on from them."""
        return sum(
            int((ways * on).sum())
            for one, ways in outer.items()
            for other, on in inner.items()
            if self.complete(one, other)
        )

    def complete(self, one: Key, other: Key) -> bool:
        """Whether two parts of a mapping make a whole: products are what is asked, and every tensor
        is held somewhere.
        """
        joined = self.levels[0].joined(one, other)
        return (
            joined is not None
            and self.levels[0].amounts.hold(joined.values)
            and any(self._needed <= held for held in joined.held)
        )

    @cached_property
    def _needed(self) -> Held:
        return uncertain(self.space)

    def with_level(self, level: Level) -> int:
        """The total if one level were another one, all others as they are."""
        return self.join(self.inward[level.level], level.outward(self.outward[level.level + 1]))

    def reached(self, number: int) -> Counts:
        """How many ways lead to each tile of a level from outside, of those that go on from there
        to a legal mapping.
        """
        result = self.lattice.zeros()
        for one, ways in self.inward[number].items():
            goes_on = self.lattice.zeros().astype(bool)
            for other, on in self.outward[number].items():
                if self.complete(one, other):
                    goes_on |= on.astype(bool)
            result += ways * goes_on
        return result

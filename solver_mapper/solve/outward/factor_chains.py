"""How constraints let the loops over one dimension follow each other, from the compute units
outwards.

A *slot* is where one loop over the dimension may stand: the mesh below a level, then the temporal
loops of that level, for each level from the innermost one outwards. A *tile* is the product of the
bounds at all slots further in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from math import lcm

import numpy as np

from solver_mapper.core.primes import divisors
from solver_mapper.solve.outward.inner import Flags, Ints

NEVER, STAYS = 0, 1
"""Numbers of continuations: nothing can follow; the loop has the only bound that it may have."""


class FactorChain:
    """One dimension: the bounds that constraints allow at each slot, taken by itself.

    extents: its divisors, ascending; all tables have one row for each tile.
    """

    def __init__(self, size: int, allows: Sequence[Callable[[int], bool]]):
        self.size, self.extents = size, divisors(size)
        self._array = np.array(self.extents, dtype=np.int64)
        self.allowed = [tuple(filter(allow, self.extents)) for allow in allows]
        self._place = {each: place for place, each in enumerate(self.extents)}
        self._continuations: dict[int, tuple[Ints, Flags]] = {}

    def places(self, tile: Ints) -> Ints:
        """Where tiles, or bounds, stand among the extents."""
        return np.searchsorted(self._array, tile)

    @cached_property
    def completable(self) -> list[Flags]:
        """For each slot, and after the last one, the tiles that loops from there on complete."""
        found = [{self.size}]
        for allowed in reversed(self.allowed):
            found.append({t for t in self.extents if any(t * b in found[-1] for b in allowed)})
        return [self._flags(each) for each in reversed(found)]

    @cached_property
    def attainable(self) -> list[Flags]:
        """For each slot, and after the last one, the tiles that loops further in can make."""
        found = [{1}]
        for allowed in self.allowed:
            grown = {t * b for t in found[-1] for b in allowed}
            found.append({t for t in grown if self.size % t == 0})
        return [self._flags(each) for each in found]

    @cached_property
    def repeats(self) -> list[Flags]:
        """For each slot, and after the last one, the tiles from which some temporal loop at that
        slot or a later one leads to the whole size, whether or not the slot has begun.
        """
        found, done = [set[int]()], [self._tiles(each) for each in self.completable]
        for slot in reversed(range(len(self.allowed))):
            later = {t for t in self.extents if any(t * b in found[-1] for b in self.allowed[slot])}
            later |= found[-1]
            if slot % 2 and self.allowed[slot] != (1,):
                later |= {
                    t for t in self.extents if any(u > t and not u % t for u in done[slot + 1])
                }
            found.append(later)
        return [self._flags(each) for each in reversed(found)]

    def spread(self, slots: Sequence[int]) -> tuple[int, ...]:
        """What loops at these slots can make together."""
        found = {1}
        for slot in slots:
            grown = {t * b for t in found for b in self.allowed[slot]}
            found = {t for t in grown if self.size % t == 0}
        return tuple(sorted(found))

    def continuations(self, slot: int) -> tuple[Ints, Flags]:
        """Of a temporal slot, for each tile so far and each bound of the loop so far, by their
        places: a number for the set of all by what the loop may be multiplied yet, which is the
        same for equal sets; and whether the loop may stay as it is.
        """
        if slot not in self._continuations:
            self._continuations[slot] = self._numbered(slot)
        return self._continuations[slot]

    def _numbered(self, slot: int) -> tuple[Ints, Flags]:
        done = self._tiles(self.completable[slot + 1])
        begun = self._tiles(self.attainable[slot])
        by_bound = [self._multiples(bound, self.allowed[slot]) for bound in self.extents]
        by_tile = [self._multiples(tile, done) for tile in self.extents]
        numbers = {0: NEVER, 1: STAYS}
        table = np.zeros((len(self.extents),) * 2, dtype=np.int64)
        stays = np.zeros(table.shape, dtype=bool)
        for row, tile in enumerate(self.extents):
            for column, bound in enumerate(self.extents):
                if tile % bound == 0 and tile // bound in begun:
                    bits = by_tile[row] & by_bound[column]
                    table[row, column] = numbers.setdefault(bits, len(numbers))
                    stays[row, column] = bits & 1
        return table, stays

    def _multiples(self, of: int, among: Sequence[int] | set[int]) -> int:
        """By what a number is multiplied in some others: one bit for each extent."""
        return sum(1 << self._place[each // of] for each in among if each % of == 0)

    def _flags(self, tiles: set[int]) -> Flags:
        return np.array([each in tiles for each in self.extents])

    def _tiles(self, flags: Flags) -> set[int]:
        return {each for each, flag in zip(self.extents, flags, strict=True) if flag}


def largest_product(bounds: Sequence[Sequence[int]], most: int) -> int:
    """The largest product of one number of each sequence that is at most `most`; 1 if none is."""
    found = {1}
    for some in bounds:
        found = {one * other for one in found for other in some if one * other <= most}
    return max(found, default=1)


def common_multiple(bounds: Collection[int], size: int) -> int:
    """The least common multiple of the bounds that divide a size."""
    return lcm(*(each for each in bounds if size % each == 0))

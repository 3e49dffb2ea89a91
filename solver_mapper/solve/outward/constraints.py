"""What constraints on loops leave of the inner mappings that a walk grows.

Known are the bounds at each slot and products of them, the order of the temporal loops of a level,
and where loops lie on a mesh. An inner mapping is dropped as soon as no loops to come can complete
it. Each dimension and each product is looked at by itself, so that some are kept that cannot be
completed, which is no harm. Caps on figures are left out, and orders of a mesh where networks
charge.

Two inner mappings with the same tile have the same future as far as constraints speak of slots that
neither has begun. Of those that are begun, `keys` tells apart what may follow, and `looseness`
which of two leaves more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod

import numpy as np

from solver_mapper.core.constraints import (
    FactorConstraint,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.primes import divisors
from solver_mapper.solve.outward.factor_chains import (
    NEVER,
    STAYS,
    common_multiple,
    largest_product,
)
from solver_mapper.solve.outward.inner import Flags, InnerMappings, Ints, Outside
from solver_mapper.solve.outward.read_constraints import Limit, ReadConstraints
from solver_mapper.verify.mapspace import EnumeratedMapspace

ON_LOOPS = (
    FactorConstraint,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    SplitConstraint,
    UtilizationConstraint,
)


def slot_of(depth: int, outside: Outside) -> int:
    """The slot that is being filled, or is filled next."""
    return 2 * (depth - outside.holders) + (outside.holders > outside.meshes)


class LoopConstraints:
    """The constraints on loops of one mapspace. Slots are those of `FactorChain`.

    Args:
        order: in which dimensions are spread over a mesh.
    """

    def __init__(self, mapspace: EnumeratedMapspace, order: Sequence[int]):
        self._order, problem = order, mapspace.problem
        self._sizes = [problem.bounds[dim] for dim in problem.dims]
        self._depth = mapspace.depth
        self._last = 2 * self._depth
        self._fanouts = [mapspace.architecture.fanout(level) for level in range(self._depth)]
        self.any = any(isinstance(each, ON_LOOPS) for each in mapspace.constraints)
        if not self.any:
            return
        read = ReadConstraints(mapspace)
        self._meshes, self._chains = read.meshes, read.chains
        self._pairs = [read.ordered_pairs(level) for level in range(self._depth)]
        self._limits = [each for each in read.limits if len(each.loops) != 1]
        self._most, self._spread_over = cache(self._most_at), cache(self._spread_at)
        self._spreadable = cache(self._spreadable_at)

    def _slot(self, level: int) -> int:
        """That of the mesh below a level; the next one is that of its temporal loops."""
        return 2 * (self._depth - 1 - level)

    @property
    def columns(self) -> tuple[int, int]:
        """How many dimensions, and how many products, inner mappings keep figures of."""
        return (len(self._sizes), len(self._limits)) if self.any else (0, 0)

    def with_loop(
        self, rows: InnerMappings, level: int, dim: int, bound: int, axis: int | None
    ) -> InnerMappings:
        """The rows with a loop more in `here`, `products` and `laid`, temporal without an axis."""
        if not self.any:
            return rows
        here, laid = rows.here, rows.laid
        slot = self._slot(level) + (axis is None)
        if axis is None:
            here = here.copy()
            here[:, dim] *= bound
        else:
            laid = self._meshes[level].with_loop(laid, dim, axis)
        growing = [(slot, dim) in limit.loops for limit in self._limits]
        products = rows.products * np.where(growing, bound, 1)
        return replace(rows, here=here, products=products, laid=laid)

    def may_spread(
        self, rows: InnerMappings, level: int, dim: int, bound: int, axis: int
    ) -> Flags | bool:
        """Whether rows may have a spatial loop over a dimension that has none there yet."""
        if not self.any:
            return True
        slot, chain = self._slot(level), self._chains[dim]
        if bound not in chain.allowed[slot]:
            return False
        done = chain.completable[slot + 1]
        fits = done[chain.places(np.minimum(rows.tile[:, dim] * bound, chain.size))]
        return np.asarray(fits & self._meshes[level].may_stand(rows.laid, dim, axis))

    def may_do_without(self, level: int, dim: int) -> bool:
        """Whether a mesh may have no loop over a dimension."""
        return not self.any or 1 in self._chains[dim].allowed[self._slot(level)]

    def may_repeat(self, rows: InnerMappings, level: int, dim: int, bound: int) -> Flags | bool:
        """Whether rows may have a temporal loop more, so that something may follow."""
        if not self.any:
            return True
        slot, chain = self._slot(level) + 1, self._chains[dim]
        if chain.allowed[slot] == (1,):
            return False
        tile = np.minimum(rows.tile[:, dim] * bound, chain.size)
        here = np.minimum(rows.here[:, dim] * bound, chain.size)
        numbers, _ = chain.continuations(slot)
        fits = numbers[chain.places(tile), chain.places(here)] != NEVER
        return np.asarray(fits & ~self._blocked(rows, level, dim))

    def _blocked(self, rows: InnerMappings, level: int, dim: int) -> Flags:
        """Whether no temporal loop over a dimension can begin, since it would have to lie inside
        others that stand. Those over one dimension are one loop, where its innermost part is.
        """
        others = self._pairs[level].get(dim, [])
        stands = (rows.here[:, others] > 1).any(axis=1)
        return np.asarray(stands & (rows.here[:, dim] == 1))

    def ended(self, rows: InnerMappings, level: int) -> InnerMappings:
        """The rows whose temporal loops at a level have bounds that they may have."""
        if not self.any:
            return rows
        slot, fits = self._slot(level) + 1, np.ones(len(rows), dtype=bool)
        for dim, chain in enumerate(self._chains):
            _, stays = chain.continuations(slot)
            fits &= stays[chain.places(rows.tile[:, dim]), chain.places(rows.here[:, dim])]
        return rows.take(fits)

    def completable(self, rows: InnerMappings, outside: Outside) -> InnerMappings:
        """The rows that loops to come may complete, as far as is known."""
        if not self.any or not len(rows):
            return rows
        slot, fits = slot_of(self._depth, outside), np.ones(len(rows), dtype=bool)
        spread = set(self._order[: outside.spread])
        for dim, chain in enumerate(self._chains):
            if slot % 2:
                fits &= self._continued(rows, outside.meshes, dim)[0] != NEVER
            else:
                after = chain.completable[min(slot + 1, self._last)]
                place = chain.places(rows.tile[:, dim])
                begun = dim in spread or ((slot == 0) & (rows.tile[:, dim] > 1))
                fits &= np.where(begun, after[place], chain.completable[slot][place])
        for number, limit in enumerate(self._limits):
            fits &= self._within(limit, rows.products[:, number], self._more(rows, outside, limit))
        return rows.take(fits)

    def _continued(self, rows: InnerMappings, level: int, dim: int) -> tuple[Ints, Flags]:
        """The numbers of continuations of the temporal loop over a dimension, and whether it
        stands.
        """
        chain, slot = self._chains[dim], self._slot(level) + 1
        numbers, stays = chain.continuations(slot)
        place = chain.places(rows.tile[:, dim]), chain.places(rows.here[:, dim])
        found = numbers[place]
        if dim in self._pairs[level]:
            stopped = np.where(stays[place], STAYS, NEVER)
            found = np.where(self._blocked(rows, level, dim), stopped, found)
        return found, rows.here[:, dim] > 1

    @staticmethod
    def _within(limit: Limit, products: Ints, more: Ints) -> Flags:
        """Whether a product so far, times at most so much more, can meet a limit."""
        value = limit.value
        if limit.comparison == "!=":
            return np.asarray((products != value) | (more > 1))
        fits = np.ones(len(products), dtype=bool)
        if limit.comparison in ("==", "<="):
            fits &= products <= value
        if limit.comparison in ("==", ">="):
            fits &= products * more >= value
        if limit.comparison == "==":
            fits &= value % products == 0
        return fits

    def _more(self, rows: InnerMappings, outside: Outside, limit: Limit) -> Ints:
        """By how much the product of a limit may still grow, at most."""
        slot = slot_of(self._depth, outside)
        spread = frozenset(self._order[: outside.spread])
        more = np.ones(len(rows), dtype=np.int64)
        for dim, most in self._most(limit, slot, spread):
            more *= np.minimum(self._sizes[dim] // rows.tile[:, dim], most)
        if all(each % 2 == 0 for each, _ in limit.loops if each >= slot):
            meshes = range((outside.meshes - 1) if slot % 2 == 0 else outside.meshes)
            elements: Ints = np.full(len(rows), prod(prod(self._fanouts[n]) for n in meshes))
            if slot % 2 == 0 and outside.meshes:
                sides = np.array(self._fanouts[outside.meshes - 1])
                elements = elements * (sides // rows.meshes).prod(axis=1)
            more = np.minimum(more, elements)
        return more

    def _most_at(self, limit: Limit, slot: int, spread: frozenset[int]) -> list[tuple[int, int]]:
        """The dimensions that have slots to come in a limit, and the largest product of each."""
        found: dict[int, list[int]] = {}
        for each, dim in limit.loops:
            if each > slot or (each == slot and dim not in spread):
                found.setdefault(dim, []).append(each)
        return [
            (dim, max(self._chains[dim].spread(slots), default=1)) for dim, slots in found.items()
        ]

    def keys(self, rows: InnerMappings, outside: Outside) -> list[Ints]:
        """Numbers in which rows of the same tile agree if constraints allow the same to follow, but
        for what `looseness` says.
        """
        if not self.any:
            return []
        slot, found = slot_of(self._depth, outside), list[Ints]()
        if slot % 2 == 0 and outside.meshes and self._meshes[outside.meshes - 1].couples:
            found.append(rows.laid)
        if slot % 2:
            found += self._temporal_keys(rows, outside.meshes)
        for number, limit in enumerate(self._limits):
            if limit.comparison in ("==", "!="):
                products, more = rows.products[:, number], self._more(rows, outside, limit)
                pending = more > 1
                if limit.comparison == "!=" and limit.value > 0:
                    pending &= (limit.value % products == 0) & (limit.value <= products * more)
                found.append(np.where(pending, products, 0))
        return found

    def _temporal_keys(self, rows: InnerMappings, level: int) -> list[Ints]:
        slot, pairs, found = self._slot(level) + 1, self._pairs[level], list[Ints]()
        for dim, chain in enumerate(self._chains):
            free = len(chain.allowed[slot]) == len(chain.extents)
            if chain.allowed[slot] != (1,) and (not free or dim in pairs):
                numbers, stands = self._continued(rows, level, dim)
                began = stands & (numbers > STAYS) if dim in pairs else 0
                found.append(2 * numbers + began)
        return found

    def looseness(self, rows: InnerMappings, outside: Outside) -> Ints:
        """What limits leave, (rows, limits): a row may be followed by all that may follow another
        one, as far as these go, if it has no less of any.
        """
        found = []
        for number, limit in enumerate(self._limits if self.any else ()):
            products = rows.products[:, number]
            if limit.comparison == "<=":
                more = self._more(rows, outside, limit)
                found.append(np.minimum(limit.value // products, more))
            elif limit.comparison == ">=":
                found.append(np.minimum(products, limit.value))
        return np.column_stack(found) if found else np.zeros((len(rows), 0), dtype=np.int64)

    def spread_over(self, dim: int, outside: Outside) -> Sequence[int]:
        """What spatial loops to come over a dimension can make together."""
        if not self.any:
            return divisors(self._sizes[dim])
        return self._spread_over(dim, outside.meshes, dim in self._order[: outside.spread])

    def _spread_at(self, dim: int, meshes: int, begun: bool) -> Sequence[int]:
        """The same for so many outermost meshes, of which the innermost one may have its loop. Of
        that of the compute units this is not known.
        """
        slot, chain = self._last - 2 * meshes, self._chains[dim]
        later = chain.spread(range(slot + 2, self._last, 2))
        if begun:
            return later
        found = chain.spread(range(slot, self._last, 2))
        return sorted({*found, *later}) if slot == 0 else found

    def side(self, level: int, axis: int) -> int:
        """How many elements of the mesh below a level loops can use along an axis."""
        slot, mesh = self._slot(level), self._meshes[level].mesh
        bounds = [
            {1, *chain.allowed[slot]}
            for dim, chain in enumerate(self._chains)
            if axis in mesh.axes[dim]
        ]
        return largest_product([sorted(each) for each in bounds], mesh.sides[axis])

    def tiles(self, level: int, tile: Ints) -> Flags:
        """Whether a level may hold tiles (rows, dimensions)."""
        slot, fits = self._slot(level) + 2, np.ones(len(tile), dtype=bool)
        for dim, chain in enumerate(self._chains if self.any else ()):
            fits &= (chain.completable[slot] & chain.attainable[slot])[chain.places(tile[:, dim])]
        return fits

    def repeats(self, outside: Outside, tile: Ints, dims: Sequence[int]) -> Flags:
        """Whether a temporal loop over some of the dimensions may follow tiles."""
        if not self.any:
            return np.asarray((tile[:, dims] < np.array(self._sizes)[dims]).any(axis=1))
        slot, found = slot_of(self._depth, outside), np.zeros(len(tile), dtype=bool)
        for dim in dims:
            chain = self._chains[dim]
            found |= chain.repeats[slot][chain.places(tile[:, dim])]
        return found

    def spreadable(self, outside: Outside, tile: Ints) -> Ints:
        """Multiples of what spatial loops to come may make of each dimension (rows, dimensions)."""
        rest: Ints = np.array(self._sizes, dtype=np.int64) // tile
        if not self.any:
            return rest
        for dim, chain in enumerate(self._chains):
            most = self._spreadable(dim, outside.meshes)
            rest[:, dim] = most[chain.places(tile[:, dim])]
        return rest

    def all_spread(self, outside: Outside, tile: Ints) -> Flags:
        """Whether spatial loops to come may complete tiles (rows, dimensions) by themselves."""
        if not self.any:
            return np.ones(len(tile), dtype=bool)
        rest = np.array(self._sizes, dtype=np.int64) // tile
        return np.asarray((self.spreadable(outside, tile) == rest).all(axis=1))

    def _spreadable_at(self, dim: int, meshes: int) -> Ints:
        chain = self._chains[dim]
        bounds = {*self._spread_over(dim, meshes, False), *self._spread_over(dim, meshes, True)}
        most = [common_multiple(bounds, chain.size // each) for each in chain.extents]
        return np.array(most, dtype=np.int64)

    def ordered(self, level: int, dims: Sequence[int]) -> list[int]:
        """Dimensions of spatial loops below a level in the given order, innermost first, changed
        only where constraints ask for it.
        """
        if not self.any:
            return list(dims)
        return self._meshes[level].ordered(dims) or list(dims)

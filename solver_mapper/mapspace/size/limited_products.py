"""Products of loop bounds that constraints limit over several loops at once, kept apart while
counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, prod

from solver_mapper.core.constraints import HOLDS, Comparison
from solver_mapper.core.primes import divisors
from solver_mapper.mapspace.space import Slot, Space

Values = tuple[int, ...]
"""The products so far, one for each amount."""


@dataclass(frozen=True)
class LimitedProduct:
    """The product of the loops at `loop_slots` compares with `value`."""

    loop_slots: frozenset[tuple[str, Slot]]
    comparison: Comparison
    value: int

    def holds(self, product: int) -> bool:
        """Whether a product satisfies the limit."""
        return HOLDS[self.comparison](product, self.value)

    def distinct(self, space: Space, level: int | None = None) -> int:
        """How many products have to be kept apart: over all levels together, or of one level by
        itself.
        """
        loop_slots = [(dim, slot) for dim, slot in self.loop_slots if level in (None, slot.level)]
        room = (
            prod(space.architecture.fanout(level))
            if level is not None and all(slot.axis for _, slot in loop_slots)
            else None
        )
        products = divisors(
            prod(space.problem.bounds[dim] for dim in {dim for dim, _ in loop_slots})
        )
        return len(
            {self.reduced(product) for product in products if room is None or product <= room}
            - {None}
        )

    def reduced(self, product: int) -> int | None:
        """The product as far as it matters, whatever it is multiplied by; None if nothing can make
        it hold any more.
        """
        if self.comparison in (">=", ">", "!="):
            return min(product, self.value + 1)
        fits = (
            self.value % product == 0
            if self.comparison == "==" and self.value > 0
            else self.holds(product)
        )
        return product if fits else None


@dataclass(frozen=True)
class LimitedProducts:
    """All amounts of a space: its limits on products, and the least use of its instances."""

    listed: tuple[LimitedProduct, ...]

    @property
    def none(self) -> Values:
        """The products before any loop."""
        return (1,) * len(self.listed)

    def of(self, slot: Slot, bounds: Mapping[str, int]) -> Values | None:
        """What loops of these bounds at a slot contribute."""
        return self._reduced(
            prod(bound for dim, bound in bounds.items() if (dim, slot) in each.loop_slots)
            for each in self.listed
        )

    def times(self, one: Values, other: Values) -> Values | None:
        """The products of two parts of a mapping together; None if a limit is exceeded."""
        return self._reduced(a * b for a, b in zip(one, other, strict=True))

    def _reduced(self, products: Iterable[int]) -> Values | None:
        found = [each.reduced(product) for each, product in zip(self.listed, products, strict=True)]
        return None if None in found else tuple(value for value in found if value is not None)

    def count(self, dim: str, slot: Slot) -> bool:
        """Whether loops over `dim` at a slot contribute to any amount."""
        return any((dim, slot) in each.loop_slots for each in self.listed)

    def hold(self, values: Values) -> bool:
        """Whether all products satisfy their limits."""
        return all(each.holds(value) for each, value in zip(self.listed, values, strict=True))


def work(space: Space) -> int:
    """How often a number is moved from one product to another while counting, for each tile."""
    listed = amounts_of(space).listed
    apart = prod(each.distinct(space) for each in listed)
    return apart * sum(
        prod(each.distinct(space, level) for each in listed)
        * (_ORDERS if _timed(listed, level) else 1)
        for level in range(space.depth)
    )


_ORDERS = 7
"""Temporal loops are moved apart for each number of loops that there are."""


def _timed(listed: tuple[LimitedProduct, ...], level: int) -> bool:
    return any(slot == Slot(level) for each in listed for _, slot in each.loop_slots)


def amounts_of(space: Space) -> LimitedProducts:
    """The products of loops that constraints limit."""
    listed = [
        LimitedProduct(space.loop_slots_of(constraint), constraint.comparison, constraint.value)
        for constraint in space.products
    ]
    if space.least_utilization:
        units = prod(prod(space.architecture.fanout(level)) for level in range(space.depth))
        spatial = frozenset((dim, slot) for dim in space.dims for slot in space.slots if slot.axis)
        listed.append(LimitedProduct(spatial, ">=", ceil(space.least_utilization * units)))
    return LimitedProducts(tuple(listed))

"""Boxes of mappings, and how decisions split them: what a proof by branch and bound is about.

A *box* is a set of mappings: for each dimension and each position between two loop slots the
extents that the loops inside of it may cover together, for each tensor the choices of levels that
store it, and for each level the dimensions that its innermost temporal loop may be over. Nothing
here is shared with the CP-SAT engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from solver_mapper.core.constraints import HOLDS, FactorConstraint
from solver_mapper.verify.loop_tables import LoopTables, Mask, members

Split = tuple[str, int, int, int]
"""One of

- ("extent", dimension, position, value): at most the value,
- ("store", tensor, level, 0),
- ("innermost", level, dimensions, 0).
"""


class Box(NamedTuple):
    """`extents[d][p]`: numbers of the divisors of dimension d that the loops inside of position p
    may cover; `stores[t]`: numbers of tensor t's storage choices; `innermost[l]`: dimensions of the
    innermost temporal loop of level l, or the number of dimensions where there is none.
    """

    extents: tuple[tuple[Mask, ...], ...]
    stores: tuple[Mask, ...]
    innermost: tuple[Mask, ...]


class BoxSpace(LoopTables):
    """The mapspace of perfect factors as a box, and how decisions split boxes."""

    def root(self) -> Box | None:
        """The box of all mappings, None if there is none."""
        extents = []
        for dim, divisors in enumerate(self.divisors):
            whole = (1 << len(divisors)) - 1
            extents.append(
                self.consistent(dim, (whole ^ whole >> 1, *[whole] * (len(self.slots) - 1), 1))
            )
        found = [each for each in extents if each is not None]
        if len(found) < self.dims or not all(self.stores) or not self._single_slots_obey():
            return None
        return Box(
            tuple(found),
            tuple((1 << len(each)) - 1 for each in self.stores),
            ((2 << self.dims) - 1,) * self.levels,
        )

    def _single_slots_obey(self) -> bool:
        """Whether constraints on spatial loops of levels without a fanout allow a bound of 1."""
        return all(
            HOLDS[constraint.comparison](
                1,
                (
                    self.problem.bounds[constraint.dim]
                    if (constraint.comparison, constraint.value) == ("==", 0)
                    else constraint.value
                ),
            )
            for constraint in self.constraints
            if isinstance(constraint, FactorConstraint)
            and constraint.kind == "spatial"
            and constraint.dim in self.problem.dims
            and self.spatial[self.architecture.index(constraint.level)] is None
        )

    def split(self, box: Box, split: Split) -> tuple[Box | None, Box | None]:
        """The parts of a box for which a decision holds and does not hold; None if empty. Together
        they are the box.
        """
        kind, one, two, value = split
        if kind == "extent":
            small = sum(1 << n for n, each in enumerate(self.divisors[one]) if each <= value)
            mask = box.extents[one][two]
            return self._with_extents(box, one, two, mask & small), self._with_extents(
                box, one, two, mask & ~small
            )
        if kind == "store":
            yes = sum(1 << n for n, choice in enumerate(self.stores[one]) if choice[two])
            masks = (box.stores[one] & yes, box.stores[one] & ~yes)
            return tuple(
                box._replace(stores=_put(box.stores, one, mask)) if mask else None for mask in masks
            )  # type: ignore[return-value]
        return self._with_innermost(box, one, box.innermost[one] & two), self._with_innermost(
            box, one, box.innermost[one] & ~two
        )

    def _with_extents(self, box: Box, dim: int, position: int, mask: Mask) -> Box | None:
        found = self.consistent(dim, _put(box.extents[dim], position, mask)) if mask else None
        return None if found is None else box._replace(extents=_put(box.extents, dim, found))

    def _with_innermost(self, box: Box, level: int, mask: Mask) -> Box | None:
        """A loop that is innermost has a bound of at least 2; where there is none, all loops have a
        bound of 1.
        """
        if not mask:
            return None
        part: Box | None = box._replace(innermost=_put(box.innermost, level, mask))
        slot, no_loop = self.temporal[level], mask == 1 << self.dims
        dims = (
            range(self.dims)
            if no_loop
            else [mask.bit_length() - 1]
            if mask.bit_count() == 1
            else []
        )
        for dim in dims:
            part = part and self._with_bounds(
                part, dim, slot, lambda bound: (bound == 1) == no_loop
            )
        return part

    def _with_bounds(
        self, box: Box, dim: int, slot: int, wanted: Callable[[int], bool]
    ) -> Box | None:
        """The part of a box where the bound of a loop may be as wanted: extents with such a partner
        on the slot's other side.
        """
        outer, inner = box.extents[dim][slot], box.extents[dim][slot + 1]
        pairs = [
            (n, i)
            for n in members(outer)
            for i in members(self.steps[dim][slot][n] & inner)
            if wanted(self.divisors[dim][n] // self.divisors[dim][i])
        ]
        masks = [sum(1 << number for number in {pair[side] for pair in pairs}) for side in (0, 1)]
        found = self._with_extents(box, dim, slot, masks[0])
        return found and self._with_extents(
            found, dim, slot + 1, masks[1] & found.extents[dim][slot + 1]
        )


def _put(row: tuple[Any, ...], position: int, value: object) -> tuple[Any, ...]:
    return (*row[:position], value, *row[position + 1 :])

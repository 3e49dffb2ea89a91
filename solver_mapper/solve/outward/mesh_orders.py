"""What constraints say about where the loops of one mesh stand: along which axis, and in which
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from solver_mapper.core.loop_orders import inside, outside
from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.outward.inner import Flags, Ints

X, Y = 0, 1
NONE = -1


class Mesh(NamedTuple):
    """A mesh and its constraints. Dimensions have numbers.

    axes: along which axes a loop over each dimension may lie, taken by itself; none if it may have
          no loop.
    pairs: (inner, outer), of which the former's loop lies inside the latter's.
    split: how many of all dimensions lie along X, loops of bound 1 included.
    sides: columns and rows.
    units: whether it is that of the compute units: there the innermost loop of each axis counts.
    """

    axes: tuple[frozenset[int], ...]
    pairs: frozenset[tuple[int, int]]
    split: int | None
    sides: tuple[int, int]
    units: bool


class Laid(NamedTuple):
    """Dimensions of the loops along X and Y, and, above compute units, of the innermost one of
    each axis.
    """

    along: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    first: tuple[int, int] = (NONE, NONE)


class MeshOrders:
    """Numbers for the loops of a mesh so far, as far as constraints couple them; 0 for none."""

    def __init__(self, mesh: Mesh):
        self.mesh = mesh
        self._laid = Numbering([Laid()])
        self._next: dict[tuple[int, int, int], int] = {}

    @cached_property
    def couples(self) -> bool:
        """Whether it depends on other loops where a loop may lie."""
        mesh = self.mesh
        if any(self._binds(inner, outer) for inner, outer in mesh.pairs):
            return True
        if mesh.split is None or all(map(self._placed, range(len(mesh.axes)))):
            return False
        # Without an order, so many loops may fit along an axis that its positions run out.
        most = [side.bit_length() - 1 for side in mesh.sides]
        loops = sum(map(bool, mesh.axes))
        positions = mesh.split, len(mesh.axes) - mesh.split
        return bool(mesh.pairs) or any(
            min(many, loops) > room for many, room in zip(most, positions, strict=True)
        )

    def _placed(self, dim: int) -> bool:
        """Whether a split puts a dimension along the same axis in all orders."""
        number, split = len(self.mesh.axes), self.mesh.split or 0
        first = len(inside([str(dim)], self._named)) - 1
        last = number - len(outside([str(dim)], self._named))
        return (first < split) != (last >= split)

    @cached_property
    def _named(self) -> frozenset[tuple[str, str]]:
        return frozenset((str(inner), str(outer)) for inner, outer in self.mesh.pairs)

    def _binds(self, inner: int, outer: int) -> bool:
        one, other = self.mesh.axes[inner], self.mesh.axes[outer]
        if not one or not other:
            return False
        contradicts = (outer, inner) in self.mesh.pairs
        return contradicts or (Y in one and X in other) or (self.mesh.units and bool(one & other))

    def may_stand(self, laid: Ints, dim: int, axis: int) -> Flags:
        """Whether a loop may stand along an axis, outside all others, beside those so far."""
        allowed = axis in self.mesh.axes[dim]
        if not allowed or not self.couples:
            return np.full(len(laid), allowed)
        return np.asarray(self.with_loop(laid, dim, axis) != NONE)

    def with_loop(self, laid: Ints, dim: int, axis: int) -> Ints:
        """The numbers of the loops so far with one more."""
        if not self.couples:
            return laid
        known, where = np.unique(laid, return_inverse=True)
        numbers = [self._with(int(each), dim, axis) for each in known]
        return np.array(numbers, dtype=np.int64)[where.reshape(-1)]

    def _with(self, number: int, dim: int, axis: int) -> int:
        key = number, dim, axis
        if key not in self._next:
            self._next[key] = self._number(self._laid[number], dim, axis)
        return self._next[key]

    def _number(self, before: Laid, dim: int, axis: int) -> int:
        along, first = list(before.along), list(before.first)
        if self.mesh.units and first[axis] == NONE:
            first[axis] = dim
        along[axis] |= {dim}
        laid = Laid((along[X], along[Y]), (first[X], first[Y]))
        if not self._legal(laid):
            return NONE
        return self._laid.number(laid)

    def _legal(self, laid: Laid) -> bool:
        """Whether constraints allow these loops: if not, neither with more of them."""
        (across, down), pairs = laid.along, self.mesh.pairs
        if any(inner in down and outer in across for inner, outer in pairs):
            return False
        if any((inner, laid.first[axis]) in pairs for axis in (X, Y) for inner in laid.along[axis]):
            return False
        return all(self.ordered(sorted(each)) is not None for each in laid.along) and (
            self.mesh.split is None or self._splits(across, down, self.mesh.split)
        )

    def _splits(self, across: frozenset[int], down: frozenset[int], split: int) -> bool:
        """Whether the innermost `split` of all dimensions can be those along X and none along Y:
        the ones that have to lie inside the former, or outside the latter, have positions too.
        """
        number = len(self.mesh.axes)
        inner = inside(map(str, across), self._named)
        outer = outside(map(str, down), self._named)
        count = min(max(split, 0), number)
        return not inner & outer and len(inner) <= count and number - len(outer) >= count

    def ordered(self, dims: Sequence[int]) -> list[int] | None:
        """The dimensions in the given order, innermost first, changed only where constraints ask
        for it; None if they contradict each other.
        """
        left, found = list(dims), list[int]()
        while left:
            free = (
                each for each in left if not any((dim, each) in self.mesh.pairs for dim in left)
            )
            chosen = next(free, None)
            if chosen is None:
                return None
            left.remove(chosen)
            found.append(chosen)
        return found

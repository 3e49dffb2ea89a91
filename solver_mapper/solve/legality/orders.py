"""Constraints about order: which loops can stand together, and along which axis spatial loops lie.

A temporal order can always be found unless constraints contradict each other in a circle; positions
are modelled for circles only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from ortools.sat.python import cp_model

from solver_mapper.core.constraints import Kind, SplitConstraint
from solver_mapper.core.loop_orders import Pair
from solver_mapper.mapspace.order_patterns import circular
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.legality.loops import Loops

Guard = cp_model.IntVar | None
"""A literal under which a constraint holds; None: it always does."""


def enforce(constraint: cp_model.Constraint, *guards: Guard) -> None:
    """Let `constraint` hold while all of `guards` do."""
    constraint.only_enforce_if([guard for guard in guards if guard is not None])


@dataclass(frozen=True)
class Order:
    """Pairs (inner, outer) that one constraint fixes at a level."""

    level: int
    kind: Kind
    pairs: frozenset[Pair]
    guard: Guard


@dataclass(frozen=True)
class Split:
    """A split constraint of a level, and the literal under which it holds."""

    level: int
    constraint: SplitConstraint
    guard: Guard


@dataclass
class Orders:
    """`dims` are all dimensions of the problem: a split counts those without a loop too."""

    loops: Loops
    dims: tuple[str, ...]
    firsts: dict[int, dict[str, cp_model.IntVar]] = field(default_factory=dict)
    """For the number of a split, the dimensions at the innermost positions."""

    def build(self, orders: Sequence[Order], splits: Sequence[Split]) -> None:
        """Add all orders and splits to the model, level by level."""
        for level in sorted({slot.level for slot in self.loops.slots if slot.axis}):
            self._one_axis(level)
        for order in orders:
            if order.kind == "spatial":
                self._across_before_along(order)
        for number, split in enumerate(splits):
            self._split(
                number, split, [o for o in orders if (o.level, o.kind) == (split.level, "spatial")]
            )
        for level, kind in sorted({(order.level, order.kind) for order in orders}):
            self._positions(
                level,
                kind,
                [order for order in orders if (order.level, order.kind) == (level, kind)],
            )

    def _has(self, slot: Slot) -> bool:
        return slot in self.loops.slots

    def _one_axis(self, level: int) -> None:
        """A dimension has one spatial loop at a level: it lies along X or along Y."""
        if self._has(Slot(level, "X")) and self._has(Slot(level, "Y")):
            for dim in self.loops.dims:
                self.loops.model.add_at_most_one(
                    self.loops.used(dim, Slot(level, axis)) for axis in "XY"
                )

    def _across_before_along(self, order: Order) -> None:
        """Loops along X lie inside those along Y."""
        across, along = Slot(order.level, "X"), Slot(order.level, "Y")
        if self._has(across) and self._has(along):
            for inner, outer in self._known(order.pairs):
                clash = [~self.loops.used(inner, along), ~self.loops.used(outer, across)]
                enforce(self.loops.model.add_bool_or(clash), order.guard)

    def _known(self, pairs: Iterable[Pair]) -> list[Pair]:
        return sorted(
            pair for pair in pairs if pair[0] in self.loops.limits and pair[1] in self.loops.limits
        )

    def _split(self, number: int, split: Split, orders: Sequence[Order]) -> None:
        model = self.loops.model
        first = self.firsts[number] = {
            dim: model.new_bool_var(f"first[{split.level},{dim}]") for dim in self.dims
        }
        enforce(
            model.add(
                cp_model.LinearExpr.sum(list(first.values()))
                == min(split.constraint.split, len(self.dims))
            ),
            split.guard,
        )
        for order in orders:
            for inner, outer in sorted(order.pairs):
                enforce(model.add_bool_or([~first[outer], first[inner]]), order.guard)
        for dim in self.loops.dims:
            for axis, side in (("X", first[dim]), ("Y", ~first[dim])):
                if self._has(Slot(split.level, axis)):
                    enforce(
                        model.add_bool_or([~self.loops.used(dim, Slot(split.level, axis)), side]),
                        split.guard,
                    )

    def _positions(self, level: int, kind: Kind, orders: Sequence[Order]) -> None:
        """Constraints that together order loops in a circle exclude one of these loops."""
        model, dims = self.loops.model, self.loops.dims
        if not circular(dims, {pair for order in orders for pair in order.pairs}):
            return
        position = {
            dim: model.new_int_var(0, len(dims) - 1, f"position[{level},{kind},{dim}]")
            for dim in dims
        }
        slots = self.loops.at(level, kind)
        for order in orders:
            for inner, outer in self._known(order.pairs):
                for one, other in product(slots, slots):
                    both = (self.loops.used(inner, one), self.loops.used(outer, other))
                    enforce(model.add(position[inner] < position[outer]), *both, order.guard)

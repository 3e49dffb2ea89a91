"""Words moved, as amounts: what each pair of neighbouring holders of a tensor exchanges.

For a plain tensor T with perfect factors, and loops split into those that index it and those that
do not (docs/explanation/model.md):

    words into one instance of c     = |T| * refetch(c) / relevant spatial loops outside c words
    that one instance of O sends towards c = |T| * refetch(c) / relevant spatial loops outside O
    operands per instance of O, if the arithmetic is next = operations / (spatial loops outside O *
    irrelevant ones below O)

where refetch(c) is the product of the irrelevant temporal loops outside c that cost (see `reuse`).
Times the instances, the relevant spatial loops cancel. Everything is therefore a function of a few
exponents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import Shape, shape_of
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.linear_form import LinearForm, counter, total, weigh
from solver_mapper.solve.cpsat.links import linked
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import (
    ExponentAxis,
    LookupTable,
    Selection,
    Tuple,
    value_of,
)
from solver_mapper.solve.cpsat.variables import Variables, slots_where
from solver_mapper.solve.cpsat.windows import ComponentCounts


@dataclass(frozen=True)
class Rows:
    """A selection with, for each point, words per instance, instances in use, and the distinct
    words an instance ever sees.
    """

    selection: Selection
    words: tuple[int, ...]
    instances: tuple[int, ...]
    partition: tuple[int, ...]


class Counts:
    """Counts of one tensor. `parent` and `child` are level indices; a `child` equal to the number
    of levels is the arithmetic.
    """

    def __init__(
        self, variables: Variables, reuse: Reuse, components: ComponentCounts, tensor: Tensor
    ):
        self.variables, self.reuse, self.components, self.tensor = (
            variables,
            reuse,
            components,
            tensor,
        )
        self.linked = linked(variables, tensor)
        self.space = variables.space
        self.shape: Shape = shape_of(tensor, self.space.dims)
        bounds = self.space.problem.bounds
        self.plain_words = math.prod(bounds[d] for d in self.shape.plain)
        self.relevant = [d for d in self.space.dims if d in tensor.dims]
        self.irrelevant = [d for d in self.space.dims if d not in tensor.dims]

    @property
    def plain(self) -> bool:
        """Whether all counts are exact products of loop bounds."""
        return not self.shape.components

    def _spatial(self, *, below: int | None = None, above: int | None = None) -> list[Slot]:
        return slots_where(self.space, temporal=False, below=below, above=above)

    def _uncast(self, parent: int, child: int) -> list[Slot]:
        """Spatial slots between parent and child whose multicast is switched off."""
        return [
            s
            for s in self._spatial(below=parent, above=child)
            if self.space.has_flag("no_multicast", self.tensor.name, s.level)
        ]

    def footprint(self, level: int, on: cp_model.IntVar | None, limit: int | None) -> LinearForm:
        """Words of the tile that `level` holds; 0 where `on` does not hold. Tiles above `limit` are
        ruled out.
        """
        axes = self.variables.axes(
            self.variables.loop_slots(self.shape.plain, slots_where(self.space, below=level))
        )
        if self.plain:
            selection = self.variables.tables.select(
                axes,
                on,
                (lambda p: value_of(axes, p) <= limit) if limit is not None else None,
                name=("at most", limit),
            )
            return weigh(selection.literals, [value_of(axes, p) for p in selection.points])
        selection = self.variables.tables.select(axes, on)
        factors = [
            self.variables.tables.factor(
                LookupTable(selection, tuple(value_of(axes, p) for p in selection.points))
            )
        ]
        factors += [
            self.components.footprint(component, level) for component in self.shape.components
        ]
        return weigh([self.variables.tables.product(factors, on)], [1])

    def sent(self, parent: int, child: int, on: cp_model.IntVar | None) -> LinearForm:
        """Words that all instances of `parent` together send towards `child`; a lower bound where
        windows slide.
        """
        return total(
            self._sent(parent, child, literal, steady) for literal, steady in self._modes(child, on)
        )

    def _modes(
        self, child: int, on: cp_model.IntVar | None
    ) -> list[tuple[cp_model.IntVar | None, bool]]:
        """Literals that share `on`, each with whether operands stay while the tensor is idle.

        Buffers keep their tiles. Compute units do not, unless neighbours pass operands on: two
        modes.
        """
        if child < self.space.depth:
            return [(on, True)]
        if self.linked is None:
            return [(on, False)]
        model = self.variables.model
        stays, asks = model.new_bool_var(""), model.new_bool_var("")
        model.add(stays + asks == (1 if on is None else on))
        model.add(stays <= self.linked)
        model.add(asks <= 1 - self.linked)
        return [(stays, True), (asks, False)]

    def _sent(
        self, parent: int, child: int, on: cp_model.IntVar | None, steady: bool
    ) -> LinearForm:
        base, axes, divide = self._monomial(parent, child, steady)
        selection = self.variables.tables.select(axes, on)
        values = [
            base // value_of(axes, p) if divide else base * value_of(axes, p)
            for p in selection.points
        ]
        if self.plain:
            return weigh(selection.literals, values)
        factors = [self.variables.tables.factor(LookupTable(selection, tuple(values)))]
        factors += [
            self.components.sent(self.tensor, c, parent, child) for c in self.shape.components
        ]
        return weigh([self.variables.tables.product(factors, on)], [1])

    def _monomial(
        self, parent: int, child: int, steady: bool
    ) -> tuple[int, list[ExponentAxis], bool]:
        """(constant, axes, whether to divide): the part of `sent` that plain and irrelevant
        dimensions make up.
        """
        uncast = self._uncast(parent, child)
        if not steady:
            cast = [s for s in self._spatial(below=parent) if s not in uncast]
            axes = self.variables.axes(self.variables.loop_slots(self.irrelevant, cast))
            base = self.plain_words * math.prod(
                self.space.problem.bounds[d] for d in self.irrelevant
            )
            return base, axes, True
        also = self.variables.loop_slots(self.irrelevant, [*self._spatial(above=parent), *uncast])
        return self.plain_words, self.reuse.refetch_axes(self.tensor, child, also), False

    def filled(self, child: int, on: cp_model.IntVar | None) -> LinearForm:
        """Words that parents send into all instances of `child`; a lower bound for windows."""
        axes = self.reuse.refetch_axes(
            self.tensor,
            child,
            self.variables.loop_slots(self.irrelevant, self._spatial(above=child)),
        )
        selection = self.variables.tables.select(axes, on)
        values = tuple(self.plain_words * value_of(axes, p) for p in selection.points)
        if self.plain:
            return weigh(selection.literals, values)
        factors = [self.variables.tables.factor(LookupTable(selection, values))]
        factors += [self.components.filled(self.tensor, c, child) for c in self.shape.components]
        return weigh([self.variables.tables.product(factors, on)], [1])

    def again(self, level: int, on: cp_model.IntVar | None, moved: LinearForm) -> LinearForm:
        """Those of the `moved` partial sums that were written before, at least: first writes need
        no old value. The distinct words that the instances of `level` ever see, summed over
        instances (docs/explanation/model.md "Reads, fills, updates"), are written first, but no
        more than are moved.
        """
        axes = self.variables.axes(
            self.variables.loop_slots(self.irrelevant, self._spatial(above=level))
        )
        selection = self.variables.tables.select(axes, on)
        values = tuple(self.plain_words * value_of(axes, p) for p in selection.points)
        first: cp_model.LinearExprT = cp_model.LinearExpr.weighted_sum(selection.literals, values)
        if not self.plain:
            factors = [self.variables.tables.factor(LookupTable(selection, values))]
            factors += [
                self.components.held(component, level) for component in self.shape.components
            ]
            first = self.variables.tables.product(factors, on)
        again = counter(self.variables.model, math.floor(moved.highest()), "again")
        expr, constant = moved.whole(Fraction(1))
        self.variables.model.add(cp_model.LinearExpr.sum([again, first]) >= expr + constant)
        return weigh([again], [1])

    def rows(self, at: int, parent: int, child: int, on: cp_model.IntVar | None) -> list[Rows]:
        """Counts of a plain tensor per instance of level `at`, where `parent` and `child` exchange
        words; one entry per mode.

        `at` is `parent` for what is sent, `child` for what is filled.
        """
        return [
            self._rows(at, parent, child, literal, steady)
            for literal, steady in self._modes(child, on)
        ]

    def _rows(
        self, at: int, parent: int, child: int, on: cp_model.IntVar | None, steady: bool
    ) -> Rows:
        outside = self._spatial(above=at)
        relevant = self.variables.axes(self.variables.loop_slots(self.relevant, outside))
        irrelevant = self.variables.axes(self.variables.loop_slots(self.irrelevant, outside))
        uncast = self._uncast(parent, child) if at == parent else []
        if steady:
            moving = self.reuse.refetch_axes(
                self.tensor, child, self.variables.loop_slots(self.irrelevant, uncast)
            )
        else:
            cast = [s for s in self._spatial(below=parent) if s not in uncast]
            moving = self.variables.axes(self.variables.loop_slots(self.irrelevant, cast))
        axes, split = [*moving, *relevant, *irrelevant], (len(moving), len(moving) + len(relevant))
        operations = math.prod(self.space.problem.bounds[d] for d in self.space.dims)
        copied = math.prod(self.space.problem.bounds[d] for d in self.irrelevant)
        most = self.space.architecture.levels[at].instances

        def parts(point: Tuple) -> tuple[int, int, int]:
            return (
                value_of(moving, point[: split[0]]),
                value_of(relevant, point[split[0] : split[1]]),
                value_of(irrelevant, point[split[1] :]),
            )

        def possible(point: Tuple) -> bool:
            moved, shared, copies = parts(point)
            return (
                shared * copies <= most
                and self.plain_words % shared == 0
                and copied % (moved * copies) == 0
                and (steady or operations % (moved * shared * copies) == 0)
            )

        selection = self.variables.tables.select(
            axes, on, possible, name=("rows", steady, self.tensor.name)
        )
        words, instances, partition = [], [], []
        for point in selection.points:
            moved, shared, copies = parts(point)
            words.append(
                self.plain_words * moved // shared
                if steady
                else operations // (moved * shared * copies)
            )
            instances.append(shared * copies)
            partition.append(self.plain_words // shared)
        return Rows(selection, tuple(words), tuple(instances), tuple(partition))

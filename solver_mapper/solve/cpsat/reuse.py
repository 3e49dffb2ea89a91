"""Temporal reuse: how often a tile is fetched again although nothing relevant changed.

A tile into level c is fetched once for each iteration of the temporal loops outside c, except
across the innermost run of loops that do not index the tensor. `Reuse` expresses the product of
the irrelevant loops that do cost, as exponents: everything irrelevant outside c minus what the
order patterns spare. A pattern of an outer level spares only if no relevant loop stands in between.

So no loop is spared for a tensor unless the innermost loop outside c, at whatever level, leaves the
tensor alone. There is one such loop for all tensors. `Reuse.innermost` says so: no mapping is lost,
and the linear relaxation, which could spare a part for every tensor at every level, is tighter, the
more so the more levels there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.selection import ExponentAxis
from solver_mapper.solve.cpsat.variables import LoopSlot, Variables, slots_where


@dataclass
class Reuse:
    """Literals and spared exponents, made when first needed."""

    variables: Variables
    _idle: dict[tuple[frozenset[str], int], cp_model.IntVar] = field(default_factory=dict)
    _through: dict[tuple[frozenset[str], int, int], cp_model.IntVar] = field(default_factory=dict)
    _spared: dict[tuple[str, int], dict[int, list[cp_model.IntVar]]] = field(default_factory=dict)
    _innermost: dict[int, dict[str, cp_model.IntVar]] = field(default_factory=dict)
    _slides: dict[tuple[int, str], cp_model.IntVar] = field(default_factory=dict)

    def innermost(self, child: int, dims: Iterable[str]) -> cp_model.LinearExprT:
        """1 if the innermost temporal loop outside `child` is over one of `dims`, else 0."""
        if child not in self._innermost:
            model = self.variables.model
            literals = {
                dim: model.new_bool_var(f"innermost[{child},{dim}]")
                for dim in self.variables.space.dims
            }
            model.add_at_most_one(list(literals.values()))
            self._innermost[child] = literals
        return cp_model.LinearExpr.sum([self._innermost[child][dim] for dim in sorted(dims)])

    def slides(self, child: int, dim: str) -> cp_model.IntVar:
        """Implies that the innermost temporal loop outside `child` is over `dim`, at one of the
        levels where constraints admit that.
        """
        key = (child, dim)
        if key not in self._slides:
            variables, model = self.variables, self.variables.model
            literal = self._slides[key] = model.new_bool_var(f"slides[{child},{dim}]")
            model.add(literal <= self.innermost(child, [dim]))
            dims, places = frozenset(variables.space.dims), []
            for level in range(child):
                place = model.new_bool_var(f"innermost[{child},{dim},{level}]")
                places.append(place)
                model.add(place <= cp_model.LinearExpr.sum(variables.powers(dim, Slot(level))))
                for inner, outer in sorted(variables.space.temporal_orders.get(level, ())):
                    if outer == dim and inner in dims:
                        model.add_implication(place, self.idle(frozenset({inner}), level))
                through = self.through(dims - {dim}, level, child)
                if through is not None:
                    model.add_implication(place, through)
            model.add(literal <= cp_model.LinearExpr.sum(places))
        return self._slides[key]

    def idle(self, dims: frozenset[str], level: int) -> cp_model.IntVar:
        """Implies that no temporal loop of the level is over one of `dims`."""
        key = (dims, level)
        if key not in self._idle:
            model = self.variables.model
            literal = model.new_bool_var(f"idle[{level}]")
            powers = [
                v
                for (dim, _, slot), v in self.variables.power.items()
                if dim in dims and slot == Slot(level)
            ]
            for power in powers:
                model.add(power == 0).only_enforce_if(literal)
            self._idle[key] = literal
        return self._idle[key]

    def through(self, dims: frozenset[str], outer: int, child: int) -> cp_model.IntVar | None:
        """Implies that all levels strictly between `outer` and `child` are idle for `dims`; None if
        there are none.
        """
        between = range(outer + 1, child)
        if not between:
            return None
        if len(between) == 1:
            return self.idle(dims, between[0])
        key = (dims, outer, child)
        if key not in self._through:
            literal = self.variables.model.new_bool_var(f"through[{outer},{child}]")
            for level in between:
                self.variables.model.add_implication(literal, self.idle(dims, level))
            self._through[key] = literal
        return self._through[key]

    def spared(self, tensor: Tensor, child: int) -> dict[int, list[cp_model.IntVar]]:
        """Per prime, the exponents of irrelevant loops outside `child` that may cost nothing."""
        key = (tensor.name, child)
        if key not in self._spared:
            spared: dict[int, list[cp_model.IntVar]] = {}
            if not self.variables.space.has_flag(
                "no_temporal_reuse", tensor.name, child
            ) or self.relayed(tensor, child):
                for outer in range(child):
                    self._spare_level(tensor, outer, child, spared)
            self._spared[key] = spared
            self._limit(tensor, child, spared)
        return self._spared[key]

    def _limit(
        self, tensor: Tensor, child: int, spared: Mapping[int, list[cp_model.IntVar]]
    ) -> None:
        """What all levels spare together needs an innermost loop that leaves the tensor alone."""
        space = self.variables.space
        irrelevant = space.irrelevant(tensor)
        for prime, spares in spared.items():
            most = sum(dict(space.primes[dim]).get(prime, 0) for dim in irrelevant)
            self.variables.model.add(
                cp_model.LinearExpr.sum(spares) <= most * self.innermost(child, irrelevant)
            )

    def relayed(self, tensor: Tensor, child: int) -> bool:
        """Whether reuse into `child` is switched off, but neighbours there may feed each other in
        idle steps (docs/explanation/model.md "Links").

        How many of them do depends on the placement; sparing all that they ask for gives a lower
        bound.
        """
        space = self.variables.space
        spread = any(slot.level == child - 1 and slot.axis for slot in space.slots)
        return (
            space.has_flag("no_temporal_reuse", tensor.name, child)
            and spread
            and bool(space.irrelevant(tensor))
            and not space.has_flag("no_link_transfer", tensor.name, child - 1)
        )

    def _spare_level(
        self, tensor: Tensor, outer: int, child: int, spared: dict[int, list[cp_model.IntVar]]
    ) -> None:
        variables, space = self.variables, self.variables.space
        through = self.through(tensor.dims & frozenset(space.dims), outer, child)
        choices, literals = space.patterns[outer], variables.pattern[outer]
        groups: dict[frozenset[int], list[str]] = {}
        for dim in sorted(space.irrelevant(tensor)):
            sparing = frozenset(
                k for k, choice in enumerate(choices) if dim in choice.reused(tensor.name)
            )
            if sparing:
                groups.setdefault(sparing, []).append(dim)
        for sparing, dims in groups.items():
            chosen = cp_model.LinearExpr.sum([literals[k] for k in sorted(sparing)])
            for prime in variables.primes(dims):
                powers = [
                    variables.power[d, prime, Slot(outer)]
                    for d in dims
                    if (d, prime, Slot(outer)) in variables.power
                ]
                limit = sum(dict(space.primes[d]).get(prime, 0) for d in dims)
                spare = variables.model.new_int_var(
                    0, limit, f"spared[{tensor.name},{child},{outer},{prime}]"
                )
                variables.model.add(spare <= cp_model.LinearExpr.sum(powers))
                variables.model.add(spare <= limit * chosen)
                if through is not None:
                    variables.model.add(spare <= limit * through)
                spared.setdefault(prime, []).append(spare)

    def refetch_axes(
        self, tensor: Tensor, child: int, also: frozenset[LoopSlot] = frozenset()
    ) -> list[ExponentAxis]:
        """Exponents of the irrelevant temporal loops outside `child` that cost, times the loops at
        `also`.
        """
        variables, space = self.variables, self.variables.space
        irrelevant = space.irrelevant(tensor)
        loop_slots = (
            variables.loop_slots(irrelevant, slots_where(space, temporal=True, above=child)) | also
        )
        spared = self.spared(tensor, child)
        axes = []
        for axis in variables.axes(loop_slots):
            prime = _prime_of(axis)
            expr = cp_model.LinearExpr.weighted_sum(
                [axis.expr, *spared.get(prime, [])], [1] + [-1] * len(spared.get(prime, []))
            )
            axes.append(ExponentAxis((axis.key, tensor.name, child), expr, axis.limit))
        return axes


def _prime_of(axis: ExponentAxis) -> int:
    key = axis.key
    assert isinstance(key, tuple)
    return int(key[0])

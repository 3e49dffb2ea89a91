"""The decisions: prime exponents per slot, order patterns, keep flags, spatial axes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from ortools.sat.python import cp_model

from solver_mapper.core.loop_orders import Pair
from solver_mapper.core.primes import exponents_of
from solver_mapper.mapspace.order_patterns import circular
from solver_mapper.mapspace.space import Slot, Space
from solver_mapper.solve.cpsat.selection import ExponentAxis, Tables

LoopSlot = tuple[str, Slot]
"""A dimension's loops at one slot."""


@dataclass
class Variables:
    """The decision variables of a space.

    `power[dim, prime, slot]` is the exponent of `prime` in the bound of `dim` at `slot`;
    `pattern[level][k]` chooses the level's temporal order; `keep[tensor, level]` says whether the
    level holds the tensor; `on_x[level, dim]` which axis a spatial loop takes where both are
    possible.
    """

    space: Space
    model: cp_model.CpModel
    tables: Tables
    power: dict[tuple[str, int, Slot], cp_model.IntVar] = field(default_factory=dict)
    pattern: list[list[cp_model.IntVar]] = field(default_factory=list)
    keep: dict[tuple[str, int], cp_model.IntVar] = field(default_factory=dict)
    on_x: dict[tuple[int, str], cp_model.IntVar] = field(default_factory=dict)
    used: dict[LoopSlot, cp_model.IntVar] = field(default_factory=dict)

    def primes(self, dims: Iterable[str]) -> list[int]:
        """The primes of the bounds of `dims`, rising."""
        return sorted({prime for dim in dims for prime, _ in self.space.primes[dim]})

    def powers(self, dim: str, slot: Slot) -> list[cp_model.IntVar]:
        """The exponents of all primes in the bound of `dim` at a slot."""
        return [
            self.power[dim, prime, slot]
            for prime, _ in self.space.primes[dim]
            if (dim, prime, slot) in self.power
        ]

    def loop_slots(self, dims: Iterable[str], slots: Iterable[Slot]) -> frozenset[LoopSlot]:
        """Every pair of a dimension and a slot."""
        slots = tuple(slots)
        return frozenset((dim, slot) for dim in dims for slot in slots)

    def axes(self, loop_slots: frozenset[LoopSlot]) -> list[ExponentAxis]:
        """One axis per prime: its total exponent over `loop_slots`. The limits allow for what each
        slot can hold at most.
        """
        axes = []
        for prime in self.primes({dim for dim, _ in loop_slots}):
            rooms: dict[str, int] = {}
            terms = []
            for dim, slot in sorted(loop_slots):
                room = highest(self.space, dim, prime, slot)
                if room:
                    terms.append(self.power[dim, prime, slot])
                    rooms[dim] = min(rooms.get(dim, 0) + room, dict(self.space.primes[dim])[prime])
            limit = sum(rooms.values())
            if limit:
                axes.append(
                    ExponentAxis((prime, loop_slots), cp_model.LinearExpr.sum(terms), limit)
                )
        return axes

    def fixed_keep(self, tensor: str, level: int) -> bool | None:
        """Whether the tensor is kept, where that is decided beforehand."""
        return self.space.keep.get((tensor, level))


def slots_where(
    space: Space,
    *,
    temporal: bool | None = None,
    below: int | None = None,
    above: int | None = None,
) -> list[Slot]:
    """Slots of one sort: `temporal` or spatial (None: both), at levels of at least `below`, at
    levels less than `above`.
    """
    return [
        slot
        for slot in space.slots
        if (temporal is None or (slot.axis == "") == temporal)
        and (below is None or slot.level >= below)
        and (above is None or slot.level < above)
    ]


def highest(space: Space, dim: str, prime: int, slot: Slot) -> int:
    """The largest exponent that multiplicity, fanout and constraints leave to `prime` in the bound
    of `dim` at `slot`.
    """
    room = dict(space.primes[dim]).get(prime, 0)
    if slot.axis:
        units = space.architecture.fanout(slot.level)[slot.axis == "Y"]
        while prime**room > units:
            room -= 1
    allowed = space.factors.get((slot.level, "spatial" if slot.axis else "temporal", dim))
    if allowed is not None:
        while room and not any(value % prime**room == 0 for value in allowed):
            room -= 1
    return room


def declare(space: Space) -> Variables:
    """Create the decision variables, and everything that constraints say about factors, orders,
    splits and bypass.
    """
    model = cp_model.CpModel()
    variables = Variables(space, model, Tables(model))
    _powers(variables)
    _factors(variables)
    _patterns(variables)
    _axes(variables)
    _circles(variables)
    if space.empty:
        model.add_bool_or([])
    for tensor in space.problem.tensor_names:
        for level in range(space.depth):
            fixed = variables.fixed_keep(tensor, level)
            low, high = (0, 1) if fixed is None else (int(fixed), int(fixed))
            variables.keep[tensor, level] = model.new_int_var(low, high, f"keep[{tensor},{level}]")
    return variables


def _powers(variables: Variables) -> None:
    space, model = variables.space, variables.model
    for dim in space.dims:
        for prime, count in space.primes[dim]:
            for slot in space.slots:
                name = f"power[{dim},{prime},{slot.level}{slot.axis or 'T'}]"
                variables.power[dim, prime, slot] = model.new_int_var(
                    0, highest(space, dim, prime, slot), name
                )
            model.add(
                cp_model.LinearExpr.sum([variables.power[dim, prime, slot] for slot in space.slots])
                == count
            )


def _factors(variables: Variables) -> None:
    """Bounds that constraints leave, as the table of their exponents. No bound left means no
    mapping.
    """
    space, model = variables.space, variables.model
    for (level, kind, dim), allowed in sorted(space.factors.items()):
        if dim not in space.dims:
            if 1 not in allowed:
                model.add_bool_or([])
            continue
        primes = tuple(prime for prime, _ in space.primes[dim])
        slots = [
            s for s in space.slots if s.level == level and (s.axis == "") == (kind == "temporal")
        ]
        rows = [
            powers
            for value in sorted(allowed)
            if (powers := exponents_of(value, primes)) is not None
        ]
        if not slots:
            if 1 not in allowed:
                model.add_bool_or([])
            continue
        sums = [
            cp_model.LinearExpr.sum([variables.power[dim, prime, slot] for slot in slots])
            for prime in primes
        ]
        if rows:
            model.add_allowed_assignments(sums, rows)
        else:
            model.add_bool_or([])


def _patterns(variables: Variables) -> None:
    space, model = variables.space, variables.model
    for level, choices in enumerate(space.patterns):
        literals = [model.new_bool_var(f"pattern[{level},{k}]") for k in range(len(choices))]
        model.add_exactly_one(literals)
        variables.pattern.append(literals)
        for literal, choice in zip(literals, choices, strict=True):
            for dim in sorted(choice.unit):
                for prime, _ in space.primes[dim]:
                    model.add(variables.power[dim, prime, Slot(level)] == 0).only_enforce_if(
                        literal
                    )


def _axes(variables: Variables) -> None:
    """A dimension's spatial loop at a level lies on one axis, as order and splits allow."""
    space, model = variables.space, variables.model
    for level in range(space.depth):
        splits, pairs = (
            sorted(space.splits.get(level, ())),
            space.spatial_orders.get(level, frozenset()),
        )
        if not splits and not {Slot(level, "X"), Slot(level, "Y")} <= set(space.slots):
            continue
        variables.on_x.update(
            {(level, dim): model.new_bool_var(f"on_x[{level},{dim}]") for dim in space.dims}
        )
        _lie(variables, level, {dim: variables.on_x[level, dim] for dim in space.dims})
        if not splits:
            _across_before_along(variables, level, pairs)
        for number, split in enumerate(splits):
            own = {dim: variables.on_x[level, dim] for dim in space.dims} if number == 0 else {}
            _split(variables, level, split, pairs, own)


def _lie(variables: Variables, level: int, on_x: Mapping[str, cp_model.IntVar]) -> None:
    for dim, literal in on_x.items():
        for prime, limit in variables.space.primes[dim]:
            for name, allowed in (("X", literal), ("Y", 1 - literal)):
                power = variables.power.get((dim, prime, Slot(level, name)))
                if power is not None:
                    variables.model.add(power <= limit * allowed)


def _split(
    variables: Variables,
    level: int,
    split: int,
    pairs: Collection[Pair],
    first: Mapping[str, cp_model.IntVar],
) -> None:
    """The innermost `split` positions lie along X; dimensions without a loop fill positions too.
    `first` are literals that say so of a dimension, where there are any.
    """
    model, dims = variables.model, variables.space.problem.dims
    literals = {
        dim: first[dim] if dim in first else model.new_bool_var(f"first[{level},{split},{dim}]")
        for dim in dims
    }
    _lie(variables, level, {dim: literals[dim] for dim in variables.space.dims if dim not in first})
    model.add(cp_model.LinearExpr.sum(list(literals.values())) == min(split, len(dims)))
    for inner, outer in sorted(pairs):
        model.add_implication(literals[outer], literals[inner])


def _across_before_along(variables: Variables, level: int, pairs: Collection[Pair]) -> None:
    """Loops along X lie inside those along Y, so no loop that must be outside another may be on X
    while that is on Y.
    """
    model = variables.model
    for inner, outer in sorted(pairs):
        if inner in variables.space.dims and outer in variables.space.dims:
            model.add_bool_or(
                [
                    ~_used(variables, inner, Slot(level, "Y")),
                    ~_used(variables, outer, Slot(level, "X")),
                ]
            )


def _circles(variables: Variables) -> None:
    """Where constraints order loops in a circle, not all of them can be there. Elsewhere an order
    always exists.
    """
    space, model = variables.space, variables.model
    for kind, orders in (("temporal", space.temporal_orders), ("spatial", space.spatial_orders)):
        for level, pairs in sorted(orders.items()):
            if not circular(space.dims, pairs):
                continue
            position = {
                dim: model.new_int_var(0, len(space.dims) - 1, f"position[{level},{kind},{dim}]")
                for dim in space.dims
            }
            slots = [
                slot
                for slot in space.slots
                if slot.level == level and (slot.axis == "") == (kind == "temporal")
            ]
            for inner, outer in sorted(pairs):
                if inner in position and outer in position:
                    both = [_used(variables, dim, slot) for dim in (inner, outer) for slot in slots]
                    for one, other in product(both[: len(slots)], both[len(slots) :]):
                        model.add(position[inner] < position[outer]).only_enforce_if(one, other)


def _used(variables: Variables, dim: str, slot: Slot) -> cp_model.IntVar:
    """A literal that holds wherever `dim` has a loop at `slot`."""
    key = (dim, slot)
    if key not in variables.used:
        literal = variables.used[key] = variables.model.new_bool_var(
            f"used[{dim},{slot.level}{slot.axis or 'T'}]"
        )
        for prime, limit in variables.space.primes[dim]:
            power = variables.power.get((dim, prime, slot))
            if power is not None:
                variables.model.add(power <= limit * literal)
    return variables.used[key]


def break_symmetries(variables: Variables, symmetries: list[tuple[tuple[str, str], ...]]) -> None:
    """Keep one of each pair of twin mappings: the one whose first swapped dimension has the larger
    code over its slots.
    """
    space = variables.space
    for (first, second), *_ in symmetries:
        codes = []
        for dim in (first, second):
            terms, weights, weight = [], [], 1
            for prime, count in space.primes[dim]:
                for slot in space.slots:
                    terms.append(variables.power[dim, prime, slot])
                    weights.append(weight)
                    weight *= count + 1
            codes.append(cp_model.LinearExpr.weighted_sum(terms, weights))
        if weight < 1 << 40:
            variables.model.add(codes[0] >= codes[1])

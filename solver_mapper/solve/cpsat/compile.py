"""The whole model: decisions, what fits, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from ortools.sat.python import cp_model

from solver_mapper.core.architecture import Buffer
from solver_mapper.core.constraints import HOLDS
from solver_mapper.core.problem import Tensor
from solver_mapper.cost.timeloop.energy import leakage
from solver_mapper.mapspace.space import Space
from solver_mapper.solve.cpsat.counts import Counts, Rows
from solver_mapper.solve.cpsat.engine import LARGEST
from solver_mapper.solve.cpsat.linear_form import LinearForm, counter, highest, total, weigh
from solver_mapper.solve.cpsat.networks import NetworkEntries
from solver_mapper.solve.cpsat.reuse import Reuse
from solver_mapper.solve.cpsat.selection import ExponentAxis, LookupTable, Tuple, value_of
from solver_mapper.solve.cpsat.variables import Variables, declare, slots_where
from solver_mapper.solve.cpsat.windows import ComponentCounts

NOTHING = Fraction(0)
MOST_CYCLES = 2**50
"""More cycles than that are counted in coarser units, so that sums stay within the solver's 64
bits.
"""
Literal = cp_model.IntVar | None
"""None stands for a literal that always holds."""


@dataclass
class CompiledSpace:
    """A space as a CP-SAT model. Metrics never exceed the exact figures; `exact` tells whether they
    equal them everywhere.

    `steps` are the products of all temporal bounds, with the networks' latency; `cycles`, counted
    in units of `unit`, may exceed them only if some level has a bandwidth.
    """

    variables: Variables
    steps: LookupTable
    cycles: cp_model.IntVar
    energy: LinearForm = field(default_factory=LinearForm)
    last_level: LinearForm = field(default_factory=LinearForm)
    exact: bool = True
    unit: int = 1
    pairs: dict[tuple[str, int, int], Literal] = field(default_factory=dict)

    @property
    def model(self) -> cp_model.CpModel:
        """The CP-SAT model."""
        return self.variables.model


def compile_space(space: Space) -> CompiledSpace:
    """Compile factors, orders, bypass, capacities, meshes and bandwidths, with energy, cycles and
    outermost accesses.
    """
    variables = declare(space)
    reuse = Reuse(variables)
    components = ComponentCounts(variables, reuse)
    _fanouts(variables)
    _products(variables)
    unit = max(1, -(-(_slowest(space) + space.latency) // MOST_CYCLES))
    compiled = CompiledSpace(variables, *_steps(variables, unit), unit=unit)
    entries = NetworkEntries(space.architecture)
    compiled.exact = entries.complete and not any(map(_uneven, space.architecture.levels))
    levels: dict[int, list[LinearForm]] = {level: [] for level in range(space.depth)}
    reads: dict[int, list[LinearForm]] = {level: [] for level in range(space.depth)}
    writes: dict[int, list[LinearForm]] = {level: [] for level in range(space.depth)}
    for tensor in space.problem.tensors:
        counts = Counts(variables, reuse, components, tensor)
        compiled.exact &= counts.plain and counts.linked is None
        compiled.exact &= not any(reuse.relayed(tensor, child) for child in range(1, space.depth))
        _footprints(compiled, counts, levels)
        _TensorCost(compiled, counts, entries, reads, writes).compile()
    for level, buffer in enumerate(space.architecture.levels):
        _capacity(variables, buffer, total(levels[level]))
        _bandwidth(compiled, buffer, total(reads[level]), total(writes[level]))
    operations = Fraction(space.problem.macs * space.architecture.arithmetic.energy)
    leaking = weigh([compiled.cycles], [leakage(space.architecture) * unit])
    compiled.energy = total([compiled.energy, LinearForm(constant=operations), leaking])
    return compiled


def _uneven(buffer: Buffer) -> bool:
    """Whether a level takes more for its words than the average over all of them: it rounds them to
    blocks or clusters, or waits for an instance that has more than others.
    """
    limits = buffer.read_bandwidth, buffer.write_bandwidth, buffer.shared_bandwidth
    return buffer.block_size > 1 or buffer.cluster_size > 1 or limits != (None, None, None)


def _fanouts(variables: Variables) -> None:
    """The loops along each axis of each level fit the units there."""
    space = variables.space
    for slot in space.slots:
        if slot.axis:
            room = space.architecture.fanout(slot.level)[slot.axis == "Y"]
            axes = variables.axes(variables.loop_slots(space.dims, [slot]))
            fits = partial(_fits, axes, room)
            variables.tables.select(axes, None, fits, name=("fanout", slot))


def _fits(axes: list[ExponentAxis], room: int, point: Tuple) -> bool:
    return value_of(axes, point) <= room


def _products(variables: Variables) -> None:
    """Limits on the product of loops of several levels or dimensions."""
    space = variables.space
    for number, constraint in enumerate(space.products):
        axes, holds = variables.axes(space.loop_slots_of(constraint)), HOLDS[constraint.comparison]
        variables.tables.select(
            axes,
            None,
            lambda p, a=axes, h=holds, r=constraint: h(value_of(a, p), r.value),  # type: ignore[misc]
            name=("product", number),
        )


def _steps(variables: Variables, unit: int) -> tuple[LookupTable, cp_model.IntVar]:
    """Cycles: at least the product of all temporal bounds. Enforces the least utilization."""
    space, model = variables.space, variables.model
    slots = slots_where(space, temporal=False)
    axes = variables.axes(variables.loop_slots(space.dims, slots))
    units = math.prod(space.architecture.fanout(slot.level)[slot.axis == "Y"] for slot in slots)
    macs = space.problem.macs

    def possible(point: tuple[int, ...]) -> bool:
        used = value_of(axes, point)
        return used <= units and used >= space.least_utilization * units and macs % used == 0

    selection = variables.tables.select(axes, None, possible, name="steps")
    values = [macs // value_of(axes, point) + space.latency for point in selection.points]
    cycles = counter(
        model,
        (_slowest(space) + space.latency) // unit,
        "cycles",
        least=min(values, default=0) // unit,
    )
    model.add(
        cycles
        >= cp_model.LinearExpr.weighted_sum(selection.literals, [value // unit for value in values])
    )
    return LookupTable(selection, tuple(values)), cycles


def _slowest(space: Space) -> int:
    """More cycles than any mapping can take: every operation moves every tensor in and out of the
    slowest port.
    """
    slowest = max(
        [Fraction(1)]
        + [
            3
            * sum(_words_per_operation(space, tensor) for tensor in space.problem.tensors)
            / bandwidth
            for b in space.architecture.levels
            for bandwidth in (b.read_bandwidth, b.write_bandwidth, b.shared_bandwidth)
            if bandwidth
        ]
    )
    return math.ceil(space.problem.macs * slowest)


def _words_per_operation(space: Space, tensor: Tensor) -> int:
    """At least the words of a tile over the operations inside it: a rank spans at most the sum of
    its coefficients times its longest dimension, and a dimension that several ranks use counts in
    each."""
    words = math.prod(sum(abs(term.coefficient) for term in rank) or 1 for rank in tensor.ranks)
    again = [term.dim for rank in tensor.ranks for term in rank]
    for dim in tensor.dims:
        again.remove(dim)
    return words * math.prod(space.problem.bounds[dim] for dim in again)


def _footprints(
    compiled: CompiledSpace, counts: Counts, levels: dict[int, list[LinearForm]]
) -> None:
    space, variables, name = counts.space, compiled.variables, counts.tensor.name
    for level, buffer in enumerate(space.architecture.levels):
        fixed = variables.fixed_keep(name, level)
        if buffer.capacity is None or fixed is False:
            continue
        on = None if fixed else variables.keep[name, level]
        levels[level].append(counts.footprint(level, on, buffer.capacity))


def _capacity(variables: Variables, buffer: Buffer, used: LinearForm) -> None:
    if buffer.capacity is None:
        return
    expr, constant = used.whole(Fraction(1))
    variables.model.add(expr + constant <= min(buffer.capacity, LARGEST))
    if buffer.min_utilization:
        variables.model.add(expr + constant >= math.ceil(buffer.capacity * buffer.min_utilization))


def _bandwidth(
    compiled: CompiledSpace, buffer: Buffer, reads: LinearForm, writes: LinearForm
) -> None:
    """Cycles of a level: at least its words per instance over its bandwidth
    (docs/explanation/model.md "Networks, energy, cycles").
    """
    both = reads + writes
    for words, bandwidth in (
        (reads, buffer.read_bandwidth),
        (writes, buffer.write_bandwidth),
        (both, buffer.shared_bandwidth),
    ):
        if bandwidth is not None and words.terms:
            demand = words * (1 / (bandwidth * compiled.unit))
            scale = min(demand.scale(), Fraction(2**60, max(1, highest(compiled.cycles))))
            scale = max(Fraction(math.floor(scale)), min(scale, Fraction(1)))
            expr, constant = demand.whole(scale)
            waiting = Fraction(compiled.variables.space.latency, compiled.unit)
            compiled.model.add(
                math.ceil(scale) * compiled.cycles - math.floor(scale * waiting) >= expr + constant
            )


@dataclass
class _TensorCost:
    """What one tensor adds to energy, bandwidth needs and outermost accesses."""

    compiled: CompiledSpace
    counts: Counts
    entries: NetworkEntries
    reads: dict[int, list[LinearForm]]
    writes: dict[int, list[LinearForm]]

    @property
    def tensor(self) -> Tensor:
        return self.counts.tensor

    def compile(self) -> None:
        depth = self.counts.space.depth
        self._pairs()
        for (name, parent, child), on in list(self.compiled.pairs.items()):
            if name == self.tensor.name:
                self._parent_side(parent, child, on)
                self._spend(self.entries.energy(self.counts, parent, child, on))
        for child in range(1, depth):
            fed = self._fed(child)
            if fed is not False:
                self._child_side(child, fed)

    def _pairs(self) -> None:
        """A literal for each pair of consecutive holders (parent, child); the arithmetic is the
        last child.

        Holders form a path: each is left once, and entered once unless it is the first. A level
        that holds the tensor is skipped by no pair.
        """
        variables, model, depth = (
            self.compiled.variables,
            self.compiled.model,
            self.counts.space.depth,
        )
        name = self.tensor.name
        fixed = [variables.fixed_keep(name, level) for level in range(depth)] + [True]
        one = model.new_constant(1)
        keep = [variables.keep[name, level] for level in range(depth)] + [one]
        into: dict[int, list[cp_model.IntVar]] = {child: [] for child in range(depth + 1)}
        out: dict[int, list[cp_model.IntVar]] = {parent: [] for parent in range(depth)}
        over: dict[int, list[cp_model.IntVar]] = {level: [] for level in range(depth)}
        for parent in range(depth):
            for child in range(parent + 1, depth + 1):
                between = range(parent + 1, child)
                if (
                    fixed[parent] is False
                    or fixed[child] is False
                    or any(fixed[k] for k in between)
                ):
                    continue
                if fixed[parent] and fixed[child] and all(fixed[k] is False for k in between):
                    self.compiled.pairs[name, parent, child] = None
                    literal = one
                else:
                    literal = model.new_bool_var(f"pair[{name},{parent},{child}]")
                    self.compiled.pairs[name, parent, child] = literal
                into[child].append(literal)
                out[parent].append(literal)
                for k in between:
                    over[k].append(literal)
        model.add(cp_model.LinearExpr.sum(into[depth]) == 1)
        for level in range(depth):
            if fixed[level] is not False:
                model.add(cp_model.LinearExpr.sum(out[level]) == keep[level])
                model.add(cp_model.LinearExpr.sum(over[level]) <= 1 - keep[level])
            if level and fixed[level] is not False:
                entered = cp_model.LinearExpr.sum(into[level])
                model.add(entered == keep[level] if fixed[0] else entered <= keep[level])

    def _fed(self, child: int) -> Literal | bool:
        """The literal "some level above feeds `child`"; False if that cannot be."""
        pairs = [
            on
            for (name, _, c), on in self.compiled.pairs.items()
            if name == self.tensor.name and c == child
        ]
        if not pairs:
            return False
        if any(on is None for on in pairs):
            return None
        fixed_top = self.compiled.variables.fixed_keep(self.tensor.name, 0)
        if fixed_top:
            return self.compiled.variables.keep[self.tensor.name, child]
        literal = self.compiled.model.new_bool_var(f"fed[{self.tensor.name},{child}]")
        self.compiled.model.add(
            cp_model.LinearExpr.sum([on for on in pairs if on is not None]) == literal
        )
        return literal

    def _parent_side(self, parent: int, child: int, on: Literal) -> None:
        """Words that a level reads and updates for the next holder. Those that neighbours read of
        each other are left out: a lower bound. Of partial sums no addresses are generated when they
        are read.
        """
        buffer = self.counts.space.architecture.levels[parent]
        price, address = buffer.energy, buffer.address_price * buffer.block_size
        if self.counts.plain and buffer.cluster_size > 1:
            for rows in self.counts.rows(parent, parent, child, on):
                self._send_rows(parent, rows)
            return
        reads, updates = self.counts.sent(parent, child, on), LinearForm()
        if self.tensor.read_write:
            reads, updates = self.counts.again(parent, on, reads), reads
            self._charge(parent, updates, price.update, address)
            self._charge(parent, reads, price.read)
        else:
            self._charge(parent, reads, price.read, address)
        if parent == 0:
            self.compiled.last_level += reads + updates
        share = Fraction(1, buffer.instances)
        self.reads[parent].append(reads * share)
        self.writes[parent].append(updates * share)

    def _charge(
        self, level: int, words: LinearForm, price: Fraction, address: Fraction = NOTHING
    ) -> None:
        """Energy of at least so many words: `price` for each access to a block, of which the last
        may not be full, and `address` for each block's worth of words. Where a word costs less than
        nothing, more words may cost less: then as many are charged as there can be.
        """
        buffer = self.counts.space.architecture.levels[level]
        share = buffer.least_share / buffer.block_size
        if price + address < 0 and not self.compiled.exact:
            words = LinearForm(constant=Fraction(words.highest()))
        if buffer.block_size > 1 and words.terms and min(price, address) >= 0:
            self._spend(self._accesses(level, words) * price + words * address * share)
        else:
            self._spend(words * (price + address) * share)

    def _accesses(self, level: int, words: LinearForm) -> LinearForm:
        """Accesses to whole blocks, at least: each unit in use takes its share of the words, those
        of a cluster at once.
        """
        buffer, model = self.counts.space.architecture.levels[level], self.compiled.model
        most = -(-words.highest() // buffer.block_size) + buffer.instances
        accesses, each = counter(model, most, "accesses"), counter(model, most, "each")
        expr, constant = words.whole(Fraction(1))
        everything = max(words.highest(), 1)  # a larger block is filled as little as one of these

        def filled(blocks: int) -> int:
            return min(buffer.block_size * blocks, everything)

        if buffer.clusters:
            sharing = -(-buffer.instances // buffer.clusters)
            model.add(filled(sharing) * accesses >= expr + constant)
        for literal, count in self._units(level):
            model.add(filled(count) * each >= expr + constant).only_enforce_if(literal)
            paying = min(count, buffer.clusters)
            model.add(accesses >= paying * each).only_enforce_if(literal)
        return weigh([accesses], [1])

    def _units(self, level: int) -> list[tuple[cp_model.IntVar, int]]:
        """Numbers of instances of a level in use, each with a literal; one of these holds."""
        space, variables = self.counts.space, self.compiled.variables
        instances = space.architecture.levels[level].instances
        axes = variables.axes(
            variables.loop_slots(space.dims, slots_where(space, temporal=False, above=level))
        )
        units = variables.tables.select(
            axes, None, lambda point: value_of(axes, point) <= instances, name=("units", level)
        )
        return [
            (literal, value_of(axes, point))
            for literal, point in zip(units.literals, units.points, strict=True)
        ]

    def _send_rows(self, parent: int, rows: Rows) -> None:
        buffer = self.counts.space.architecture.levels[parent]
        price, address = buffer.energy, buffer.address_price * buffer.block_size
        updates, reads = [0] * len(rows.words), list(rows.words)
        if self.tensor.read_write:
            updates, reads = reads, [w - p for w, p in zip(rows.words, rows.partition, strict=True)]
        by_read, by_update = (
            (Fraction(0), address) if self.tensor.read_write else (address, Fraction(0))
        )
        self._pay(buffer, rows, [(reads, price.read, by_read), (updates, price.update, by_update)])
        self.reads[parent].append(weigh(rows.selection.literals, reads))
        self.writes[parent].append(weigh(rows.selection.literals, updates))
        if parent == 0:
            moved = [(r + u) * i for r, u, i in zip(reads, updates, rows.instances, strict=True)]
            self.compiled.last_level += weigh(rows.selection.literals, moved)

    def _child_side(self, child: int, on: Literal | bool) -> None:
        assert on is not True and on is not False
        buffer = self.counts.space.architecture.levels[child]
        price, address = buffer.energy, buffer.address_price * buffer.block_size
        if self.counts.plain and buffer.cluster_size > 1:
            rows = self.counts.rows(child, -1, child, on)[0]
            fills = (
                [w - p for w, p in zip(rows.words, rows.partition, strict=True)]
                if self.tensor.read_write
                else list(rows.words)
            )
            self._pay(buffer, rows, [(fills, price.fill, address)])
            self.writes[child].append(weigh(rows.selection.literals, fills))
            return
        filled = self.counts.filled(child, on)
        if self.tensor.read_write:
            filled = self.counts.again(child, on, filled)
        self._charge(child, filled, price.fill, address)
        self.writes[child].append(filled * Fraction(1, buffer.instances))

    def _pay(
        self, buffer: Buffer, rows: Rows, kinds: list[tuple[list[int], Fraction, Fraction]]
    ) -> None:
        """Energy of whole blocks and shared clusters, point by point."""
        weights = []
        for i, used in enumerate(rows.instances):
            each = Fraction(0)
            for words, price, address in kinds:
                each += (
                    -(-words[i] // buffer.block_size) * price
                    + words[i] * address / buffer.block_size
                )
            weights.append(each * min(used, buffer.clusters))
        self._spend(weigh(rows.selection.literals, weights))

    def _spend(self, energy: LinearForm) -> None:
        self.compiled.energy += energy

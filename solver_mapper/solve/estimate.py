"""What a mapping costs, roughly but quickly: for local search, which looks at thousands of mappings
and evaluates the best ones exactly.

A `Sketch` is a mapping in numbers that steps change in place. `Estimate` counts words as for
tensors without windows (docs/explanation/proof.md "Counts"), with two approximations for windows: a
loop that slides them right outside a buffer fetches only what is new, and side by side they are
multicast as one. Networks and rounding are left out. Nothing is claimed of an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as Mapped
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.cost.timeloop.energy import leakage, prices
from solver_mapper.mapspace.space import Space

Loops = list[list[tuple[int, int]]]
"""For each level its temporal loops of bound above 1, innermost first: dimension and bound."""


@dataclass
class Sketch:
    """`factors[slot][dim]` are loop bounds, `orders[level]` all dimensions, innermost first, and
    `keep[tensor][level]` says who stores what. Slots, dimensions and tensors go by their numbers.
    """

    factors: list[list[int]]
    orders: list[list[int]]
    keep: list[list[bool]]


@dataclass(frozen=True)
class _Rates:
    """Energy in pJ of a word that is read, filled, updated at a level."""

    read: float
    fill: float
    update: float


class Estimate:
    """Estimates a goal over one space within limits."""

    def __init__(self, space: Space, goal: Goal, limits: Sequence[Limit] = ()):
        self.space, self.goal = space, goal
        self.limits = [(limit.goal, limit.above) for limit in limits]
        problem, levels = space.problem, space.architecture.levels
        number = {dim: index for index, dim in enumerate(space.dims)}
        self.ranks = [
            [
                found
                for rank in tensor.ranks
                if (
                    found := [
                        (number[term.dim], abs(term.coefficient))
                        for term in rank
                        if term.dim in number and term.coefficient
                    ]
                )
            ]
            for tensor in problem.tensors
        ]
        self.relevant = [[dim in tensor.dims for dim in space.dims] for tensor in problem.tensors]
        self.written = [tensor.read_write for tensor in problem.tensors]
        self.rates = []
        for level in levels:
            price = prices(level)
            share = float(level.least_share / price.unit)
            read, fill, update = (
                (each / price.block) * share for each in (price.read, price.fill, price.update)
            )
            address = price.address * share
            self.rates.append(_Rates(read + address, fill + address, update + address))
        self.leak = float(leakage(space.architecture))
        self.fixed = float(problem.macs * space.architecture.arithmetic.energy)
        self.words = [
            self._tile(tensor, [problem.bounds[dim] for dim in space.dims])
            for tensor in range(len(problem.tensors))
        ]

    @cached_property
    def slots(self) -> dict[tuple[int, str], int]:
        """The number of each slot, by level and axis."""
        return {(slot.level, slot.axis): index for index, slot in enumerate(self.space.slots)}

    def sketch(self, mapping: Mapping) -> Sketch:
        """A mapping of the space in numbers."""
        space = self.space
        number = {dim: index for index, dim in enumerate(space.dims)}
        factors = [[1] * len(space.dims) for _ in space.slots]
        orders = []
        for index, level in enumerate(mapping.levels):
            inner = [number[each.dim] for each in reversed(level.temporal) if each.dim in number]
            orders.append([*inner, *(dim for dim in range(len(space.dims)) if dim not in inner)])
            for each in (*level.temporal, *level.spatial):
                if each.bound > 1:
                    factors[self.slots[index, each.axis]][number[each.dim]] *= each.bound
        keep = [
            [name in level.keep for level in mapping.levels] for name in space.problem.tensor_names
        ]
        return Sketch(factors, orders, keep)

    def rank(self, sketch: Sketch) -> float:
        """The goal's estimated rank; infinite if tiles do not fit, nobody stores a tensor, or the
        mapping seems not to be within the limits.
        """
        space = self.space
        if not all(map(any, sketch.keep)):
            return math.inf
        inside = [[1] * len(space.dims)]
        spread = []
        for level in reversed(range(space.depth)):
            spatial = self._spatial(sketch, level)
            spread.append(spatial)
            temporal = sketch.factors[self.slots[level, ""]]
            inside.append(
                [i * s * t for i, s, t in zip(inside[-1], spatial, temporal, strict=True)]
            )
        inside.reverse()
        spread.reverse()
        if not self._fits(sketch, inside):
            return math.inf
        loops = [
            [
                (dim, sketch.factors[self.slots[level, ""]][dim])
                for dim in sketch.orders[level]
                if sketch.factors[self.slots[level, ""]][dim] > 1
            ]
            for level in range(space.depth)
        ]
        energy, last_level, cycles = self._moved(sketch, inside, spread, loops)
        figures = {
            "energy": energy + self.leak * cycles,
            "delay": cycles,
            "last-level-accesses": last_level,
        }
        try:
            for goal, most in self.limits:
                if _rank(goal, figures) > most:
                    return math.inf
            return _rank(self.goal, figures)
        except OverflowError:
            return math.inf

    def _spatial(self, sketch: Sketch, level: int) -> list[int]:
        found = [1] * len(self.space.dims)
        for axis in "XY":
            slot = self.slots.get((level, axis))
            if slot is not None:
                found = [a * b for a, b in zip(found, sketch.factors[slot], strict=True)]
        return found

    def _fits(self, sketch: Sketch, inside: list[list[int]]) -> bool:
        for level, buffer in enumerate(self.space.architecture.levels):
            if buffer.capacity is not None and (
                sum(
                    self._tile(tensor, inside[level])
                    for tensor, kept in enumerate(sketch.keep)
                    if kept[level]
                )
                > buffer.capacity
            ):
                return False
        return True

    def _tile(self, tensor: int, extents: list[int]) -> int:
        words = 1
        for rank in self.ranks[tensor]:
            words *= 1 + sum(coefficient * (extents[dim] - 1) for dim, coefficient in rank)
        return words

    def _moved(
        self, sketch: Sketch, inside: list[list[int]], spread: list[list[int]], loops: Loops
    ) -> tuple[float, float, float]:
        """Energy without leakage, words of the outermost level, and cycles."""
        depth = self.space.depth
        energy, steps = self.fixed, math.prod(n for level in loops for _, n in level)
        reads, writes = [0.0] * depth, [0.0] * depth
        units = [1]
        for spatial in spread:
            units.append(units[-1] * math.prod(spatial))
        for tensor, kept in enumerate(sketch.keep):
            relevant = self.relevant[tensor]
            copies = [1]
            for spatial in spread:
                copies.append(
                    copies[-1]
                    * math.prod(n for n, used in zip(spatial, relevant, strict=True) if not used)
                )
            parent = kept.index(True)
            for child in range(parent + 1, depth + 1):
                if child < depth and not kept[child]:
                    continue
                steady = child < depth or copies[depth] > copies[depth - 1]
                filled = self._fetched(tensor, inside[child], loops[:child], steady) * units[child]
                sent = filled * copies[parent] / copies[child]
                sent *= self._shared(tensor, spread[parent:child])
                rates = self.rates[parent]
                if self.written[tensor]:
                    again = max(0.0, sent - self.words[tensor] * copies[parent])
                    energy += sent * rates.update + again * rates.read
                    reads[parent] += again
                    writes[parent] += sent
                    filled = max(0.0, filled - self.words[tensor] * copies[child])
                else:
                    energy += sent * rates.read
                    reads[parent] += sent
                if child < depth:
                    energy += filled * self.rates[child].fill
                    writes[child] += filled
                parent = child
        cycles = float(steps)
        for level, buffer in enumerate(self.space.architecture.levels):
            for words, bandwidth in (
                (reads[level], buffer.read_bandwidth),
                (writes[level], buffer.write_bandwidth),
                (reads[level] + writes[level], buffer.shared_bandwidth),
            ):
                if bandwidth is not None:
                    cycles = max(cycles, words / units[level] / float(bandwidth))
        return energy, reads[0] + writes[0], cycles

    def _fetched(self, tensor: int, tile: list[int], loops: Loops, steady: bool) -> float:
        """Words into one instance with such tiles below these loops."""
        relevant, rounds, idle, share = self.relevant[tensor], 1, steady, 1.0
        first = True
        for level in reversed(loops):
            for dim, bound in level:
                if relevant[dim]:
                    if first and steady:
                        share = self._fresh(tensor, tile, dim, bound)
                    rounds *= bound
                    idle = False
                elif not idle:
                    rounds *= bound
                first = False
        return self._tile(tensor, tile) * rounds * share

    def _fresh(self, tensor: int, tile: list[int], dim: int, bound: int) -> float:
        """The share of a tile that is new, on average, while a loop over `dim` slides it."""
        for rank in self.ranks[tensor]:
            for number, coefficient in rank:
                if number == dim and len(rank) > 1:
                    extent = 1 + sum(weight * (tile[each] - 1) for each, weight in rank)
                    move = coefficient * tile[dim]
                    if move < extent:
                        return (1 + (bound - 1) * move / extent) / bound
        return 1.0

    def _shared(self, tensor: int, spread: list[list[int]]) -> float:
        """The share of its words that a level sends: each overlap of neighbouring windows once."""
        share = 1.0
        for rank in self.ranks[tensor]:
            if len(rank) < 2:
                continue
            units = {dim: math.prod(spatial[dim] for spatial in spread) for dim, _ in rank}
            if sum(n > 1 for n in units.values()) > 1:
                apart = 1 + sum(weight * (units[dim] - 1) for dim, weight in rank)
                share *= min(1.0, apart / math.prod(units.values()))
        return share


def _rank(goal: Goal, figures: Mapped[str, float]) -> float:
    """Raises: OverflowError for one that no floating-point number can hold."""
    return math.prod(figures[metric] ** power for metric, power in goal.powers)

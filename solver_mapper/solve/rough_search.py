"""Many small steps from a legal mapping, by estimates: where local search begins.

A step moves a prime factor of a dimension to another slot, trades two such factors between slots,
fills an axis of a mesh anew, changes one loop's position in the order, or what a level stores. A
worse mapping is accepted with a tolerance that falls to nothing (threshold accepting: Dueck and
Scheuer, Journal of Computational Physics 90, 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random

from solver_mapper.core.mapping import Mapping, loop
from solver_mapper.solve.estimate import Estimate, Sketch

TOLERANCE = 0.5
"""How much worse a mapping may be at first, as a share of the value."""

REFILLED = 0.05
"""How many of the steps fill an axis of a mesh anew, where that is of use."""

Change = tuple[list[int], int, int]
"""A list, a place in it, and the number that is to stand there."""


class RoughSearch:
    """A walk by estimates. `legal` says of a mapping whether the search may end there; `refills`,
    whether some steps fill an axis of a mesh anew, after which it takes many to make good again.
    """

    def __init__(
        self,
        estimate: Estimate,
        legal: Callable[[Mapping], bool],
        random: Random,
        *,
        refills: bool = False,
    ):
        self.estimate, self.legal, self.random = estimate, legal, random
        space = self.space = estimate.space
        self._primes = [
            (number, prime)
            for number, dim in enumerate(space.dims)
            for prime, count in space.primes[dim]
            for _ in range(count)
        ]
        self._free = [
            (number, level)
            for number, name in enumerate(space.problem.tensor_names)
            for level in range(space.depth)
            if (name, level) not in space.keep
        ]
        self._sizes = [
            space.architecture.fanout(slot.level)[slot.axis == "Y"] if slot.axis else None
            for slot in space.slots
        ]
        self._allowed = [
            [
                space.factors.get((slot.level, "spatial" if slot.axis else "temporal", dim))
                for dim in space.dims
            ]
            for slot in space.slots
        ]
        number = {dim: index for index, dim in enumerate(space.dims)}
        self._pairs = {
            level: [(number[a], number[b]) for a, b in pairs if a in number and b in number]
            for level, pairs in space.temporal_orders.items()
        }
        self._meshes = [n for n, size in enumerate(self._sizes) if refills and (size or 1) > 1]
        self._twin = [
            estimate.slots.get((slot.level, {"X": "Y", "Y": "X"}.get(slot.axis, "none")))
            for slot in space.slots
        ]

    def walk(self, mapping: Mapping, steps: int, over: Callable[[], bool]) -> list[Mapping]:
        """The best mappings by estimate that were met on the way from `mapping`, the best last."""
        here = self.estimate.sketch(mapping)
        value = best = self.estimate.rank(here)
        found: list[Mapping] = []
        for step in range(steps):
            if not step % 64 and over():
                break
            undo = self._step(here)
            if undo is None:
                continue
            rank = self.estimate.rank(here) if undo and self._ordered(here) else math.inf
            accepted = rank <= value * (1 + TOLERANCE * (1 - step / steps) ** 2)
            if accepted and rank < best * (1 - 1e-9):
                made = self._mapping(mapping, here)
                accepted = self.legal(made)
                if accepted:
                    best = rank
                    found.append(made)
            if accepted:
                value = rank
            else:
                for row, place, old in reversed(undo):
                    row[place] = old
        return found

    def _step(self, sketch: Sketch) -> list[Change] | None:
        """Change the sketch; what takes the change back, None if the step drawn leads nowhere."""
        kind, choice = self.random.random(), self.random.choice
        if self._meshes and self.random.random() < REFILLED:
            return self._refill(sketch)
        if kind < 0.45 and self._primes:
            undo: list[Change] = []
            return undo if self._move(sketch, *choice(self._primes), None, None, undo) else None
        if kind < 0.7 and self._primes:
            return self._trade(sketch)
        if kind < 0.88 or not self._free:
            return self._reorder(sketch)
        undo = []
        for _ in range(choice((1, 1, 2))):
            tensor, level = choice(self._free)
            row = sketch.keep[tensor]
            undo.append((row, level, row[level]))  # type: ignore[arg-type]
            row[level] = not row[level]
        return undo

    def _refill(self, sketch: Sketch) -> list[Change] | None:
        """Take loops off one axis of a mesh, all of them or those over one dimension, and lay
        others along it as long as there is room. Single steps hardly trade 3 x 3 for 2 x 2 x 2.
        """
        choice, undo, factors = self.random.choice, list[Change](), sketch.factors
        axis = choice(self._meshes)
        laid = [(dim, prime) for dim, prime in self._primes if not factors[axis][dim] % prime]
        if self.random.random() < 0.5:
            one = choice(laid)[0] if laid else None
            laid = [(dim, prime) for dim, prime in laid if dim == one]
        for dim, prime in laid:
            self._move(sketch, dim, prime, axis, None, undo)
        for dim, prime in self.random.sample(self._primes, len(self._primes)):
            origin = choice([n for n, row in enumerate(factors) if not row[dim] % prime])
            self._move(sketch, dim, prime, origin, axis, undo)
        return undo or None

    def _trade(self, sketch: Sketch) -> list[Change] | None:
        choice, undo = self.random.choice, list[Change]()
        dim, prime = choice(self._primes)
        moved = self._move(sketch, dim, prime, None, None, undo)
        if moved is not None:
            origin, to = moved
            if self._move(sketch, *choice(self._primes), to, origin, undo):
                return undo
        for row, place, old in reversed(undo):
            row[place] = old
        return None

    def _move(
        self,
        sketch: Sketch,
        dim: int,
        prime: int,
        origin: int | None,
        to: int | None,
        undo: list[Change],
    ) -> tuple[int, int] | None:
        """Move a factor between slots, drawn where None; None if that cannot be."""
        factors = sketch.factors
        if origin is None:
            origin = self.random.choice(
                [n for n, row in enumerate(factors) if not row[dim] % prime]
            )
        if to is None:
            to = self.random.randrange(len(factors))
        if origin == to or factors[origin][dim] % prime or not self._room(sketch, dim, prime, to):
            return None
        less, more = factors[origin][dim] // prime, factors[to][dim] * prime
        for slot, value in ((origin, less), (to, more)):
            allowed = self._allowed[slot][dim]
            if allowed is not None and value not in allowed:
                return None
        for slot, value in ((origin, less), (to, more)):
            undo.append((factors[slot], dim, factors[slot][dim]))
            factors[slot][dim] = value
        return origin, to

    def _room(self, sketch: Sketch, dim: int, prime: int, to: int) -> bool:
        """Whether a mesh has room for another factor; a dimension lies along one axis of it."""
        size, twin = self._sizes[to], self._twin[to]
        if size is None:
            return True
        return math.prod(sketch.factors[to]) * prime <= size and (
            twin is None or sketch.factors[twin][dim] == 1
        )

    def _reorder(self, sketch: Sketch) -> list[Change] | None:
        level = self.random.randrange(self.space.depth)
        row = sketch.factors[self.estimate.slots[level, ""]]
        loops = [dim for dim, bound in enumerate(row) if bound > 1]
        if len(loops) < 2:
            return None
        order = sketch.orders[level]
        undo = [(order, place, dim) for place, dim in enumerate(order)]
        dim = self.random.choice(loops)
        order.remove(dim)
        order.insert(self.random.choice((0, self.random.randrange(len(order) + 1))), dim)
        return undo

    def _ordered(self, sketch: Sketch) -> bool:
        """Whether the loops stand in an order that constraints allow."""
        for level, pairs in self._pairs.items():
            row, order = sketch.factors[self.estimate.slots[level, ""]], sketch.orders[level]
            place = {dim: number for number, dim in enumerate(order)}
            if any(
                row[inner] > 1 and row[outer] > 1 and place[inner] > place[outer]
                for inner, outer in pairs
            ):
                return False
        return True

    def _mapping(self, given: Mapping, sketch: Sketch) -> Mapping:
        """The sketch as a mapping with the flags of `given`."""
        space, slots = self.space, self.estimate.slots
        levels = []
        for index, level in enumerate(given.levels):
            temporal = sketch.factors[slots[index, ""]]
            spatial = [
                loop(space.dims[dim], bound, axis)
                for axis in "YX"
                if (index, axis) in slots
                for dim, bound in enumerate(sketch.factors[slots[index, axis]])
                if bound > 1
            ]
            levels.append(
                replace(
                    level,
                    temporal=tuple(
                        loop(space.dims[dim], temporal[dim])
                        for dim in reversed(sketch.orders[index])
                        if temporal[dim] > 1
                    ),
                    spatial=tuple(spatial),
                    keep=frozenset(
                        name
                        for name, kept in zip(space.problem.tensor_names, sketch.keep, strict=True)
                        if kept[index]
                    ),
                )
            )
        return replace(given, levels=tuple(levels))

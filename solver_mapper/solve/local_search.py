"""A good mapping within a second: from a legal mapping to better ones by small steps, first by
estimates (`rough_search.py`), then evaluated by the exact model.

Any incumbent is sound, since nothing is claimed of it but its figures. A step moves a prime factor
of a dimension to another slot, trades two such factors between slots, changes one loop's position
in the order, or what a level holds. Steps are drawn at random from a seed; a slightly worse mapping
is accepted with a tolerance that falls to nothing (threshold accepting: Dueck and Scheuer, Journal
of Computational Physics 90, 1990). The number of steps is fixed, not the time, so that equal input
gives equal answers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from random import Random

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.objective import Goal, Limit
from solver_mapper.core.primes import factorize
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.deadline import TimeUp
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.estimate import Estimate
from solver_mapper.solve.rough_search import RoughSearch
from solver_mapper.verify.mapspace import EnumeratedMapspace

MOST_STEPS, STEPS_EACH = 25, 4
"""Steps that are tried: so many for each prime factor and each free choice of bypass, but not more
than `MOST_STEPS`.
"""
ROUGH_STEPS = 8
"""Steps by estimates for each of those."""
FEW_ELEMENTS = 1024
"""Where windows slide over a mesh of more elements, the exact model looks at each one, and so fewer
mappings are evaluated.
"""
FINALISTS = 4
"""How many of the mappings that estimates find are evaluated."""
TOLERANCE = 0.1
"""How much worse a mapping may be at first, as a share of the value."""

Slot = tuple[int, str]
"""A level and "" (temporal), "X" or "Y"."""


@dataclass
class LocalSearch:
    """A walk through the mapspace of `spec` that looks for a small `goal` within `limits`."""

    spec: Spec
    mapspace: EnumeratedMapspace
    goal: Goal
    seed: int = 0
    effort: int = 1
    """How many times as many steps as usual."""
    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._architecture, self._problem = self.spec.need_architecture(), self.spec.need_problem()
        self._evaluate = Evaluator(self._architecture, self._problem).evaluate

    @cached_property
    def _slots(self) -> list[Slot]:
        return list(self.mapspace.loop_slots)

    @cached_property
    def _primes(self) -> list[tuple[str, int]]:
        return [
            (dim, prime)
            for dim, size in self._problem.bounds.items()
            for prime, count in factorize(size)
            for _ in range(count)
        ]

    @cached_property
    def _free(self) -> list[tuple[str, int]]:
        """Bypass choices that are free."""
        return [
            (name, level)
            for name in self._problem.tensor_names
            for level in range(self.mapspace.depth)
            if len({keep[level] for keep in self.mapspace.keeps(name)}) > 1
        ]

    @cached_property
    def _elements(self) -> int:
        """Those of the largest mesh, if windows slide over it."""
        slides = any(len(rank) > 1 for tensor in self._problem.tensors for rank in tensor.ranks)
        meshes = map(self._architecture.fanout, range(self.mapspace.depth))
        return max(x * y for x, y in meshes) if slides else 1

    def best_from(
        self, mapping: Mapping, over: Callable[[], bool] = lambda: False
    ) -> tuple[Mapping, Statistics]:
        """The best mapping met on the way from a legal `mapping` of the space within the limits;
        `over` ends the walk early.
        """
        choices = len(self._primes) + len(self._free)
        steps = self.effort * min(MOST_STEPS, STEPS_EACH * choices)
        here, statistics = self._roughly(mapping, ROUGH_STEPS * steps, over)
        steps = ceil(steps * min(1, FEW_ELEMENTS / self._elements))
        value = self.goal.rank(statistics)
        best, best_value, best_figures = here, value, statistics
        with suppress(TimeUp):
            for step in range(steps):
                if over():
                    break
                other = self._step(here)
                if other is None or not self._legal(other):
                    continue
                statistics = self._evaluate(other)
                if not self._within(statistics):
                    continue
                found = self.goal.rank(statistics)
                if float(found) <= float(value) * (1 + TOLERANCE * (1 - step / steps) ** 2):
                    here, value = other, found
                if found < best_value:
                    best, best_value, best_figures = other, found, statistics
        return best, best_figures

    def _roughly(
        self, mapping: Mapping, steps: int, over: Callable[[], bool]
    ) -> tuple[Mapping, Statistics]:
        """The best of `mapping` and those that a search by estimates ends with."""
        space = build_space(self._architecture, self._problem, self.spec.constraints)
        estimate = Estimate(space, self.goal, self.limits)
        rough = RoughSearch(estimate, self._of_space, self._random, refills=self.effort > 1)
        found = [(mapping, self._evaluate(mapping))]
        with suppress(TimeUp):
            last = rough.walk(mapping, steps, over)[-FINALISTS:]
            ends = ((each, self._evaluate(each)) for each in last)
            found += [end for end in ends if self._within(end[1])]
        return min(found, key=lambda each: self.goal.rank(each[1]))

    def _within(self, statistics: Statistics) -> bool:
        return all(limit.admits(statistics) for limit in self.limits)

    def _of_space(self, mapping: Mapping) -> bool:
        return self._legal(mapping) and self.mapspace.contains(mapping)

    def _legal(self, mapping: Mapping) -> bool:
        return is_legal(self.spec, mapping)

    def _step(self, mapping: Mapping) -> Mapping | None:
        """A neighbour; None if the step drawn leads nowhere."""
        kind = self._random.random()
        if kind < 0.45 and self._primes:
            return self._move(mapping, *self._random.choice(self._primes), *self._pair())
        if kind < 0.7 and self._primes:
            there, back = self._pair()
            moved = self._move(mapping, *self._random.choice(self._primes), there, back)
            return (
                None
                if moved is None
                else self._move(moved, *self._random.choice(self._primes), back, there)
            )
        if kind < 0.9 or not self._free:
            return self._reorder(mapping)
        return self._toggle(mapping, *self._random.choice(self._free))

    def _pair(self) -> tuple[Slot, Slot]:
        first, second = self._random.choice(self._slots), self._random.choice(self._slots)
        return first, second

    def _move(
        self, mapping: Mapping, dim: str, prime: int, origin: Slot, to: Slot
    ) -> Mapping | None:
        """A factor `prime` of `dim` moved between slots; None if it is not there, or would put
        `dim` on both axes of a mesh.
        """
        bound = next(
            (
                each.bound
                for each in _loops(mapping.levels[origin[0]], origin[1])
                if each.dim == dim
            ),
            1,
        )
        if origin == to or bound % prime:
            return None
        levels = list(mapping.levels)
        levels[origin[0]] = _scaled(levels[origin[0]], origin[1], dim, bound // prime, 0)
        present = next((each.bound for each in _loops(levels[to[0]], to[1]) if each.dim == dim), 1)
        position = self._random.randint(0, len(_loops(levels[to[0]], to[1])))
        levels[to[0]] = _scaled(levels[to[0]], to[1], dim, present * prime, position)
        axes = {each.axis for each in levels[to[0]].spatial if each.dim == dim}
        return None if len(axes) > 1 else replace(mapping, levels=tuple(levels))

    def _reorder(self, mapping: Mapping) -> Mapping | None:
        """One loop at another position of its level's order."""
        number = self._random.randrange(len(mapping.levels))
        loops = list(mapping.levels[number].temporal)
        if len(loops) < 2:
            return None
        moved = loops.pop(self._random.randrange(len(loops)))
        loops.insert(self._random.randint(0, len(loops)), moved)
        levels = list(mapping.levels)
        levels[number] = replace(levels[number], temporal=tuple(loops))
        return replace(mapping, levels=tuple(levels))

    def _toggle(self, mapping: Mapping, tensor: str, level: int) -> Mapping:
        levels = list(mapping.levels)
        levels[level] = replace(levels[level], keep=levels[level].keep ^ {tensor})
        return replace(mapping, levels=tuple(levels))


def _loops(level: LevelMapping, axis: str) -> tuple[Loop, ...]:
    return (
        level.temporal if not axis else tuple(each for each in level.spatial if each.axis == axis)
    )


def _scaled(level: LevelMapping, axis: str, dim: str, bound: int, position: int) -> LevelMapping:
    """The level with this bound for `dim`: where its loop is, or else at `position`. Loops along Y
    stay outside those along X.
    """
    loops = [each for each in _loops(level, axis) if each.bound > 1]
    at = next((number for number, each in enumerate(loops) if each.dim == dim), None)
    if at is not None:
        loops[at : at + 1] = [loop(dim, bound, axis)] if bound > 1 else []
    elif bound > 1:
        loops.insert(position, loop(dim, bound, axis))
    if not axis:
        return replace(level, temporal=tuple(loops))
    others = [each for each in level.spatial if each.axis != axis]
    return replace(level, spatial=tuple(loops + others if axis == "Y" else others + loops))

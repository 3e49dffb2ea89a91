"""Good mappings of imperfect factors by small steps, each evaluated by the exact cost model.

A step gives loops of one or two dimensions other bounds, moves a loop in the order, or changes
which levels store a tensor. Steps are drawn at random from a seed; a slightly worse mapping is
accepted with a tolerance that falls to nothing, as in `solve/local_search.py`. The number of steps
is fixed, so that equal input gives equal answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np
from numpy.typing import NDArray

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import LevelMapping, Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.chains import most_bound
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.mapspace import Bars, LoopSlot, Skeleton

STEPS_EACH, MOST_STEPS = 120, 720
"""Steps of a walk for each dimension of more than one point, but not more than `MOST_STEPS`."""
TOLERANCE = 0.25
"""How much worse a mapping may be at first, as a share of the value."""

Keeps = tuple[tuple[bool, ...], ...]
State = tuple[Skeleton, Keeps]


@dataclass
class LocalSearch:
    """Walks through the mapspace of `spec` that look for a small `goal`."""

    spec: Spec
    space: ImperfectMapspace
    goal: Goal
    tables: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    """The chains of bounds of dimensions, where they have been listed."""
    seed: int = 0

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        problem = self.space.problem
        self._evaluate = Evaluator(self.space.architecture, problem).evaluate
        self._sizes = {dim: size for dim, size in problem.bounds.items() if size > 1}
        self._useful = {dim: useful_sizes(size) for dim, size in self._sizes.items()}
        self._room = {
            dim: [slot for slot in self.space.loop_slots if most_bound(self.space, dim, slot) > 1]
            or list(self.space.loop_slots)
            for dim in self._sizes
        }
        self._keeps = [self.space.keeps(name) for name in problem.tensor_names]
        self._free = [number for number, choices in enumerate(self._keeps) if len(choices) > 1]

    def best_from(
        self, mapping: Mapping, over: Callable[[], bool] = lambda: False
    ) -> tuple[Mapping, Statistics]:
        """The best mapping met on the way from a legal `mapping`; `over` ends the walk early."""
        here = _state(mapping, self.space)
        statistics = self._evaluate(mapping)
        best, best_figures = mapping, statistics
        value = least = float(self.goal.rank(statistics))
        steps = min(MOST_STEPS, STEPS_EACH * len(self._sizes))
        for step in range(steps):
            if over():
                break
            other = self._step(here)
            if other is None or other == here:
                continue
            candidate = self.space.mapping(*other)
            if not is_legal(self.spec, candidate):
                continue
            statistics = self._evaluate(candidate)
            found = float(self.goal.rank(statistics))
            if found <= value * (1 + TOLERANCE * (1 - step / steps) ** 2):
                here, value = other, found
            if found < least and self.space.contains(candidate):
                best, best_figures, least = candidate, statistics, found
        return best, best_figures

    def _step(self, state: State) -> State | None:
        """A neighbour; None if the step drawn leads nowhere."""
        skeleton, keeps = state
        kind = self._random.random()
        if kind < 0.15 and self._free:
            number = self._random.choice(self._free)
            choice = self._random.choice(self._keeps[number])
            return skeleton, (*keeps[:number], choice, *keeps[number + 1 :])
        if not self._sizes:
            return None
        if kind < 0.35:
            return self._reordered(skeleton), keeps
        dims = self._random.sample(list(self._sizes), min(len(self._sizes), 1 + (kind > 0.75)))
        for dim in dims:
            skeleton = self._resized(skeleton, dim)
        return skeleton, keeps

    def _resized(self, skeleton: Skeleton, dim: str) -> Skeleton:
        """Two or three loops over `dim` have other bounds."""
        slots, size = self.space.loop_slots, self._sizes[dim]
        bounds = _bounds(skeleton, dim, slots)
        table = self.tables.get(dim)
        if table is not None:
            rows = np.flatnonzero((table != np.array(list(bounds.values()))).sum(axis=1) <= 3)
            if not len(rows):
                return skeleton
            chosen = table[self._random.choice(rows.tolist())].tolist()
            return _placed(skeleton, dim, dict(zip(slots, chosen, strict=True)), self._random)
        room = self._room[dim]
        changed, other = self._random.choice(room), self._random.choice(room)
        bound, step = bounds[changed], self._random.randrange(4)
        bounds[changed] = (
            self._random.choice(self._useful[dim]),
            max(1, bound + self._random.choice((-1, 1))),
            2 * bound,
            -(-bound // 2),
        )[step]
        if other != changed:
            bounds[other] = -(-size // prod(bounds[slot] for slot in slots if slot != other))
        if prod(bounds.values()) < size:
            return skeleton
        return _placed(skeleton, dim, reached(size, bounds), self._random)

    def _reordered(self, skeleton: Skeleton) -> Skeleton:
        """One temporal loop at another position of its level's order."""
        level = self._random.randrange(len(skeleton))
        temporal, spatial = list(skeleton[level][0]), skeleton[level][1]
        if len(temporal) > 1:
            moved = temporal.pop(self._random.randrange(len(temporal)))
            temporal.insert(self._random.randint(0, len(temporal)), moved)
        return (*skeleton[:level], (tuple(temporal), spatial), *skeleton[level + 1 :])


def useful_sizes(size: int) -> list[int]:
    """The least bounds of all numbers of tiles: ceil(size / n) for each n."""
    return sorted({-(-size // parts) for parts in range(1, size + 1)})


def reached(size: int, bounds: dict[LoopSlot, int]) -> dict[LoopSlot, int]:
    """The bounds, outer to inner, cut so that none runs beyond `size`: each is reached."""
    left, found = size, dict(bounds)
    for slot in reversed(bounds):
        found[slot] = min(bounds[slot], left)
        left = -(-left // found[slot])
    return found


def _bounds(skeleton: Skeleton, dim: str, slots: tuple[LoopSlot, ...]) -> dict[LoopSlot, int]:
    return dict.fromkeys(slots, 1) | {
        (level, axis): bound
        for level, bars in enumerate(skeleton)
        for name, bound, axis in (*bars[0], *bars[1])
        if name == dim
    }


def trimmed(space: ImperfectMapspace, mapping: Mapping) -> Mapping:
    """A mapping of a problem of larger sizes, cut to the sizes of `space`."""
    skeleton, keeps = _state(mapping, space)
    for dim, size in space.problem.bounds.items():
        bounds = reached(size, _bounds(skeleton, dim, space.loop_slots))
        skeleton = _placed(skeleton, dim, bounds, None)
    return space.mapping(skeleton, keeps)


def _state(mapping: Mapping, space: ImperfectMapspace) -> State:
    def bars(level: LevelMapping) -> tuple[Bars, Bars]:
        spatial = sorted(
            (each for each in level.spatial if each.bound > 1), key=lambda each: each.axis == "X"
        )
        return (
            tuple((each.dim, each.bound, "") for each in level.temporal if each.bound > 1),
            tuple((each.dim, each.bound, each.axis) for each in spatial),
        )

    keeps = tuple(
        tuple(name in level.keep for level in mapping.levels) for name in space.problem.tensor_names
    )
    return tuple(bars(level) for level in mapping.levels), keeps


def _placed(
    skeleton: Skeleton, dim: str, bounds: dict[LoopSlot, int], random: Random | None
) -> Skeleton:
    """The loops with these bounds for `dim`; new ones stand at a random position."""
    levels = []
    for level, (temporal, spatial) in enumerate(skeleton):
        y = tuple(each for each in spatial if each[2] == "Y")
        x = tuple(each for each in spatial if each[2] == "X")
        placed = [
            _with_bound(bars, dim, bounds.get((level, axis), 1), axis, random)
            for bars, axis in ((temporal, ""), (y, "Y"), (x, "X"))
        ]
        levels.append((placed[0], placed[1] + placed[2]))
    return tuple(levels)


def _with_bound(bars: Bars, dim: str, bound: int, axis: str, random: Random | None) -> Bars:
    at = next((number for number, each in enumerate(bars) if each[0] == dim), None)
    if at is not None:
        new = ((dim, bound, axis),) if bound > 1 else ()
        return (*bars[:at], *new, *bars[at + 1 :])
    if bound == 1:
        return bars
    at = len(bars) if random is None else random.randint(0, len(bars))
    return (*bars[:at], (dim, bound, axis), *bars[at:])

"""Joining the mappings of a graph's Einsums, first to last, to the best mapping of all.

What an Einsum holds above a shared loop stays while its neighbours run below that loop; a tensor
handed over stays from its first user to its last. So all that matters of the Einsums joined so far
is: the cut, the iterations of the open loops, the cost, what is held above each open loop, and the
most that any Einsum so far has in use, apart by how many of the open loops stand above it: those
see more held when more is joined. Einsums above which no loop is open any more see no more, and
count no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.dominance import undominated_rows
from solver_mapper.solve.fused.collect import Points, alike
from solver_mapper.solve.fused.compiled import EPSILON
from solver_mapper.solve.fused.cuts import Step
from solver_mapper.solve.fused.graph import Graph
from solver_mapper.solve.fused.stopping import Poll, never
from solver_mapper.solve.fused.terms import Floats

_BLOCK = 200_000
_PRUNE = 100_000
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class States:
    """Einsums joined so far up to one cut, one choice a row.

    `trips` of the open loops; `held[row, memory, d]` bits above the d-th of them; `peak[row,
    memory, d]` the most in use by Einsums below d + 1 of them. `source`, `before` and `point` lead
    back: which of the `sources` was joined, its row, and the row of the points.
    """

    cost: Floats
    trips: Ints
    held: Floats
    peak: Floats
    source: Ints
    before: Ints
    point: Ints
    sources: tuple[tuple[Step, States], ...]

    def __len__(self) -> int:
        return len(self.cost)

    def kept(self, keep: Ints | NDArray[np.bool_]) -> States:
        """The rows that `keep` selects."""
        return States(
            self.cost[keep],
            self.trips[keep],
            self.held[keep],
            self.peak[keep],
            self.source[keep],
            self.before[keep],
            self.point[keep],
            self.sources,
        )

    def pruned(self, poll: Poll = never) -> States:
        """Without rows that another of the same trips equals or beats."""
        if len(self) < 2:
            return self
        return self.kept(
            undominated_rows(
                np.hstack(
                    [self.cost, self.held.reshape(len(self), -1), self.peak.reshape(len(self), -1)]
                ),
                self.trips,
                poll,
            )
        )


def start(columns: int, memories: int) -> States:
    """No Einsum joined yet."""
    none = np.zeros(1, dtype=np.int64)
    return States(
        np.zeros((1, columns)),
        np.empty((1, 0), dtype=np.int64),
        np.zeros((1, memories, 0)),
        np.zeros((1, memories, 0)),
        none,
        none,
        none,
        (),
    )


@dataclass(frozen=True)
class Joiner:
    """Joins states with points. A row can be part of something better only if its cost and the
    least of what is to come stay below the cutoff. `poll` is called for each block of rows."""

    graph: Graph
    value: Callable[[Floats], Floats]
    cutoff: float
    poll: Poll

    def joined(self, states: States, step: Step, points: Points, rest: Floats) -> States | None:
        """Every pair of a state and a mapping of the next Einsum that agree on the open loops and
        fit the memories.
        """
        parts: list[States] = []
        waiting = 0
        for left, right in _pairs(states, points, len(step.left.loops)):
            self.poll()
            part = self._paired(states, left, step, points, right, rest).pruned(self.poll)
            if len(part):
                parts.append(part)
                waiting += len(part)
                if waiting > _PRUNE:
                    parts = [together(parts).pruned(self.poll)]
                    waiting = 0
        return together(parts).pruned(self.poll) if parts else None

    def _paired(
        self, states: States, left: Ints, step: Step, points: Points, right: Ints, rest: Floats
    ) -> States:
        cost = states.cost[left] + points.cost[right]
        value = self.value(cost + rest)
        good = (value <= self.cutoff * (1 + EPSILON)) & np.isfinite(value)
        left, right, cost = left[good], right[good], cost[good]
        room = _Room(
            self.graph,
            step,
            states.held[left],
            states.peak[left],
            points.usage[right],
            points.trips[right],
        )
        held, peak, fits = room.after()
        kept = points.trips[right][:, : len(step.right.loops)]
        source = np.zeros(len(left), dtype=np.int64)
        return States(cost, kept, held, peak, source, left, right, ((step, states),)).kept(
            np.flatnonzero(fits)
        )


def _pairs(states: States, points: Points, shared: int) -> Iterator[tuple[Ints, Ints]]:
    """Rows of states and points with the same trips of the open loops, in blocks."""
    right_of = alike(points.trips[:, :shared])
    for key, rows in alike(states.trips).items():
        right = right_of.get(key)
        if right is not None:
            step = max(1, _BLOCK // len(right))
            for first in range(0, len(rows), step):
                some = rows[first : first + step]
                yield np.repeat(some, len(right)), np.tile(right, len(some))


def together(parts: Sequence[States]) -> States:
    """States up to one cut in one."""
    if len(parts) == 1:
        return parts[0]
    sources: list[tuple[Step, States]] = []
    where: dict[tuple[int, int], int] = {}
    numbers = []
    for part in parts:
        positions = []
        for step, states in part.sources:
            key = id(step), id(states)
            if key not in where:
                where[key] = len(sources)
                sources.append((step, states))
            positions.append(where[key])
        numbers.append(np.array(positions, dtype=np.int64)[part.source])

    def one(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return States(
        one("cost"),
        one("trips"),
        one("held"),
        one("peak"),
        np.concatenate(numbers),
        one("before"),
        one("point"),
        tuple(sources),
    )


@dataclass(frozen=True)
class _Room:
    """What is in use while one more Einsum runs: `held` and `peak` before, its own `usage` (see
    `Points`) and loop `trips`.
    """

    graph: Graph
    step: Step
    held: Floats
    peak: Floats
    usage: Floats
    trips: Ints

    def after(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """What is held and the peaks after the Einsum, and which rows fit."""
        graph, step = self.graph, self.step
        sizes = np.array(list(graph.crowded.values())) * (1 + EPSILON)
        was, kept = len(step.left.loops), len(step.right.loops)
        own = self.usage[:, :, :-1].copy()
        used = self.usage[:, :, -1] + self.held.sum(axis=2)
        fresh = np.zeros((*used.shape, own.shape[2] + 1))
        dying = np.zeros_like(fresh)
        for tensor, home in {**dict(step.left.homes), **dict(step.right.homes)}.items():
            if home is not None and home.memory in graph.crowded:
                where = list(graph.crowded).index(home.memory)
                tile = float(graph.bits(tensor, home.memory)) / np.prod(
                    self.trips[:, : home.depth], axis=1, dtype=np.float64
                )
                used[:, where] += tile
                if tensor not in step.left.home:
                    fresh[:, where, home.depth] += tile
                if tensor not in step.right.home:
                    dying[:, where, home.depth] += tile
        fits = (used <= sizes).all(axis=1)
        held, peak = np.zeros((*used.shape, kept)), np.zeros((*used.shape, kept))
        added = np.cumsum(own + fresh[:, :, :-1], axis=2)
        for level in range(1, was + 1):
            more = np.where(
                self.peak[:, :, level - 1] > 0,
                self.peak[:, :, level - 1] + added[:, :, level - 1],
                0,
            )
            fits &= (more <= sizes).all(axis=1)
            if kept:
                peak[:, :, min(level, kept) - 1] = np.maximum(
                    peak[:, :, min(level, kept) - 1], more
                )
        if kept:
            peak[:, :, kept - 1] = np.maximum(peak[:, :, kept - 1], used)
            held = own[:, :, :kept] + dying[:, :, :kept]
            held[:, :, : min(kept, was)] += self.held[:, :, : min(kept, was)]
        return held, peak, fits


@dataclass(frozen=True)
class Link:
    """One joined Einsum: its step and the row of its points."""

    step: Step
    point: int


def links(states: States, row: int) -> list[Link]:
    """The Einsums of one joined graph, first to last."""
    found: list[Link] = []
    while states.sources:
        step, previous = states.sources[int(states.source[row])]
        found.append(Link(step, int(states.point[row])))
        row, states = int(states.before[row]), previous
    return found[::-1]

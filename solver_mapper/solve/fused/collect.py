"""All mappings of one Einsum that could be part of the best mapping of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.dominance import some_row_beats, undominated_rows
from solver_mapper.solve.fused.compiled import EPSILON, CompiledTables
from solver_mapper.solve.fused.minimize import EnergyDelayProduct, Outlook, Pairs
from solver_mapper.solve.fused.terms import Floats

_PRUNE = 100_000
_COMPARED = 2_000_000
"""Pairs of rows that are compared at once."""


@dataclass(frozen=True)
class Points:
    """Mappings of one Einsum, one a row.

    `cost` are the columns to be added up over Einsums: energy (J) and latency (s), as far as the
    goal needs them. `trips` are the iterations of the shared loops, outer to inner. `usage[row,
    memory, d]` are bits held above the d-th shared loop, the last column all bits in use but for
    what is shared with other Einsums. `origin` and `rows` say which choice it is.
    """

    cost: Floats
    trips: NDArray[np.int64]
    usage: Floats
    origin: NDArray[np.int64]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cost)

    def kept(self, keep: NDArray[np.int64] | NDArray[np.bool_]) -> Points:
        """The rows that `keep` selects."""
        return Points(
            self.cost[keep], self.trips[keep], self.usage[keep], self.origin[keep], self.rows[keep]
        )

    @property
    def figures(self) -> Floats:
        """The columns in which mappings of the same shared loops compete."""
        return np.hstack([self.cost, self.usage.reshape(len(self), -1)])

    def pruned(self) -> Points:
        """Without rows that another of the same shared loops equals or beats in cost and usage."""
        return self.kept(undominated_rows(self.figures, self.trips)) if len(self) else self


def joined(parts: Sequence[Points]) -> Points:
    """The points of several sets as one."""
    return Points(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("cost", "trips", "usage", "origin", "rows")
        )
    )


def alike(keys: NDArray[np.int64]) -> Mapping[tuple[int, ...], NDArray[np.int64]]:
    """Positions of the rows of each key."""
    if not keys.size:
        return {(): np.arange(len(keys))} if len(keys) else {}
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(inverse.reshape(-1), minlength=len(unique)))[:-1]
    return {
        tuple(key): rows for key, rows in zip(unique.tolist(), np.split(order, ends), strict=True)
    }


def columns(goal: EnergyDelayProduct) -> tuple[bool, bool]:
    """Whether energy and latency are cost columns."""
    return goal.energy > 0, goal.latency > 0 or goal.latency_limit < float("inf")


@dataclass
class Collector:
    """Takes what may be part of something better than `limit`. `memories` are those whose usage
    matters, `columns` tells whether energy and latency do, `fronts` has the figures of the best
    that was taken for each number of iterations of the shared loops.
    """

    limit: float
    memories: tuple[str, ...]
    depth: int
    columns: tuple[bool, bool]
    compiled: list[CompiledTables] = field(default_factory=list)
    parts: list[Points] = field(default_factory=list)
    waiting: int = 0
    fronts: dict[tuple[int, ...], Floats] = field(default_factory=dict)

    @property
    def cutoff(self) -> float:
        """Goals above this cannot matter."""
        return self.limit * (1 + EPSILON)

    def threshold(self, least: float) -> float:
        """Goals up to this are taken: all below the cutoff, whatever the least one found."""
        return self.cutoff

    def beats(self, outlook: Outlook, compiled: CompiledTables) -> NDArray[np.bool_]:
        """Which joined groups come to nothing better than what was taken with the same shared
        loops.
        """
        beaten = np.zeros(len(outlook), dtype=np.bool_)
        for trips, rows in alike(outlook.trips).items() if self.fronts else ():
            front = self.fronts.get(trips)
            if front is not None:
                step = max(1, _COMPARED // len(front))
                for start in range(0, len(rows), step):
                    some = rows[start : start + step]
                    beaten[some] = some_row_beats(front, self.figures(outlook.kept(some), compiled))
        return beaten

    def take(self, pairs: Pairs) -> None:
        """Add complete mappings, and drop rows that others equal or beat once enough have come
        together.
        """
        if not self.compiled or self.compiled[-1] is not pairs.compiled:
            self.compiled.append(pairs.compiled)
        rows = np.empty((len(pairs.value), len(pairs.compiled.groups)), dtype=np.int64)
        rows[:, pairs.groups], rows[:, pairs.last] = pairs.rows, pairs.source
        outlook = pairs.outlook()
        figures = self.figures(outlook, pairs.compiled)
        width = sum(self.columns)
        found = Points(
            figures[:, :width],
            outlook.trips,
            figures[:, width:].reshape(len(rows), len(self.memories), self.depth + 1),
            np.full(len(rows), len(self.compiled) - 1),
            rows,
        ).pruned()
        taken = found.figures
        for trips, some in alike(found.trips).items():
            known = self.fronts.get(trips, taken[:0])
            self.fronts[trips] = np.vstack([known, taken[some]])
        self.parts.append(found)
        self.waiting += len(found)
        if self.waiting > _PRUNE:
            self.parts, self.waiting = [joined(self.parts).pruned()], 0

    def figures(self, outlook: Outlook, compiled: CompiledTables) -> Floats:
        """The columns in which mappings compete: cost, then bits held above each shared loop and in
        all, memory by memory.
        """
        cost = [
            value
            for value, wanted in zip((outlook.energy, outlook.latency), self.columns, strict=True)
            if wanted
        ]
        usage = np.zeros((len(self.memories), self.depth + 1, len(outlook)))
        units, first = compiled.skeleton.chain.units, 0
        for level, parts in compiled.held:
            if units[level].name in self.memories:
                where = self.memories.index(units[level].name)
                usage[where, : len(parts)] = outlook.held[first : first + len(parts)]
            first += len(parts)
        return np.vstack([*cost, usage.reshape(-1, len(outlook))]).T

    def points(self) -> Points | None:
        """Everything that was taken, dominated rows left out; None if there is nothing."""
        if self.parts:
            self.parts = [joined(self.parts).pruned()]
            return self.parts[0]
        return None

"""All mappings of one Einsum that could be part of the best mapping of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.dominance import undominated_rows
from solver_mapper.solve.fused.compiled import EPSILON, Compiled
from solver_mapper.solve.fused.minimize import EnergyDelayProduct, Pairs
from solver_mapper.solve.fused.terms import Floats

_PRUNE = 100_000


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

    def pruned(self) -> Points:
        """Without rows that another of the same shared loops equals or beats in cost and usage."""
        return (
            self.kept(
                undominated_rows(
                    np.hstack([self.cost, self.usage.reshape(len(self), -1)]), self.trips
                )
            )
            if len(self)
            else self
        )


def joined(parts: Sequence[Points]) -> Points:
    """The points of several sets as one."""
    return Points(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("cost", "trips", "usage", "origin", "rows")
        )
    )


def columns(goal: EnergyDelayProduct) -> tuple[bool, bool]:
    """Whether energy and latency are cost columns."""
    return goal.energy > 0, goal.latency > 0 or goal.latency_limit < float("inf")


@dataclass
class Collector:
    """Takes what may be part of something better than `limit`. `memories` are those whose usage
    matters.
    """

    limit: float
    memories: tuple[str, ...]
    depth: int
    compiled: list[Compiled] = field(default_factory=list)
    parts: list[Points] = field(default_factory=list)
    waiting: int = 0

    @property
    def cutoff(self) -> float:
        """Goals above this cannot matter."""
        return self.limit * (1 + EPSILON)

    def threshold(self, least: float) -> float:
        """Goals up to this are taken: all below the cutoff, whatever the least one found."""
        return self.cutoff

    def take(self, pairs: Pairs) -> None:
        """Add complete mappings, and drop rows that others equal or beat once enough have come
        together.
        """
        if not self.compiled or self.compiled[-1] is not pairs.compiled:
            self.compiled.append(pairs.compiled)
        with_energy, with_latency = columns(pairs.goal)
        cost = [pairs.goal.total_energy(pairs.energy, pairs.latency)] * with_energy
        cost += [pairs.goal.repeats * pairs.latency] * with_latency
        rows = np.empty((len(pairs.value), len(pairs.compiled.groups)), dtype=np.int64)
        rows[:, pairs.groups], rows[:, pairs.last] = pairs.rows, pairs.source
        trips = [
            np.rint(pairs.partial[key] * pairs.factors[key]).astype(np.int64)
            for key in pairs.compiled.shared
        ]
        found = Points(
            np.stack(cost, axis=1),
            np.stack(trips, axis=1) if trips else np.empty((len(rows), 0), dtype=np.int64),
            self.usage(pairs),
            np.full(len(rows), len(self.compiled) - 1),
            rows,
        ).pruned()
        self.parts.append(found)
        self.waiting += len(found)
        if self.waiting > _PRUNE:
            self.parts, self.waiting = [joined(self.parts).pruned()], 0

    def usage(self, pairs: Pairs) -> Floats:
        """Bits held above each shared loop and in all, `[row, memory, depth]`."""
        result = np.zeros((len(pairs.value), len(self.memories), self.depth + 1))
        units = pairs.compiled.skeleton.chain.units
        for level, held in pairs.compiled.held:
            if units[level].name in self.memories:
                where = self.memories.index(units[level].name)
                for depth, part in enumerate(held):
                    result[:, where, depth] = pairs.total(part)
        return result

    def points(self) -> Points | None:
        """Everything that was taken, dominated rows left out; None if there is nothing."""
        if self.parts:
            self.parts = [joined(self.parts).pruned()]
            return self.parts[0]
        return None

"""All choices of spatial loops that may be better than a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver_mapper.deadline import check_time
from solver_mapper.solve.imperfect.joint.costs import HolderCosts
from solver_mapper.solve.imperfect.joint.counts import Floats, Ints
from solver_mapper.verify.imperfect_bound import ComputeBoundary, compute_boundary

MOST_CHOICES = 20_000
"""Choices of spatial loops that may be better than the target."""
Rows = NDArray[np.int64]
"""Choices of spatial loops: (rows, levels, dimensions), instances along each."""


@dataclass(frozen=True)
class SpatialLoops:
    """The choices of spatial loops for one choice of holders.

    Fewer instances never cost less, rounding apart; `room` has the choices that no other exceeds.
    """

    costs: HolderCosts
    room: ComputeBoundary

    def least_rank(self) -> float:
        """The least rank that any choice promises."""
        return float(self.costs.ranks(self.room, rounded=False).min())

    def ranks(self, rows: Rows, *, rounded: bool = True) -> Floats:
        """The least rank of each choice."""
        return self.costs.ranks(compute_boundary(self.room, rows), rounded=rounded)

    def best(self) -> Ints:
        """A choice that promises much, with so many instances less that no further one less
        promises more: (levels, dimensions).
        """
        at = self.costs.ranks(self.room).argmin()
        best = np.array([[each[at] for each in level] for level in self.room.spread], np.int64)
        while True:
            rows = np.concatenate([best[None], _fewer(best[None])])
            at = self.ranks(rows).argmin()
            if at == 0:
                return best
            best = rows[at]

    def below(self, target: float) -> Rows:
        """All choices whose bound is below the target. What is left of a choice with an instance
        less along one dimension is looked at only where the choice itself is below it.

        Raises: ValueError if there are too many.
        """
        live = np.flatnonzero(self.costs.ranks(self.room, rounded=False) < target)
        tables = [np.stack([each[live] for each in level], axis=1) for level in self.room.spread]
        rows = np.stack(tables, axis=1).astype(np.int64)
        seen = rows[:0]
        while len(rows):
            check_time()
            rows = rows[self.ranks(rows, rounded=False) < target]
            seen = np.concatenate([seen, rows])
            if len(seen) > MOST_CHOICES:
                raise ValueError("there are too many choices of spatial loops")
            rows = _new(_fewer(rows), seen)
        return seen[self.reached(seen)]

    def reached(self, rows: Rows) -> NDArray[np.bool_]:
        """Choices each of whose loops can be reached by the size of its dimension."""
        sizes = np.array(self.costs.sizes)
        inside = np.ones((len(rows), len(sizes)), dtype=np.int64)
        reached = np.ones(len(rows), dtype=bool)
        for level in reversed(range(rows.shape[1])):
            reached &= ((rows[:, level] - 1) * inside < sizes).all(axis=1)
            inside = inside * rows[:, level]
        return reached


def _fewer(rows: Rows) -> Rows:
    """All choices with one instance less along one dimension."""
    fewer = []
    for level, dim in np.ndindex(*rows.shape[1:]):
        some = rows[rows[:, level, dim] > 1]
        some[:, level, dim] -= 1
        fewer.append(some)
    return np.concatenate(fewer)


def _new(rows: Rows, seen: Rows) -> Rows:
    """Different rows that have not been seen."""
    if not len(rows):
        return rows
    rows = np.unique(rows.reshape(len(rows), -1), axis=0).reshape(-1, *rows.shape[1:])
    known = {row.tobytes() for row in seen}
    return rows[[row.tobytes() not in known for row in rows]]

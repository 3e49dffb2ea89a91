"""Where inner mappings are that a walk may still go on from, by the step that they are at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from solver_mapper.errors import LimitReached
from solver_mapper.solve.outward.costs import NOISE
from solver_mapper.solve.outward.inner import InnerMappings, joined

Key = tuple[object, ...]
"""Names a step."""


def needed(rows: InnerMappings) -> float:
    """The least rank that any of the rows needs."""
    return float(rows.least.min(initial=inf))


@dataclass
class _Place:
    """The rows at one step.

    arrived: that have not been looked at. waiting: that need more than the target had been when
    they were. gone_on: that went on, with which those that come later are compared.
    """

    arrived: list[InnerMappings] = field(default_factory=list)
    waiting: list[InnerMappings] = field(default_factory=list)
    gone_on: list[InnerMappings] = field(default_factory=list)

    @property
    def left(self) -> list[InnerMappings]:
        """The rows from which the walk has not gone on."""
        return [*self.arrived, *self.waiting]


class Places:
    """All places of one walk.

    first: where it begins. `horizon`: rows that need as much are discarded; all that wait would, if
           it is minus infinity.
    """

    def __init__(self, first: InnerMappings, horizon: float):
        self.horizon = horizon
        self._nothing, self._discarded = first.take(slice(0, 0)), inf
        self._at: dict[Key, _Place] = defaultdict(_Place)
        self.arrive(("start",), first)

    @property
    def beyond(self) -> float:
        """The least that any row needs from which the walk has not gone on."""
        left = [needed(rows) for place in self._at.values() for rows in place.left]
        return min([self._discarded, *left])

    def any_at(self, key: Key) -> bool:
        """Whether there are rows at a step from which the walk has not gone on."""
        return key in self._at and bool(self._at[key].left)

    def gone_on(self, key: Key) -> Sequence[InnerMappings]:
        """The rows that went on from a step before."""
        return self._at[key].gone_on

    def arrive(self, key: Key, rows: InnerMappings) -> None:
        """Rows come to a step."""
        if len(rows):
            self._at[key].arrived.append(rows)

    def went_on(self, key: Key, rows: InnerMappings) -> None:
        """Rows have gone on from a step."""
        if len(rows):
            self._at[key].gone_on.append(rows)

    def wait(self, key: Key, rows: InnerMappings) -> None:
        """Rows wait at a step for a higher target, unless that would be too high."""
        wanted = rows.least * (1 - NOISE) < self.horizon
        if not wanted.all():
            self._discarded = min(self._discarded, needed(rows.take(~wanted)))
            rows = rows.take(wanted)
        if len(rows):
            self._at[key].waiting.append(rows)

    def taken(
        self, key: Key, parts: Sequence[InnerMappings], target: float
    ) -> tuple[InnerMappings, InnerMappings]:
        """The rows that have arrived at a step, with those that arrive now; and those waiting there
        that may lead below the target.
        """
        if key not in self._at:
            return joined([self._nothing, *parts]), self._nothing
        place = self._at[key]
        new, place.arrived = joined([self._nothing, *place.arrived, *parts]), []
        wanted, waiting = [self._nothing], []
        for rows in place.waiting:
            below = rows.least * (1 - NOISE) < target
            if below.any():
                wanted.append(rows.take(below))
                rows = rows.take(~below)
            waiting.append(rows)
        place.waiting = [rows for rows in waiting if len(rows)]
        return new, joined(wanted)

    def forget(self, horizon: float) -> None:
        """Discard what needs as much as that."""
        self.horizon = min(self.horizon, horizon)
        for key, place in self._at.items():
            waiting, place.waiting = place.waiting, []
            for rows in waiting:
                self.wait(key, rows)

    def limit(self, most: int, target: float) -> None:
        """Keep no more than so many rows: discard those waiting that need the most, and compare
        with no rows that went on, if need be.

        Raises: LimitReached if there are too many that may lead below the target.
        """
        if self._stored() <= most:
            return
        for place in self._at.values():
            place.gone_on.clear()
        waiting = [rows.least for place in self._at.values() for rows in place.waiting]
        if self._stored() > most / 2 and waiting:
            self.forget(max(float(np.median(np.concatenate(waiting))), target))
        if self._stored() > most:
            raise LimitReached("there are too many inner mappings")

    def _stored(self) -> int:
        places = self._at.values()
        return sum(len(rows) for each in places for rows in (*each.left, *each.gone_on))

"""The choices of spatial loops for one choice of who holds what, and what is known of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.counts import Ints
from solver_mapper.solve.imperfect.joint.spatial_choice import SpatialChoice
from solver_mapper.solve.imperfect.joint.spatial_loops import SpatialLoops
from solver_mapper.solve.imperfect.joint.stages import Stages
from solver_mapper.solve.imperfect.joint.symmetry import symmetries
from solver_mapper.solve.imperfect.joint.walks import (
    COARSE,
    EXACT,
    FINE,
    NESTED,
    TIGHT,
    GoalState,
    Refined,
    Walks,
)
from solver_mapper.verify.imperfect_bound import most_along
from solver_mapper.verify.mapspace import EnumeratedMapspace

MOST_CHOICES_KEPT = 1000
"""Choices of spatial loops whose figures are kept."""


class OpenChoice(NamedTuple):
    """What waits: a choice of holders, if `number` is negative, or one of its choices of spatial
    loops; `rank` is the least that is known of it, which is `final` if nothing more can be said.
    `stage`: which walks come next.
    """

    rank: float
    holder: int
    number: int = -1
    stage: int = 0
    final: bool = False


@dataclass
class HolderSearch:
    """The search through the choices of spatial loops for one choice of holders."""

    loops: SpatialLoops
    state: GoalState
    _choices: dict[bytes, SpatialChoice] = field(default_factory=dict)
    _known: dict[tuple[bytes, int], Refined] = field(default_factory=dict)
    """By choice of spatial loops and stage."""

    def opened(self, here: OpenChoice) -> list[OpenChoice]:
        """The choices that may be better than the target; if there are too many, all together."""
        if not self.state.begun:
            self.state.begun = True
            self._probe()
        limit = self.state.limit
        try:
            self._rows = self.loops.below(limit)
        except ValueError:
            return [here._replace(final=True)]
        return [
            here._replace(rank=max(rank, here.rank), number=number)
            for number, rank in enumerate(self.loops.ranks(self._rows).tolist())
            if rank < limit
        ]

    def refined(self, here: OpenChoice) -> OpenChoice:
        """A choice with the rank of the best temporal loops."""
        stage = COARSE if here.stage == TIGHT and not self.state.heavy else here.stage
        found = self.after(self._rows[here.number], stage)
        rank = max(here.rank, found.rank)
        if self.state.stopped:
            return here._replace(rank=rank)
        final = stage == self._last or not found.ended
        return here._replace(rank=rank, stage=stage + 1, final=final)

    def after(self, instances: Ints, stage: int) -> Refined:
        """What is known of a choice after a stage. Choices that differ by exchanging dimensions
        that stand for each other are the same.
        """
        key = min(instances[:, order].tobytes() for order in self._orders)
        if (key, stage) not in self._known:
            earlier = [self._known[key, n] for n in range(stage) if (key, n) in self._known]
            known = earlier[-1] if earlier else Refined(-inf, self.loops.costs.entering_apart)
            found = self._stages.refined(self._choice(instances), known, stage)
            if self.state.stopped:
                return found
            self._known[key, stage] = found
        return self._known[key, stage]

    def _probe(self) -> None:
        """Refine a choice that promises much: it may lead to a mapping that excludes many."""
        best = self.loops.best()
        promised = float(self.loops.ranks(best[None])[0])
        if promised < self.state.limit and self.loops.reached(best[None])[0]:
            with suppress(LimitReached):
                self._stages.find_first(self._choice(best))
            with suppress(LimitReached):
                for stage in (NESTED, COARSE, EXACT):
                    self.after(best, stage)

    def _choice(self, instances: Ints) -> SpatialChoice:
        key = instances.tobytes()
        if key not in self._choices:
            if len(self._choices) >= MOST_CHOICES_KEPT:
                self._choices.clear()
            self._choices[key] = SpatialChoice.of(self.loops.costs, self.loops.room, instances)
        return self._choices[key]

    @cached_property
    def _stages(self) -> Stages:
        return Stages(Walks(self.loops.costs, self.state, self._fixed))

    @cached_property
    def _fixed(self) -> frozenset[tuple[int, int]]:
        return without_loops(self.loops.costs.bound.mapspace)

    @cached_property
    def _last(self) -> int:
        """The last stage."""
        views = self.loops.costs.bound.views
        windows = any(len(rank) > 1 for view in views for rank in view.projection.ranks)
        return FINE if windows else EXACT

    @cached_property
    def _orders(self) -> list[list[int]]:
        """Ways to exchange dimensions that constraints on temporal loops tell not apart."""
        return [
            order
            for order in symmetries(self.loops.costs.bound.mapspace.problem)
            if {(level, order[dim]) for level, dim in self._fixed} == self._fixed
        ]


def without_loops(mapspace: EnumeratedMapspace) -> frozenset[tuple[int, int]]:
    """The dimensions of levels to which constraints leave no temporal loop."""
    dims = mapspace.problem.dims
    return frozenset(
        (level, number)
        for level, number in np.ndindex(mapspace.depth, len(dims))
        if most_along(mapspace, level, "temporal", dims[number]) == 1
    )

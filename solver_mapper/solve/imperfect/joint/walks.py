"""Walks through the temporal loops of one choice of spatial loops, and the mappings they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from solver_mapper.core.mapping import Mapping
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.solve.imperfect.joint.bandwidth import CycleRange, Price
from solver_mapper.solve.imperfect.joint.costs import HolderCosts
from solver_mapper.solve.imperfect.joint.fetches import Fetches
from solver_mapper.solve.imperfect.joint.mapping import mapping_of
from solver_mapper.solve.imperfect.joint.spatial_choice import SpatialChoice
from solver_mapper.solve.imperfect.joint.walk import Effort, Least, TemporalWalk
from solver_mapper.verify.imperfect_bound import NOISE

NESTED, TIGHT, COARSE, EXACT, FINE = range(5)
"""What is looked at for a choice of spatial loops, in order: tiles that hold each other, without a
walk; then walks: with tight budgets, if a walk has been too large; with tiles of equal number
together; exact ones; if there are windows, exact ones that tell apart what levels hold of these.
"""


class Refined(NamedTuple):
    """What walks for a choice of spatial loops have shown: the least rank, the least energy of what
    enters levels, whether they came to their end, and the cycles of the last mapping they found.
    """

    rank: float
    entering: float
    ended: bool = True
    cycles: int = 0

    def raised(self, rank: float, least: Least, budget: float) -> Refined:
        """After a walk with a budget, where so much enters levels at least unless it finds less."""
        return Refined(max(self.rank, rank), max(self.entering, min(least.energy, budget)))


@dataclass
class GoalState:
    """What all walks of the search for one goal share: the rank that is looked for, which falls
    with each better mapping, and what walks may take.

    found: see `JointBound`.
    """

    target: Fraction
    found: Callable[[Mapping], Fraction | None]
    effort: Effort
    begun: bool = False
    """Whether a first mapping has been looked for."""
    heavy: bool = False
    """Whether a walk was too large."""
    stopped: bool = False
    """Whether time or effort is over."""

    @property
    def limit(self) -> float:
        """Bounds from here on exclude a choice."""
        return float(self.target) * (1 + NOISE)

    def offer(self, mapping: Mapping) -> None:
        """Look whether a mapping is a better one."""
        target = self.found(mapping)
        if target is not None:
            self.target = min(self.target, target)


@dataclass(frozen=True)
class Walks:
    """Walks for one choice of holders. `fixed`: see `TemporalWalk`."""

    costs: HolderCosts
    state: GoalState
    fixed: frozenset[tuple[int, int]]

    def fetches(self, choice: SpatialChoice, price: Price | None = None) -> Fetches:
        """Costs of what enters levels; `price`: of the time that words take at a port."""
        mapspace = self.costs.bound.mapspace
        forgets = any(level.no_temporal_reuse for level in mapspace.plans)
        return Fetches(
            mapspace.architecture,
            mapspace.problem,
            self.costs.keeps,
            choice.spread,
            forgets=forgets,
            price=price,
        )

    def walk(
        self,
        choice: SpatialChoice,
        fetches: Fetches,
        most: dict[int, int],
        budget: float,
        stage: int,
        *,
        cycles: CycleRange | None = None,
        entering: float = 0.0,
        price: float = 0.0,
    ) -> TemporalWalk:
        """A walk for all numbers of cycles, or for a range of them; see `SpatialChoice.ranking`."""
        cycles = CycleRange(choice.cycles, choice.cycles) if cycles is None else cycles
        return TemporalWalk(
            fetches,
            most,
            choice.ranking(cycles, entering, price),
            exact=stage >= EXACT,
            fine=stage == FINE,
            budget=budget,
            outside=self.costs.outside(choice.spread, price),
            fixed=self.fixed,
            effort=self.state.effort,
        )

    def offer(self, choice: SpatialChoice, walk: TemporalWalk) -> int:
        """Offer the mapping of a walk's best loops. Returns its cycles; 0 if there is none."""
        loops, mapspace = walk.loops, self.costs.bound.mapspace
        if loops is None:
            return 0
        mapping = mapping_of(mapspace, choice.spread, loops, self.costs.keeps)
        if mapping is None:
            return 0
        self.state.offer(mapping)
        return evaluate(mapspace.architecture, mapspace.problem, mapping).cycles

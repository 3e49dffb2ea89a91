"""Minimize one goal: CP-SAT, walks outwards and local search in turns, until the gap is closed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, figure
from solver_mapper.solve.cpsat.goal_model import GoalModel
from solver_mapper.solve.cpsat.turns import Turns, Walks
from solver_mapper.solve.optimality_gap import Candidate, F, OptimalityGap
from solver_mapper.solve.outward.costs import NOISE
from solver_mapper.solve.outward.run import Ends
from solver_mapper.solve.pool.pool import Later

FEW_EXCLUDED = 3
EFFORT = 4.0
"""The solver's deterministic time after which a product's metrics are bounded one by one, and its
bound is raised in stages; likewise after as many candidates have been ruled out by themselves."""
LITTLE = 2.0
"""What the bound of one metric, or the decision of a tie, may take."""
HARDER = 8
"""Local search takes so many times as many steps as at the start before walks that come first, and
where a run of one unit of deterministic time ends without a proof; after longer ones it takes as
many more as the root of this time says.
"""
WALKED = 150_000
"""Local search takes this turn whenever walks have been so much work since the last one, in inner
mappings.
"""
BETWEEN = 16
"""How many times as many steps as at the start it takes then; or as many more as walks have been
more work, so that it takes about a tenth of their time.
"""
NO_MAPPING = "no mapping exists"
"""What is proven of an empty mapspace."""


@dataclass(frozen=True)
class ProvenStep:
    """One proven step: what it says of a goal (`claim`), how often the solver ran for it, how many
    candidates were excluded, and the relative `tolerance`.
    """

    goal: str
    claim: str
    runs: int
    excluded: int
    tolerance: float

    def to_dict(self) -> dict[str, object]:
        """JSON data, as `--json` prints it."""
        return {
            "goal": self.goal,
            "claim": self.claim,
            "runs": self.runs,
            "excluded": self.excluded,
            "tolerance": self.tolerance,
        }


@dataclass
class GoalSearch(Generic[F]):
    """Closes the optimality gap of one goal.

    model: the model of the goal; the space is compiled when it is first called.
    improve: the best mapping that local search finds, so many times as hard as usual; None if there
        is no local search.
    walks: walks outwards for the goal, if there are any.
    tie: whether the search ends where a proof would need more effort: deciding a tie may cost much
        more than the goals do.
    """

    gap: OptimalityGap[F]
    model: Callable[[], GoalModel[F]]
    assess: Callable[[Mapping], F]
    clock: Clock
    improve: Callable[[int], Later[Mapping] | None]
    walks: Walks | None
    tie: bool = False
    by_walks: bool = field(default=False, init=False)
    """Whether walks have closed the gap."""
    _empty: bool = field(default=False, init=False)
    """Whether all mappings were looked at, and there is none."""
    _improved: Later[Mapping] | None = field(default=None, init=False)
    """What local search finds meanwhile."""
    _runs: int = field(default=0, init=False)
    _excluded: int = field(default=0, init=False)

    def walk_once(self) -> ProvenStep | None:
        """The proof, if a short walk below the incumbent gives one."""
        if self.walks is None or self.gap.rank is None:
            return None
        self.take(self.walks.once(float(self.gap.rank)))
        return self._proof()

    def minimize(self, *, walks_first: bool) -> ProvenStep | None:
        """The proof, if there is one before the time is over."""
        turns = Turns(None if self.tie else self.walks)
        if walks_first:
            self._look_further(HARDER)
            self.take(turns.before(self._span))
        effort: float | None = LITTLE if self.tie else EFFORT
        spent = 0.0
        while not self.clock.over:
            proof = self._proof()
            if proof is not None:
                return proof
            if self.tie and (effort is None or spent >= LITTLE):
                return None
            model = self.model()
            if effort is None and self._lacks_bounds_of_metrics(model):
                self._runs += model.bound_metrics(LITTLE)
                continue
            model.narrow()
            cut, before = model.cut(staged=effort is None), self.gap.best
            outcome = model.run(cut, turns.effort(effort))
            spent += outcome.effort
            self._runs += 1
            if outcome.status == "INFEASIBLE":
                if self.gap.best is None or self.gap.closed:
                    return self._proven("no better mapping exists" if self.gap.best else NO_MAPPING)
                continue
            ended = outcome.status == "OPTIMAL" and outcome.value is not None
            if not (ended or self.tie):
                self._look_further(math.ceil(HARDER * math.sqrt(outcome.effort)))
            better = self.gap.best is not before
            self.take(turns.after(self._span, outcome.effort, ended=ended, better=better))
            if not ended:
                effort = None if spent >= EFFORT or turns.over else effort
                continue
            self._excluded += model.refine(cut)
            effort = effort if self._excluded < FEW_EXCLUDED else None
        return self._proof()

    def take(self, found: Iterable[Ends]) -> None:
        """Take the mappings and bounds of walks, until the bound meets the incumbent. Local search
        has turns between them: better incumbents make the walks that follow shorter.
        """
        work = 0
        for ends in found:
            self._empty |= ends.whole and ends.least == math.inf
            for mapping in ends.mappings:
                self.gap.adopt(Candidate(mapping, self.assess(mapping)))
            if ends.least is not None and math.isfinite(ends.least):
                self.gap.raise_bound(self._certain(ends.least))
            if self.gap.closed:
                self.by_walks = True
                return
            self._take_improved()
            work += ends.work
            if work >= WALKED:
                self._look_further(BETWEEN * work // WALKED)
                work = 0
        self._take_improved()

    def _span(self) -> tuple[float, float]:
        return self.gap.span

    def _look_further(self, harder: int) -> None:
        """Where a proof takes long: a better incumbent makes the rest of it shorter. `harder`: how
        many times as many steps local search takes as at the start.
        """
        self._take_improved()
        self._improved = self.improve(harder)

    def _take_improved(self) -> None:
        """Take what local search finds, if it was to look further."""
        improved, self._improved = self._improved, None
        if improved is not None:
            found = improved.result()
            self.gap.adopt(Candidate(found, self.assess(found)))

    def _certain(self, least: float | Fraction) -> Fraction:
        """What a bound of walks says for certain. They overlook differences of energy below `NOISE`
        of it: only where these are no whole multiple of the unit may a bound reach the incumbent.
        """
        if isinstance(least, Fraction) or self.gap.best is None or self.gap.rank is None:
            return Fraction(least)
        overlooked = figure(self.gap.best.statistics, "energy") * Fraction(NOISE)
        if self.gap.energy_unit is not None and abs(overlooked) * self.gap.energy_unit < 1:
            return Fraction(least)
        rank = self.gap.rank
        return min(Fraction(least), rank - abs(rank) * Fraction(NOISE))

    def _lacks_bounds_of_metrics(self, model: GoalModel[F]) -> bool:
        """Whether the goal is a product whose metrics can be bounded one by one, and are not."""
        product = self.gap.goal.single is None
        return product and self.gap.best is not None and not model.has_bounds_of_metrics

    def _proof(self) -> ProvenStep | None:
        """The proof, if there is one by now."""
        if self.gap.closed:
            return self._proven("the bound meets the incumbent")
        return self._proven(NO_MAPPING) if self._empty else None

    def _proven(self, claim: str) -> ProvenStep:
        share = self.gap.share
        if share > GAP:
            claim = "no mapping is better by more than the gap"
        return ProvenStep(self.gap.goal.name, claim, self._runs, self._excluded, share)

"""Minimize goals over the compiled model, with the exact cost model evaluating every candidate.

CP-SAT minimizes what it can express, which never exceeds the exact figure. Each mapping it meets is
evaluated exactly; the best so far becomes a strict cut-off. The search ends when CP-SAT proves that
no mapping lies below the cut-off, or that its own optimum is the incumbent's exact value. Where the
two differ, the candidate is ruled out (it is known exactly by then) and the search goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Generic

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, Goal, Limit, Objective
from solver_mapper.core.progress import Progress
from solver_mapper.errors import LimitReached
from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.cutoffs import Cutoffs
from solver_mapper.solve.cpsat.engine import Settings
from solver_mapper.solve.cpsat.extract import values_of
from solver_mapper.solve.cpsat.goal_model import GoalModel
from solver_mapper.solve.cpsat.goal_search import GoalSearch, ProvenStep
from solver_mapper.solve.cpsat.turns import Walks
from solver_mapper.solve.optimality_gap import Candidate, F, OptimalityGap
from solver_mapper.solve.pool.pool import Later


@dataclass
class Search(Generic[F]):
    """Minimizes an objective over a space that is compiled when the model is first needed.

    `best` and `bound` hold the outcome for the first goal, `fixed` the goals and ties that were
    proven, `proofs` how.
    """

    compile: Callable[[], CompiledSpace]
    assess: Callable[[Mapping], F]
    settings: Settings
    clock: Clock
    on_progress: Callable[[Progress], None] | None = None
    gap: float = GAP
    hooked: bool = False
    """Whether a user added to the model, about which the exact model knows nothing."""
    improve: Callable[[Goal, Sequence[Limit], Mapping, int], Later[Mapping]] | None = None
    """Looks for a better mapping within limits from one that is, so many times as hard as usual."""
    walks: Callable[[Goal, Sequence[Limit]], Walks | None] | None = None
    """Walks outwards for a goal within limits, if there are any."""
    best: Candidate[F] | None = None
    bound: Fraction | None = None
    proofs: list[ProvenStep] = field(default_factory=list)
    fixed: list[tuple[Goal, Fraction]] = field(default_factory=list)
    limits: tuple[Limit, ...] = ()
    """Only mappings within these are looked for: no tolerance, whatever had to be rounded."""
    energy_unit: int | None = None
    """Energies are whole multiples of one over this, in pJ; None if that is not known."""
    least: dict[Goal, Fraction] = field(default_factory=dict)
    """What is known of goals: no mapping within the limits ranks below this."""
    at_once: Callable[[Goal], Fraction | None] | None = None
    """The same for any goal, without a search."""
    _start: Candidate[F] | None = None
    _hint: Mapping | None = None
    _by_walks: bool = False
    """Whether walks gave a proof."""
    _model: GoalModel[F] | None = None
    """The model of the goal that was minimized last, if that needed one."""
    _required: int = 0
    """How many of the fixed goals are required of the compiled space."""
    _made: dict[Goal, Walks | None] = field(default_factory=dict)

    @cached_property
    def _cutoffs(self) -> Cutoffs:
        """The space, compiled, with cut-offs for all limits and for what was fixed before."""
        compiled = self.compile()
        for variable, value in (self._hint and values_of(compiled, self._hint)) or []:
            compiled.model.add_hint(variable, value)
        cutoffs = Cutoffs(compiled)
        for limit in self._within:
            cutoffs.require(limit.goal, limit.rank, strict=limit.strict)
        self._required = len(self.fixed)
        return cutoffs

    @property
    def compiled(self) -> CompiledSpace:
        """The space, compiled."""
        return self._cutoffs.compiled

    def minimize(self, objective: Objective) -> bool:
        """Minimize goal after goal; True if all were proven, ties aside.

        Raises: LimitReached or MemoryError if either ended the search for a goal.
        """
        for number, goal in enumerate(objective.all):
            tie = number >= len(objective.goals)
            gap = self._gap_of(goal)
            try:
                proof = self._minimize_goal(gap, tie)
            except (LimitReached, MemoryError):
                if not tie:
                    raise
                proof = None
            finally:
                self.best = gap.best
                self.bound = self.bound if number else gap.bound
            if proof is None:
                return tie
            self.proofs.append(proof)
            if gap.rank is None:
                return True
            self.fixed.append((goal, gap.rank))
        return True

    def start_from(self, mapping: Mapping) -> None:
        """Take a mapping of the space as the solver's hint and, unless a user added to the model,
        as the incumbent. Called before the space is compiled.
        """
        candidate = Candidate(mapping, self.assess(mapping))
        if all(limit.admits(candidate.statistics) for limit in self._within) and not self.hooked:
            self.best = self._start = candidate
        self._hint = mapping

    def compile_ahead(self, goal: Goal) -> None:
        """Compile the space now, unless walks for the goal come before the model."""
        if not self._walks_first(goal):
            _ = self.compiled

    @property
    def _within(self) -> tuple[Limit, ...]:
        """All limits, and what was fixed before."""
        fixed = (Limit(goal, rank, strict=False) for goal, rank in self.fixed)
        return (*self.limits, *fixed)

    def _gap_of(self, goal: Goal) -> OptimalityGap[F]:
        """The gap of a goal that is minimized next."""
        known = [self.least.get(goal), self.at_once and self.at_once(goal)]
        bound = max((each for each in known if each is not None), default=None)
        tell = None if self.on_progress is None else partial(self._tell, self.on_progress)
        return OptimalityGap(
            goal, self._within, self.gap, self.energy_unit, self.best, bound, on_change=tell
        )

    def _tell(self, on_progress: Callable[[Progress], None], gap: OptimalityGap[F]) -> None:
        value = None if gap.rank is None else gap.goal.shown(gap.rank)
        bound = None if gap.bound is None else float(gap.goal.shown_below(gap.bound))
        on_progress(Progress(value, bound, self.clock.seconds, gap.goal.name))

    def _minimize_goal(self, gap: OptimalityGap[F], tie: bool) -> ProvenStep | None:
        """The proof that the gap of a goal, or of a `tie`, is closed; None if it is not."""
        goal_search = self._search_for(gap, tie)
        walks_decide = goal_search.walks is not None and gap.best is not None
        if self._may_be_decided(gap.goal) and walks_decide:
            proof = goal_search.walk_once()
            if proof is not None or tie:
                return proof
        proof = goal_search.minimize(walks_first=not tie and self._walks_first(gap.goal))
        self._by_walks |= goal_search.by_walks
        return proof

    def _search_for(self, gap: OptimalityGap[F], tie: bool) -> GoalSearch[F]:
        walks = None if tie and not self._may_be_decided(gap.goal) else self._walks(gap.goal)
        return GoalSearch(
            gap,
            partial(self._model_for, gap),
            self.assess,
            self.clock,
            partial(self._improved, gap),
            walks,
            tie,
        )

    def _may_be_decided(self, goal: Goal) -> bool:
        """Whether a short walk may decide the least cycles of all mappings of the least energy:
        where walks have proven the energy. What they do not decide the model hardly ever does.
        """
        return self._by_walks and len(self.fixed) == 1 and goal.single == "delay"

    def _model_for(self, gap: OptimalityGap[F]) -> GoalModel[F]:
        """The model of a goal, in which what earlier goals have come to is fixed."""
        if self._model is None or self._model.gap is not gap:
            cutoffs = self._cutoffs
            if self._model is not None:
                self._model.candidates.readmit()
            for goal, rank in self.fixed[self._required :]:
                cutoffs.require(goal, rank, strict=False)
            self._required = len(self.fixed)
            self._model = GoalModel(
                cutoffs, gap, self.settings, self.clock, self.assess, self.limits, self.hooked
            )
        return self._model

    def _improved(self, gap: OptimalityGap[F], harder: int) -> Later[Mapping] | None:
        """What local search finds. Without limits it begins where the search began: small steps
        from the incumbent may lead nowhere.
        """
        start = gap.best if gap.limits else self._start or gap.best
        if self.improve is None or start is None:
            return None
        return self.improve(gap.goal, gap.limits, start.mapping, harder)

    def _walks(self, goal: Goal) -> Walks | None:
        """Walks outwards within all limits and what was fixed before."""
        if self.walks is not None and goal not in self._made:
            self._made[goal] = self.walks(goal, self._within)
        return self._made.get(goal)

    def _walks_first(self, goal: Goal) -> bool:
        """Whether walks for a goal come before the model, or give the only proof there was yet."""
        walks = self._walks(goal)
        if walks is None or self.best is None:
            return False
        return walks.first or (self._by_walks and "_cutoffs" not in self.__dict__)

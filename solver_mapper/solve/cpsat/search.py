"""Branching over whole models: minimize a goal, with the exact model as the judge of every
candidate.

CP-SAT minimizes what it can express, which never exceeds the exact figure. Each mapping it meets is
evaluated exactly; the best so far becomes a strict cut-off. The search ends when CP-SAT proves that
nothing is left below the cut-off, or that its own optimum is the incumbent's exact value. Where the
two differ, the candidate is ruled out (it is known exactly by then) and the search goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Generic, TypeVar

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal, HasStatistics, Limit, Objective, figure
from solver_mapper.core.progress import Progress
from solver_mapper.errors import ExactnessError
from solver_mapper.solve.cpsat.compile import Compiled
from solver_mapper.solve.cpsat.engine import Read, Settings, run
from solver_mapper.solve.cpsat.exclusion import decisions, forbid, grounds
from solver_mapper.solve.cpsat.extract import mapping_of, values_of
from solver_mapper.solve.cpsat.linear_form import LinearForm, weigh
from solver_mapper.solve.cpsat.neighbour_forwarding import ForwardingClaim
from solver_mapper.solve.cpsat.thresholds import is_whole, middle, most_energy
from solver_mapper.solve.cpsat.variants import some_variants

IMPROVEMENT = Fraction(1, 10**8)
"""Improvements below this share of the value are not looked for where weights had to be rounded."""
ROUNDED = Fraction(1, 10**6)
"""The same where the account itself rounds: words that neighbours pass on, per instance, which the
model may count too low. It applies once `NEAR` candidates that close to the incumbent have been
ruled out one by one."""
NEAR = 2


FEW, MANY = 32, 4096
"""How many mappings that the model does not tell apart are judged for each candidate, and before
one is ruled out.
"""

F = TypeVar("F", bound=HasStatistics)


@dataclass(frozen=True)
class Candidate(Generic[F]):
    mapping: Mapping
    statistics: F


@dataclass(frozen=True)
class Proof:
    """One proven step. `bound` is exact for the goal's rank; `tolerance` is relative."""

    goal: str
    claim: str
    runs: int
    excluded: int
    tolerance: float

    def to_dict(self) -> dict[str, object]:
        return {
            "goal": self.goal,
            "claim": self.claim,
            "runs": self.runs,
            "excluded": self.excluded,
            "tolerance": self.tolerance,
        }


@dataclass
class Search(Generic[F]):
    """Minimizes an objective over a compiled space."""

    compiled: Compiled
    assess: Callable[[Mapping], F]
    settings: Settings
    clock: Clock
    helped: Callable[[F, ForwardingClaim], bool]
    on_progress: Callable[[Progress], None] | None = None
    gap: float = 0.0
    hooked: bool = False
    """Whether a user added to the model, about which the exact model knows nothing."""
    best: Candidate[F] | None = None
    proofs: list[Proof] = field(default_factory=list)
    settled: list[tuple[Goal, Fraction]] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    bound: Fraction | None = None
    last: Candidate[F] | None = None
    _last_values: dict[int, int] = field(default_factory=dict)
    _last_variants: list[Candidate[F]] = field(default_factory=list)
    _complete: bool = True
    _near: int = 0
    _last_cycles: int = 0
    _last_energy: Fraction = Fraction(0)
    _weights: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1))
    _thresholds: dict[int, cp_model.IntVar] = field(default_factory=dict)
    _passing: list[cp_model.Constraint] = field(default_factory=list)
    """What holds for the current goal only: later ones may tie with its optimum, and look among
    mappings that were ruled out.
    """

    def minimize(self, objective: Objective) -> bool:
        """Minimize goal after goal; True if all were proven, ties aside.

        `best` and `bound` hold the outcome for the first goal, `settled` the goals and ties that
        were proven.
        """
        first: Fraction | None = None
        for number, goal in enumerate(objective.all):
            self.bound = None
            if not self._minimize_goal(goal):
                self.bound = first if first is not None else self.bound
                return number >= len(objective.goals)
            if self.best is None:
                return True
            rank = goal.rank(self.best.statistics)
            first = rank if first is None else first
            self._settle(goal, rank)
        self.bound = first
        return True

    def below(self, goal: Goal, rank: Fraction) -> None:
        """Look only for mappings whose `goal` is below `rank`."""
        self.limits.append(Limit(goal, rank, strict=True))
        self._require(goal, rank, strict=True)

    def cap(self, goal: Goal, rank: Fraction, *, strict: bool) -> None:
        """Look only for mappings whose `goal` is at most `rank`, or below it if `strict`: no
        tolerance, whatever had to be rounded.
        """
        self.limits.append(Limit(goal, rank, strict))
        self._require(goal, rank, strict=strict and self._whole(goal))

    def start_from(self, mapping: Mapping) -> None:
        """Take a mapping of the space as the solver's hint and, unless a user added to the model,
        as the incumbent.
        """
        candidate = Candidate(mapping, self.assess(mapping))
        if self._admits(candidate.statistics) and not self.hooked:
            self.best = candidate
        for variable, value in values_of(self.compiled, mapping) or []:
            self.compiled.model.add_hint(variable, value)

    def _admits(self, statistics: F) -> bool:
        return all(goal.rank(statistics) <= rank for goal, rank in self.settled) and all(
            limit.admits(statistics) for limit in self.limits
        )

    def _settle(self, goal: Goal, rank: Fraction) -> None:
        self.settled.append((goal, rank))
        never = self.compiled.model.new_constant(0)
        for constraint in self._passing:
            constraint.only_enforce_if(never)
        self._passing.clear()
        self._require(goal, rank, strict=False)

    def _minimize_goal(self, goal: Goal) -> bool:
        runs = excluded = 0
        while not self.clock.over:
            cut = None
            if self.best is not None:
                cut = goal.rank(self.best.statistics)
                self._passing += self._require(goal, cut, strict=True)
            scale, constant = self._set_objective(goal)
            self.last = None
            outcome = run(
                self.compiled.model,
                self.settings,
                self.clock,
                partial(self._meet, goal),
                partial(self._bounded, goal, scale, constant),
            )
            runs += 1
            if outcome.status == "MODEL_INVALID":
                raise ExactnessError(
                    f"the compiled model is invalid: {self.compiled.model.validate()}"
                )
            if outcome.status == "INFEASIBLE":
                return self._proven(
                    goal,
                    "nothing below the incumbent" if self.best else "no mapping exists",
                    runs,
                    excluded,
                )
            self._learn(goal, scale, constant, outcome.bound)
            if outcome.status != "OPTIMAL" or outcome.value is None:
                return False
            self._check_claim(goal, (Fraction(round(outcome.value)) + constant) / scale)
            self._near += self._rounded_away(goal)
            if self._closed(goal):
                return self._proven(
                    goal, "the solver's optimum is the incumbent's exact value", runs, excluded
                )
            if self._close_enough(goal):
                return False
            if not self._all_variants(goal):
                return False
            if self._refute():
                continue
            if not self._improved(goal, cut) and not self._cut_deeper(goal):
                self._exclude()
                excluded += 1
        return False

    def _all_variants(self, goal: Goal) -> bool:
        """Judge all mappings that the model does not tell from the last candidate; False if there
        are too many.
        """
        if not self._complete and self.last is not None:
            self.last = self._assess_variants(goal, self.last.mapping, MANY)
            self._adopt(goal, self.last)
        return self._complete

    def _improved(self, goal: Goal, cut: Fraction | None) -> bool:
        return self.best is not None and (cut is None or goal.rank(self.best.statistics) < cut)

    def _cut_deeper(self, goal: Goal) -> bool:
        """Add the last candidate's cycles to those where cuts of products are exact; False if that
        does not constraint it out.
        """
        cycles, energy = self._last_cycles, self._last_energy
        cuts = [
            *self.limits,
            *(
                [Limit(goal, goal.rank(self.best.statistics), strict=True)]
                if self.best is not None
                else []
            ),
        ]
        products = [cut for cut in cuts if cut.goal.single is None]
        if cycles in self._thresholds or not any(cut.excludes(energy, cycles) for cut in products):
            return False
        self._later(cycles)
        for cut in self.limits:
            if cut.goal.single is None:
                self._require(cut.goal, cut.rank, strict=cut.strict and self._whole(cut.goal))
        return True

    def _proven(self, goal: Goal, claim: str, runs: int, excluded: int) -> bool:
        if self.best is not None:
            self.bound = goal.rank(self.best.statistics)
        self.proofs.append(
            Proof(
                goal.name,
                claim,
                runs,
                excluded,
                0.0 if self._whole(goal) else float(self._improvement),
            )
        )
        return True

    def _closed(self, goal: Goal) -> bool:
        return (
            goal.single is not None
            and self.best is not None
            and self.bound is not None
            and goal.rank(self.best.statistics)
            <= self.bound * (1 if self._whole(goal) else 1 + self._improvement)
        )

    def _close_enough(self, goal: Goal) -> bool:
        if not self.gap or self.best is None or self.bound is None:
            return False
        rank = goal.rank(self.best.statistics)
        return rank - self.bound <= Fraction(self.gap) * rank

    def _learn(self, goal: Goal, scale: Fraction, constant: int, bound: float) -> None:
        """Raise the goal's bound to what a bound of the solver's objective implies for mappings
        below the cut-off.
        """
        if not math.isfinite(bound):
            return
        least = (Fraction(math.ceil(bound - 1e-6)) + constant) / scale
        if goal.single is None:
            least = self._least_product(goal, least)
        if self.best is not None:
            least = min(least, goal.rank(self.best.statistics))
        self.bound = least if self.bound is None else max(self.bound, least)

    def _least_product(self, goal: Goal, least: Fraction) -> Fraction:
        """The least product under `u * energy + v * cycles >= least`: it lies at one end, since the
        product is quasi-concave.
        """
        (_, a), (_, b) = goal.powers
        u, v = self._weights
        energy, cycles = (
            self.compiled.energy.constant,
            Fraction(min(self.compiled.steps.values, default=1)),
        )
        most = max(energy, (least - v * cycles) / u)
        longest = max(cycles, (least - u * energy) / v)
        return min(most**a * cycles**b, energy**a * longest**b)

    def amount(self, metric: str) -> LinearForm:
        """The compiled lower bound of a metric."""
        if metric == "energy":
            return self.compiled.energy
        return weigh([self.compiled.cycles], [1]) if metric == "delay" else self.compiled.last_level

    def _whole(self, goal: Goal) -> bool:
        """Whether the goal's metrics are whole numbers in the model, so that strict cuts lose
        nothing.
        """
        return all(self._counts_all(metric) for metric, _ in goal.powers)

    def _rounded_away(self, goal: Goal) -> bool:
        """Whether rounding may be all that keeps the bound, or the last candidate's claim on a
        product, from the incumbent.
        """
        claim = (
            self.bound
            if goal.single is not None
            else Fraction(
                math.prod(
                    (self._last_energy if metric == "energy" else self._last_cycles) ** power
                    for metric, power in goal.powers
                )
            )
        )
        return (
            self.compiled.rounded
            and self.best is not None
            and claim is not None
            and goal.rank(self.best.statistics) <= claim * (1 + ROUNDED)
        )

    def _counts_all(self, metric: str) -> bool:
        return is_whole(self.amount(metric)) and not (metric == "energy" and self._near > NEAR)

    @property
    def _improvement(self) -> Fraction:
        return ROUNDED if self._near > NEAR else IMPROVEMENT

    def _set_objective(self, goal: Goal) -> tuple[Fraction, int]:
        """Minimize the metric, or for a product its linear approximation at the incumbent."""
        if goal.single is not None:
            amount = self.amount(goal.single)
        else:
            weights = []
            for metric, power in goal.powers:
                at = (
                    figure(self.best.statistics, metric)
                    if self.best
                    else middle(self.amount(metric))
                )
                weights.append(Fraction(power * 10**9) / at)
            self._weights = weights[0], weights[1]
            amount = self.amount("energy") * weights[0] + self.amount("delay") * weights[1]
        scale = amount.scale()
        expr, constant = amount.whole(scale)
        self.compiled.model.minimize(expr)
        return scale, constant

    def _require(self, goal: Goal, rank: Fraction, *, strict: bool) -> list[cp_model.Constraint]:
        """Cut off mappings whose goal cannot be below `rank` (or at most `rank`)."""
        if goal.single is not None:
            return [self._limit(goal.single, rank, strict)]
        (first, a), (second, b) = goal.powers
        assert (first, second) == ("energy", "delay")
        energy = self.compiled.energy
        scale = energy.scale()
        expr, constant = energy.whole(scale)
        whole = self._counts_all("energy")
        slack = 1 if strict and whole else 0
        share = 1 - self._improvement if strict and not whole else 1
        points = self.compiled.steps
        caps = []
        for steps in points.values:
            caps.append(most_energy(rank * share, scale, steps, a, b, slack) - constant)
        cuts = [
            self.compiled.model.add(
                expr <= cp_model.LinearExpr.weighted_sum(points.selection.literals, caps)
            )
        ]
        for cycles, later in sorted(self._thresholds.items()):
            most = most_energy(rank * share, scale, cycles, a, b, slack) - constant
            cuts.append(self.compiled.model.add(expr <= most).only_enforce_if(later))
        return cuts

    def _later(self, cycles: int) -> cp_model.IntVar:
        """A literal that is implied by taking at least `cycles`."""
        if cycles not in self._thresholds:
            literal = self.compiled.model.new_bool_var(f"later[{cycles}]")
            self.compiled.model.add(self.compiled.cycles <= cycles - 1).only_enforce_if(~literal)
            self._thresholds[cycles] = literal
        return self._thresholds[cycles]

    def _limit(self, metric: str, rank: Fraction, strict: bool) -> cp_model.Constraint:
        amount = self.amount(metric)
        scale = amount.scale()
        expr, constant = amount.whole(scale)
        most = math.floor(rank * scale)
        if strict:
            most = (
                math.ceil(rank * scale) - 1
                if self._counts_all(metric)
                else math.floor(rank * scale * (1 - self._improvement))
            )
        return self.compiled.model.add(expr <= most - constant)

    def _meet(self, goal: Goal, read: Read, _bound: float) -> None:
        """Evaluate a candidate exactly, and keep it if it is better."""
        mapping = mapping_of(self.compiled, read)
        chosen = self._assess_variants(goal, mapping, FEW)
        energy = self.compiled.energy
        self._last_energy = energy.constant + sum(
            (w * read(v) for v, w in energy.terms), Fraction(0)
        )
        self._last_cycles = read(self.compiled.cycles)
        claims = [claim.literal for claim in self.compiled.scrambled]
        self.last, self._last_values = (
            chosen,
            {v.index: read(v) for v in [*decisions(self.compiled), *claims]},
        )
        self._adopt(goal, chosen)

    def _assess_variants(self, goal: Goal, mapping: Mapping, most: int) -> Candidate[F]:
        """The best of at most so many mappings that the model does not tell from this one."""
        options, self._complete = [mapping], True
        if not self.compiled.exact:
            options, self._complete = some_variants(self.compiled.variables.space, mapping, most)
        self._last_variants = [Candidate(option, self.assess(option)) for option in options]
        return min(
            self._last_variants,
            key=lambda c: (not self._admits(c.statistics), goal.rank(c.statistics)),
        )

    def _adopt(self, goal: Goal, candidate: Candidate[F]) -> None:
        if self._admits(candidate.statistics) and (
            self.best is None or goal.rank(candidate.statistics) < goal.rank(self.best.statistics)
        ):
            self.best = candidate
            self._tell(goal)

    def _check_claim(self, goal: Goal, claimed: Fraction) -> None:
        """What the solver calls optimal may not exceed the exact figure, and must equal it where
        the model is exact.

        Under a limit that the candidate breaks, or a constraint of the user's own, the model may
        have paid in the goal for what it was spared elsewhere.
        """
        if (
            self.last is None
            or goal.single is None
            or self.hooked
            or not (self.compiled.exact or self._admits(self.last.statistics))
        ):
            return
        exact = goal.rank(self.last.statistics)
        off = claimed > exact if self._whole(goal) else claimed > exact * (1 + self._improvement)
        missed = self.compiled.exact and self._whole(goal) and claimed != exact
        if off or missed:
            raise ExactnessError(
                f"the solver claims {goal.name} {float(claimed)} for a mapping that has"
                f" {float(exact)}: {self.last.mapping}"
            )

    def _exclude(self) -> None:
        """Constraint out the last candidate's decisions: at least one must differ."""
        self._passing.append(
            forbid(self.compiled.model, decisions(self.compiled), self._last_values)
        )

    def _refute(self) -> bool:
        """Take back claims of help from neighbours on partly filled rows that no variant of the
        last candidate bears out.

        False if there was no such claim.
        """
        claims = [
            claim
            for claim in self.compiled.scrambled
            if self._last_values[claim.literal.index]
            and not any(self.helped(each.statistics, claim) for each in self._last_variants)
        ]
        for claim in claims:
            forbid(
                self.compiled.model,
                [claim.literal, *grounds(self.compiled, claim)],
                self._last_values,
            )
        return bool(claims)

    def _bounded(self, goal: Goal, scale: Fraction, constant: int, bound: float) -> None:
        self._learn(goal, scale, constant, bound)
        self._tell(goal)
        if self._close_enough(goal):
            self.clock.stop_run()

    def _tell(self, goal: Goal) -> None:
        if self.on_progress is not None:
            value = None if self.best is None else goal.shown(goal.rank(self.best.statistics))
            bound = None if self.bound is None else float(goal.shown(self.bound))
            self.on_progress(Progress(value, bound, self.clock.seconds, goal.name))

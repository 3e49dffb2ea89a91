"""Minimize a goal over the compiled model, with the exact cost model evaluating every candidate.

CP-SAT minimizes what it can express, which never exceeds the exact figure. Each mapping it meets is
evaluated exactly; the best so far becomes a strict cut-off. The search ends when CP-SAT proves that
no mapping lies below the cut-off, or that its own optimum is the incumbent's exact value. Where the
two differ, the candidate is ruled out (it is known exactly by then) and the search goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Generic, TypeVar

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, Goal, HasStatistics, Limit, Objective, figure
from solver_mapper.core.progress import Progress
from solver_mapper.errors import ExactnessError, LimitReached
from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.cutoffs import Cutoffs
from solver_mapper.solve.cpsat.engine import Read, Settings, SolverRun, invalid_model, run
from solver_mapper.solve.cpsat.exclusion import but_orders, decisions, forbid
from solver_mapper.solve.cpsat.extract import mapping_of, values_of
from solver_mapper.solve.cpsat.linear_form import (
    limit_values,
    rounded_down,
)
from solver_mapper.solve.cpsat.thresholds import middle, root
from solver_mapper.solve.cpsat.turns import Turns, Walks
from solver_mapper.solve.cpsat.variants import all_orders, some_variants
from solver_mapper.solve.outward.costs import NOISE
from solver_mapper.solve.outward.run import Ends

FEW_EXCLUDED = 3
ROUNDED, LEAST_ROUNDED = Fraction(1, 2**50), Fraction(1, 10**6)
"""What roundings of a double may add up to: relative to it, and at least that."""
SHARP = 2**48
"""Whole numbers below this are told apart all the same."""
HAIR = 1e-9
"""Where the model has to round, mappings are looked for only if they are better by this share: ties
with the incumbent would be found again.
"""
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
STAGE = Fraction(11, 10)
"""A stage ends at the incumbent where the bound is this close."""
ORDERS = 512
"""How many orders of a candidate's loops are evaluated in order to rule them all out."""
FEW, MANY = 32, 4096
"""How many mappings that the model does not tell apart are evaluated for each candidate, and before
one is ruled out.
"""

F = TypeVar("F", bound=HasStatistics)


@dataclass(frozen=True)
class Candidate(Generic[F]):
    """A mapping that the search has evaluated exactly."""

    mapping: Mapping
    statistics: F


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
class Search(Generic[F]):
    """Minimizes an objective over a space that is compiled when the model is first needed."""

    compile: Callable[[], CompiledSpace]
    assess: Callable[[Mapping], F]
    settings: Settings
    clock: Clock
    on_progress: Callable[[Progress], None] | None = None
    gap: float = GAP
    hooked: bool = False
    """Whether a user added to the model, about which the exact model knows nothing."""
    improve: Callable[[Goal, Sequence[Limit], Mapping, int], Mapping] | None = None
    """Looks for a better mapping within limits from one that is, so many times as hard as usual."""
    walks: Callable[[Goal, Sequence[Limit]], Walks | None] | None = None
    """Walks outwards for a goal within limits, if there are any."""
    best: Candidate[F] | None = None
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
    bound: Fraction | None = None
    last: Candidate[F] | None = None
    _start: Candidate[F] | None = None
    _hint: Mapping | None = None
    _made: dict[Goal, Walks | None] = field(default_factory=dict)
    _last_values: dict[int, int] = field(default_factory=dict)
    _complete: bool = True
    _empty: bool = False
    """Whether all mappings were looked at, and there is none."""
    _by_walks: bool = False
    """Whether a proof was given by walks."""
    _tolerant: bool = False
    """Whether mappings are looked for only if they are better by more than the gap."""
    _of_metrics: dict[str, Fraction] = field(default_factory=dict)
    _last_cycles: int = 0
    _last_energy: Fraction = Fraction(0)
    _weights: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1))
    _passing: list[cp_model.Constraint] = field(default_factory=list)
    """What holds for the current goal only: later ones may tie with its optimum, and look among
    mappings that were ruled out.
    """

    @cached_property
    def compiled(self) -> CompiledSpace:
        """The space compiled."""
        return self.compile()

    @cached_property
    def _cutoffs(self) -> Cutoffs:
        """Cut-offs of the compiled space, to which the limits apply, and what was fixed before."""
        cutoffs = Cutoffs(self.compiled)
        for limit in self._within:
            cutoffs.require(limit.goal, limit.rank, strict=limit.strict)
        return cutoffs

    def minimize(self, objective: Objective) -> bool:
        """Minimize goal after goal; True if all were proven, ties aside.

        `best` and `bound` hold the outcome for the first goal, `fixed` the goals and ties that
        were proven.
        """
        bounds: list[Fraction | None] = []
        for number, goal in enumerate(objective.all):
            tie = number >= len(objective.goals)
            known = [self.least.get(goal), self.at_once and self.at_once(goal)]
            self.bound = max((each for each in known if each is not None), default=None)
            try:
                decided = self._decided(goal)
                proven = bool(decided)
                if decided is None or not (decided or tie):
                    self._keep_fixed()
                    proven = self._minimize_goal(goal, tie)
            except (LimitReached, MemoryError):
                if not tie:
                    raise
                proven = False
            finally:
                bounds.append(self.bound)
                self.bound = bounds[0]
            if not proven:
                return tie
            if self.best is None:
                return True
            self.fixed.append((goal, goal.rank(self.best.statistics)))
        return True

    def start_from(self, mapping: Mapping) -> None:
        """Take a mapping of the space as the solver's hint for its first run and, unless a user
        added to the model, as the incumbent.
        """
        candidate = Candidate(mapping, self.assess(mapping))
        if self._admits(candidate.statistics) and not self.hooked:
            self.best = self._start = candidate
        self._hint = mapping

    @property
    def _within(self) -> list[Limit]:
        """All limits, and what was fixed before."""
        fixed = (Limit(goal, rank, strict=False) for goal, rank in self.fixed)
        return [*self.limits, *fixed]

    def _admits(self, statistics: F) -> bool:
        return all(limit.admits(statistics) for limit in self._within)

    def _decided(self, goal: Goal) -> bool | None:
        """Whether a short walk decides the least cycles of all mappings of the least energy; None
        if that is up to the model, which walks may not have needed so far. What they do not decide
        it hardly ever does.
        """
        if not self._by_walks or len(self.fixed) != 1 or goal.single != "delay":
            return None
        walks = self._walks(goal)
        if walks is None or self.best is None:
            return None
        self._take(goal, walks.once(float(goal.rank(self.best.statistics))))
        return self._closed(goal) and self._proven(goal, "the bound meets the incumbent", 0, 0)

    def _keep_fixed(self) -> None:
        """Hold what the last goal has come to while later ones are minimized."""
        if not self.fixed or "_cutoffs" not in self.__dict__:
            return
        self._cutoffs.retire(self._passing)
        self._passing.clear()
        goal, rank = self.fixed[-1]
        self._cutoffs.require(goal, rank, strict=False)

    def _minimize_goal(self, goal: Goal, tie: bool) -> bool:
        """Minimize one goal; True if that was proven. A `tie` whose proof would need more effort
        is left with the best mapping met: deciding it may cost much more than the goals do.
        """
        walks = None if tie else self._walks(goal)
        turns = Turns(walks)
        if not tie and self._walks_first(goal):
            self._look_further(goal, HARDER)
            self._take(goal, turns.before(partial(self._span, goal)))
        runs = excluded = 0
        self._tolerant, self._of_metrics = self.gap > GAP, {}
        effort: float | None = LITTLE if tie else EFFORT
        spent = 0.0
        while not self.clock.over:
            if self._closed(goal):
                return self._proven(goal, "the bound meets the incumbent", runs, excluded)
            if self._empty:
                return self._proven(goal, "no mapping exists", runs, excluded)
            if tie and (effort is None or spent >= LITTLE):
                return False
            if (
                effort is None
                and goal.single is None
                and not self._of_metrics
                and self.best is not None
            ):
                runs += self._bound_metrics(goal)
                continue
            self._narrow(goal)
            cut = self._cut(goal, staged=effort is None)
            before = self.best
            outcome = self._run(goal, cut, turns.effort(effort))
            spent += outcome.effort
            runs += 1
            if outcome.status == "INFEASIBLE":
                self._raise(goal, cut)
                if self.best is None or self._closed(goal):
                    return self._proven(
                        goal,
                        "no better mapping exists" if self.best else "no mapping exists",
                        runs,
                        excluded,
                    )
                continue
            ended = outcome.status == "OPTIMAL" and outcome.value is not None
            if not (ended or tie):
                self._look_further(goal, math.ceil(HARDER * math.sqrt(outcome.effort)))
            better = self.best is not before
            span = partial(self._span, goal)
            found = turns.after(span, outcome.effort, ended=ended, better=better)
            self._take(goal, found)
            if not ended:
                effort = None if spent >= EFFORT or turns.over else effort
                continue
            excluded += self._refine(goal, cut)
            effort = effort if excluded < FEW_EXCLUDED else None
        return (
            self._closed(goal)
            and self._proven(goal, "the bound meets the incumbent", runs, excluded)
        ) or (self._empty and self._proven(goal, "no mapping exists", runs, excluded))

    def _walks(self, goal: Goal) -> Walks | None:
        """Walks outwards within all limits and what was fixed before."""
        if self.walks is not None and goal not in self._made:
            self._made[goal] = self.walks(goal, self._within)
        return self._made.get(goal)

    def compile_ahead(self, goal: Goal) -> None:
        """Compile the space now, unless walks for the goal come before the model."""
        if not self._walks_first(goal):
            _ = self.compiled

    def _walks_first(self, goal: Goal) -> bool:
        """Whether walks for a goal come before the model, or give the only proof there was yet."""
        walks = self._walks(goal)
        if walks is None or self.best is None:
            return False
        return walks.first or (self._by_walks and "compiled" not in self.__dict__)

    def _give_hint(self) -> None:
        hint, self._hint = self._hint, None
        for variable, value in (hint and values_of(self.compiled, hint)) or []:
            self.compiled.model.add_hint(variable, value)

    def _look_further(self, goal: Goal, harder: int) -> None:
        """Where a proof takes long: a better incumbent makes the rest of it shorter. Local search
        begins where the search began: small steps from the incumbent may lead nowhere. `harder`:
        how many times as many steps it takes as at the start.
        """
        start = self.best if self.fixed or self.limits else self._start or self.best
        if self.improve is not None and start is not None and not self.clock.over:
            found = self.improve(goal, self._within, start.mapping, harder)
            self._adopt(goal, Candidate(found, self.assess(found)))

    def _span(self, goal: Goal) -> tuple[float, float]:
        """What is proven of a goal, and what mappings have to be below."""
        proven = -math.inf if self.bound is None else float(self.bound)
        if self.best is None:
            return proven, math.inf
        rank = goal.rank(self.best.statistics)
        if self.gap > GAP:
            rank -= self._slack(goal, rank)
        return proven, math.nextafter(float(rank), math.inf)

    def _take(self, goal: Goal, found: Iterable[Ends]) -> None:
        """Take the mappings and bounds of walks, until the bound meets the incumbent. Local search
        has turns between them: better incumbents make the walks that follow shorter.
        """
        work = 0
        for ends in found:
            self._empty |= ends.whole and ends.least == math.inf
            for mapping in ends.mappings:
                self._adopt(goal, Candidate(mapping, self.assess(mapping)))
            if ends.least is not None and math.isfinite(ends.least):
                self._learn_rank(goal, self._certain(goal, ends.least), None)
            if self._closed(goal):
                self._by_walks = True
                return
            work += ends.work
            if work >= WALKED:
                self._look_further(goal, BETWEEN * work // WALKED)
                work = 0

    def _certain(self, goal: Goal, least: float | Fraction) -> Fraction:
        """What a bound of walks says for certain. They overlook differences of energy below `NOISE`
        of it: only where these are no whole multiple of the unit may a bound reach the incumbent.
        """
        if isinstance(least, Fraction) or self.best is None:
            return Fraction(least)
        overlooked = figure(self.best.statistics, "energy") * Fraction(NOISE)
        if self.energy_unit is not None and abs(overlooked) * self.energy_unit < 1:
            return Fraction(least)
        rank = goal.rank(self.best.statistics)
        return min(Fraction(least), rank - abs(rank) * Fraction(NOISE))

    def _narrow(self, goal: Goal) -> None:
        """Take values out of variables that alone cost more energy than any mapping that is as good
        as the incumbent: of those, goals that come later choose.

        Sums of what is left are smaller, so that coefficients are rounded less
        (`LinearForm.scale`).
        """
        powers = dict(goal.powers)
        if self.best is None or "energy" not in powers or self.hooked:
            return
        fewest = self._lowest_of_all("delay")
        most = goal.rank(self.best.statistics) / fewest ** powers.get("delay", 0)
        room = Fraction(root(most, powers["energy"]) + 1) - self.compiled.energy.lowest()
        for variable, weight in self.compiled.energy.gathered():
            if weight > 0:
                limit_values(variable, max(0, math.floor(room / weight)))

    def _run(self, goal: Goal, cut: Fraction | None, effort: float | None) -> SolverRun:
        """Minimize among mappings below `cut`, and learn what the outcome says about the goal."""
        cuts = [] if cut is None else self._cutoffs.require(goal, cut, strict=True)
        scale, constant, rounding = self._set_objective(goal)
        self._give_hint()
        self.last = None
        outcome = run(
            self.compiled.model,
            self.settings,
            self.clock,
            partial(self._meet, goal),
            partial(self._bounded, goal, scale, constant, cut),
            effort,
        )
        self._cutoffs.retire([*cuts, *rounding])
        if outcome.status == "MODEL_INVALID":
            raise invalid_model(self.compiled.model, "the compiled model")
        if outcome.status != "INFEASIBLE":
            self._learn(goal, scale, constant, outcome.bound, cut)
        if outcome.status == "OPTIMAL" and outcome.value is not None:
            self._check_claim(
                goal,
                (least_of(outcome.value) + constant) / scale,
                rounded=abs(outcome.value) >= SHARP,
            )
        return outcome

    def _refine(self, goal: Goal, cut: Fraction | None) -> bool:
        """Learn from the last candidate, which the model holds to be the best below `cut`; True if
        it had to be ruled out by itself.
        """
        if self._closed(goal) or not self._all_variants(goal):
            return False
        if self._improved(goal, cut) or self._cut_deeper(goal):
            return False
        if not self._tolerant and self._near(goal):
            self._tolerant = True
            return False
        self._exclude(goal)
        return True

    def _cut(self, goal: Goal, *, staged: bool) -> Fraction | None:
        """Only mappings whose goal is below this are looked for. A bound that is far off is raised
        in stages, each half of the way.
        """
        if self.best is None:
            return None
        rank = goal.rank(self.best.statistics)
        gap = (
            self.gap
            if self._tolerant
            else 0.0
            if self._cutoffs.are_whole(goal)
            else min(self.gap, HAIR)
        )
        least = rank - self._slack(goal, rank, gap)
        if (
            not staged
            or goal.single is not None
            or self.bound is None
            or self.bound <= 0
            or self.bound * STAGE >= least
        ):
            return least
        return Fraction(math.sqrt(self.bound / least)) * least

    def _slack(self, goal: Goal, rank: Fraction, gap: float | None = None) -> Fraction:
        """By how much the rank of an optimum may exceed the bound: `gap`, the one that is asked
        for unless given, is a share of the value, a root of the rank.
        """
        share = Fraction(self.gap if gap is None else gap)
        return abs(rank) * share * min(Fraction(1), 1 / goal.root)

    def _raise(self, goal: Goal, cut: Fraction | None) -> None:
        """No mapping lies below `cut`."""
        if cut is not None and self.best is not None:
            cut = min(cut, goal.rank(self.best.statistics))
            self.bound = cut if self.bound is None else max(self.bound, cut)

    def _bound_metrics(self, goal: Goal) -> int:
        """Bound each metric of a product by itself, among mappings below the cut-off, which falls
        with better ones; the number of runs.
        """
        below: list[Fraction] = []
        for metric, _ in goal.powers:
            single = Goal(metric, ((metric, 1),))
            amount = self._cutoffs.amount(metric)
            scale = amount.scale()
            expr, constant = amount.whole(scale)
            self.compiled.model.minimize(expr)
            cut = self._cut(goal, staged=False)
            cuts = [] if cut is None else self._cutoffs.require(goal, cut, strict=True)
            below += [] if cut is None else [cut]
            outcome = run(
                self.compiled.model,
                self.settings,
                self.clock,
                partial(self._meet, goal),
                None,
                LITTLE,
            )
            self._cutoffs.retire(cuts)
            least = self._lowest(metric)
            if outcome.status == "INFEASIBLE":
                self._raise(goal, cut)
            elif math.isfinite(outcome.bound):
                least = max(least, (least_of(outcome.bound) + constant) / scale)
            self._of_metrics[single.name] = least
        self._learn_product(goal, Fraction(0), min(below, default=None))
        return len(goal.powers)

    def _all_variants(self, goal: Goal) -> bool:
        """Evaluate all mappings that the model does not tell from the last candidate; False if
        there are too many.
        """
        if not self._complete and self.last is not None:
            self.last = self._assess_variants(goal, self.last.mapping, MANY)
            self._adopt(goal, self.last)
        return self._complete

    def _improved(self, goal: Goal, cut: Fraction | None) -> bool:
        return self.best is not None and (cut is None or goal.rank(self.best.statistics) < cut)

    def _cut_deeper(self, goal: Goal) -> bool:
        """Add the last candidate's cycles to those where cuts of products are exact; False if that
        does not exclude it.
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
        if cycles in self._cutoffs.exact_at or not any(
            cut.excludes(energy, cycles) for cut in products
        ):
            return False
        self._cutoffs.be_exact_at(cycles)
        for cut in self.limits:
            if cut.goal.single is None:
                self._cutoffs.require(
                    cut.goal, cut.rank, strict=cut.strict and self._cutoffs.are_whole(cut.goal)
                )
        return True

    def _proven(self, goal: Goal, claim: str, runs: int, excluded: int) -> bool:
        gap = 0.0
        if self.best is not None and self.bound is not None:
            rank = goal.rank(self.best.statistics)
            gap = float((rank - self.bound) / abs(rank)) if rank else 0.0
        if self.best is not None and gap > GAP:
            claim = "no mapping is better by more than the gap"
        self.proofs.append(ProvenStep(goal.name, claim, runs, excluded, gap))
        return True

    def _closed(self, goal: Goal) -> bool:
        """Whether the bound is as close to the incumbent as was asked for."""
        if self.best is None or self.bound is None:
            return False
        rank = goal.rank(self.best.statistics)
        return rank - self.bound <= self._slack(goal, rank)

    def _near(self, goal: Goal) -> bool:
        """Whether the last candidate's claim is as close to the incumbent as that."""
        if self.best is None:
            return False
        rank = goal.rank(self.best.statistics)
        if goal.single is None:
            claim = (
                self._last_energy ** goal.powers[0][1]
                * Fraction(self._last_cycles) ** goal.powers[1][1]
            )
        elif goal.single in ("energy", "delay"):
            energy = goal.single == "energy"
            claim = self._last_energy if energy else Fraction(self._last_cycles)
        else:
            return False
        return rank - claim <= self._slack(goal, rank)

    def _learn(
        self, goal: Goal, scale: Fraction, constant: int, bound: float, cut: Fraction | None
    ) -> None:
        """Raise the goal's bound to what a bound of the solver's objective implies for mappings
        below `cut`.
        """
        if not math.isfinite(bound):
            return
        least = (least_of(bound) + constant) / scale
        if goal.single is None:
            self._learn_product(goal, least, cut)
        else:
            self._learn_rank(goal, least, cut)

    def _learn_product(self, goal: Goal, least: Fraction, cut: Fraction | None) -> None:
        """The least product under `u * energy + v * cycles >= least`: it lies at one end, since the
        product is quasi-concave.
        """
        (_, a), (_, b) = goal.powers
        u, v = self._weights
        energy, cycles = self._lowest("energy"), self._lowest("delay")
        if energy >= 0:
            most, longest = (
                max(energy, (least - v * cycles) / u),
                max(cycles, (least - u * energy) / v),
            )
            self._learn_rank(goal, min(most**a * cycles**b, energy**a * longest**b), cut)

    def _learn_rank(self, goal: Goal, least: Fraction, cut: Fraction | None) -> None:
        """No mapping below `cut` is below `least`, and neither is the incumbent below itself."""
        known = [
            self._next_rank(goal, least),
            *([] if cut is None else [cut]),
            *([] if self.best is None else [goal.rank(self.best.statistics)]),
        ]
        self.bound = min(known) if self.bound is None else max(self.bound, min(known))

    def _next_rank(self, goal: Goal, least: Fraction) -> Fraction:
        """The least rank that a mapping may have which is not below `least`: cycles are whole
        numbers, and energies multiples of a unit.
        """
        powers = dict(goal.powers)
        if self.energy_unit is None or not powers.keys() <= {"energy", "delay"}:
            return least
        unit = self.energy_unit ** powers.get("energy", 0)
        return Fraction(math.ceil(least * unit), unit)

    def _lowest(self, metric: str) -> Fraction:
        """A lower bound of a metric of all mappings that are better than the incumbent."""
        return self._of_metrics.get(metric, self._lowest_of_all(metric))

    def _lowest_of_all(self, metric: str) -> Fraction:
        """A lower bound of energy or cycles of all mappings of the model."""
        if metric == "delay":
            return Fraction(min(self.compiled.steps.values, default=1))
        return self.compiled.energy.lowest()

    def _set_objective(self, goal: Goal) -> tuple[Fraction, int, list[cp_model.Constraint]]:
        """Minimize the metric, or for a product its linear approximation at the incumbent: its
        scale and constant, and constraints for its rounding.
        """
        if goal.single is not None:
            amount = self._cutoffs.amount(goal.single)
        else:
            weights = []
            for metric, power in goal.powers:
                at = (
                    figure(self.best.statistics, metric)
                    if self.best
                    else middle(self._cutoffs.amount(metric))
                )
                weights.append(Fraction(power * 10**9) / max(at, Fraction(1, 10**12)))
            self._weights = weights[0], weights[1]
            amount = (
                self._cutoffs.amount("energy") * weights[0]
                + self._cutoffs.amount("delay") * weights[1]
            )
        scale = amount.scale()
        if goal.single is None:  # cuts decide: an approximation may be rounded once more
            expr, constant, rounding = *amount.whole(scale), list[cp_model.Constraint]()
        else:
            expr, constant, rounding = rounded_down(self.compiled.model, amount, scale)
        self.compiled.model.minimize(expr)
        return scale, constant, rounding

    def _meet(self, goal: Goal, read: Read, _bound: float) -> None:
        """Evaluate a candidate exactly, and keep it if it is better."""
        mapping = mapping_of(self.compiled, read)
        chosen = self._assess_variants(goal, mapping, FEW)
        energy = self.compiled.energy
        self._last_energy = energy.constant + sum(
            (w * read(v) for v, w in energy.terms), Fraction(0)
        )
        self._last_cycles = read(self.compiled.cycles) * self.compiled.unit
        self.last = chosen
        self._last_values = {each.index: read(each) for each in decisions(self.compiled)}
        self._adopt(goal, chosen)

    def _assess_variants(self, goal: Goal, mapping: Mapping, most: int) -> Candidate[F]:
        """The best of at most so many mappings that the model does not tell from this one."""
        options, self._complete = [mapping], True
        if not self.compiled.exact:
            options, self._complete = some_variants(self.compiled.variables.space, mapping, most)
        return min(
            (Candidate(option, self.assess(option)) for option in options),
            key=lambda c: (not self._admits(c.statistics), goal.rank(c.statistics)),
        )

    def _adopt(self, goal: Goal, candidate: Candidate[F]) -> None:
        if self._admits(candidate.statistics) and (
            self.best is None or goal.rank(candidate.statistics) < goal.rank(self.best.statistics)
        ):
            self.best = candidate
            self._tell(goal)

    def _check_claim(self, goal: Goal, claimed: Fraction, *, rounded: bool) -> None:
        """What the solver calls optimal may not exceed the exact figure, and must equal it where
        the model is exact and the solver's number is not `rounded`.

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
        missed = (
            self.compiled.exact
            and self._cutoffs.are_whole(goal)
            and not rounded
            and claimed != exact
        )
        if claimed > exact or missed:
            raise ExactnessError(
                f"the solver claims {goal.name} {float(claimed)} for a mapping that has"
                f" {float(exact)}: {self.last.mapping}"
            )

    def _exclude(self, goal: Goal) -> None:
        """Rule out the last candidate: at least one of its decisions must differ, and not only
        orders of loops where all of these are evaluated.
        """
        ruled_out = but_orders if self._all_orders(goal) else decisions
        self._passing.append(
            forbid(self.compiled.model, ruled_out(self.compiled), self._last_values)
        )

    def _all_orders(self, goal: Goal) -> bool:
        """Evaluate the last candidate with its loops in every order; False if these are too many,
        or a user's constraints may tell them apart.
        """
        if self.last is None or self.hooked:
            return False
        orders = all_orders(self.compiled.variables.space, self.last.mapping, ORDERS)
        for each in orders or ():
            self._adopt(goal, Candidate(each, self.assess(each)))
        return orders is not None

    def _bounded(
        self, goal: Goal, scale: Fraction, constant: int, cut: Fraction | None, bound: float
    ) -> None:
        self._learn(goal, scale, constant, bound, cut)
        self._tell(goal)
        if self._closed(goal):
            self.clock.stop_run()

    def _tell(self, goal: Goal) -> None:
        if self.on_progress is not None:
            value = None if self.best is None else goal.shown(goal.rank(self.best.statistics))
            bound = None if self.bound is None else float(goal.shown_below(self.bound))
            self.on_progress(Progress(value, bound, self.clock.seconds, goal.name))


def least_of(value: float) -> Fraction:
    """The least whole number that the solver's `value` may stand for: a double may have been
    rounded up, more than once where the solver adds an offset and scales.
    """
    exact = Fraction(value)
    return Fraction(math.ceil(exact - max(LEAST_ROUNDED, abs(exact) * ROUNDED)))

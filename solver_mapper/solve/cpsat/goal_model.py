"""The compiled space as a model of one goal: what the solver minimizes, and what its bounds mean.

A metric is minimized itself. Of a product of energy and cycles the solver minimizes the linear
approximation at the incumbent, and cut-offs (`cutoffs.py`) say which mappings are better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Generic

from ortools.sat.python import cp_model

from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, Goal, Limit, figure
from solver_mapper.solve.cpsat.candidates import Candidates
from solver_mapper.solve.cpsat.cutoffs import Cutoffs
from solver_mapper.solve.cpsat.engine import Settings, SolverRun, invalid_model, run
from solver_mapper.solve.cpsat.linear_form import limit_values, rounded_down
from solver_mapper.solve.cpsat.thresholds import middle, root
from solver_mapper.solve.optimality_gap import F, OptimalityGap

ROUNDED, LEAST_ROUNDED = Fraction(1, 2**50), Fraction(1, 10**6)
"""What roundings of a double may add up to: relative to it, and at least that."""
SHARP = 2**48
"""Whole numbers below this are told apart all the same."""
HAIR = 1e-9
"""Where the model has to round, mappings are looked for only if they are better by this share: ties
with the incumbent would be found again.
"""
STAGE = Fraction(11, 10)
"""A stage ends at the incumbent where the bound is this close."""


@dataclass(frozen=True)
class Minimized:
    """What the solver minimizes: whole numbers that stand for a metric, or for a weighted sum of
    energy and cycles.

    weights: of energy and of cycles in the sum; for a metric of no meaning.
    rounding: constraints that its rounding needs.
    """

    scale: Fraction
    constant: int
    weights: tuple[Fraction, Fraction]
    rounding: tuple[cp_model.Constraint, ...]

    def least(self, value: float) -> Fraction:
        """The least amount that the solver's `value` may stand for."""
        return (least_of(value) + self.constant) / self.scale


class GoalModel(Generic[F]):
    """The model of one goal over a compiled space.

    hooked: whether a user added to the model.
    tolerant: whether mappings are looked for only if they are better by more than the accepted gap.
    """

    def __init__(
        self,
        cutoffs: Cutoffs,
        gap: OptimalityGap[F],
        settings: Settings,
        clock: Clock,
        assess: Callable[[Mapping], F],
        limits: Sequence[Limit],
        hooked: bool,
    ):
        self._cutoffs, self.gap, self._compiled = cutoffs, gap, cutoffs.compiled
        self._settings, self._clock, self._hooked = settings, clock, hooked
        self.candidates = Candidates(cutoffs, gap, assess, limits, hooked)
        self.tolerant = gap.accepted > GAP
        self._of_metrics: dict[str, Fraction] = {}

    @property
    def has_bounds_of_metrics(self) -> bool:
        """Whether `bound_metrics` has run."""
        return bool(self._of_metrics)

    def narrow(self) -> None:
        """Take values out of variables that alone cost more energy than any mapping that is as good
        as the incumbent: of those, goals that come later choose.

        Sums of what is left are smaller, so that coefficients are rounded less
        (`LinearForm.scale`).
        """
        powers = dict(self.gap.goal.powers)
        if self.gap.rank is None or "energy" not in powers or self._hooked:
            return
        fewest = self._lowest_of_all("delay")
        most = self.gap.rank / fewest ** powers.get("delay", 0)
        room = Fraction(root(most, powers["energy"]) + 1) - self._compiled.energy.lowest()
        for variable, weight in self._compiled.energy.gathered():
            if weight > 0:
                limit_values(variable, max(0, math.floor(room / weight)))

    def cut(self, *, staged: bool) -> Fraction | None:
        """Only mappings whose rank is below this are looked for. A bound that is far off is raised
        in stages, each half of the way.
        """
        gap, goal = self.gap, self.gap.goal
        if gap.rank is None:
            return None
        if self.tolerant:
            share = gap.accepted
        else:
            share = 0.0 if self._cutoffs.are_whole(goal) else min(gap.accepted, HAIR)
        least = gap.rank - gap.slack(share)
        if (
            not staged
            or goal.single is not None
            or gap.bound is None
            or gap.bound <= 0
            or gap.bound * STAGE >= least
        ):
            return least
        return Fraction(math.sqrt(gap.bound / least)) * least

    def run(self, cut: Fraction | None, effort: float | None) -> SolverRun:
        """Minimize among mappings below `cut`, and learn what the outcome says about the goal.

        Raises: ExactnessError if the model claims more than a mapping costs.
        """
        cuts = [] if cut is None else self._cutoffs.require(self.gap.goal, cut, strict=True)
        minimized = self._minimize()
        self.candidates.forget()
        outcome = run(
            self._compiled.model,
            self._settings,
            self._clock,
            self.candidates.meet,
            partial(self._bounded, minimized, cut),
            effort,
        )
        self._cutoffs.retire([*cuts, *minimized.rounding])
        if outcome.status == "MODEL_INVALID":
            raise invalid_model(self._compiled.model, "the compiled model")
        if outcome.status == "INFEASIBLE":
            self._nothing_below(cut)
        else:
            self._learn(minimized, outcome.bound, cut)
        if outcome.status == "OPTIMAL" and outcome.value is not None:
            rounded = abs(outcome.value) >= SHARP
            self.candidates.check_claim(minimized.least(outcome.value), rounded=rounded)
        return outcome

    def refine(self, cut: Fraction | None) -> bool:
        """Learn from the last candidate, which the model holds to be the best below `cut`; True if
        it had to be ruled out by itself.
        """
        if self.gap.closed or not self.candidates.evaluate_variants():
            return False
        rank = self.gap.rank
        if rank is not None and (cut is None or rank < cut):
            return False
        if self.candidates.cut_deeper():
            return False
        if not self.tolerant and self.gap.is_near(self.candidates.claim):
            self.tolerant = True
            return False
        self.candidates.rule_out()
        return True

    def bound_metrics(self, effort: float) -> int:
        """Bound each metric of a product by itself, among mappings below the cut-off, which falls
        with better ones; the number of runs, each of so much effort.
        """
        goal, below = self.gap.goal, list[Fraction]()
        for metric, _ in goal.powers:
            amount = self._cutoffs.amount(metric)
            scale = amount.scale()
            expr, constant = amount.whole(scale)
            self._compiled.model.minimize(expr)
            cut = self.cut(staged=False)
            cuts = [] if cut is None else self._cutoffs.require(goal, cut, strict=True)
            below += [] if cut is None else [cut]
            outcome = run(
                self._compiled.model,
                self._settings,
                self._clock,
                self.candidates.meet,
                None,
                effort,
            )
            self._cutoffs.retire(cuts)
            least = self._lowest(metric)
            if outcome.status == "INFEASIBLE":
                self._nothing_below(cut)
            elif math.isfinite(outcome.bound):
                least = max(least, (least_of(outcome.bound) + constant) / scale)
            self._of_metrics[metric] = least
        # With a least sum of 0, whatever the weights, the metrics' own bounds count alone.
        self._learn_product((Fraction(1), Fraction(1)), Fraction(0), min(below, default=None))
        return len(goal.powers)

    def _minimize(self) -> Minimized:
        """Have the solver minimize the metric, or for a product its linear approximation at the
        incumbent.
        """
        goal = self.gap.goal
        if goal.single is not None:
            amount, weights = self._cutoffs.amount(goal.single), (Fraction(1), Fraction(1))
            scale = amount.scale()
            expr, constant, rounding = rounded_down(self._compiled.model, amount, scale)
        else:  # cuts decide: an approximation may be rounded once more
            weights = self._weights(goal)
            amount = self._cutoffs.amount("energy") * weights[0]
            amount += self._cutoffs.amount("delay") * weights[1]
            scale = amount.scale()
            expr, constant, rounding = *amount.whole(scale), list[cp_model.Constraint]()
        self._compiled.model.minimize(expr)
        return Minimized(scale, constant, weights, tuple(rounding))

    def _weights(self, goal: Goal) -> tuple[Fraction, Fraction]:
        """The weights of energy and cycles: the slopes of the product at the incumbent, or before
        there is one in the middle of the range.
        """
        best = self.gap.best
        first, second = (
            Fraction(power * 10**9)
            / max(
                figure(best.statistics, metric) if best else middle(self._cutoffs.amount(metric)),
                Fraction(1, 10**12),
            )
            for metric, power in goal.powers
        )
        return first, second

    def _bounded(self, minimized: Minimized, cut: Fraction | None, bound: float) -> None:
        """Learn from a bound while the solver runs, and stop it where that suffices."""
        self._learn(minimized, bound, cut)
        self.gap.changed()
        if self.gap.closed:
            self._clock.stop_run()

    def _nothing_below(self, cut: Fraction | None) -> None:
        """No mapping lies below `cut`."""
        if cut is not None:
            self.gap.raise_bound(cut, cut)

    def _learn(self, minimized: Minimized, bound: float, cut: Fraction | None) -> None:
        """Raise the goal's bound to what a bound of the solver's objective implies for mappings
        below `cut`.
        """
        if not math.isfinite(bound):
            return
        least = minimized.least(bound)
        if self.gap.goal.single is None:
            self._learn_product(minimized.weights, least, cut)
        else:
            self.gap.raise_bound(least, cut)

    def _learn_product(
        self, weights: tuple[Fraction, Fraction], least: Fraction, cut: Fraction | None
    ) -> None:
        """The least product under `u * energy + v * cycles >= least`: it lies at one end, since the
        product is quasi-concave.
        """
        ((_, a), (_, b)), (u, v) = self.gap.goal.powers, weights
        energy, cycles = self._lowest("energy"), self._lowest("delay")
        if energy >= 0:
            most = max(energy, (least - v * cycles) / u)
            longest = max(cycles, (least - u * energy) / v)
            self.gap.raise_bound(min(most**a * cycles**b, energy**a * longest**b), cut)

    def _lowest(self, metric: str) -> Fraction:
        """A lower bound of a metric of all mappings that are better than the incumbent."""
        return self._of_metrics.get(metric, self._lowest_of_all(metric))

    def _lowest_of_all(self, metric: str) -> Fraction:
        """A lower bound of energy or cycles of all mappings of the model."""
        if metric == "delay":
            return Fraction(min(self._compiled.steps.values, default=1))
        return self._compiled.energy.lowest()


def least_of(value: float) -> Fraction:
    """The least whole number that the solver's `value` may stand for: a double may have been
    rounded up, more than once where the solver adds an offset and scales.
    """
    exact = Fraction(value)
    return Fraction(math.ceil(exact - max(LEAST_ROUNDED, abs(exact) * ROUNDED)))

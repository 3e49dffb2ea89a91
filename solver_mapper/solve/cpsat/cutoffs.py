"""Constraints on a compiled space that cut off mappings by their figures."""

from __future__ import annotations

import math
from fractions import Fraction

from ortools.sat.python import cp_model

from solver_mapper.core.objective import Goal
from solver_mapper.solve.cpsat.compile import CompiledSpace
from solver_mapper.solve.cpsat.engine import LARGEST
from solver_mapper.solve.cpsat.linear_form import LinearForm, rounded_down, weigh
from solver_mapper.solve.cpsat.thresholds import is_whole, most_energy


class Cutoffs:
    """Cut-offs of one compiled space.

    compiled: the space.
    exact_at: the cycles at which cut-offs of products are exact, with literals that are implied by
        taking at least so many; between the steps of the space's own table they are not.
    """

    def __init__(self, compiled: CompiledSpace):
        self.compiled, self._model = compiled, compiled.model
        self.exact_at: dict[int, cp_model.IntVar] = {}

    def amount(self, metric: str) -> LinearForm:
        """The compiled lower bound of a metric."""
        compiled = self.compiled
        if metric == "delay":
            return weigh([compiled.cycles], [compiled.unit])
        return {"energy": compiled.energy, "last-level-accesses": compiled.last_level}[metric]

    def are_whole(self, goal: Goal) -> bool:
        """Whether the goal's metrics are whole numbers in the model, so that strict cuts lose
        nothing.
        """
        return all(is_whole(self.amount(metric)) for metric, _ in goal.powers)

    def require(self, goal: Goal, rank: Fraction, *, strict: bool) -> list[cp_model.Constraint]:
        """Cut off mappings whose goal cannot be below `rank` (or at most `rank`)."""
        if goal.single is not None:
            return self._limit(goal.single, rank, strict)
        (first, a), (second, b) = goal.powers
        assert (first, second) == ("energy", "delay")
        energy = self.compiled.energy
        scale = energy.scale()
        expr, constant, cuts = rounded_down(self._model, energy, scale)
        slack, highest = int(strict and is_whole(energy)), energy.highest() * scale
        points = self.compiled.steps
        caps = [
            _capped(most_energy(rank, scale, steps, a, b, slack), highest)
            for steps in points.values
        ]
        # Below a poor incumbent each cap is large, and the solver must be able to hold their sum.
        coarse = max(1, math.ceil((sum(abs(cap - constant) for cap in caps) + highest) / LARGEST))
        rough, least = (expr, constant) if coarse == 1 else energy.whole(scale / coarse)
        most = cp_model.LinearExpr.weighted_sum(
            points.selection.literals, [-(-cap // coarse) - least for cap in caps]
        )
        cuts.append(self._model.add(rough <= most))
        for cycles, later in sorted(self.exact_at.items()):
            cap = _capped(most_energy(rank, scale, cycles, a, b, slack), highest) - constant
            cuts.append(self._model.add(expr <= cap).only_enforce_if(later))
        return cuts

    def be_exact_at(self, cycles: int) -> None:
        """Have the cut-offs of products that follow be exact there."""
        literal = self._model.new_bool_var(f"later[{cycles}]")
        earlier = self.compiled.cycles <= -(-cycles // self.compiled.unit) - 1
        self._model.add(earlier).only_enforce_if(~literal)
        self.exact_at[cycles] = literal

    def retire(self, constraints: list[cp_model.Constraint]) -> None:
        """Have constraints hold no longer."""
        never = self._model.new_constant(0)
        for constraint in constraints:
            constraint.only_enforce_if(never)

    def _limit(self, metric: str, rank: Fraction, strict: bool) -> list[cp_model.Constraint]:
        amount = self.amount(metric)
        scale = amount.scale()
        expr, constant, cuts = rounded_down(self._model, amount, scale)
        most = (
            math.ceil(rank * scale) - 1 if strict and is_whole(amount) else math.floor(rank * scale)
        )
        most = _capped(most, amount.highest() * scale) - constant
        return [*cuts, self._model.add(expr <= most)]


def _capped(most: int, highest: Fraction) -> int:
    """`most`, or the next whole number above `highest` if that is less: no limit needs to exceed
    what it limits.
    """
    return min(most, math.ceil(highest) + 1)

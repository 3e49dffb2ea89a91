"""The mappings that CP-SAT meets for one goal, and what the search learns from each.

The exact cost model evaluates every one. Where the model claims less for a mapping than it costs,
the cut-offs are made exact at its cycles, or else the mapping is ruled out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Generic

from ortools.sat.python import cp_model

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Limit
from solver_mapper.errors import ExactnessError
from solver_mapper.solve.cpsat.cutoffs import Cutoffs
from solver_mapper.solve.cpsat.engine import Read
from solver_mapper.solve.cpsat.exclusion import but_orders, decisions, forbid
from solver_mapper.solve.cpsat.extract import mapping_of
from solver_mapper.solve.cpsat.variants import all_orders, some_variants
from solver_mapper.solve.optimality_gap import Candidate, F, OptimalityGap

ORDERS = 512
"""How many orders of a candidate's loops are evaluated in order to rule them all out."""
FEW, MANY = 32, 4096
"""How many mappings that the model does not tell apart are evaluated for each candidate, and before
one is ruled out.
"""


class Candidates(Generic[F]):
    """The candidates of one goal.

    limits: those that were given, without what earlier goals have fixed.
    hooked: whether a user added to the model, about which the exact cost model knows nothing.
    """

    def __init__(
        self,
        cutoffs: Cutoffs,
        gap: OptimalityGap[F],
        assess: Callable[[Mapping], F],
        limits: Sequence[Limit],
        hooked: bool,
    ):
        self._cutoffs, self._gap, self._assess = cutoffs, gap, assess
        self._limits, self._hooked = limits, hooked
        self._compiled = cutoffs.compiled
        self._last: Candidate[F] | None = None
        self._complete = True
        self._values: dict[int, int] = {}
        self._energy, self._cycles = Fraction(0), 0
        self._ruled_out: list[cp_model.Constraint] = []

    @property
    def claim(self) -> Fraction | None:
        """The goal's rank as the model has it for the last candidate; None where the model has no
        energy or cycles of the goal.
        """
        claimed = {"energy": self._energy, "delay": Fraction(self._cycles)}
        rank = Fraction(1)
        for metric, power in self._gap.goal.powers:
            if metric not in claimed:
                return None
            rank *= claimed[metric] ** power
        return rank

    def forget(self) -> None:
        """Begin another run of the solver."""
        self._last = None

    def meet(self, read: Read, _bound: float = 0.0) -> None:
        """Evaluate a candidate exactly, and keep it if it is better. Args: `read` gives the
        solver's values of variables.
        """
        mapping, energy = mapping_of(self._compiled, read), self._compiled.energy
        self._last = self._best_variant(mapping, FEW)
        self._energy = energy.constant + sum((w * read(v) for v, w in energy.terms), Fraction(0))
        self._cycles = read(self._compiled.cycles) * self._compiled.unit
        self._values = {each.index: read(each) for each in decisions(self._compiled)}
        self._gap.adopt(self._last)

    def evaluate_variants(self) -> bool:
        """Evaluate all mappings that the model does not tell from the last candidate; False if
        there are too many.
        """
        if not self._complete and self._last is not None:
            self._last = self._best_variant(self._last.mapping, MANY)
            self._gap.adopt(self._last)
        return self._complete

    def cut_deeper(self) -> bool:
        """Add the last candidate's cycles to those where cuts of products are exact; False if that
        does not exclude it.
        """
        cuts = list(self._limits)
        if self._gap.rank is not None:
            cuts.append(Limit(self._gap.goal, self._gap.rank, strict=True))
        products = [cut for cut in cuts if cut.goal.single is None]
        if self._cycles in self._cutoffs.exact_at or not any(
            cut.excludes(self._energy, self._cycles) for cut in products
        ):
            return False
        self._cutoffs.be_exact_at(self._cycles)
        for cut in self._limits:
            if cut.goal.single is None:
                strict = cut.strict and self._cutoffs.are_whole(cut.goal)
                self._cutoffs.require(cut.goal, cut.rank, strict=strict)
        return True

    def rule_out(self) -> None:
        """Rule out the last candidate: at least one of its decisions must differ, and not only
        orders of loops where all of these are evaluated.
        """
        told_apart = but_orders if self._evaluate_orders() else decisions
        self._ruled_out.append(
            forbid(self._compiled.model, told_apart(self._compiled), self._values)
        )

    def readmit(self) -> None:
        """Allow all that was ruled out: of mappings that tie with the optimum of this goal, later
        goals choose.
        """
        self._cutoffs.retire(self._ruled_out)
        self._ruled_out.clear()

    def check_claim(self, claimed: Fraction, *, rounded: bool) -> None:
        """What the solver calls optimal may not exceed the exact rank, and must equal it where the
        model is exact and the solver's number is not `rounded`.

        Under a limit that the candidate breaks, or a constraint of the user's own, the model may
        have paid in the goal for what it was spared elsewhere.

        Raises: ExactnessError.
        """
        goal, exactly = self._gap.goal, self._compiled.exact
        if (
            self._last is None
            or goal.single is None
            or self._hooked
            or not (exactly or self._gap.admits(self._last.statistics))
        ):
            return
        exact = goal.rank(self._last.statistics)
        missed = exactly and self._cutoffs.are_whole(goal) and not rounded and claimed != exact
        if claimed > exact or missed:
            raise ExactnessError(
                f"the solver claims {goal.name} {float(claimed)} for a mapping that has"
                f" {float(exact)}: {self._last.mapping}"
            )

    def _best_variant(self, mapping: Mapping, most: int) -> Candidate[F]:
        """The best of at most so many mappings that the model does not tell from this one."""
        options, self._complete = [mapping], True
        if not self._compiled.exact:
            options, self._complete = some_variants(self._compiled.variables.space, mapping, most)
        return min(
            (Candidate(option, self._assess(option)) for option in options),
            key=lambda c: (
                not self._gap.admits(c.statistics),
                self._gap.goal.rank(c.statistics),
            ),
        )

    def _evaluate_orders(self) -> bool:
        """Evaluate the last candidate with its loops in every order; False if these are too many,
        or a user's constraints may tell them apart.
        """
        if self._last is None or self._hooked:
            return False
        orders = all_orders(self._compiled.variables.space, self._last.mapping, ORDERS)
        for each in orders or ():
            self._gap.adopt(Candidate(each, self._assess(each)))
        return orders is not None

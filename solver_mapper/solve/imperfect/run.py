"""`solve` over imperfect factors: the best perfect mapping, lower bounds, then branch and bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

from solver_mapper.core.architecture import Arithmetic, Buffer
from solver_mapper.core.constraints import KeepConstraint
from solver_mapper.core.objective import GAP, Goal, Limit, Objective, parse_objective
from solver_mapper.core.results.solution import Certificate, Solution, Status
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import InputError, LimitReached
from solver_mapper.solve.imperfect.chains import Ints
from solver_mapper.solve.imperfect.incumbent import Incumbent, reporter
from solver_mapper.solve.imperfect.joint.bound import FEW_CHOICES, JointBound
from solver_mapper.solve.imperfect.joint.spatial_loops import MOST_CHOICES
from solver_mapper.solve.imperfect.local_search import LocalSearch
from solver_mapper.solve.imperfect.padding import from_more_divisors, padded_mapping
from solver_mapper.solve.imperfect.search import EvaluatedMapping, ImperfectSearch, Tree, proves
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import CHECKS, Session, describe
from solver_mapper.solve.start import given_start
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound

EARLY_SHARE = 0.1
"""The part of the time that a first bound may take."""
BOUND_SHARE = 0.75
"""The part of the time left after perfect factors that the bound for all tensors together may take
before other searches.
"""
PADDED_SHARE = 0.4
"""The part of the time left after perfect factors that sizes with more divisors may take."""
PADDED_TIMES, PADDED_SECONDS = 5, 1.0
"""How many times as long as perfect factors they may take, and how long in any case: the problem is
much the same.
"""
LITTLE_EFFORT = 1e6
"""What the bound for all tensors together may take where constraints speak of loops: half a second
or so.
"""
ENGINE = "branch and bound over loop chains"


def solve_imperfect(
    session: Session,
    objective: str | Sequence[str] = "edp",
    *,
    gap: float = GAP,
    tie_break: bool = False,
) -> Solution:
    """See `api.solve`. A bound comes first, for a small part of the time. Perfect factors may take
    all the rest, so the mapping is hardly ever worse than theirs under the same limit.

    Raises: InputError for energies below zero.
    """
    spec = session.spec
    refuse_negative_energies(spec)
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    run = _Run(session, parse_objective(objective), gap, space, ImperfectLowerBound(space))
    run.begin()
    if run.best is not None:
        run.narrow(run.best)
        if run.proven and len(run.goals.goals) == 1:
            return run.without_search()
    tree = run.tree()
    if tree is not None:
        return run.searched(tree, tie_break)
    run.go_on_without_tree()
    return run.without_search()


@dataclass
class _Run:
    """A lower bound of the first goal and the best mapping, as far as they are known.

    looked: whether more time for the bound for all tensors together would tell nothing more.
    """

    session: Session
    goals: Objective
    gap: float
    space: ImperfectMapspace
    bound: ImperfectLowerBound
    floor: Fraction | None = None
    best: EvaluatedMapping | None = None
    notes: tuple[str, ...] = ()
    looked: bool = False

    def __post_init__(self) -> None:
        self.first, self._joint = self.goals.goals[0], JointBound(self.bound)

    @property
    def proven(self) -> bool:
        """Whether no mapping is better for the first goal by more than the gap."""
        return proves(self.floor, self.best, self.first, self.gap)

    def begin(self) -> None:
        """The first bound, and a mapping to begin with."""
        clock, timer = self.session.clock, self.session.timer
        with clock.only(EARLY_SHARE):
            self.floor = self._first_bound()
        timer.lap("bound")
        begun = clock.seconds
        self.best, self.notes = _start(self.session, self.space, self.goals, self.gap)
        self._taken = clock.seconds - begun
        timer.lap("perfect factors")
        if self.floor is None:
            self.floor = self._first_bound() or self.bound.goal_at_once(self.first)
            timer.lap("bound")

    def _first_bound(self) -> Fraction | None:
        """A lower bound of the goal's rank; None if there is no time for it, or too much to look
        at.
        """
        with suppress(TimeUp, ValueError), running(self.session.clock):
            return self.bound.goal(self.first)
        return None

    def narrow(self, best: EvaluatedMapping) -> None:
        """A better mapping by way of other sizes, and the bound for all tensors together, as far as
        they come before the search.
        """
        clock, timer = self.session.clock, self.session.timer
        with clock.only(PADDED_SHARE, max(PADDED_TIMES * self._taken, PADDED_SECONDS)):
            self.best = from_more_divisors(self.session, self.space, self.goals, self.floor, best)
        timer.lap("padded sizes")
        free = _loops_are_free(self.space)
        with clock.only(BOUND_SHARE):
            self.looked = self._raise_bound(FEW_CHOICES, inf if free else LITTLE_EFFORT) and free
        timer.lap("joint bound")

    def _raise_bound(self, most: int = MOST_CHOICES, effort: float = inf) -> bool:
        """Raise the lower bound by one that looks at all tensors together, as far as that tells
        whether a mapping is better than the best one by more than the gap; it may meet a better
        mapping. Returns whether more time or effort would tell nothing more. `most` and `effort`:
        see `JointBound`.
        """
        session, joint = self.session, self._joint
        if self.floor is None or self.best is None or self.proven:
            return False
        report = reporter(session, self.first)
        incumbent = Incumbent(session.spec, self.space, self.first, self.gap, self.best, report)
        joint.found, joint.most, joint.effort = incumbent.offer, most, effort
        try:
            with suppress(LimitReached), running(session.clock):
                self.floor = max(self.floor, joint.goal(self.first, incumbent.target))
        except ValueError:
            return False
        finally:
            self.best = incumbent.best
        return not joint.ended_early

    def tree(self) -> Tree | None:
        """The chains of bounds; None where there is no time for them, or too many."""
        tree = None
        try:
            with running(self.session.clock):
                tree = Tree(self.session.spec, self.space)
        except TimeUp:
            pass
        except LimitReached as error:
            self.notes = (*self.notes, str(error))
        self.session.timer.lap("compile")
        return tree

    def go_on_without_tree(self) -> None:
        """The same bound with all the time, and local search."""
        if not self.looked and not self.proven:
            self._raise_bound()
            self.session.timer.lap("joint bound")
        if not self.proven:
            self.best = self._improved({}, self.best)
            self.session.timer.lap("local search")

    def without_search(self) -> Solution:
        """What is known without branch and bound."""
        proven = self.proven and len(self.goals.goals) == 1
        proofs = [_proof(self.first, 0, 0, self.gap)] if proven else []
        return self._solution(self.floor, proven, proofs)

    def searched(self, tree: Tree, tie_break: bool) -> Solution:
        """What branch and bound finds for one goal after the other."""
        ties = self.goals.with_tie_break().ties if tie_break else ()
        searches: list[ImperfectSearch] = []
        for goal in self.goals.goals:
            search = self._search(tree, goal, searches, ties)
            search.run()
            searches.append(search)
            self.best = search.best
            if self.best is None or not search.complete:
                break
        self.session.timer.lap("solve")
        proven = len(searches) == len(self.goals.goals) or self.best is None
        proven = proven and all(search.complete for search in searches)
        proofs = [proof_of(search) for search in searches if search.complete]
        return self._solution(searches[0].bound, proven, proofs)

    def _search(
        self, tree: Tree, goal: Goal, before: Sequence[ImperfectSearch], ties: tuple[Goal, ...]
    ) -> ImperfectSearch:
        """The search for a goal, within what the searches before have found."""
        session = self.session
        limits = tuple(
            Limit(done.goal, done.goal.rank(done.best.statistics), False)
            for done in before
            if done.best is not None
        )
        search = ImperfectSearch(
            tree, goal, self.gap, lambda: session.clock.over, self.best, limits, ties
        )
        first = before[0] if before else search
        search.better = reporter(session, self.first, lambda: first.bound)
        if not before:
            search.floor = self.floor or Fraction(0)
            tables = {table.dim: table.bounds for table in tree.tables}
            search.improved = lambda best: self._improved(tables, best)
        return search

    def _improved(
        self, tables: dict[str, Ints], best: EvaluatedMapping | None
    ) -> EvaluatedMapping | None:
        """The best mapping that local search meets from `best`, and from a mapping of perfect
        factors of the padded problem. `tables`: the chains of bounds of each dimension, where they
        have been listed.
        """
        session, goal = self.session, self.first
        if best is None:
            return None
        padded = padded_mapping(session, self.space, goal)
        for start in [best.mapping] if padded is None else [best.mapping, padded]:
            if session.clock.over:
                break
            search = LocalSearch(session.spec, self.space, goal, tables, session.settings.seed)
            with suppress(TimeUp), running(session.clock):
                found = EvaluatedMapping(*search.best_from(start, lambda: session.clock.over))
                if goal.rank(found.statistics) < goal.rank(best.statistics):
                    best = found
                    reporter(session, goal)(found)
        return best

    def _solution(
        self, bound: Fraction | None, proven: bool, proofs: Sequence[dict[str, Any]]
    ) -> Solution:
        session, goals, best = self.session, self.goals, self.best
        mapspace = describe(session.space, session.spec.constraints) | {"factors": "imperfect"}
        checks = self.notes if best is None else (*self.notes, *CHECKS)
        seed = session.settings.seed
        certificate = Certificate(mapspace, ENGINE, seed, {}, tuple(proofs), checks)
        if best is None:
            status: Status = "infeasible" if proven else "unknown"
            seconds = session.timer.seconds
            return Solution(status, goals, None, None, None, bound, certificate, seconds)
        statistics = session.checked(best.mapping, best.statistics, bound, goals)
        session.timer.lap("check")
        return Solution(
            "optimal" if proven else "feasible",
            goals,
            best.mapping,
            statistics,
            self.first.rank(statistics),
            bound,
            certificate,
            session.timer.seconds,
        )


def _loops_are_free(space: ImperfectMapspace) -> bool:
    """Whether constraints speak of what levels hold, at most. Of the others, the bound for all
    tensors together knows only those that leave no loop, or limit spatial ones.
    """
    return all(isinstance(each, KeepConstraint) for each in space.constraints)


def refuse_negative_energies(spec: Spec) -> None:
    """Raises: InputError if an access or an operation costs less than nothing."""
    units = spec.need_architecture().arithmetic
    charged: list[tuple[Buffer | Arithmetic, Fraction]] = [
        (each, min(each.energy.read, each.energy.fill, each.energy.update, each.energy.leak))
        for each in spec.need_architecture().levels
    ]
    for each, least in [*charged, (units, min(units.energy, units.leak))]:
        if least < 0:
            raise InputError(
                f"{each.name} has an energy below zero; imperfect factors are not supported then",
                each.location,
                "use perfect factors",
            )


def _start(
    session: Session, space: ImperfectMapspace, goals: Objective, gap: float
) -> tuple[EvaluatedMapping | None, tuple[str, ...]]:
    """A mapping to begin with: the given one, or the best of perfect factors."""
    found: list[tuple[EvaluatedMapping, tuple[str, ...]]] = []
    perfect = solve_spec(
        replace(session, spec=replace(session.spec, mapping=None)), goals.names, gap=gap
    )
    if perfect.mapping is not None and perfect.evaluation is not None:
        sort = "optimal" if perfect.status == "optimal" else "best known"
        note = f"the search began with the {sort} mapping of perfect factors"
        found.append((EvaluatedMapping(perfect.mapping, perfect.evaluation), (note,)))
    given, notes, _ = given_start(session, space)
    if given is not None:
        statistics = evaluate(space.architecture, space.problem, given)
        found.append((EvaluatedMapping(given, statistics), notes))
        notes = ()
    if not found:
        return None, notes
    ranks = [tuple(goal.rank(each.statistics) for goal in goals.goals) for each, _ in found]
    best, why = found[ranks.index(min(ranks))]
    return best, (*notes, *why)


def proof_of(search: ImperfectSearch) -> dict[str, Any]:
    """What a complete search has proven, for the certificate."""
    return _proof(search.goal, search.cells, search.evaluated, search.gap)


def _proof(goal: Goal, cells: int, evaluated: int, gap: float) -> dict[str, Any]:
    return {
        "goal": goal.name,
        "claim": (
            "no better mapping exists"
            if gap <= GAP
            else "no mapping is better by more than the gap"
        ),
        "cells": cells,
        "evaluated": evaluated,
        "tolerance": gap,
    }

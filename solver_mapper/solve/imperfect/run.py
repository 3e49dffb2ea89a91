"""`solve` over imperfect factors: the best perfect mapping, lower bounds, then branch and bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.constraints import KeepConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, Goal, Limit, Objective, parse_objective
from solver_mapper.core.primes import with_more_divisors
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.solution import Certificate, Solution, Status
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import InputError, LimitReached
from solver_mapper.mapspace.perfect_limit import perfect_limit
from solver_mapper.solve.imperfect.chains import Ints
from solver_mapper.solve.imperfect.incumbent import Incumbent
from solver_mapper.solve.imperfect.joint.bound import FEW_CHOICES, JointBound
from solver_mapper.solve.imperfect.joint.spatial_loops import MOST_CHOICES
from solver_mapper.solve.imperfect.local_search import LocalSearch, trimmed
from solver_mapper.solve.imperfect.search import EvaluatedMapping, ImperfectSearch, Tree
from solver_mapper.solve.local_search import LocalSearch as PerfectSearch
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import CHECKS, Session, describe
from solver_mapper.solve.start import begin, given_start
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound
from solver_mapper.verify.mapspace import EnumeratedMapspace

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
WIDE_GAP = 0.03
"""From this gap on, sizes with more divisors are tried."""
PADDING = 1 / 150
"""How much larger such sizes may be."""
MORE_DIVISORS = 2
"""A size is exchanged for one with more than so many times as many divisors."""
PADDED_EFFORT = 32
"""The effort of local search for a first mapping of these sizes."""
PADDED_GAP = 0.01
"""How much better another mapping for these sizes may be."""
LITTLE_EFFORT = 1e6
"""What the same bound may take where constraints speak of loops: half a second or so."""
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
    spec, timer = session.spec, session.timer
    refuse_negative_energies(spec)
    goals = parse_objective(objective)
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    first = goals.goals[0]
    bound = ImperfectLowerBound(space)
    joint = JointBound(bound)
    with session.clock.only(EARLY_SHARE):
        floor = _floor(session, bound, first)
    timer.lap("bound")
    begun, looked = session.clock.seconds, False
    best, notes = _start(session, goals, gap)
    taken = session.clock.seconds - begun
    timer.lap("perfect factors")
    if floor is None:
        floor = _floor(session, bound, first) or bound.goal_at_once(first)
        timer.lap("bound")
    if best is not None:
        free = _loops_are_free(space)
        with session.clock.only(PADDED_SHARE, max(PADDED_TIMES * taken, PADDED_SECONDS)):
            best = _from_more_divisors(session, space, goals, floor, best)
        timer.lap("padded sizes")
        with session.clock.only(BOUND_SHARE):
            effort = inf if free else LITTLE_EFFORT
            floor, best, looked = _raised(
                session, space, joint, first, floor, best, gap, FEW_CHOICES, effort
            )
        looked &= free
        timer.lap("joint bound")
        if len(goals.goals) == 1 and _reached(floor, best, first, gap):
            return _solution(session, goals, best, floor, True, [_proof(first, 0, 0, gap)], notes)
    tree, missing = None, tuple[str, ...]()
    try:
        with running(session.clock):
            tree = Tree(spec, space)
    except TimeUp:
        pass
    except LimitReached as error:
        missing = (str(error),)
    timer.lap("compile")
    notes = (*notes, *missing)
    if tree is None:
        if not looked and not _reached(floor, best, first, gap):
            floor, best, _ = _raised(session, space, joint, first, floor, best, gap)
            timer.lap("joint bound")
        if not _reached(floor, best, first, gap):
            best = _improved(session, space, {}, first, best)
            timer.lap("local search")
        proven = len(goals.goals) == 1 and _reached(floor, best, first, gap)
        proofs = [_proof(first, 0, 0, gap)] if proven else []
        return _solution(session, goals, best, floor, proven, proofs, notes)
    ties = goals.with_tie_break().ties if tie_break else ()
    searches: list[ImperfectSearch] = []
    for goal in goals.goals:
        limits = tuple(
            Limit(done.goal, done.goal.rank(done.best.statistics), False)
            for done in searches
            if done.best is not None
        )
        search = ImperfectSearch(tree, goal, gap, lambda: session.clock.over, best, limits, ties)
        search.better = _reporter(session, first, searches or [search])
        if not searches:
            search.floor = floor or Fraction(0)
            tables = {table.dim: table.bounds for table in tree.tables}
            search.improved = partial(_improved, session, space, tables, first)
        search.run()
        searches.append(search)
        best = search.best
        if best is None or not search.complete:
            break
    timer.lap("solve")
    proven = len(searches) == len(goals.goals) or best is None
    proven = proven and all(search.complete for search in searches)
    proofs = [proof_of(search) for search in searches if search.complete]
    return _solution(session, goals, best, searches[0].bound, proven, proofs, notes)


def _floor(session: Session, bound: ImperfectLowerBound, goal: Goal) -> Fraction | None:
    """A lower bound of the goal's rank; None if there is no time for it, or too much to look at."""
    with suppress(TimeUp, ValueError), running(session.clock):
        return bound.goal(goal)
    return None


def _from_more_divisors(
    session: Session,
    space: ImperfectMapspace,
    goals: Objective,
    floor: Fraction | None,
    best: EvaluatedMapping,
) -> EvaluatedMapping:
    """The best mapping, or a better one: a mapping of perfect factors for sizes with more divisors,
    cut to the sizes of the problem.
    """
    goal, problem = goals.goals[0], space.problem
    sizes = {
        dim: with_more_divisors(size, PADDING, MORE_DIVISORS)
        for dim, size in problem.bounds.items()
    }
    if sizes == problem.bounds or _reached(floor, best, goal, WIDE_GAP) or session.clock.over:
        return best
    larger = replace(session.spec, problem=replace(problem, bounds=sizes), mapping=None)
    larger = replace(larger, mapping=_simple(larger, goal, best.mapping, session))
    try:
        found = solve_spec(
            replace(session, spec=larger, on_progress=None), goals.names[:1], gap=PADDED_GAP
        )
    except InputError:
        return best
    if found.mapping is None:
        return best
    incumbent = Incumbent(session.spec, space, goal, 0.0, best, _reporter(session, goal, ()))
    incumbent.offer(trimmed(space, found.mapping))
    return incumbent.best


def _simple(spec: Spec, goal: Goal, like: Mapping, session: Session) -> Mapping | None:
    """A mapping of perfect factors that local search finds from all loops at the outermost level,
    with tensors stored as in another mapping; None if constraints forbid that.
    """
    every = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    loops = tuple((dim, size, "") for dim, size in every.problem.bounds.items() if size > 1)
    stores = tuple(
        tuple(name in level.keep for level in like.levels) for name in every.problem.tensor_names
    )
    first = every.mapping(((loops, ()), *[((), ())] * (every.depth - 1)), stores)
    if not every.contains(first) or not is_legal(spec, first):
        return None
    search = PerfectSearch(spec, every, goal, session.settings.seed, PADDED_EFFORT)
    found, _ = search.best_from(first, over=lambda: session.clock.over)
    return found if every.contains(found) else first


def _loops_are_free(space: ImperfectMapspace) -> bool:
    """Whether constraints speak of what levels hold, at most. Of the others, the bound for all
    tensors together knows only those that leave no loop, or limit spatial ones.
    """
    return all(isinstance(each, KeepConstraint) for each in space.constraints)


def _raised(
    session: Session,
    space: ImperfectMapspace,
    joint: JointBound,
    goal: Goal,
    floor: Fraction | None,
    best: EvaluatedMapping | None,
    gap: float,
    most: int = MOST_CHOICES,
    effort: float = inf,
) -> tuple[Fraction | None, EvaluatedMapping | None, bool]:
    """The lower bound, raised by one that looks at all tensors together, as far as that tells
    whether a mapping is better than the best one by more than the gap; the best mapping, perhaps
    one that this bound met; and whether more time or effort would tell nothing more. `most` and
    `effort`: see `JointBound`.
    """
    if floor is None or best is None or _reached(floor, best, goal, gap):
        return floor, best, False
    incumbent = Incumbent(session.spec, space, goal, gap, best, _reporter(session, goal, ()))
    joint.found, joint.most, joint.effort = incumbent.offer, most, effort
    try:
        with suppress(LimitReached), running(session.clock):
            floor = max(floor, joint.goal(goal, incumbent.target))
    except ValueError:
        return floor, incumbent.best, False
    return floor, incumbent.best, not joint.ended_early


def _improved(
    session: Session,
    space: ImperfectMapspace,
    tables: dict[str, Ints],
    goal: Goal,
    best: EvaluatedMapping | None,
) -> EvaluatedMapping | None:
    """The best mapping that local search meets from `best`, and from a mapping of perfect factors
    of the problem padded to the sizes that the limit of perfect factors names. `tables`: the chains
    of bounds of each dimension, where they have been listed.
    """
    starts = [] if best is None else [best.mapping]
    padded = _padded(session, space, goal) if best is not None else None
    if padded is not None:
        starts.append(padded)
    value = None if best is None else goal.rank(best.statistics)
    for start in starts:
        if session.clock.over:
            break
        search = LocalSearch(session.spec, space, goal, tables, session.settings.seed)
        with suppress(TimeUp), running(session.clock):
            found = EvaluatedMapping(*search.best_from(start, lambda: session.clock.over))
            rank = goal.rank(found.statistics)
            if value is None or rank < value:
                best, value = found, rank
                _reporter(session, goal, ())(found)
    return best


def _padded(session: Session, space: ImperfectMapspace, goal: Goal) -> Mapping | None:
    """A legal mapping of the padded problem, cut to the sizes of the problem; None where perfect
    factors leave too little on the table, or there is none.
    """
    spec, problem = session.spec, space.problem
    limit = perfect_limit(space.architecture, problem, spec.constraints)
    if limit is None or session.clock.over:
        return None
    sizes = {**problem.bounds, **limit.padded}
    larger = replace(spec, problem=replace(problem, bounds=sizes), mapping=None)
    with suppress(TimeUp), running(session.clock):
        found = begin(replace(session, spec=larger, on_progress=None), goal).mapping
        if found is not None:
            cut = trimmed(space, found)
            if is_legal(spec, cut) and space.contains(cut):
                return cut
    return None


def refuse_negative_energies(spec: Spec) -> None:
    """Raises: InputError if an access or an operation costs less than nothing."""
    for level in spec.need_architecture().levels:
        energy = level.energy
        if min(energy.read, energy.fill, energy.update, energy.leak) < 0:
            raise InputError(
                f"{level.name} has an energy below zero; imperfect factors are not supported then",
                level.location,
                "use perfect factors",
            )
    units = spec.need_architecture().arithmetic
    if min(units.energy, units.leak) < 0:
        raise InputError(
            f"{units.name} has an energy below zero; imperfect factors are not supported then",
            units.location,
            "use perfect factors",
        )


def _start(
    session: Session, goals: Objective, gap: float
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
    spec = session.spec
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
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


def _reporter(
    session: Session, goal: Goal, searches: Sequence[ImperfectSearch]
) -> Callable[[EvaluatedMapping], None]:
    def report(found: EvaluatedMapping) -> None:
        if session.on_progress is not None:
            bound = searches[0].bound if searches else None
            session.on_progress(
                Progress(
                    goal.shown(goal.rank(found.statistics)),
                    None if bound is None else float(goal.shown_below(bound)),
                    session.clock.seconds,
                    goal.name,
                )
            )

    return report


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


def _reached(floor: Fraction | None, best: EvaluatedMapping | None, goal: Goal, gap: float) -> bool:
    """Whether no mapping is better than the best one by more than the gap."""
    if floor is None or best is None:
        return False
    return floor >= goal.rank(best.statistics) * (1 - Fraction(gap))


def _solution(
    session: Session,
    goals: Objective,
    best: EvaluatedMapping | None,
    bound: Fraction | None,
    proven: bool,
    proofs: Sequence[dict[str, Any]],
    notes: tuple[str, ...],
) -> Solution:
    timer = session.timer
    mapspace = describe(session.space, session.spec.constraints) | {"factors": "imperfect"}
    checks = (*notes, *CHECKS) if best is not None else notes
    certificate = Certificate(mapspace, ENGINE, session.settings.seed, {}, tuple(proofs), checks)
    if best is None:
        status: Status = "infeasible" if proven else "unknown"
        return Solution(status, goals, None, None, None, bound, certificate, timer.seconds)
    statistics = session.checked(best.mapping, best.statistics, bound, goals)
    timer.lap("check")
    status = "optimal" if proven else "feasible"
    value = goals.goals[0].rank(statistics)
    return Solution(
        status, goals, best.mapping, statistics, value, bound, certificate, timer.seconds
    )

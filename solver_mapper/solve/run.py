"""The steps of `solve`: a mapping to start from, the compiled search, checks, the answer.

open_session -> begin -> Session.search -> Search.minimize -> Session.checked -> Solution

With the engine "branch-and-bound" `search_boxes` is the search; with "both" it comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import GAP, Goal, Objective, parse_objective
from solver_mapper.core.results.solution import Solution, Status
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import running
from solver_mapper.errors import LimitReached
from solver_mapper.solve.branch_and_bound import FIRST_NODES, BoxSearch, Engine, search_boxes
from solver_mapper.solve.cpsat.goal_search import ProvenStep
from solver_mapper.solve.cpsat.model_hook import Hook
from solver_mapper.solve.cpsat.search import Search
from solver_mapper.solve.optimality_gap import Candidate
from solver_mapper.solve.session import CHECKS, Session
from solver_mapper.solve.start import Start, begin
from solver_mapper.verify.bound import LowerBound

QUICK_SPLITS = 20_000
"""How finely the bound of an unfinished search is worked out: in a fraction of a second."""

_BOUND_SECONDS = 0.4
"""Seconds that this bound may take beyond the time limit."""

Conflict = tuple[dict[str, Any], ...]
ExplainConflict = Callable[[Spec, Clock], Conflict]
"""What makes a specification without legal mappings infeasible, as the JSON of `explain` has it."""


def no_conflict(_spec: Spec, _clock: Clock) -> Conflict:
    """For searches whose infeasibility is not to be explained."""
    return ()


def solve_spec(
    session: Session,
    objective: str | Sequence[str] = "edp",
    *,
    gap: float = GAP,
    hook: Hook | None = None,
    explain_conflict: ExplainConflict = no_conflict,
    tie_break: bool = False,
    engine: Engine = "cpsat",
) -> Solution:
    """See `api.solve`. Args: `explain_conflict`, called where no mapping is legal."""
    goals = parse_objective(objective)
    goals = goals.with_tie_break() if tie_break else goals
    with closing(session.pool):
        return _solve(session, goals, gap, hook, explain_conflict, engine)


def _solve(
    session: Session,
    goals: Objective,
    gap: float,
    hook: Hook | None,
    explain_conflict: ExplainConflict,
    engine: Engine,
) -> Solution:
    timer = session.timer
    with running(session.clock):
        start = begin(session, goals.goals[0], local_search=hook is None)
    timer.lap("start")
    least = None
    if engine != "cpsat":
        nodes = FIRST_NODES if engine == "both" else None
        try:
            with running(session.clock):
                boxes = search_boxes(session, goals, start.mapping, gap, nodes)
        except (LimitReached, MemoryError) as error:
            session.ended_by(error)
            return _uncompiled(session, start, goals, hook, least)
        timer.lap("branch and bound")
        if boxes.complete or engine == "branch-and-bound":
            return _from_boxes(session, goals, boxes, gap, start.notes, explain_conflict)
        start, least = start._replace(mapping=boxes.mapping), boxes.bound
    if start.impossible:
        timer.lap("solve")
        proof = ProvenStep(goals.goals[0].name, "no mapping is legal", 1, 0, 0.0)
        return _infeasible(session, goals, (proof,), start.notes, explain_conflict)
    search: Search[Statistics] | None = None
    proven = False
    try:
        with running(session.clock):
            search = session.search(gap, hook=hook)
            if start.mapping is not None:
                search.start_from(start.mapping)
            search.compile_ahead(goals.goals[0])
            timer.lap("compile")
            proven = search.minimize(goals)
    except (LimitReached, MemoryError) as error:
        session.ended_by(error)
        proven = False
    timer.lap("solve")
    with running(None):
        if search is None:
            return _uncompiled(session, start, goals, hook, least)
        if proven and search.best is None:
            explain = explain_conflict if hook is None else no_conflict
            return _infeasible(session, goals, tuple(search.proofs), start.notes, explain, hook)
        bound, notes = search.bound, tuple[str, ...]()
        if not proven:
            bound, notes = _raised(session, bound, goals)
            bound = max((each for each in (bound, least) if each is not None), default=None)
        found = _Found(search.best, bound, tuple(search.proofs), len(search.fixed))
        return _solution(session, found, goals, proven, (*start.notes, *notes), hook)


class _Found(NamedTuple):
    """What a search came to."""

    best: Candidate[Statistics] | None
    bound: Fraction | None
    proofs: tuple[ProvenStep, ...] = ()
    settled: int = 0


def _uncompiled(
    session: Session, start: Start, goals: Objective, hook: Hook | None, least: Fraction | None
) -> Solution:
    """The answer where the time was up before the search: the mapping that it began with, and the
    bound `least` of branch and bound, if that came before.
    """
    best = None
    if start.mapping is not None and hook is None and not session.violations(start.mapping):
        spec = session.spec
        statistics = evaluate(spec.need_architecture(), spec.need_problem(), start.mapping)
        best = Candidate(start.mapping, statistics)
    bound, notes = _raised(session, least, goals)
    return _solution(session, _Found(best, bound), goals, False, (*start.notes, *notes), hook)


def _from_boxes(
    session: Session,
    goals: Objective,
    boxes: BoxSearch,
    gap: float,
    notes: tuple[str, ...],
    explain_conflict: ExplainConflict,
) -> Solution:
    """The answer of branch and bound alone."""
    proofs = (ProvenStep(goals.goals[0].name, boxes.told, boxes.runs, 0, gap),)
    if boxes.complete and boxes.mapping is None:
        return _by_boxes(_infeasible(session, goals, proofs, notes, explain_conflict))
    goals = goals.with_proven(len(goals.all) if boxes.complete else 0)
    bound, raised = (boxes.bound, ()) if boxes.complete else _raised(session, boxes.bound, goals)
    statistics, rank, checks = boxes.statistics, None, notes
    if boxes.mapping is not None and statistics is not None:
        statistics = session.checked(boxes.mapping, statistics, bound, goals)
        rank, checks = goals.goals[0].rank(statistics), (*notes, *raised, *CHECKS)
        session.timer.lap("check")
    certificate = session.certificate(proofs, checks)
    status: Status = "unknown" if rank is None else "optimal" if boxes.complete else "feasible"
    seconds = session.timer.seconds
    return _by_boxes(
        Solution(status, goals, boxes.mapping, statistics, rank, bound, certificate, seconds)
    )


def _by_boxes(solution: Solution) -> Solution:
    """The answer with the name of the engine that found it in place of CP-SAT's."""
    seed = {"random_seed": solution.certificate.seed}
    certificate = replace(solution.certificate, solver="branch and bound", parameters=seed)
    return replace(solution, certificate=certificate)


def _solution(
    session: Session,
    found: _Found,
    goals: Objective,
    proven: bool,
    notes: tuple[str, ...],
    hook: Hook | None,
) -> Solution:
    """The answer where a mapping was found or the search was stopped before."""
    best, bound, proofs, settled = found
    timer = session.timer
    goals = goals.with_proven(settled)
    if best is None:
        certificate = session.certificate(proofs, notes, hook)
        return Solution("unknown", goals, None, None, None, bound, certificate, timer.seconds)
    statistics = session.checked(best.mapping, best.statistics, bound, goals)
    timer.lap("check")
    status: Status = "optimal" if proven else "feasible"
    certificate = session.certificate(proofs, (*notes, *CHECKS), hook)
    value = goals.goals[0].rank(statistics)
    return Solution(
        status, goals, best.mapping, statistics, value, bound, certificate, timer.seconds
    )


def _infeasible(
    session: Session,
    goals: Objective,
    proofs: tuple[ProvenStep, ...],
    notes: tuple[str, ...],
    explain_conflict: ExplainConflict,
    hook: Hook | None = None,
) -> Solution:
    """The answer where no mapping is legal, with a conflict if the time suffices for one."""
    conflict = explain_conflict(session.spec, session.clock)
    session.timer.lap("explain")
    certificate = session.certificate(proofs, notes, hook)
    seconds = session.timer.seconds
    return Solution("infeasible", goals, None, None, None, None, certificate, seconds, conflict)


def _raised(
    session: Session, bound: Fraction | None, goals: Objective
) -> tuple[Fraction | None, tuple[str, ...]]:
    """The bound of an unfinished search, or the one that needs no search if that is higher; then
    with a note about it.
    """
    try:
        with running(Clock(_BOUND_SECONDS)):
            floor, note = _without_search(session, goals.goals[0])
    except (LimitReached, MemoryError):
        return bound, ()
    if floor is None or (bound is not None and bound >= floor):
        return bound, ()
    return floor, (note,)


def _without_search(session: Session, goal: Goal) -> tuple[Fraction | None, str]:
    """A bound of the goal's rank, and what it counts."""
    least = LowerBound(session.all_mappings, QUICK_SPLITS)
    try:
        return least.goal(goal), "the bound is that of the least words that cross into each level"
    except (ValueError, LimitReached, MemoryError):
        return least.goal_at_once(goal), "the bound counts each operation and each word once"

"""The front of two metrics over imperfect factors: one search for each point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solver_mapper.core.objective import GAP, Goal, Limit, Objective, parse_objective
from solver_mapper.core.results.pareto_front import Front, FrontPoint, FrontStatus
from solver_mapper.core.results.solution import Certificate
from solver_mapper.deadline import TimeUp, running
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.run import ENGINE, proof_of, refuse_negative_energies
from solver_mapper.solve.imperfect.search import EvaluatedMapping, ImperfectSearch, Tree
from solver_mapper.solve.pareto import add_point, two_metrics
from solver_mapper.solve.session import CHECKS, Session, describe
from solver_mapper.verify.imperfect import ImperfectMapspace


def find_imperfect_front(
    session: Session, metrics: Sequence[str] = ("energy", "delay"), gap: float = GAP
) -> Front:
    """See `api.pareto`. Each point is the least first metric below the last point's second, and of
    these the least second.

    Raises: InputError for energies below zero.
    """
    spec, timer = session.spec, session.timer
    names = two_metrics(metrics)
    refuse_negative_energies(spec)
    goals = parse_objective(names)
    points: list[FrontPoint] = []
    last: tuple[dict[str, Any], ...] = ()
    proven = False
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    try:
        with running(session.clock):
            tree = Tree(spec, space)
            while True:
                searches = _next(session, tree, goals, gap, points)
                if not all(search.complete for search in searches):
                    break
                proofs, best = tuple(map(proof_of, searches)), searches[-1].best
                if best is None:
                    proven, last = True, proofs
                    break
                bound = searches[0].bound
                statistics = session.checked(best.mapping, best.statistics, bound, goals)
                add_point(points, FrontPoint(best.mapping, statistics, proofs), goals)
    except (LimitReached, MemoryError, TimeUp) as error:
        session.ended_by(error)
    timer.lap("solve")
    mapspace = describe(session.space, spec.constraints) | {"factors": "imperfect"}
    checks = CHECKS if points else ()
    certificate = Certificate(mapspace, ENGINE, session.settings.seed, {}, last, checks)
    some: FrontStatus = "complete" if proven else "partial"
    none: FrontStatus = "infeasible" if proven else "unknown"
    status = some if points else none
    return Front(status, names, tuple(points), certificate, timer.seconds)


def _next(
    session: Session, tree: Tree, goals: Objective, gap: float, points: Sequence[FrontPoint]
) -> list[ImperfectSearch]:
    """The searches for the next point: the least first metric, then the least second."""
    first, second = goals.goals
    limits: tuple[Limit, ...] = ()
    if points:
        limits = (Limit(second, second.rank(points[-1].evaluation), True),)

    def search(goal: Goal, best: EvaluatedMapping | None) -> ImperfectSearch:
        made = ImperfectSearch(tree, goal, gap, lambda: session.clock.over, best, limits)
        made.run()
        return made

    searches = [search(first, None)]
    best = searches[0].best
    if best is not None and searches[0].complete:
        limits = (*limits, Limit(first, first.rank(best.statistics), False))
        searches.append(search(second, best))
    return searches

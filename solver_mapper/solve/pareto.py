"""The front of two metrics: minimize one below ever smaller limits of the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP, METRICS, Limit, Objective, parse_objective
from solver_mapper.core.results.pareto_front import Front, FrontPoint, FrontStatus
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.deadline import running
from solver_mapper.errors import InputError, LimitReached, SourceLocation, did_you_mean
from solver_mapper.solve.cpsat.goal_search import ProvenStep
from solver_mapper.solve.cpsat.search import Search
from solver_mapper.solve.session import CHECKS, Session
from solver_mapper.solve.start import begin

EFFORT = 8
"""Local search for a mapping with less of the second metric than a point has takes so many times as
many steps as at the start of a search.
"""


def find_front(
    session: Session, metrics: Sequence[str] = ("energy", "delay"), gap: float = GAP
) -> Front:
    """See `api.pareto`. Each point is the least first metric below the last point's second, and of
    these the least second.
    """
    names = two_metrics(metrics)
    goals, timer = parse_objective(names), session.timer
    points: list[FrontPoint] = []
    last: tuple[ProvenStep, ...] = ()
    proven, least = False, None
    try:
        with running(session.clock), closing(session.pool):
            start = begin(session, goals.goals[0])
            starts = _Starts(session, goals, start.mapping)
            if start.impossible:
                proven, last = True, (ProvenStep(names[0], "no mapping is legal", 1, 0, 0.0),)
            while not proven:
                search = _next(session, goals, gap, points, starts, least)
                if not search.minimize(goals):
                    break
                if search.best is None:
                    proven, last = True, tuple(search.proofs)
                    continue
                best, proofs = search.best, tuple(proof.to_dict() for proof in search.proofs)
                statistics = session.checked(best.mapping, best.statistics, search.bound, goals)
                least = search.bound
                add_point(points, FrontPoint(best.mapping, statistics, proofs), goals)
    except (LimitReached, MemoryError) as error:
        session.ended_by(error)
    timer.lap("solve")
    certificate = session.certificate(last, CHECKS if points else ())
    if points:
        status: FrontStatus = "complete" if proven else "partial"
    else:
        status = "infeasible" if proven else "unknown"
    return Front(status, names, tuple(points), certificate, timer.seconds)


class _Starts:
    """Mappings for the searches of points to begin with.

    first: a legal one, if one is known.
    """

    def __init__(self, session: Session, goals: Objective, first: Mapping | None):
        self._session, self._first = session, first
        self._goal, self._other = goals.goals
        self._best: tuple[Mapping, Fraction] | None = None

    def within(self, search: Search[Statistics], points: Sequence[FrontPoint]) -> Mapping | None:
        """One within the limits of the search for the point after these; None if local search for
        the second metric finds none.
        """
        if not points:
            return self._first
        *caps, limit = search.limits
        if self._best is None or not limit.holds(self._best[1]):
            found = self._session.improved(self._other, caps, points[-1].mapping, EFFORT).result()
            self._best = found, self._other.rank(search.assess(found))
        mapping, rank = self._best
        if not limit.holds(rank):
            return None
        return self._session.improved(self._goal, search.limits, mapping, 1).result()


def add_point(points: list[FrontPoint], point: FrontPoint, goals: Objective) -> None:
    """Add a point with less of the second metric than all others, in place of those than which it
    has no more of the first: they were proven within a gap.
    """
    first = goals.goals[0]
    while points and first.rank(point.evaluation) <= first.rank(points[-1].evaluation):
        points.pop()
    points.append(point)


def _next(
    session: Session,
    goals: Objective,
    gap: float,
    points: Sequence[FrontPoint],
    starts: _Starts,
    least: Fraction | None,
) -> Search[Statistics]:
    """The search for the point after these.

    least: no mapping has less of the first metric than this, and less of the second than these.
    """
    search = session.search(gap)
    if points:
        first, second = goals.goals
        search.limits += (Limit(second, second.rank(points[-1].evaluation), strict=True),)
        if least is not None:
            search.least[first] = least
    start = starts.within(search, points)
    if start is not None:
        search.start_from(start)
    return search


def two_metrics(metrics: Sequence[str]) -> tuple[str, str]:
    """Raises: InputError unless `metrics` are two different ones."""
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise InputError(
            f"the figures are {metrics!r:.60}; they must be a list", SourceLocation("--metrics")
        )
    for name in metrics:
        if name not in METRICS:
            raise InputError(
                f"unknown metric '{name}'", SourceLocation("--metrics"), did_you_mean(name, METRICS)
            )
    if len(metrics) != 2 or metrics[0] == metrics[1]:
        raise InputError(
            "a front needs two different metrics",
            SourceLocation("--metrics"),
            f"of {', '.join(METRICS)}",
        )
    return metrics[0], metrics[1]

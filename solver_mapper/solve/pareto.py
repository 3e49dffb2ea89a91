"""The front of two metrics: minimize one below ever smaller limits of the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from solver_mapper.core.objective import METRICS, parse_objective
from solver_mapper.core.results.pareto_front import Front, FrontPoint, FrontStatus
from solver_mapper.deadline import running
from solver_mapper.errors import InputError, LimitReached, SourceLocation, did_you_mean
from solver_mapper.solve.cpsat.search import ProvenStep
from solver_mapper.solve.session import CHECKS, Session


def find_front(session: Session, metrics: Sequence[str] = ("energy", "delay")) -> Front:
    """See `api.pareto`. Each point is the least first metric below the last point's second, and of
    these the least second.
    """
    names = two_metrics(metrics)
    goals, timer = parse_objective(names), session.timer
    points: list[FrontPoint] = []
    last: tuple[ProvenStep, ...] = ()
    proven = False
    try:
        with running(session.clock), closing(session.helper):
            while True:
                search = session.search(0.0)
                if points:
                    search.below(goals.goals[1], goals.goals[1].rank(points[-1].evaluation))
                if not search.minimize(goals):
                    break
                if search.best is None:
                    proven, last = True, tuple(search.proofs)
                    break
                best, proofs = search.best, tuple(proof.to_dict() for proof in search.proofs)
                statistics = session.checked(best.mapping, best.statistics, search.bound, goals)
                points.append(FrontPoint(best.mapping, statistics, proofs))
    except (LimitReached, MemoryError) as error:
        session.ended_by(error)
    timer.lap("solve")
    certificate = session.certificate(last, CHECKS if points else ())
    if points:
        status: FrontStatus = "complete" if proven else "partial"
    else:
        status = "infeasible" if proven else "unknown"
    return Front(status, names, tuple(points), certificate, timer.seconds)


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

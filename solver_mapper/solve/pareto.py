"""The front of two metrics: minimize one below ever smaller limits of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from solver_mapper.core.clock import Clock
from solver_mapper.core.objective import METRICS, parse_objective
from solver_mapper.core.pareto_front import Front, FrontPoint
from solver_mapper.core.progress import Progress
from solver_mapper.core.solution import Certificate
from solver_mapper.core.spec import Spec
from solver_mapper.core.timer import Timer
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.errors import InputError, SourceLocation, did_you_mean
from solver_mapper.mapspace.space import build_space
from solver_mapper.solve.cpsat.engine import Settings, solver_name
from solver_mapper.solve.partial_mapping import with_directives
from solver_mapper.solve.prepare import prepare
from solver_mapper.solve.run import CHECKS, checked, describe


def find_front(
    spec: Spec,
    metrics: Sequence[str] = ("energy", "delay"),
    *,
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
) -> Front:
    """See `api.pareto`. Each point is the least first metric below the last point's second, and of
    these the least second.
    """
    names, spec = _two(metrics), with_directives(spec)
    goals = parse_objective(names)
    settings, clock, timer = (
        Settings(seed=seed, workers=workers or 1),
        clock or Clock(time_limit),
        Timer(),
    )
    space = build_space(
        spec.need_architecture(),
        spec.need_problem(),
        spec.constraints,
        latency(spec.need_architecture()),
    )
    points: list[FrontPoint] = []
    limit: Fraction | None = None
    while True:
        search = prepare(space, settings, clock, on_progress)
        if limit is not None:
            search.below(goals.goals[1], limit)
        proven = search.minimize(goals)
        if not proven or search.best is None:
            break
        statistics = checked(spec, search.best.mapping, search.best.statistics, search.bound, goals)
        points.append(
            FrontPoint(
                search.best.mapping, statistics, tuple(proof.to_dict() for proof in search.proofs)
            )
        )
        limit = goals.goals[1].rank(statistics)
    timer.lap("solve")
    last = tuple(proof.to_dict() for proof in search.proofs) if proven else ()
    certificate = Certificate(
        describe(space, spec.constraints),
        solver_name(),
        seed,
        settings.parameters(),
        last,
        CHECKS if points else (),
    )
    if points:
        return Front(
            "complete" if proven else "partial", names, tuple(points), certificate, timer.seconds
        )
    return Front("infeasible" if proven else "unknown", names, (), certificate, timer.seconds)


def _two(metrics: Sequence[str]) -> tuple[str, str]:
    """Raises: InputError unless `metrics` are two different ones."""
    for name in metrics:
        if name not in METRICS:
            raise InputError(
                f"unknown figure '{name}'", SourceLocation("--metrics"), did_you_mean(name, METRICS)
            )
    if len(metrics) != 2 or metrics[0] == metrics[1]:
        raise InputError(
            "a front needs two different figures",
            SourceLocation("--metrics"),
            f"of {', '.join(METRICS)}",
        )
    return metrics[0], metrics[1]

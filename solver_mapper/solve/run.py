"""Solving a Timeloop-style specification: space, model, search, certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from solver_mapper.check.constraints import constraint_violations
from solver_mapper.core.clock import Clock
from solver_mapper.core.constraints import (
    MAPPING,
    Constraint,
    Constraints,
    MetricConstraint,
    NestingConstraint,
    ProductConstraint,
)
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Objective, parse_objective
from solver_mapper.core.progress import Progress
from solver_mapper.core.solution import Certificate, Solution, Status
from solver_mapper.core.spec import Spec
from solver_mapper.core.statistics import Statistics
from solver_mapper.core.timer import Timer
from solver_mapper.core.verdict import Verdict
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.errors import ExactnessError
from solver_mapper.mapspace.space import Space, build_space
from solver_mapper.solve.cpsat.engine import Settings, solver_name
from solver_mapper.solve.cpsat.model_hook import Hook
from solver_mapper.solve.cpsat.search import Proof, Search
from solver_mapper.solve.partial_mapping import with_directives
from solver_mapper.solve.prepare import prepare
from solver_mapper.solve.start import begin
from solver_mapper.verify.bound import LowerBound
from solver_mapper.verify.mapspace import EnumeratedMapspace

QUICK_SPLITS = 20_000
"""How finely the bound of an unfinished search is worked out: in a fraction of a second."""
CHECKS = (
    "legal for hardware, problem and constraints",
    "figures equal to the exact nest model's",
    "no bound exceeds the value",
)


Conflict = tuple[dict[str, Any], ...]
ExplainConflict = Callable[[Spec, Clock], Conflict]
"""What makes a specification without legal mappings infeasible, as the JSON of `explain` has it."""


def no_conflict(_spec: Spec, _clock: Clock) -> Conflict:
    """For searches whose infeasibility nobody asks the reason of."""
    return ()


def solve_spec(
    spec: Spec,
    objective: str | Sequence[str] = "edp",
    *,
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    gap: float = 0.0,
    on_progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
    keep_mapping: bool | None = None,
    hook: Hook | None = None,
    explain_conflict: ExplainConflict = no_conflict,
    tie_break: bool = False,
) -> Solution:
    """See `api.solve`. Args: `explain_conflict`, called where no mapping is legal."""
    timer = Timer()
    spec = with_directives(spec, keep_mapping)
    goals = parse_objective(objective)
    goals = goals.with_tie_break() if tie_break else goals
    settings = Settings(seed=seed, workers=workers or 1)
    clock = clock or Clock(time_limit)
    start = begin(spec, goals.goals[0], clock, seed, on_progress, local_search=hook is None)
    timer.lap("start")
    if start.impossible:
        return _no_mapping(spec, goals, settings, clock, timer, explain_conflict)
    space = build_space(
        spec.need_architecture(),
        spec.need_problem(),
        spec.constraints,
        latency(spec.need_architecture()),
    )
    search = prepare(space, settings, clock, on_progress, gap, hook=hook)
    if start.mapping is not None:
        search.start_from(start.mapping)
    timer.lap("compile")
    proven = search.minimize(goals)
    timer.lap("solve")
    conflict: Conflict = ()
    if proven and search.best is None and hook is None:
        conflict = explain_conflict(spec, clock)
        timer.lap("explain")
    best = search.best
    notes = start.notes if proven or best is None else (*start.notes, *_raised(spec, search, goals))
    statistics = (
        checked(spec, best.mapping, best.statistics, search.bound, goals)
        if best is not None
        else None
    )
    checks = CHECKS if best is not None else ()
    timer.lap("check")
    status: Status = (
        ("optimal" if proven else "feasible") if best else ("infeasible" if proven else "unknown")
    )
    mapspace = describe(space, spec.constraints) | (
        {} if hook is None else {"model_hook": getattr(hook, "__qualname__", repr(hook))}
    )
    certificate = Certificate(
        mapspace,
        solver_name(),
        seed,
        settings.parameters(),
        tuple(proof.to_dict() for proof in search.proofs),
        (*notes, *checks),
    )
    return Solution(
        status,
        goals.with_proven(len(search.settled)),
        best.mapping if best else None,
        statistics,
        goals.goals[0].rank(best.statistics) if best else None,
        search.bound,
        certificate,
        timer.seconds,
        conflict,
    )


def _raised(spec: Spec, search: Search[Statistics], goals: Objective) -> tuple[str, ...]:
    """The bound of an unfinished search raised to the one that needs no solver, if that is higher;
    then a note about it.
    """
    try:
        mapspace = EnumeratedMapspace(
            spec.need_architecture(), spec.need_problem(), spec.constraints
        )
        floor = LowerBound(mapspace, QUICK_SPLITS).goal(goals.goals[0])
    except ValueError:
        return ()
    if floor is None or (search.bound is not None and search.bound >= floor):
        return ()
    search.bound = floor
    return ("the bound is that of the least words that cross into each level",)


def _no_mapping(
    spec: Spec,
    goals: Objective,
    settings: Settings,
    clock: Clock,
    timer: Timer,
    explain_conflict: ExplainConflict,
) -> Solution:
    """The answer where no mapping is legal, with a conflict if the time suffices for one."""
    timer.lap("solve")
    conflict = explain_conflict(spec, clock)
    timer.lap("explain")
    architecture, problem = spec.need_architecture(), spec.need_problem()
    space = build_space(architecture, problem, spec.constraints, latency(architecture))
    proof = Proof(goals.goals[0].name, "no mapping is legal", 1, 0, 0.0)
    certificate = Certificate(
        describe(space, spec.constraints),
        solver_name(),
        settings.seed,
        settings.parameters(),
        (proof.to_dict(),),
    )
    return Solution(
        "infeasible", goals, None, None, None, None, certificate, timer.seconds, conflict
    )


def checked(
    spec: Spec, mapping: Mapping, statistics: Statistics, bound: Fraction | None, goals: Objective
) -> Statistics:
    """The answer's figures in full, after judging it afresh as `CHECKS` says.

    Raises: ExactnessError if it fails.
    """
    architecture, problem = spec.need_architecture(), spec.need_problem()
    wrong = (
        *violations(architecture, problem, mapping),
        *constraint_violations(spec.constraints, architecture, problem, mapping),
    )
    if wrong:
        raise ExactnessError(f"the solver returned an illegal mapping: {wrong[0].message}")
    again = evaluate(architecture, problem, mapping)
    if any(goal.rank(again) != goal.rank(statistics) for goal in goals.goals):
        raise ExactnessError("two evaluations of one mapping differ")
    if bound is not None and bound > goals.goals[0].rank(statistics):
        raise ExactnessError(
            f"the proven bound {float(bound)} exceeds the value"
            f" {float(goals.goals[0].rank(statistics))}"
        )
    return replace(again, verdict=Verdict())


def describe(space: Space, constraints: Constraints) -> dict[str, Any]:
    """The mapspace as a certificate names it."""
    sorts: dict[str, tuple[type[Constraint], ...]] = {
        "limits": (ProductConstraint,),
        "caps": (MetricConstraint,),
        "dataflows": (NestingConstraint,),
    }
    listed = {
        sort: [constraint.text for constraint in constraints if isinstance(constraint, kinds)]
        for sort, kinds in sorts.items()
    }
    listed["kept_from_mapping"] = [
        constraint.text for constraint in constraints if constraint.origin == MAPPING
    ]
    free = [
        f"{t}@{b.name}"
        for t in space.problem.tensor_names
        for i, b in enumerate(space.architecture.levels)
        if (t, i) not in space.keep
    ]
    restricted = len(space.temporal_orders)
    return {
        "factors": "perfect",
        "levels": space.depth,
        "dimensions": {d: space.problem.bounds[d] for d in space.dims},
        "orders": (
            "all orders"
            if not restricted
            else f"all orders that the rules at {restricted} levels allow"
        ),
        "bypass": f"{len(free)} bypass choices free" if free else "bypass fixed",
        "free_bypass": free,
        "restricted_factors": len(space.factors),
        **{sort: texts for sort, texts in listed.items() if texts},
    }

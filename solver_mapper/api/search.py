"""The best mapping, the front, all mappings; whether a certificate holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import replace
from pathlib import Path
from typing import overload

from solver_mapper.api.arguments import (
    NOT_FOR_TREES,
    ConstraintSets,
    are_given,
    checked,
    refuse_two_clocks,
    under,
)
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.clock import Clock
from solver_mapper.core.factors import PERFECT, is_imperfect
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import GAP
from solver_mapper.core.progress import Progress, Recorder
from solver_mapper.core.results.pareto_front import Front
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.explain.explain import conflict_entries
from solver_mapper.explain.imperfect import imperfect_conflict_entries
from solver_mapper.explain.looptree import tree_conflict_entries
from solver_mapper.mapspace.perfect_limit import with_limit
from solver_mapper.solve.branch_and_bound import Engine, parse_engine
from solver_mapper.solve.certify import with_certificate
from solver_mapper.solve.confirm import verify_solution
from solver_mapper.solve.cpsat.model_hook import Hook
from solver_mapper.solve.enumerate import list_mappings
from solver_mapper.solve.fused.front import find_tree_front
from solver_mapper.solve.fused.goals import solve_for_goals
from solver_mapper.solve.imperfect.enumerate import list_imperfect_mappings
from solver_mapper.solve.imperfect.front import find_imperfect_front
from solver_mapper.solve.imperfect.run import solve_imperfect
from solver_mapper.solve.pareto import find_front
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import open_session
from solver_mapper.verify.certificate_format import Check
from solver_mapper.verify.checker import check_certificate as check_certificate_file

_FOR_TREES = ("max_fused_loops", "relax")
_FOR_PERFECT_FACTORS = ("verify", "certificate", "model_hook", "engine", "workers above 1")


def _names(words: Collection[str]) -> Collection[str]:
    """A single word counts as a list of one."""
    return (words,) if isinstance(words, str) else words


@overload
def solve(
    spec: Spec,
    objective: str | Sequence[str] = "edp",
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    gap: float = GAP,
    verify: bool = False,
    certificate: str | Path | None = None,
    clock: Clock | None = None,
    keep_mapping: bool | None = None,
    constraints: ConstraintSets = (),
    model_hook: Hook | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    tie_break: bool = True,
    engine: Engine = "cpsat",
    factors: str = PERFECT,
) -> Solution: ...
@overload
def solve(
    spec: TreeSpec,
    objective: str | Sequence[str] = "edp",
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    gap: float = GAP,
    verify: bool = False,
    certificate: str | Path | None = None,
    clock: Clock | None = None,
    keep_mapping: bool | None = None,
    constraints: ConstraintSets = (),
    model_hook: Hook | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    tie_break: bool = True,
    engine: Engine = "cpsat",
    factors: str = PERFECT,
) -> TreeSolution: ...
@checked
def solve(
    spec: Spec | TreeSpec,
    objective: str | Sequence[str] = "edp",
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    gap: float = GAP,
    verify: bool = False,
    certificate: str | Path | None = None,
    clock: Clock | None = None,
    keep_mapping: bool | None = None,
    constraints: ConstraintSets = (),
    model_hook: Hook | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    tie_break: bool = True,
    engine: Engine = "cpsat",
    factors: str = PERFECT,
) -> Solution | TreeSolution:
    """The best mapping, with a proof. A mapping in `spec` is where the search begins, if it is
    legal; of one that was given in part, whose loops do not make up the problem, the directives are
    kept and the rest is found.

    Args: `objective`, a goal or several in order of importance: "energy" (pJ), "delay" (cycles),
    "edp", "last-level-accesses" (words), or a product such as "energy^2*delay"; `time_limit` in
    seconds; `workers`, how many processes share the work of a search that takes long (default 1;
    the answer is the same for any number); `seed`, CP-SAT's;
    `on_progress`, called with a `Progress` as the search advances; `gap`, the accepted relative
    optimality gap (0: exact);
    `verify`, to prove the answer by other routes, which the certificate then names; `certificate`,
    a file for a certificate that `check_certificate` verifies (where its proof takes too long none
    is written, and the answer says so); `clock`, to stop the search from outside; `keep_mapping`,
    whether to keep the directives of the mapping in `spec` (None: if it is given in part);
    `constraints`, further constraints (see `solver_mapper.constraints`); `model_hook`, called with
    a `Model` before the search, to add constraints of any kind to the CP-SAT model (then no
    conflict is named, and `verify` has nothing to say); `tie_break`, whether mappings that are
    equal in a single figure are told apart by energy, then delay; `engine`, "cpsat",
    "branch-and-bound" (the search and the proof use the prover of `verify`, not CP-SAT), or "both"
    (a short branch and bound first, then CP-SAT from its mapping); `factors`, "perfect" (loop
    bounds multiply to the size of a dimension) or "imperfect" (the last rounds of loops may be
    shorter; ties are then broken among the mappings met, without a proof). LoopTree input takes
    goals of energy (J), latency (s) and their products; it is searched without CP-SAT, on one core.
    `max_fused_loops`, for LoopTree input of several Einsums: how many shared loops may stand above
    an Einsum (None: no limit); `relax`, for LoopTree input: constraints to lower where they cannot
    be met ("min_usage", alone or in a list).
    Raises: InputError if architecture or problem are missing or the objective is unknown;
    ExactnessError if the solver and the exact cost model, or two proofs, disagree, which is a bug.
    """
    refuse_two_clocks(clock, time_limit)
    _refuse_options(
        spec,
        {
            "workers above 1": workers is not None and workers > 1,
            "seed": seed != 0,
            "verify": verify,
            "certificate": certificate is not None,
            "keep_mapping": keep_mapping is not None,
            "constraints": are_given(constraints),
            "model_hook": model_hook is not None,
            "max_fused_loops": max_fused_loops is not None,
            "relax": bool(relax),
            "tie_break=False": not tie_break,
            "engine": engine != "cpsat",
            "factors='imperfect'": is_imperfect(factors),
        },
    )
    refuse_given(
        {"workers above 1": engine == "branch-and-bound" and workers is not None and workers > 1},
        "is for CP-SAT; branch and bound runs on one core",
        spec.location,
    )
    refuse_given(
        {"certificate": certificate is not None and gap >= 1},
        "proves nothing with a gap of 1",
        spec.location,
        "ask for a smaller gap",
    )
    clock = clock or Clock(time_limit)
    if isinstance(spec, TreeSpec):
        tree = solve_for_goals(
            spec,
            objective,
            seed=seed,
            gap=gap,
            max_fused_loops=max_fused_loops,
            relax=_names(relax),
            on_progress=on_progress,
            clock=clock,
        )
        if tree.status != "infeasible":
            return tree
        began = clock.seconds
        conflict = tree_conflict_entries(
            spec, clock, max_fused_loops=max_fused_loops, relax=_names(relax)
        )
        seconds = {**tree.seconds, "explain": round(clock.seconds - began, 4)}
        return replace(tree, conflict=conflict, seconds=seconds)
    recorder = Recorder(on_progress)
    session = open_session(
        under(spec, constraints),
        workers=workers,
        seed=seed,
        on_progress=recorder,
        clock=clock,
        keep_mapping=keep_mapping,
    )
    if is_imperfect(factors):
        found = solve_imperfect(session, objective, gap=gap, tie_break=tie_break)
        if found.status == "infeasible":
            conflict = imperfect_conflict_entries(session.spec, session.clock)
            session.timer.lap("explain")
            found = replace(found, conflict=conflict, seconds=session.timer.seconds)
        return replace(found, history=tuple(recorder.changes))
    solution = solve_spec(
        session,
        objective,
        gap=gap,
        hook=model_hook,
        explain_conflict=conflict_entries,
        tie_break=tie_break,
        engine=parse_engine(engine),
    )
    solution = replace(with_limit(session.spec, solution), history=tuple(recorder.changes))
    if verify:
        solution = verify_solution(session.spec, solution, clock, on_progress)
    if certificate is not None:
        solution = with_certificate(session.spec, solution, Path(certificate), gap, clock)
    return solution


def _refuse_options(spec: Spec | TreeSpec, given: Table[str, bool]) -> None:
    """`given`: which options of `solve` differ from their defaults. Raises: InputError for one that
    the notation, or another option, has no meaning for.
    """

    def refuse(names: Collection[str], why: str, hint: str | None = None) -> None:
        refuse_given({name: given[name] for name in names}, why, spec.location, hint)

    if isinstance(spec, TreeSpec):
        refuse([name for name in given if name not in _FOR_TREES], NOT_FOR_TREES)
        return
    refuse(_FOR_TREES, "is for LoopTree input")
    if given["model_hook"]:
        refuse(
            ("verify", "certificate"),
            "is not supported with a model hook: other routes do not know what it adds",
        )
    if given["engine"]:
        refuse(
            ("model_hook",),
            "adds to the CP-SAT model, which branch and bound does not use",
            "leave it out, or use the engine cpsat",
        )
    if given["factors='imperfect'"]:
        refuse(_FOR_PERFECT_FACTORS, "is not supported with imperfect factors")


@checked
def check_certificate(spec: Spec | TreeSpec, path: str | Path) -> Check:
    """Whether the certificate in a file, written by `solve(certificate=...)`, proves what it says
    about `spec`. Neither the solver nor the search is asked.

    Raises: InputError if the file is no certificate, or `spec` is LoopTree input.
    """
    if isinstance(spec, TreeSpec):
        raise InputError("answers to LoopTree input have no certificates", spec.location)
    return check_certificate_file(spec, Path(path))


@overload
def pareto(
    spec: Spec,
    metrics: Sequence[str] = ("energy", "delay"),
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    gap: float = GAP,
    clock: Clock | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    factors: str = PERFECT,
) -> Front: ...
@overload
def pareto(
    spec: TreeSpec,
    metrics: Sequence[str] = ("energy", "delay"),
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    gap: float = GAP,
    clock: Clock | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    factors: str = PERFECT,
) -> TreeFront: ...
@checked
def pareto(
    spec: Spec | TreeSpec,
    metrics: Sequence[str] = ("energy", "delay"),
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    gap: float = GAP,
    clock: Clock | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    factors: str = PERFECT,
) -> Front | TreeFront:
    """The complete front of two figures: every pair of values that no mapping improves upon by more
    than the gap, with a mapping each.

    Args: `metrics`, two of "energy" (pJ), "delay" (cycles) and "last-level-accesses" (words); for
    LoopTree input "energy" (J) and "delay" (s), or "energy", "delay" or "edp" and "usage:MEMORY",
    the most bits that are in use in a memory; `gap` (0: exact; not for LoopTree input),
    `max_fused_loops`, `relax`, `factors` and the others as for `solve`. A search that is stopped
    gives the points proven so far.
    Raises: InputError if architecture or problem are missing or the metrics make no sense;
    ExactnessError as `solve`.
    """
    imperfect = is_imperfect(factors)
    refuse_two_clocks(clock, time_limit)
    if isinstance(spec, TreeSpec):
        refuse_given(
            {
                "workers above 1": workers is not None and workers > 1,
                "seed": seed != 0,
                "gap": gap != GAP,
                "factors='imperfect'": imperfect,
            },
            NOT_FOR_TREES,
            spec.location,
        )
        return find_tree_front(
            spec,
            metrics,
            seed=seed,
            max_fused_loops=max_fused_loops,
            relax=_names(relax),
            on_progress=on_progress,
            clock=clock or Clock(time_limit),
        )
    refuse_given(
        {"max_fused_loops": max_fused_loops is not None, "relax": bool(relax)},
        "is for LoopTree input",
        spec.location,
    )
    refuse_given(
        {"workers above 1": imperfect and workers is not None and workers > 1},
        "is not supported with imperfect factors",
        spec.location,
    )
    session = open_session(
        spec,
        time_limit=time_limit,
        workers=workers,
        seed=seed,
        on_progress=on_progress,
        clock=clock,
    )
    return (find_imperfect_front if imperfect else find_front)(session, metrics, gap)


@checked
def enumerate(
    spec: Spec | TreeSpec,
    limit: int | None = None,
    *,
    orders: bool = True,
    constraints: ConstraintSets = (),
    time_limit: float | None = None,
    clock: Clock | None = None,
    factors: str = PERFECT,
) -> Iterator[Mapping]:
    """All legal mappings, one by one, each different, in no order of merit; it
    ends when there are no more.

    Two mappings differ in a factor at a level, the axis of a spatial loop, a tensor kept or
    bypassed, or the order of loops above 1 along one axis or over time, whether or not that order
    changes any figure. Loops of bound 1 make no difference.

    Args: `limit`, the most that are wanted; `orders` false gives one order of each; `constraints`,
    further constraints (see `solver_mapper.constraints`); `factors`, "perfect" or "imperfect", as
    for `solve`; `time_limit` in seconds and `clock` end the search for the next one where the
    problem has so many tiles that the solver has to look for it.
    Raises: InputError if a part is missing or `limit` is negative; LimitReached.
    """
    if isinstance(spec, TreeSpec):
        raise InputError("listing LoopTree mappings is not supported", spec.location)
    refuse_two_clocks(clock, time_limit)
    session = open_session(
        under(spec, constraints), time_limit=time_limit, clock=clock, keep_mapping=False
    )
    listed = list_imperfect_mappings if is_imperfect(factors) else list_mappings
    return listed(session, limit, orders)

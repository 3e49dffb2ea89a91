"""The public functions: the only place that joins reading, the cost model and the solver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from solver_mapper import constraints as rules_module
from solver_mapper.bounds import Counting, Curve, TilePoint
from solver_mapper.bounds.for_specification import bound_spec, list_spec
from solver_mapper.bounds.fusion import EinsumMapping, FusionOptions
from solver_mapper.bounds.fusion import fuse_mappings as list_einsum_mappings
from solver_mapper.bounds.fusion.design_space import fusion_space
from solver_mapper.bounds.fusion.for_specification import bound_einsum, fuse_spec, list_einsum
from solver_mapper.bounds.fusion.fuse import Template
from solver_mapper.bounds.roofline import roofline_of
from solver_mapper.check.mapping import all_violations
from solver_mapper.compare.comparison import ComparedMapping, Comparison
from solver_mapper.constraints import ConstraintSet
from solver_mapper.core.arguments import refuse_given, require_number
from solver_mapper.core.clock import Clock
from solver_mapper.core.factors import PERFECT, is_imperfect, refuse_imperfect
from solver_mapper.core.fusion_space import FusionSpaceSize
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.mapspace_size import MapspaceSize
from solver_mapper.core.objective import GAP, parse_objective
from solver_mapper.core.pareto_front import Front
from solver_mapper.core.progress import Progress, Recorder
from solver_mapper.core.reuse_flags import with_reuse_flags
from solver_mapper.core.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.core.statistics import Statistics
from solver_mapper.core.verdict import Verdict
from solver_mapper.cost.looptree import evaluate as looptree_evaluate
from solver_mapper.cost.looptree import validate as looptree_validate
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.cost.looptree.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.cost.timeloop.model import evaluate as evaluate_nest
from solver_mapper.deadline import running
from solver_mapper.errors import (
    InfeasibleError,
    InputError,
    LimitReached,
    SourceLocation,
    did_you_mean,
)
from solver_mapper.explain.explain import conflict_entries, explain_spec
from solver_mapper.explain.looptree import TreeReason, explain_tree
from solver_mapper.explain.nearest.search import suggest_for
from solver_mapper.explain.nearest.suggestion import Suggestion
from solver_mapper.explain.reason import Reason
from solver_mapper.io import bundled
from solver_mapper.io.accelforge.specification import is_tree_input, read_tree_spec
from solver_mapper.io.convert import Conversion, to_looptree, to_timeloop
from solver_mapper.io.estimators import EstimatedTable, estimated
from solver_mapper.io.onnx.fused import FusedModel
from solver_mapper.io.onnx.fused import import_fused as read_fused
from solver_mapper.io.onnx.model import ImportedModel
from solver_mapper.io.onnx.model import import_model as read_onnx
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.timeloop.specification import read_spec
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Source
from solver_mapper.io.yaml.warnings import WarningFilter, warning_filter
from solver_mapper.mapspace.perfect_limit import with_limit
from solver_mapper.mapspace.size.for_specification import mapspace_size_of
from solver_mapper.solve.branch_and_bound import Engine, parse_engine
from solver_mapper.solve.certify import with_certificate
from solver_mapper.solve.confirm import verify_solution
from solver_mapper.solve.cpsat.engine import MOST_SEED, MOST_WORKERS
from solver_mapper.solve.cpsat.model_hook import Hook
from solver_mapper.solve.enumerate import list_mappings
from solver_mapper.solve.fused.front import find_tree_front
from solver_mapper.solve.fused.solve import solve_tree
from solver_mapper.solve.imperfect.run import solve_imperfect
from solver_mapper.solve.pareto import find_front
from solver_mapper.solve.run import solve_spec
from solver_mapper.solve.session import open_session
from solver_mapper.study.clock import StudyClock
from solver_mapper.study.design import ArchitectureLike, Reading
from solver_mapper.study.job import SearchOptions
from solver_mapper.study.network_edp import NETWORK_EDP
from solver_mapper.study.network_result import NetworkResult
from solver_mapper.study.network_study import StudyOptions
from solver_mapper.study.network_study import solve_network as map_network
from solver_mapper.study.networks import NetworkLike
from solver_mapper.study.progress import StudyProgress
from solver_mapper.study.store import Store
from solver_mapper.study.sweep_plan import SweepLike, read_sweep
from solver_mapper.study.sweep_result import SweepResult
from solver_mapper.study.sweep_study import sweep as run_sweep
from solver_mapper.tiling.read import is_operator
from solver_mapper.verify.checker import Check
from solver_mapper.verify.checker import check_certificate as check_certificate_file

__all__ = [
    "bound",
    "bound_mappings",
    "convert",
    "energies",
    "enumerate",
    "evaluate",
    "explain",
    "fuse",
    "fuse_mappings",
    "import_fused",
    "import_model",
    "load",
    "pareto",
    "solve",
    "solve_network",
    "space",
    "suggest",
    "sweep",
    "validate",
]

ConstraintSets = ConstraintSet | Sequence[ConstraintSet]

_NOT_FOR_TREES = "is not supported for LoopTree input"


def load(
    *sources: Source,
    variables: Table[str, Any] | None = None,
    include_dirs: Sequence[str] = (),
    ignore_sparse: bool = False,
    ignore_warnings: Sequence[str] = (),
    strict: bool = False,
) -> Spec | TreeSpec:
    """Read and check files (paths, open files, dicts of their contents, or names of bundled
    models), merged by top-level key.

    Names are those of the command line: `load("eyeriss", "resnet50/conv1")`.

    Args: `variables`, values for Jinja2 templates among the files; `include_dirs`, folders below
    which templates may include files, beside the folders of the files themselves; `ignore_sparse`,
    to read a sparse design as a dense one; `ignore_warnings`, codes of warnings that are left out;
    `strict`, to make every other warning an error.
    Returns: a `TreeSpec` for LoopTree input (`workload:`, `mapping: {nodes: ...}`, or an `arch:` of
    tagged nodes), else a `Spec`.
    Raises: InputError, with file, line and column, for anything that cannot be used.
    """
    reader = Reader(
        sources, TemplateOptions(variables or {}, tuple(include_dirs)), ignore_sparse=ignore_sparse
    )
    return read_input(reader, *sources, warnings=warning_filter(ignore_warnings, strict=strict))


def read_input(
    reader: Reader, *sources: Source, warnings: WarningFilter | None = None
) -> Spec | TreeSpec:
    """The specification in `sources`, read by `reader`, with the warnings that `warnings` keeps.
    Raises: InputError.
    """
    top = reader.all(*bundled.resolve(*sources, reader=reader))
    if is_operator(top):
        location = top.key_locations.get("operator", top.location)
        raise InputError(
            "this is an operator for tiling, not an architecture and a problem",
            location,
            "use 'solver-mapper tile'",
        )
    spec: Spec | TreeSpec = (
        read_tree_spec(top) if is_tree_input(top) else read_spec(top, reader.notes)
    )
    found = tuple(dict.fromkeys((*reader.notes.lines, *spec.warnings)))
    return replace(spec, warnings=(warnings or WarningFilter()).kept(found))


@overload
def evaluate(spec: Spec, mapping: Mapping | None = None) -> Statistics: ...
@overload
def evaluate(spec: TreeSpec, mapping: TreeMapping | None = None) -> TreeStatistics: ...
@overload
def evaluate(spec: Spec | TreeSpec, mapping: None = None) -> Statistics | TreeStatistics: ...
def evaluate(
    spec: Spec | TreeSpec, mapping: Mapping | TreeMapping | None = None
) -> Statistics | TreeStatistics:
    """Exact figures of a mapping, legal or not; their `verdict` says which, as `validate` does.

    Args: `mapping`, of the same notation as `spec`, or None for the one in `spec`.
    Raises: InputError if a part is missing or the mapping has no figures: its loops do not make up
    the problem, it names what does not exist, or a tensor is stored nowhere.
    """
    _require_spec(spec)
    if isinstance(spec, TreeSpec):
        tree = looptree_evaluate.evaluate(
            spec.need_architecture(), spec.need_workload(), _tree(spec, mapping)
        )
        return replace(tree, verdict=validate(spec, mapping))
    statistics = evaluate_nest(
        spec.need_architecture(), spec.need_problem(), _levels(spec, mapping)
    )
    return replace(statistics, verdict=validate(spec, mapping))


def validate(
    spec: Spec | TreeSpec,
    mapping: Mapping | TreeMapping | None = None,
    *,
    constraints: ConstraintSets = (),
) -> Verdict:
    """Whether a mapping is legal: hardware, problem and constraints. All violations are listed.

    Args: `mapping`, of the same notation as `spec`, or None for the one in `spec`; `constraints`,
    further constraints (see `solver_mapper.constraints`).
    Raises: InputError if a part is missing.
    """
    _require_spec(spec)
    if isinstance(spec, TreeSpec):
        refuse_given({"constraints": _any(constraints)}, _NOT_FOR_TREES, spec.location)
        return Verdict(
            looptree_validate.violations(
                spec.need_architecture(), spec.need_workload(), _tree(spec, mapping)
            )
        )
    spec = _under(spec, constraints)
    return Verdict(all_violations(spec, _levels(spec, mapping)))


def suggest(
    spec: Spec | TreeSpec,
    mapping: Mapping | None = None,
    time_limit: float | None = None,
    *,
    hold_bypass: bool = False,
    constraints: ConstraintSets = (),
    clock: Clock | None = None,
    factors: str = PERFECT,
) -> Suggestion:
    """The legal mapping of perfect factors that changes the fewest factors of `mapping`, with what
    it changes.

    Args: `mapping`, or None for the one in `spec`; `time_limit` in seconds; `hold_bypass`, to
    change what levels keep and bypass only where no factors would do; `constraints`, further
    constraints (see `solver_mapper.constraints`); `clock`, to stop from outside. A legal mapping is
    its own suggestion.
    Raises: InputError if a part is missing.
    """
    _require_spec(spec)
    if isinstance(spec, TreeSpec):
        raise InputError("suggestions for LoopTree mappings are not supported", spec.location)
    refuse_imperfect(factors, spec.location)
    _check_search(clock, time_limit)
    spec, clock = _under(spec, constraints), clock or Clock(time_limit)
    with running(clock):
        return suggest_for(spec, _levels(spec, mapping), hold_bypass, clock)


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
    """All legal mappings of perfect factors, one by one, each different, in no order of merit; it
    ends when there are no more.

    Two mappings differ in a factor at a level, the axis of a spatial loop, a tensor kept or
    bypassed, or the order of loops above 1 along one axis or over time, whether or not that order
    changes any figure. Loops of bound 1 make no difference.

    Args: `limit`, the most that are wanted; `orders` false gives one order of each; `constraints`,
    further constraints (see `solver_mapper.constraints`); `time_limit` in seconds and `clock` end
    the search for the next one where the problem has so many tiles that the solver has to look for
    it.
    Raises: InputError if a part is missing or `limit` is negative; LimitReached.
    """
    _require_spec(spec)
    if isinstance(spec, TreeSpec):
        raise InputError("listing LoopTree mappings is not supported", spec.location)
    refuse_imperfect(factors, spec.location)
    _check_search(clock, time_limit)
    require_number("limit", limit, 0, whole=True)
    session = open_session(
        _under(spec, constraints), time_limit=time_limit, clock=clock, keep_mapping=False
    )
    return list_mappings(session, limit, orders)


@overload
def space(
    spec: Spec,
    *,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> MapspaceSize: ...
@overload
def space(
    spec: TreeSpec,
    *,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> FusionSpaceSize: ...
@overload
def space(
    spec: Spec | TreeSpec,
    *,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> MapspaceSize | FusionSpaceSize: ...
def space(
    spec: Spec | TreeSpec,
    *,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> MapspaceSize | FusionSpaceSize:
    """How many mappings of perfect factors there are, exactly: without constraints, under the
    constraints, and legal; level by level; and how many there would be without each constraint and
    capacity, which shows those that are redundant. Of the workload of LoopTree input, how many
    fused mappings there are by the rules of Orojenesis v2.

    Args: `constraints`, further constraints (see `solver_mapper.constraints`); `time_limit` in
    seconds; `clock`, to stop from outside.
    Raises: InputError if architecture or problem, or the workload, are missing; LimitReached.
    """
    _require_spec(spec)
    if isinstance(spec, TreeSpec):
        refuse_given(
            {"constraints": _any(constraints), "factors='imperfect'": is_imperfect(factors)},
            _NOT_FOR_TREES,
            spec.location,
        )
    refuse_imperfect(factors, spec.location)
    _check_search(clock, time_limit)
    with running(clock or Clock(time_limit)):
        if isinstance(spec, TreeSpec):
            return fusion_space(spec.need_workload())
        return mapspace_size_of(_under(spec, constraints))


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
@overload
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
) -> Solution | TreeSolution: ...
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
    seconds; `workers`, CP-SAT's threads (default 1, with which equal input gives equal answers);
    `seed`, CP-SAT's; `on_progress`, called with a `Progress` as the search advances; `gap`, the
    accepted relative optimality gap (0: exact); `verify`, to prove the answer by other routes,
    which the certificate then names; `certificate`, a file for a certificate that
    `check_certificate` verifies (where its proof takes too long none is written, and the answer
    says so); `clock`, to stop the search from outside; `keep_mapping`,
    whether to keep the directives of the mapping in `spec` (None: if it is given in part);
    `constraints`, further constraints (see `solver_mapper.constraints`); `model_hook`, called with
    a `Model` before the search, to add constraints of any kind to the CP-SAT model (then no
    conflict is named, and `verify` has nothing to say); `tie_break`, whether mappings that are
    equal in a single figure are told apart by energy, then delay; `engine`, "cpsat",
    "branch-and-bound" (the search and the proof use the prover of `verify`, not CP-SAT), or "both"
    (a short branch and bound first, then CP-SAT from its mapping); `factors`, "perfect" (loop
    bounds multiply to the size of a dimension) or "imperfect" (the last rounds of loops may be
    shorter; ties are then broken among the mappings met, without a proof). LoopTree input takes one
    goal of
    energy (J), latency (s) and their products; it is searched without CP-SAT, on one core.
    `max_fused_loops`, for LoopTree input of several Einsums: how many shared loops may stand above
    an Einsum (None: no limit); `relax`, for LoopTree input: constraints to lower where they cannot
    be met ("min_usage").
    Raises: InputError if architecture or problem are missing or the objective is unknown;
    ExactnessError if the solver and the exact cost model, or two proofs, disagree, which is a bug.
    """
    _require_spec(spec)
    _check_search(clock, time_limit, workers, gap, seed)
    imperfect = is_imperfect(factors)
    clock = clock or Clock(time_limit)
    if isinstance(spec, TreeSpec):
        refuse_given(
            {
                "workers above 1": workers is not None and workers > 1,
                "verify": verify,
                "keep_mapping": keep_mapping is not None,
                "constraints": _any(constraints),
                "model_hook": model_hook is not None,
                "certificate": certificate is not None,
                "tie_break=False": not tie_break,
                "engine": engine != "cpsat",
                "factors='imperfect'": imperfect,
            },
            _NOT_FOR_TREES,
            spec.location,
        )
        return solve_tree(
            spec,
            objective,
            seed=seed,
            gap=gap,
            max_fused_loops=max_fused_loops,
            relax=relax,
            on_progress=on_progress,
            clock=clock,
        )
    refuse_given(
        {"max_fused_loops": max_fused_loops is not None, "relax": bool(relax)},
        "is for LoopTree input",
        spec.location,
    )
    refuse_given(
        {
            "verify": verify and model_hook is not None,
            "certificate": certificate is not None and model_hook is not None,
        },
        "is not supported with a model hook: other routes do not know what it adds",
        spec.location,
    )
    refuse_given(
        {"model_hook": model_hook is not None and engine != "cpsat"},
        "adds to the CP-SAT model, which branch and bound does not use",
        spec.location,
        "leave it out, or use the engine cpsat",
    )
    if imperfect:
        refuse_given(
            {
                "verify": verify,
                "certificate": certificate is not None,
                "model_hook": model_hook is not None,
                "engine": engine != "cpsat",
                "workers above 1": workers is not None and workers > 1,
            },
            "is not supported with imperfect factors",
            spec.location,
        )
    recorder = Recorder(on_progress)
    session = open_session(
        _under(spec, constraints),
        workers=workers,
        seed=seed,
        on_progress=recorder,
        clock=clock,
        keep_mapping=keep_mapping,
    )
    if imperfect:
        found = solve_imperfect(session, objective, gap=gap, tie_break=tie_break)
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


def check_certificate(spec: Spec | TreeSpec, path: str | Path) -> Check:
    """Whether the certificate in a file, written by `solve(certificate=...)`, proves what it says
    about `spec`. Neither the solver nor the search is asked.

    Raises: InputError if the file is no certificate, or `spec` is LoopTree input.
    """
    _require_spec(spec)
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
    clock: Clock | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    factors: str = PERFECT,
) -> TreeFront: ...
@overload
def pareto(
    spec: Spec | TreeSpec,
    metrics: Sequence[str] = ("energy", "delay"),
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    clock: Clock | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    factors: str = PERFECT,
) -> Front | TreeFront: ...
def pareto(
    spec: Spec | TreeSpec,
    metrics: Sequence[str] = ("energy", "delay"),
    time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    clock: Clock | None = None,
    max_fused_loops: int | None = None,
    relax: Collection[str] = (),
    factors: str = PERFECT,
) -> Front | TreeFront:
    """The complete front of two figures: every pair of values that no mapping of perfect factors
    improves upon, with a mapping each.

    Args: `metrics`, two of "energy" (pJ), "delay" (cycles) and "last-level-accesses" (words); for
    LoopTree input "energy" (J) and "delay" (s), or "energy", "delay" or "edp" and "usage:MEMORY",
    the most bits that are in use in a memory; `max_fused_loops`, `relax` and the others as for
    `solve`. A search that is stopped gives the points proven so far.
    Raises: InputError if architecture or problem are missing or the metrics make no sense;
    ExactnessError as `solve`.
    """
    _require_spec(spec)
    refuse_imperfect(factors, spec.location)
    _check_search(clock, time_limit, workers, seed=seed)
    if isinstance(spec, TreeSpec):
        refuse_given(
            {"workers above 1": workers is not None and workers > 1}, _NOT_FOR_TREES, spec.location
        )
        return find_tree_front(
            spec,
            metrics,
            seed=seed,
            max_fused_loops=max_fused_loops,
            relax=relax,
            on_progress=on_progress,
            clock=clock or Clock(time_limit),
        )
    refuse_given(
        {"max_fused_loops": max_fused_loops is not None, "relax": bool(relax)},
        "is for LoopTree input",
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
    return find_front(session, metrics)


@overload
def explain(
    spec: Spec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
) -> Reason: ...
@overload
def explain(
    spec: TreeSpec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
) -> TreeReason: ...
@overload
def explain(
    spec: Spec | TreeSpec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
) -> Reason | TreeReason: ...
def explain(
    spec: Spec | TreeSpec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
) -> Reason | TreeReason:
    """Why no mapping of perfect factors is legal: constraints, capacities, meshes and bounds that
    collide, and what would lift that.

    The conflict is irreducible: any smaller part of it can be obeyed. Each repair has been tried
    out.

    Where a cap on a figure collides, bounds and meshes are taken as given; a mapping that is given
    in part counts as constraints.

    Args: `time_limit` in seconds; `clock`, to stop from outside; `constraints`, further constraints
    (see `solver_mapper.constraints`).
    Raises: InputError if architecture or problem are missing; LimitReached if the time does not
    suffice for a conflict.
    """
    _require_spec(spec)
    refuse_imperfect(factors, spec.location)
    _check_search(clock, time_limit)
    if isinstance(spec, TreeSpec):
        refuse_given({"constraints": _any(constraints)}, _NOT_FOR_TREES, spec.location)
        return explain_tree(spec, clock or Clock(time_limit))
    return explain_spec(_under(spec, constraints), clock or Clock(time_limit))


def bound(
    spec: Spec | TreeSpec,
    *,
    einsum: str | None = None,
    word_bits: Table[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Table[str, int] | None = None,
    constrained: bool = False,
    regular_shifts: bool = False,
    bypass: bool = False,
    macs_per_cycle: float | None = None,
    bandwidth: float | None = None,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> Curve[TilePoint]:
    """Buffer size against the least data movement that any mapping of one Einsum can have, with a
    mapping for each step.

    Args: `einsum`, which one of a workload of several. `word_bits[tensor]`, sizes of words (figures
    are then in bytes or bits instead of words). `stationary`, `order` and `tiles` ask for the curve
    of one dataflow, `constrained` for that of the constraint files. `regular_shifts` counts sliding
    windows exactly as `solve` does, not as Orojenesis does. `bypass` admits mappings that give some
    tensors no tile in the buffer. `macs_per_cycle` and `bandwidth` (units of the curve per cycle,
    reads and writes together) give the least cycles of each step, a roofline; without them they are
    those of the architecture, if its outermost level has a bandwidth. An architecture is optional:
    its buffers are marked. `time_limit` in seconds; `clock`, to stop from outside.
    Raises: InputError for a missing problem or names that it does not have; InfeasibleError for a
    dataflow without mappings; LimitReached.
    """
    _require_spec(spec)
    _check_search(clock, time_limit)
    counting = Counting(regular_shifts, bypass)
    if isinstance(spec, TreeSpec):
        if constrained:
            raise InputError("LoopTree files have no constraints to keep to", spec.location)
        with running(clock or Clock(time_limit)):
            curve = bound_einsum(
                spec,
                einsum,
                word_bits=word_bits,
                stationary=stationary,
                order=order,
                tiles=tiles,
                counting=counting,
            )
        return curve.timed(roofline_of(curve.macs, macs_per_cycle, bandwidth))
    _refuse_einsum(spec, einsum)
    with running(clock or Clock(time_limit)):
        curve = bound_spec(
            spec,
            spec.need_problem(),
            word_bits=word_bits,
            stationary=stationary,
            order=order,
            tiles=tiles,
            constrained=constrained,
            counting=counting,
        )
    machine = spec.architecture if curve.units == "words" else None
    return curve.timed(roofline_of(curve.macs, macs_per_cycle, bandwidth, machine))


def bound_mappings(
    spec: Spec | TreeSpec,
    *,
    einsum: str | None = None,
    word_bits: Table[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Table[str, int] | None = None,
    constrained: bool = False,
    regular_shifts: bool = False,
    bypass: bool = False,
    pareto: bool = False,
) -> Iterator[TilePoint]:
    """Every mapping that `bound` considers, one by one: each tile with each order of the loops over
    tiles.

    Args: `pareto`, only the mappings that no other improves upon in buffer and accesses (mappings
    of equal figures are all given); the others as for `bound`.
    Raises: InputError and InfeasibleError as `bound`.
    """
    counting = Counting(regular_shifts, bypass)
    if isinstance(spec, TreeSpec):
        if constrained:
            raise InputError("LoopTree files have no constraints to keep to", spec.location)
        return list_einsum(
            spec,
            einsum,
            word_bits=word_bits,
            stationary=stationary,
            order=order,
            tiles=tiles,
            counting=counting,
            pareto=pareto,
        )
    _refuse_einsum(spec, einsum)
    return list_spec(
        spec,
        spec.need_problem(),
        word_bits=word_bits,
        stationary=stationary,
        order=order,
        tiles=tiles,
        constrained=constrained,
        counting=counting,
        pareto=pareto,
    )


def _refuse_einsum(spec: Spec, einsum: str | None) -> None:
    if einsum is not None:
        raise InputError(
            f"there is no workload with an Einsum '{einsum}'",
            spec.location,
            "a problem is one Einsum by itself",
        )


def fuse_mappings(
    spec: Spec | TreeSpec, options: FusionOptions | None = None, *, pareto: bool = False
) -> Iterator[EinsumMapping]:
    """Every mapping of the single Einsums of a workload, one by one, by the rules of Orojenesis v2:
    each set of fused tensors, each order of fused loops, each tile, each order of the other loops.

    Args: `options` as for `fuse` with the template "v2"; `pareto`, only the mappings that no other
    with the same fused tensors and loops improves upon in buffer and accesses (mappings of equal
    figures are all given).
    Raises: InputError as `fuse`.
    """
    workload = _with_einsums(spec).need_workload()
    return list_einsum_mappings(workload, options or FusionOptions(), pareto=pareto)


def _with_einsums(spec: Spec | TreeSpec) -> TreeSpec:
    if not isinstance(spec, TreeSpec):
        raise InputError(
            "fusion needs a workload of Einsums", spec.location, "add a file with 'workload:'"
        )
    return spec


def fuse(
    spec: Spec | TreeSpec,
    template: Template = "ffmr",
    options: FusionOptions | None = None,
    *,
    macs_per_cycle: float | None = None,
    bandwidth: float | None = None,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> Curve[Any]:
    """Buffer size against the least data movement of several Einsums together, fusion included,
    with a mapping for each step.

    Args: `template`, "ffmr" (every fusion that makes sense), "ffmt" (the template of the Orojenesis
    paper, for chains) or "v2" (the published constraints of Orojenesis v2); `options`, see
    `FusionOptions`; `macs_per_cycle` and `bandwidth` as for `bound`, for all Einsums together;
    `time_limit` in seconds; `clock`, to stop from outside. An architecture is optional: its
    memories are marked.
    Raises: InputError for a missing workload and for options that the template does not know;
    InfeasibleError if no mapping is left; LimitReached.
    """
    _require_spec(spec)
    _check_search(clock, time_limit)
    with running(clock or Clock(time_limit)):
        curve = fuse_spec(_with_einsums(spec), template, options or FusionOptions())
    return curve.timed(roofline_of(curve.macs, macs_per_cycle, bandwidth))


def solve_network(
    architecture: ArchitectureLike,
    network: NetworkLike,
    objective: str | Sequence[str] = "edp",
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    store: Store | str | Path | None = None,
    time_limit: float | None = None,
    layer_time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    gap: float = GAP,
    verify: bool = False,
    tie_break: bool = True,
    factors: str = PERFECT,
    memory: int | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    clock: StudyClock | None = None,
    reading: Reading | None = None,
) -> NetworkResult:
    """Map every layer of a network; equal layers are solved once. Totals weigh each layer by its
    count.

    Args: `architecture`, a bundled name, a path, the content of a file, or a list of these;
    `network`, a bundled name, a file with layers, or a list of (name, count, problem); `objective`,
    `workers`, `seed`, `gap`, `verify`, `tie_break` and `factors` as for `solve`, for each layer;
    the objective "network-edp" is the product of the totals, least over all choices of mappings;
    `jobs`, the number of processes (None: this one), each with at most `memory` bytes of data;
    `scheduler`, the address of a Dask scheduler whose workers run the searches; `store`, an
    SQLite file: layers that it knows are not solved again; `time_limit`, seconds for the network,
    shared out evenly among the layers that are left; `layer_time_limit`, seconds for each layer;
    `on_progress`, called at each event; `clock`, to stop from outside; `reading`, variables of
    templates and which warnings count.
    Raises: InputError for input that cannot be used, before any layer is solved.
    """
    _check_search(clock, time_limit, workers, gap, seed)
    options = _study_options(jobs, memory, layer_time_limit, scheduler)
    names = (NETWORK_EDP,) if objective == NETWORK_EDP else parse_objective(objective).names
    search = SearchOptions(names, gap, workers or 1, seed, verify, tie_break, factors)
    search.check(names)
    return map_network(
        architecture,
        network,
        search,
        options,
        store,
        clock=clock or StudyClock(time_limit),
        on_progress=on_progress,
        reading=reading,
    )


def sweep(
    source: SweepLike,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    store: Store | str | Path | None = None,
    time_limit: float | None = None,
    layer_time_limit: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    gap: float = GAP,
    verify: bool = False,
    tie_break: bool = True,
    factors: str = PERFECT,
    memory: int | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    clock: StudyClock | None = None,
    reading: Reading | None = None,
) -> SweepResult:
    """Map workloads at every point of a design space; the points that nothing beats are marked.

    Args: `source`, a file with `sweep:` or its content (see `solver_mapper.study.sweep_plan`), in
    which `energies` may be a function from a specification to energies by path; the others as for
    `solve_network`.
    Raises: InputError for a sweep that cannot be used; a single point that cannot be read has an
    `error` instead.
    """
    _check_search(clock, time_limit, workers, gap, seed)
    options = _study_options(jobs, memory, layer_time_limit, scheduler)
    search = SearchOptions(("edp",), gap, workers or 1, seed, verify, tie_break, factors)
    search.check(search.objective)
    return run_sweep(
        read_sweep(source, None if reading is None else reading.templates),
        search,
        options,
        store,
        clock=clock or StudyClock(time_limit),
        on_progress=on_progress,
        reading=reading,
    )


def compare(
    spec: Spec | TreeSpec,
    mappings: Table[str, Mapping],
    *,
    optimum: bool = False,
    objective: str = "edp",
    time_limit: float | None = None,
    clock: Clock | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Mappings of one problem beside each other: loop nests, figures, and why one is better.

    Args: `mappings` by name; `optimum`, to compare them with the best mapping too, found within
    `time_limit` seconds; `objective`, one goal as for `solve`, which decides what is better;
    `clock`, to stop that search from outside; `on_progress`, as for `solve`.
    Raises: InputError for fewer than two mappings, for more than one goal, for LoopTree input, and
    for mappings that have no figures; LimitReached if no optimum was found in time.
    """
    if isinstance(spec, TreeSpec):
        raise InputError("comparing LoopTree mappings is not supported", spec.location)
    _check_search(clock, time_limit)
    goals = parse_objective(objective).goals
    if len(goals) > 1:
        raise InputError(f"'{objective}' has {len(goals)} goals; a comparison has one")
    if len(mappings) + optimum < 2:
        raise InputError(
            "a comparison needs at least two mappings",
            spec.location,
            "add a mapping, or compare with the optimum",
        )
    found = [ComparedMapping(name, evaluate(spec, mapping)) for name, mapping in mappings.items()]
    if optimum:
        found.append(_optimum(spec, objective, clock or Clock(time_limit), on_progress))
    return Comparison(goals[0], tuple(found))


def _optimum(
    spec: Spec, objective: str, clock: Clock, on_progress: Callable[[Progress], None] | None
) -> ComparedMapping:
    """The best mapping. Raises: LimitReached if there is none in time; InfeasibleError."""
    solution = solve(
        replace(spec, mapping=None, directives=()), objective, clock=clock, on_progress=on_progress
    )
    if solution.evaluation is None or solution.mapping is None:
        if solution.status == "infeasible":
            raise InfeasibleError("no mapping is legal, so there is no optimum to compare with")
        raise LimitReached("no mapping was found in time, so there is no optimum to compare with")
    return ComparedMapping("optimum", evaluate(spec, solution.mapping), solution.status)


def import_model(path: str | Path, dims: Table[str, int] | None = None) -> ImportedModel:
    """The layers of an ONNX model, and what is left out; needs the package `onnx`.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name: `{"batch": 1}`.
    Raises: InputError for a file that is no ONNX model, and for sizes that are not known.
    """
    return read_onnx(path, dims)


def import_fused(path: str | Path, dims: Table[str, int] | None = None) -> FusedModel:
    """An ONNX model as a LoopTree workload of Einsums that share tensors, for `fuse` and `solve`;
    needs the package `onnx`.

    Args: `dims`, sizes of the dimensions that the model leaves open, by name: `{"batch": 1}`.
    Raises: InputError for a file that is no ONNX model, for sizes that are not known, and for a
    model without Einsums.
    """
    return read_fused(path, dims)


def energies(spec: Spec | TreeSpec, tech_node: float = 45) -> EstimatedTable:
    """Energies of the components of an architecture, as an energy reference table that stands
    beside it; needs the package `hwcomponents`.

    Args: `tech_node` in nm.
    Raises: InputError, naming every figure that is missing, if hwcomponents is not installed or
    does not know a component.
    """
    if isinstance(spec, TreeSpec):
        raise InputError(
            "energies of LoopTree files stand in their actions; there is no table to write",
            spec.location,
        )
    require_number("tech_node", tech_node, 1)
    return estimated(spec.need_architecture(), tech_node)


def _study_options(
    jobs: int | None, memory: int | None, layer_time_limit: float | None, scheduler: str | None
) -> StudyOptions:
    """Raises: InputError for options that make no sense."""
    if jobs is not None and jobs < 1:
        raise InputError(f"there are {jobs} jobs; there must be at least 1", SourceLocation("jobs"))
    if memory is not None and jobs is None:
        raise InputError(
            "the memory of processes is limited, but there are none",
            SourceLocation("memory"),
            "give 'jobs' as well",
        )
    if jobs is not None and scheduler is not None:
        raise InputError(
            "either processes or a cluster run the searches",
            SourceLocation("scheduler"),
            "leave 'jobs' out",
        )
    return StudyOptions(jobs, memory, layer_time_limit, scheduler)


def convert(spec: Spec | TreeSpec, to: str) -> Conversion:
    """The same architecture, problem and mapping in the other notation: `to` "timeloop" or
    "looptree".

    Raises: InputError for anything else, for input that is in that notation already, and for what
    it cannot express.
    """
    _require_spec(spec)
    if to not in ("timeloop", "looptree"):
        raise InputError(
            f"cannot convert to '{to}'",
            spec.location,
            did_you_mean(str(to), ("timeloop", "looptree")),
        )
    if isinstance(spec, TreeSpec) == (to == "looptree"):
        raise InputError(
            f"the input is in {'LoopTree' if to == 'looptree' else 'Timeloop'} notation already",
            spec.location,
        )
    return to_timeloop(spec) if isinstance(spec, TreeSpec) else to_looptree(spec)


def _require_spec(spec: object) -> None:
    """Raises: InputError for what `load` did not make."""
    if not isinstance(spec, (Spec, TreeSpec)):
        raise InputError(
            f"a specification is needed, not {type(spec).__name__}",
            hint="make one with solver_mapper.load(...)",
        )


def _require_mapping(mapping: object) -> None:
    """Raises: InputError for what is no mapping."""
    if mapping is not None and not isinstance(mapping, (Mapping, TreeMapping)):
        raise InputError(
            f"a mapping is needed, not {type(mapping).__name__}",
            hint="load a file with it beside the others",
        )


def _tree(spec: TreeSpec, mapping: Mapping | TreeMapping | None) -> TreeMapping:
    _require_mapping(mapping)
    if isinstance(mapping, Mapping):
        raise InputError(
            "a LoopTree specification needs a LoopTree mapping, not a level-by-level one"
        )
    return mapping or spec.need_mapping()


def _levels(spec: Spec, mapping: Mapping | TreeMapping | None) -> Mapping:
    _require_mapping(mapping)
    if isinstance(mapping, TreeMapping):
        raise InputError(
            "a level-by-level specification needs a level-by-level mapping, not a LoopTree"
        )
    return with_reuse_flags(mapping, spec.constraints) if mapping else spec.need_mapping()


def _under(spec: Spec, constraints: ConstraintSets) -> Spec:
    """`spec` with further constraints."""
    return rules_module.add(spec, constraints) if _any(constraints) else spec


def _check_search(
    clock: Clock | None,
    time_limit: float | None,
    workers: int | None = None,
    gap: float = 0.0,
    seed: int = 0,
) -> None:
    """Raises: InputError for numbers out of range, and for a time limit beside a clock."""
    require_number("time_limit", time_limit, 0)
    require_number("gap", gap, 0, 1)
    require_number("workers", workers, 1, MOST_WORKERS, whole=True)
    require_number("seed", 0.5 if seed is None else seed, 0, MOST_SEED, whole=True)
    refuse_given(
        {"time_limit": clock is not None and time_limit is not None},
        "is not supported beside a clock",
        hint="give the clock the time limit",
    )


def _any(constraints: ConstraintSets) -> bool:
    """Whether there are further constraints. Raises: InputError for what is none."""
    listed = [constraints] if isinstance(constraints, ConstraintSet) else constraints
    if not isinstance(listed, Sequence) or not all(
        isinstance(each, ConstraintSet) for each in listed
    ):
        raise InputError(
            f"constraints are {constraints!r:.60}; they must be ConstraintSet objects",
            hint="see solver_mapper.constraints",
        )
    return isinstance(constraints, ConstraintSet) or bool(constraints)

"""Of given mappings: figures, legality, the nearest legal one, comparison, notation."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Table
from dataclasses import replace
from typing import overload

from solver_mapper.api.arguments import (
    NOT_FOR_TREES,
    ConstraintSets,
    are_given,
    checked,
    level_mapping,
    refuse_two_clocks,
    tree_mapping,
    under,
)
from solver_mapper.api.search import solve
from solver_mapper.check.mapping import all_violations
from solver_mapper.compare.comparison import ComparedMapping, Comparison
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.clock import Clock
from solver_mapper.core.factors import PERFECT, refuse_imperfect
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.progress import Progress
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.results.verdict import Verdict
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree import evaluate as looptree_evaluate
from solver_mapper.cost.looptree import validate as looptree_validate
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.cost.timeloop.model import evaluate as evaluate_nest
from solver_mapper.deadline import running
from solver_mapper.errors import (
    ArgumentError,
    InfeasibleError,
    InputError,
    LimitReached,
    did_you_mean,
)
from solver_mapper.explain.nearest.search import suggest_for
from solver_mapper.explain.nearest.suggestion import Suggestion
from solver_mapper.io.convert import Conversion, to_looptree, to_timeloop


@overload
def evaluate(spec: Spec, mapping: Mapping | None = None) -> Statistics: ...
@overload
def evaluate(spec: TreeSpec, mapping: TreeMapping | None = None) -> TreeStatistics: ...
@checked
def evaluate(
    spec: Spec | TreeSpec, mapping: Mapping | TreeMapping | None = None
) -> Statistics | TreeStatistics:
    """Exact figures of a mapping, legal or not; their `verdict` says which, as `validate` does.

    Args: `mapping`, of the same notation as `spec`, or None for the one in `spec`.
    Raises: InputError if a part is missing or the mapping has no figures: its loops do not make up
    the problem, it names what does not exist, or a tensor is stored nowhere.
    """
    if isinstance(spec, TreeSpec):
        tree = looptree_evaluate.evaluate(
            spec.need_architecture(), spec.need_workload(), tree_mapping(spec, mapping)
        )
        return replace(tree, verdict=validate(spec, mapping))
    statistics = evaluate_nest(
        spec.need_architecture(), spec.need_problem(), level_mapping(spec, mapping)
    )
    return replace(statistics, verdict=validate(spec, mapping))


@checked
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
    if isinstance(spec, TreeSpec):
        refuse_given({"constraints": are_given(constraints)}, NOT_FOR_TREES, spec.location)
        return Verdict(
            looptree_validate.violations(
                spec.need_architecture(), spec.need_workload(), tree_mapping(spec, mapping)
            )
        )
    spec = under(spec, constraints)
    return Verdict(all_violations(spec, level_mapping(spec, mapping)))


@checked
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
    change what levels keep and bypass only if no change of factors gives a legal mapping;
    `constraints`, further constraints (see `solver_mapper.constraints`); `clock`, to stop from
    outside. A legal mapping is its own suggestion.
    Raises: InputError if a part is missing.
    """
    if isinstance(spec, TreeSpec):
        raise InputError(
            "suggestions for LoopTree mappings are not supported: no distance between trees is"
            " defined",
            spec.location,
            "'validate' lists what is wrong with the tree, 'solve' finds the best legal one",
        )
    refuse_imperfect(factors, spec.location)
    refuse_two_clocks(clock, time_limit)
    spec, clock = under(spec, constraints), clock or Clock(time_limit)
    with running(clock):
        return suggest_for(spec, level_mapping(spec, mapping), hold_bypass, clock)


@checked
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
    refuse_two_clocks(clock, time_limit)
    refuse_given({"time_limit": time_limit is not None and not optimum}, "needs 'optimum'")
    goals = parse_objective(objective).goals
    if len(goals) > 1:
        message = f"'{objective}' has {len(goals)} goals; a comparison has one"
        raise ArgumentError("objective", message)
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


@checked
def convert(spec: Spec | TreeSpec, to: str) -> Conversion:
    """The same architecture, problem and mapping in the other notation: `to` "timeloop" or
    "looptree".

    Raises: InputError for anything else, for input that is in that notation already, and for what
    it cannot express.
    """
    if to not in ("timeloop", "looptree"):
        raise ArgumentError(
            "to",
            f"cannot convert to '{to}'",
            spec.location,
            did_you_mean(str(to), ("timeloop", "looptree")),
        )
    if isinstance(spec, TreeSpec) == (to == "looptree"):
        raise ArgumentError(
            "to",
            f"the input is in {'LoopTree' if to == 'looptree' else 'Timeloop'} notation already",
            spec.location,
        )
    return to_timeloop(spec) if isinstance(spec, TreeSpec) else to_looptree(spec)

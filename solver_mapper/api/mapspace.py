"""How many mappings there are, and why there is none."""

from __future__ import annotations

from typing import overload

from solver_mapper.api.arguments import (
    NOT_FOR_TREES,
    ConstraintSets,
    are_given,
    checked,
    refuse_two_clocks,
    under,
)
from solver_mapper.bounds.fusion.orojenesis_v2.design_space import fusion_space
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.clock import Clock
from solver_mapper.core.factors import PERFECT, is_imperfect, refuse_imperfect
from solver_mapper.core.results.fusion_space import FusionSpaceSize
from solver_mapper.core.results.mapspace_size import MapspaceSize
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.deadline import running
from solver_mapper.explain.explain import explain_spec
from solver_mapper.explain.imperfect import explain_imperfect
from solver_mapper.explain.looptree import TreeReason, explain_tree
from solver_mapper.explain.reason import Reason
from solver_mapper.mapspace.size.for_specification import mapspace_size_of


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
@checked
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
    if isinstance(spec, TreeSpec):
        refuse_given(
            {"constraints": are_given(constraints), "factors='imperfect'": is_imperfect(factors)},
            NOT_FOR_TREES,
            spec.location,
        )
    refuse_imperfect(factors, spec.location)
    refuse_two_clocks(clock, time_limit)
    with running(clock or Clock(time_limit)):
        if isinstance(spec, TreeSpec):
            return fusion_space(spec.need_workload())
        return mapspace_size_of(under(spec, constraints))


@overload
def explain(
    spec: Spec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    every: bool = False,
) -> Reason: ...
@overload
def explain(
    spec: TreeSpec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    every: bool = False,
) -> TreeReason: ...
@checked
def explain(
    spec: Spec | TreeSpec,
    time_limit: float | None = None,
    *,
    clock: Clock | None = None,
    constraints: ConstraintSets = (),
    factors: str = PERFECT,
    every: bool = False,
) -> Reason | TreeReason:
    """Why no mapping is legal: constraints, capacities, meshes and bounds that collide, and what
    would lift that.

    The conflict is irreducible: any smaller part of it can be obeyed. Each repair has been tried
    out.

    Where a cap on a figure collides, and with imperfect factors, bounds and meshes are taken as
    given; a mapping that is given in part counts as constraints.

    Args: `time_limit` in seconds; `clock`, to stop from outside; `constraints`, further constraints
    (see `solver_mapper.constraints`); `factors`, "perfect" or "imperfect", as for `solve`; `every`,
    to look for all conflicts that share no entry with each other (`others` of the answer), not only
    whether there are more.
    Raises: InputError if architecture or problem are missing; LimitReached if the time does not
    suffice for a conflict.
    """
    imperfect = is_imperfect(factors)
    refuse_two_clocks(clock, time_limit)
    if isinstance(spec, TreeSpec):
        refuse_given(
            {
                "constraints": are_given(constraints),
                "every": every,
                "factors='imperfect'": imperfect,
            },
            NOT_FOR_TREES,
            spec.location,
        )
        return explain_tree(spec, clock or Clock(time_limit))
    if imperfect:
        refuse_given({"every": every}, "is not supported with imperfect factors", spec.location)
        return explain_imperfect(under(spec, constraints), clock or Clock(time_limit))
    return explain_spec(under(spec, constraints), clock or Clock(time_limit), every=every)

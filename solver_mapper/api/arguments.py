"""What the public functions ask of their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from solver_mapper import constraints as rules_module
from solver_mapper.constraints import ConstraintSet
from solver_mapper.core.arguments import refuse_given, require_number
from solver_mapper.core.clock import Clock
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.reuse_flags import with_reuse_flags
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.errors import InputError
from solver_mapper.solve.cpsat.engine import MOST_SEED, MOST_WORKERS

ConstraintSets = ConstraintSet | Sequence[ConstraintSet]

NOT_FOR_TREES = "is not supported for LoopTree input"


def require_spec(spec: object) -> None:
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


def tree_mapping(spec: TreeSpec, mapping: Mapping | TreeMapping | None) -> TreeMapping:
    """`mapping`, or the one in `spec`.
    Raises: InputError if there is none, or for a Timeloop mapping.
    """
    _require_mapping(mapping)
    if isinstance(mapping, Mapping):
        raise InputError(
            "a LoopTree specification needs a LoopTree mapping, not a level-by-level one"
        )
    return mapping or spec.need_mapping()


def level_mapping(spec: Spec, mapping: Mapping | TreeMapping | None) -> Mapping:
    """`mapping` under what the constraints say about reuse, or the one in `spec`.
    Raises: InputError if there is none, or for a LoopTree mapping.
    """
    _require_mapping(mapping)
    if isinstance(mapping, TreeMapping):
        raise InputError(
            "a level-by-level specification needs a level-by-level mapping, not a LoopTree"
        )
    return with_reuse_flags(mapping, spec.constraints) if mapping else spec.need_mapping()


def under(spec: Spec, constraints: ConstraintSets) -> Spec:
    """`spec` with further constraints."""
    return rules_module.add(spec, constraints) if are_given(constraints) else spec


def check_search(
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


def are_given(constraints: ConstraintSets) -> bool:
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

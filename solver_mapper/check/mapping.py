"""The one check of a mapping: hardware, problem and constraints."""

from __future__ import annotations

from solver_mapper.check.constraints import constraint_violations
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.results.verdict import Violation
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.errors import ExactnessError


def all_violations(spec: Spec, mapping: Mapping) -> tuple[Violation, ...]:
    """Everything that makes `mapping` illegal under `spec`: first what architecture and problem
    forbid, then the constraints that it breaks.

    Raises: InputError if architecture or problem are missing.
    """
    architecture, problem = spec.need_architecture(), spec.need_problem()
    return (
        *violations(architecture, problem, mapping),
        *constraint_violations(spec.constraints, architecture, problem, mapping),
    )


def is_legal(spec: Spec, mapping: Mapping) -> bool:
    """Whether `all_violations` is empty. Constraints are checked last, where all else is legal."""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    return not violations(architecture, problem, mapping) and not constraint_violations(
        spec.constraints, architecture, problem, mapping
    )


def require_legal(spec: Spec, mapping: Mapping) -> None:
    """Raises: ExactnessError if `mapping`, which a solver found, is illegal."""
    wrong = all_violations(spec, mapping)
    if wrong:
        raise ExactnessError(f"the solver returned an illegal mapping: {wrong[0].message}")

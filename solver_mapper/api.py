"""The public functions: the only place that joins reading, the nest model and the solver."""

from __future__ import annotations

from solver_mapper.mapping import Mapping
from solver_mapper.nest.figures import Figures
from solver_mapper.nest.legality import violations
from solver_mapper.nest.model import evaluate as evaluate_nest
from solver_mapper.spec.load import load
from solver_mapper.spec.spec import Spec
from solver_mapper.verdict import Verdict

__all__ = ["evaluate", "load", "validate"]


def evaluate(spec: Spec, mapping: Mapping | None = None) -> Figures:
    """Exact figures of a mapping.

    Args: `mapping`, or None for the one in `spec`.
    Raises: InputError if a part is missing.
    """
    return evaluate_nest(spec.need_architecture(), spec.need_problem(), mapping or spec.need_mapping())


def validate(spec: Spec, mapping: Mapping | None = None) -> Verdict:
    """Whether a mapping is legal: hardware, problem and constraints. All violations are listed.

    Args: `mapping`, or None for the one in `spec`.
    Raises: InputError if a part is missing.
    """
    return Verdict(violations(spec.need_architecture(), spec.need_problem(), mapping or spec.need_mapping()))

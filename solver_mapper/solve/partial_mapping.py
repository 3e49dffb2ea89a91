"""A mapping that is given with the problem: in part, its directives bind the search; as a whole, it
is where the search begins.
"""

from __future__ import annotations

from dataclasses import replace

from solver_mapper.core.constraints import Constraints
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.legality import structural_violations
from solver_mapper.errors import InputError


def is_partial(spec: Spec) -> bool:
    """Whether the given mapping leaves loops to be found: it was read from a file, and its loops do
    not make up the problem.
    """
    if spec.mapping is None or not spec.directives:
        return False
    wrong = structural_violations(spec.need_architecture(), spec.need_problem(), spec.mapping)
    return any(violation.rule == "factor-product" for violation in wrong)


def with_directives(spec: Spec, keep: bool | None = None) -> Spec:
    """`spec` with the directives of its mapping among the constraints, if they are to be kept
    (None: if it is given in part).

    Of a mapping in part nothing else remains. Factors that a directive does not name are free, as
    is everything without a directive.
    Raises: InputError if they are to be kept and there are none.
    """
    partial = is_partial(spec)
    if not (partial if keep is None else keep):
        return replace(spec, mapping=None, directives=()) if partial else spec
    if not spec.directives:
        raise InputError(
            "there are no directives to keep",
            spec.location,
            "give a mapping in a file, or constraints",
        )
    constraints = Constraints((*spec.constraints, *spec.directives))
    return replace(
        spec, constraints=constraints, mapping=None if partial else spec.mapping, directives=()
    )

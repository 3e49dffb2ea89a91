"""The bound of what a specification describes: its problem or one Einsum of its workload, with the
machine's buffers marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from solver_mapper.bounds.bound import USUAL, Counting, TilePoint, bound
from solver_mapper.bounds.curve import Curve
from solver_mapper.bounds.dataflow import from_constraints
from solver_mapper.bounds.levels import level_bounds, marks_of
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError


def bound_spec(
    spec: Spec,
    problem: Problem,
    *,
    word_bits: Mapping[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Mapping[str, int] | None = None,
    constrained: bool = False,
    counting: Counting = USUAL,
) -> Curve[TilePoint]:
    """`bounds.bound` of `problem`, with what else `spec` says.

    An architecture marks its buffers (figures in words only) and adds the bound of each level.
    `constrained` keeps to the mappings whose loops at the outermost level obey the constraint
    files.
    `counting`: see `Counting`.
    Raises: InputError if `constrained` is combined with a dataflow or lacks an architecture.
    """
    if not constrained:
        curve = bound(
            problem,
            word_bits=word_bits,
            stationary=stationary,
            order=order,
            tiles=tiles,
            counting=counting,
        )
    elif stationary or order or tiles:
        raise InputError(
            "constraints and a dataflow both restrict the mappings",
            spec.location,
            "give one of them",
        )
    else:
        backing = spec.need_architecture().levels[0].name
        space, unused = from_constraints(problem, spec.constraints, backing)
        curve = bound(problem, word_bits=word_bits, within=space, counting=counting)
        left = (
            "; without effect on this boundary:"
            f" {'; '.join(constraint.text for constraint in unused)}"
            if unused
            else ""
        )
        note = f"only mappings whose {backing} loops obey the constraints{left}"
        curve = replace(curve, assumptions=(*curve.assumptions, note))
    if spec.architecture is None or word_bits is not None:
        return curve
    marked = curve.marked(marks_of(spec.architecture))
    return replace(marked, levels=level_bounds(curve, marked.marks))

"""The bound of what a specification describes: its problem or one Einsum of its workload, with the
machine's buffers marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from solver_mapper.bounds.bound import USUAL, Counting, TilePoint, bound, bound_mappings
from solver_mapper.bounds.curve import Curve
from solver_mapper.bounds.dataflow import from_constraints, restriction
from solver_mapper.bounds.levels import level_bounds, marks_of
from solver_mapper.bounds.search import Restriction
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
    else:
        space, note = _constrained(spec, problem, stationary, order, tiles)
        curve = bound(problem, word_bits=word_bits, within=space, counting=counting)
        curve = replace(curve, assumptions=(*curve.assumptions, note))
    if spec.architecture is None or word_bits is not None:
        return curve
    marked = curve.marked(marks_of(spec.architecture))
    return replace(marked, levels=level_bounds(curve, marked.marks))


def list_spec(
    spec: Spec,
    problem: Problem,
    *,
    word_bits: Mapping[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Mapping[str, int] | None = None,
    constrained: bool = False,
    counting: Counting = USUAL,
    pareto: bool = False,
) -> Iterator[TilePoint]:
    """`bounds.bound_mappings` of `problem`; the arguments are those of `bound_spec`.

    Raises: InputError as `bound_spec`.
    """
    within = (
        _constrained(spec, problem, stationary, order, tiles)[0]
        if constrained
        else restriction(problem, stationary, order, tiles)
    )
    return bound_mappings(
        problem,
        word_bits=word_bits,
        within=within,
        stationary=stationary,
        counting=counting,
        pareto=pareto,
    )


def _constrained(
    spec: Spec,
    problem: Problem,
    stationary: str | None,
    order: Sequence[str] | None,
    tiles: Mapping[str, int] | None,
) -> tuple[Restriction, str]:
    """What the constraint files leave of the loops of the outermost level, and a note that says so.

    Raises: InputError if a dataflow is given as well, or there is no architecture.
    """
    if stationary or order or tiles:
        raise InputError(
            "constraints and a dataflow both restrict the mappings",
            spec.location,
            "give one of them",
        )
    backing = spec.need_architecture().levels[0].name
    space, unused = from_constraints(problem, spec.constraints, backing)
    left = (
        f"; without effect on this boundary: {'; '.join(constraint.text for constraint in unused)}"
        if unused
        else ""
    )
    return space, f"only mappings whose {backing} loops obey the constraints{left}"

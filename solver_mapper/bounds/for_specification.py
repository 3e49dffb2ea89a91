"""The bound of what a specification describes: its problem or one Einsum of its workload, with the
machine's buffers marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from solver_mapper.bounds.bound import TilePoint, bound, bound_mappings
from solver_mapper.bounds.curve import Curve
from solver_mapper.bounds.dataflow import from_constraints
from solver_mapper.bounds.levels import level_bounds, marks_of
from solver_mapper.bounds.options import BoundOptions
from solver_mapper.bounds.search import Restriction
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError


def bound_spec(spec: Spec, problem: Problem, options: BoundOptions) -> Curve[TilePoint]:
    """`bounds.bound` of `problem`, with what else `spec` says.

    An architecture marks its buffers (figures in words only) and adds the bound of each level.
    `options.constrained` keeps to the mappings whose loops at the outermost level obey the
    constraint files.
    Raises: InputError if `constrained` is combined with a dataflow or lacks an architecture.
    """
    word_bits = options.word_bits
    if not options.constrained:
        curve = bound(
            problem,
            word_bits=word_bits,
            stationary=options.stationary,
            order=options.order,
            tiles=options.tiles,
            counting=options.counting,
        )
    else:
        space, note = _constrained(spec, problem, options)
        curve = bound(problem, word_bits=word_bits, within=space, counting=options.counting)
        curve = replace(curve, assumptions=(*curve.assumptions, note))
    if spec.architecture is None or word_bits is not None:
        return curve
    marked = curve.marked(marks_of(spec.architecture))
    return replace(marked, levels=level_bounds(curve, marked.marks))


def list_spec(
    spec: Spec, problem: Problem, options: BoundOptions, *, pareto: bool = False
) -> Iterator[TilePoint]:
    """`bounds.bound_mappings` of `problem`. Raises: InputError as `bound_spec`."""
    within = (
        _constrained(spec, problem, options)[0]
        if options.constrained
        else options.dataflow(problem)
    )
    return bound_mappings(
        problem,
        word_bits=options.word_bits,
        within=within,
        stationary=options.stationary,
        counting=options.counting,
        pareto=pareto,
    )


def _constrained(spec: Spec, problem: Problem, options: BoundOptions) -> tuple[Restriction, str]:
    """What the constraint files leave of the loops of the outermost level, and a note that says so.

    Raises: InputError if a dataflow is given as well, or there is no architecture.
    """
    if options.stationary or options.order or options.tiles:
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

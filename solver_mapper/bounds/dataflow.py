"""Prescribed dataflows: which part of the mapspace a curve is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from solver_mapper.bounds.search import Restriction
from solver_mapper.core.constraints import (
    HOLDS,
    Constraint,
    Constraints,
    FactorConstraint,
    PermutationConstraint,
)
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem
from solver_mapper.errors import ArgumentError, InputError, about_argument, unknown_name


def restriction(
    problem: Problem,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Mapping[str, int] | None = None,
) -> Restriction:
    """The mapspace of a dataflow.

    Args: `stationary`, a tensor: the loops over tiles that do not index it are innermost, so each
    of its tiles is visited in one run. `order`: all loops over tiles, outermost first.
    `tiles[dim]`: a tile size.
    Raises: InputError for unknown names, an incomplete order, a tile that does not divide, or both
    `stationary` and `order`.
    """
    if stationary is not None and order is not None:
        raise ArgumentError(
            "order",
            "'stationary' and 'order' both prescribe the order of loops",
            problem.location,
            "give one of them",
        )
    allowed: dict[str, Sequence[int]] = {}
    with about_argument("tiles"):
        for dim, size in (tiles or {}).items():
            _known_dim(problem, dim)
            if size < 1 or problem.bounds[dim] % size:
                raise InputError(
                    f"a tile of {size} does not divide {dim}={problem.bounds[dim]}",
                    problem.location,
                    f"divisors: {', '.join(map(str, divisors(problem.bounds[dim])[:12]))}",
                )
            allowed[dim] = (size,)
    stages: tuple[tuple[str, ...], ...] = ()
    if stationary is not None:
        with about_argument("stationary"):
            if stationary not in problem.tensor_names:
                raise unknown_name("tensor", stationary, problem.tensor_names, problem.location)
        stages = (tuple(dim for dim in problem.dims if dim not in problem.tensor(stationary).dims),)
    if order is not None:
        with about_argument("order"):
            _check_order(problem, order)
        stages = tuple((dim,) for dim in reversed(order))
    return Restriction(allowed, tuple(stage for stage in stages if stage))


def _check_order(problem: Problem, order: Sequence[str]) -> None:
    for dim in order:
        _known_dim(problem, dim)
    if sorted(order) != sorted(problem.dims):
        raise InputError(
            f"the order {' '.join(order)} must name every dimension once",
            problem.location,
            f"the dimensions are {' '.join(problem.dims)}",
        )


def from_constraints(
    problem: Problem, constraints: Constraints, backing: str
) -> tuple[Restriction, tuple[Constraint, ...]]:
    """What constraint files say of the loops of the level `backing`, the outermost; and the
    constraints that say something else.

    A temporal factor of the backing store is an iteration count over tiles; a permutation orders
    its loops.
    """
    allowed: dict[str, Sequence[int]] = {}
    stages: tuple[tuple[str, ...], ...] = ()
    unused: list[Constraint] = []
    for constraint in constraints:
        if (
            isinstance(constraint, FactorConstraint)
            and constraint.level == backing
            and constraint.kind == "temporal"
            and constraint.last in (None, constraint.value)
        ):
            bound = problem.bounds[constraint.dim]
            sizes = allowed.get(constraint.dim, divisors(bound))
            allowed[constraint.dim] = tuple(
                size
                for size in sizes
                if HOLDS[constraint.comparison](bound // size, constraint.value)
            )
        elif (
            isinstance(constraint, PermutationConstraint)
            and constraint.level == backing
            and constraint.kind == "temporal"
            and not constraint.gaps
        ):
            middle = tuple(
                dim for dim in problem.dims if dim not in (*constraint.inner, *constraint.outer)
            )
            stages = (
                *((dim,) for dim in constraint.inner),
                middle,
                *((dim,) for dim in constraint.outer),
            )
        else:
            unused.append(constraint)
    return Restriction(allowed, tuple(stage for stage in stages if stage)), tuple(unused)


def _known_dim(problem: Problem, dim: str) -> None:
    if dim not in problem.dims:
        raise unknown_name("dimension", dim, problem.dims, problem.location)

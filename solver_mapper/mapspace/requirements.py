"""What a mapping is asked to obey, one by one: the constraints of constraint files, and what
hardware and problem ask for.

Each requirement is one thing that a user can change: a line of a constraint file, a capacity, a
mesh, a bound of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import (
    HARDWARE,
    Constraint,
    FactorConstraint,
    KeepConstraint,
    Kind,
    ProductConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.mapspace.space import default_keeps


@dataclass(frozen=True)
class Capacity:
    """The tiles at level number `level` fit it."""

    level: int


@dataclass(frozen=True)
class LeastFill:
    """The tiles at level number `level` fill it as far as its min-utilization asks."""

    level: int


@dataclass(frozen=True)
class FanoutRequirement:
    """The spatial loops of level number `level` fit the mesh below one instance of it."""

    level: int


@dataclass(frozen=True)
class DimensionBound:
    """All loops over `dim` together make up its bound."""

    dim: str


Requirement = Constraint | Capacity | LeastFill | FanoutRequirement | DimensionBound


def requirements_of(spec: Spec) -> tuple[Requirement, ...]:
    """Everything that `spec` asks of a mapping, constraints first. Equal constraints count once."""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    constraints = tuple(dict.fromkeys(spec.constraints))
    requirements: list[Requirement] = [*constraints]
    for level, buffer in enumerate(architecture.levels):
        if buffer.capacity is not None:
            requirements.append(Capacity(level))
            requirements += [LeastFill(level)] if buffer.min_utilization else []
    wanted = {
        level
        for constraint in constraints
        if isinstance(constraint, FactorConstraint | ProductConstraint) and least_of(constraint) > 1
        for level, kind, _ in loops_of(constraint)
        if kind == "spatial"
    }
    requirements += [
        FanoutRequirement(level)
        for level, buffer in enumerate(architecture.levels)
        if architecture.fanout(level) != (1, 1) or buffer.name in wanted
    ]
    given = {
        dim
        for constraint in constraints
        if isinstance(constraint, FactorConstraint | ProductConstraint) and least_of(constraint) > 1
        for _, _, dim in loops_of(constraint)
    }
    requirements += [
        DimensionBound(dim) for dim in problem.dims if problem.bounds[dim] > 1 or dim in given
    ]
    return tuple(requirements)


def is_changeable(requirement: Requirement) -> bool:
    """Whether a user wrote what is asked, so that it can take part in conflicts and repairs."""
    return not (isinstance(requirement, Constraint) and requirement.origin == HARDWARE)


def loops_of(constraint: FactorConstraint | ProductConstraint) -> frozenset[tuple[str, Kind, str]]:
    """The loops, each (level, kind, dimension), whose product `constraint` is about."""
    return (
        constraint.loops
        if isinstance(constraint, ProductConstraint)
        else frozenset({(constraint.level, constraint.kind, constraint.dim)})
    )


def least_of(constraint: FactorConstraint | ProductConstraint) -> int:
    """The smallest factor, or product of factors, that obeys `constraint`."""
    return {
        "==": constraint.value,
        ">=": constraint.value,
        ">": constraint.value + 1,
        "!=": 2 if constraint.value == 1 else 1,
    }.get(constraint.comparison, 1)


def without_constraint_kept(
    architecture: Architecture, problem: Problem, requirements: tuple[Requirement, ...]
) -> dict[tuple[str, int], bool]:
    """Whether levels hold tensors where no constraint among `requirements` decides and hardware
    does: see `default_keeps`.
    """
    constrained = {
        (requirement.tensor, requirement.level)
        for requirement in requirements
        if isinstance(requirement, KeepConstraint)
    }
    names = architecture.level_names
    return {
        (tensor, level): keep
        for (tensor, level), keep in default_keeps(architecture, problem).items()
        if (tensor, names[level]) not in constrained
    }


def with_fanout(architecture: Architecture, level: int, width: int, height: int) -> Architecture:
    """`architecture` with `width` by `height` instances of the next inner level below each instance
    of level number `level`.

    The meshes further in grow with it: their own fanouts stay.
    """
    old_x, old_y = architecture.fanout(level)
    levels = list(architecture.levels)
    for inner in range(level + 1, len(levels)):
        x, y = levels[inner].mesh_x // old_x * width, levels[inner].mesh_y // old_y * height
        levels[inner] = replace(levels[inner], mesh_x=x, mesh_y=y, instances=x * y)
    units = architecture.arithmetic
    x, y = units.mesh_x // old_x * width, units.mesh_y // old_y * height
    return replace(
        architecture,
        levels=tuple(levels),
        arithmetic=replace(units, mesh_x=x, mesh_y=y, instances=x * y),
    )

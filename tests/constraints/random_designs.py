"""Random small designs with constraint constraints of every kind, and random mappings of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import (
    Comparison,
    Constraint,
    Constraints,
    FactorConstraint,
    KeepConstraint,
    Kind,
    NestingConstraint,
    PermutationConstraint,
    ProductConstraint,
    ReuseConstraint,
    SplitConstraint,
    UtilizationConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Mapping, loop
from solver_mapper.core.primes import divisors
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from tests.strategies import tensor

KINDS: tuple[Kind, Kind] = ("temporal", "spatial")
FLAG_NAMES = ("no_temporal_reuse", "no_multicast", "no_link_transfer")


def random_problem(rng: Random) -> Problem:
    """A matrix product, a one-dimensional convolution, or a depthwise one."""
    kind = rng.choice(["matmul", "conv1d", "depthwise"])
    if kind == "matmul":
        dims, tensors = (
            "MNK",
            (tensor("A", "M", "K"), tensor("B", "K", "N"), tensor("Z", "M", "N", read_write=True)),
        )
    elif kind == "conv1d":
        window = [("P", rng.choice([1, 1, 2])), "R"]
        dims, tensors = (
            "CKRP",
            (
                tensor("W", "C", "K", "R"),
                tensor("I", "C", window),
                tensor("O", "K", "P", read_write=True),
            ),
        )
    else:
        dims, tensors = (
            "GRP",
            (
                tensor("W", "G", "R"),
                tensor("I", "G", ["P", "R"]),
                tensor("O", "G", "P", read_write=True),
            ),
        )
    bounds = {dim: rng.choice([1, 2, 3] if dim == "R" else [1, 2, 3, 4, 6, 8, 12]) for dim in dims}
    return Problem(kind, tuple(dims), bounds, tensors)


def random_architecture(rng: Random) -> Architecture:
    levels, mesh_x, mesh_y = [], 1, 1
    for index in range(rng.randint(2, 3)):
        energy = AccessEnergy(*(Fraction(rng.randint(1, 200), 10) for _ in range(3)))
        entries = None if index == 0 else rng.choice([4, 6, 8, 12, 16, 24, 48, 100])
        levels.append(Buffer(f"L{index}", entries, mesh_x * mesh_y, mesh_x, mesh_y, energy=energy))
        mesh_x *= rng.choice([1, 1, 2, 3, 4])
        mesh_y *= rng.choice([1, 1, 2, 4])
    return Architecture(
        "random",
        tuple(levels),
        Arithmetic("MAC", mesh_x * mesh_y, mesh_x, mesh_y, energy=Fraction(1)),
    )


SORTS = (
    "factor",
    "factor",
    "factor",
    "permutation",
    "permutation",
    "keep",
    "split",
    "flag",
    "utilization",
    "product",
    "nesting",
)


def random_constraint(
    rng: Random, architecture: Architecture, problem: Problem, sorts: tuple[str, ...] = SORTS
) -> Constraint:
    level = rng.choice(architecture.level_names)
    kind: Kind = rng.choice(KINDS)
    what = rng.choice(sorts)
    dims, name = list(problem.dims), rng.choice(problem.tensor_names)
    if what == "factor":
        dim = rng.choice(dims)
        value = rng.choice([1, *divisors(problem.bounds[dim]), 5])
        return FactorConstraint(
            level,
            f"{level} {kind}: {dim}",
            kind,
            dim,
            rng.choice(["==", "<=", "<=", "<", ">=", ">", "!="]),
            value,
        )
    if what == "permutation":
        rng.shuffle(dims)
        cut = rng.randint(0, len(dims))
        listed = dims[:cut]
        outer = tuple(dims[cut : cut + rng.randint(0, 1)])
        return PermutationConstraint(
            level, f"{level} {kind}: permutation", kind, tuple(listed), outer, rng.random() < 0.4
        )
    if what == "keep":
        return KeepConstraint(level, f"{level}: {name}", name, rng.random() < 0.5)
    if what == "split":
        return SplitConstraint(level, f"{level}: split", rng.randint(0, len(dims)))
    if what == "flag":
        return ReuseConstraint(level, f"{level}: flag", rng.choice(FLAG_NAMES), frozenset([name]))
    if what == "product":
        chosen = rng.sample(dims, rng.randint(1, len(dims)))
        levels = [level] if rng.random() < 0.4 else architecture.level_names
        loops = frozenset((each, kind, dim) for each in levels for dim in chosen)
        comparison: Comparison = rng.choice(["<=", "<=", "<", ">=", ">", "==", "!="])
        return ProductConstraint(
            "", f"product {chosen}", loops, comparison, rng.choice([1, 2, 4, 6, 12])
        )
    if what == "nesting":
        inside = frozenset(dims) - next(each.dims for each in problem.tensors if each.name == name)
        return NestingConstraint(
            level, f"{level}: {name}-stationary", name, inside, frozenset(dims) - inside
        )
    return UtilizationConstraint(level, "utilization", Fraction(rng.randint(1, 4), 4))


def random_spec(rng: Random, most_rules: int = 6) -> Spec:
    problem, architecture = random_problem(rng), random_architecture(rng)
    constraints = tuple(
        random_constraint(rng, architecture, problem) for _ in range(rng.randint(0, most_rules))
    )
    return Spec(architecture, problem, constraints=Constraints(constraints))


def random_mapping(rng: Random, spec: Spec) -> Mapping:
    """Loops that make up the problem, in Timeloop's notation: perfect, and at each level one
    spatial loop for a dimension.
    """
    architecture, problem = spec.need_architecture(), spec.need_problem()
    slots: list[tuple[int, Kind]] = []
    for level in range(len(architecture.levels)):
        slots += [(level, "temporal")] + (
            [(level, "spatial")] if architecture.fanout(level) != (1, 1) else []
        )
    bounds: dict[tuple[int, Kind], dict[str, int]] = {slot: {} for slot in slots}
    for dim in problem.dims:
        left = problem.bounds[dim]
        for slot in rng.sample(slots, len(slots)):
            bounds[slot][dim] = rng.choice(divisors(left))
            left //= bounds[slot][dim]
        bounds[rng.choice(slots)][dim] *= left
    levels = []
    for index, buffer in enumerate(architecture.levels):
        order = rng.sample(problem.dims, len(problem.dims))
        temporal = tuple(
            loop(dim, bounds[index, "temporal"][dim])
            for dim in order
            if bounds[index, "temporal"][dim] > 1
        )
        spread = bounds.get((index, "spatial"), {})
        cut = rng.randint(0, len(order))
        axes = {dim: "Y" if place < cut else "X" for place, dim in enumerate(order)}
        spatial = tuple(
            loop(dim, spread[dim], axes[dim]) for dim in order if spread.get(dim, 1) > 1
        )
        keep = frozenset(name for name in problem.tensor_names if index == 0 or rng.random() < 0.6)
        levels.append(LevelMapping(buffer.name, temporal, spatial, keep))
    return flagged(spec, Mapping(tuple(levels), problem.dims, problem.tensor_names))


def flagged(spec: Spec, mapping: Mapping) -> Mapping:
    """`mapping` with the reuse switched off that the constraints switch off."""
    levels = []
    for level in mapping.levels:
        flags = {name: frozenset[str]() for name in FLAG_NAMES}
        for constraint in spec.constraints:
            if isinstance(constraint, ReuseConstraint) and constraint.level == level.level:
                flags[constraint.flag] |= constraint.tensors
        levels.append(replace(level, **flags))
    return replace(mapping, levels=tuple(levels))

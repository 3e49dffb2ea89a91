"""What dominance takes for granted under constraints: where one inner mapping may take the place of
another one, it may be followed by whatever may follow that one. All ways to lay the loops of tiny
problems are gone through, and each is checked by the mapspace's own definition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pytest

from solver_mapper.core.architecture import AccessEnergy, Architecture, Arithmetic, Buffer
from solver_mapper.core.constraints import (
    Constraint,
    Constraints,
    PermutationConstraint,
    SplitConstraint,
)
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping, loop
from solver_mapper.core.primes import divisors, factorize
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.inner import InnerMappings, Outside
from solver_mapper.solve.outward.moves.empty import empty
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests.campaigns import in_campaigns
from tests.constraints.random_designs import random_constraint
from tests.solve.test_walk_constraints import SORTS
from tests.strategies import tensor

Added = tuple[int, int, int, str]
"""A loop: level, dimension, bound, and axis ("" for a temporal one)."""
Path = tuple[tuple[Added, ...], ...]
"""What stages add, one after the other."""


@dataclass(frozen=True)
class Stage:
    """Where loops are added: one of `choices` or none at a mesh, or any number of temporal ones."""

    outside: Outside
    level: int
    choices: tuple[tuple[int, str], ...] = ()


def drawn(random: Random, *, coupled: bool = False) -> EnumeratedMapspace:
    """A tiny problem on three levels, some with a mesh, under a few constraints; or on two levels
    with a mesh of which constraints `coupled` the loops.
    """
    shapes = [(2, 2, 2)] if coupled else [(4, 2, 1), (4, 4, 1), (2, 2, 2), (8, 1, 1)]
    sizes = dict(zip("MNK", random.choice(shapes), strict=True))
    tensors = (
        tensor("A", "M", "K"),
        tensor("B", "K", "N"),
        tensor("Z", "M", "N", read_write=True),
    )
    x = y = 1
    levels = []
    mesh = 0 if coupled else random.choice([None, 0, 1, 2])
    for number in range(2 if coupled else 3):
        levels.append(
            Buffer(f"L{number}", None, x * y, x, y, energy=AccessEnergy(*[Fraction(1)] * 3))
        )
        if number == mesh:
            x, y = random.choice([(2, 2), (4, 2)] if coupled else [(2, 1), (2, 2), (4, 1)])
    units = Arithmetic("MAC", x * y, x, y, energy=Fraction(0))
    architecture = Architecture("tiny", tuple(levels), units)
    problem = Problem("matmul", tuple(sizes), sizes, tensors)
    constraints: list[Constraint] = [
        random_constraint(random, architecture, problem, SORTS) for _ in range(random.randint(1, 3))
    ]
    if coupled:
        inner = random.sample("MNK", random.randint(1, 3))
        gaps = random.random() < 0.5
        constraints = [PermutationConstraint("L0", "order", "spatial", tuple(inner), gaps=gaps)]
        if random.random() < 0.5:
            constraints.append(SplitConstraint("L0", "split", random.randint(0, 3)))
    return EnumeratedMapspace(architecture, problem, Constraints(tuple(constraints)))


def stages(costs: Costs) -> Iterator[Stage]:
    """In the order of a walk: above compute units any loop of an axis may be the innermost."""
    for level in reversed(range(costs.depth)):
        units = level == costs.depth - 1
        if max(costs.architecture.fanout(level)) > 1 and units:
            for axis in "XY":
                outside = Outside(level + 1, level + 1)
                yield Stage(outside, level, tuple((dim, axis) for dim in costs.order))
                for dim in costs.order:
                    yield Stage(outside, level, ((dim, axis),))
        elif max(costs.architecture.fanout(level)) > 1:
            for place, dim in enumerate(costs.order):
                yield Stage(Outside(level + 1, level + 1, place), level, ((dim, "X"), (dim, "Y")))
        yield Stage(Outside(level + 1, level), level)


def ways(
    costs: Costs, stage: Stage, tile: dict[int, int], used: dict[str, int]
) -> Iterator[list[Added]]:
    """What may be added at a stage, constraints aside."""
    sizes = costs.sizes.tolist()
    if stage.choices:
        yield []
        sides = dict(zip("XY", costs.architecture.fanout(stage.level), strict=True))
        units = stage.level == costs.depth - 1
        for dim, axis in stage.choices:
            for bound in divisors(sizes[dim] // tile.get(dim, 1))[1:]:
                if used.get(axis, 1) * bound <= sides[axis] and not (units and dim in tile):
                    yield [(stage.level, dim, bound, axis)]
        return
    left = {dim: size // tile.get(dim, 1) for dim, size in enumerate(sizes)}
    primes = [
        (stage.level, dim, prime, "")
        for dim, rest in left.items()
        for prime, times in factorize(rest)
        for _ in range(times)
    ]
    for number in range(len(primes) + 1):
        for chosen in sorted(set(permutations(primes, number))):
            yield list(chosen)


def paths(costs: Costs, left: list[Stage], before: tuple[Added, ...] = ()) -> Iterator[Path]:
    """All ways through the stages, as what each of them adds, that make up the problem."""
    tile: dict[int, int] = {}
    used: dict[tuple[int, str], int] = {}
    for level, dim, bound, axis in before:
        tile[dim] = tile.get(dim, 1) * bound
        used[level, axis] = used.get((level, axis), 1) * bound
    if not left:
        if all(tile.get(dim, 1) == size for dim, size in enumerate(costs.sizes.tolist())):
            yield ()
        return
    here = {axis: used.get((left[0].level, axis), 1) for axis in "XY"}
    for added in ways(costs, left[0], tile, here):
        for rest in paths(costs, left[1:], (*before, *added)):
            yield (tuple(added), *rest)


def mapping(costs: Costs, space: EnumeratedMapspace, path: Path) -> Mapping:
    """The mapping of a path; a temporal loop stands where its innermost part is."""
    added, dims, names = (
        [each for some in path for each in some],
        space.problem.dims,
        space.problem.tensor_names,
    )
    levels = []
    for number, buffer in enumerate(space.architecture.levels):
        bounds: dict[tuple[int, str], int] = {}
        for level, dim, bound, axis in added:
            if level == number:
                bounds[dim, axis] = bounds.get((dim, axis), 1) * bound
        temporal = [loop(dims[dim], bound) for (dim, axis), bound in bounds.items() if not axis]
        spatial: list[Loop] = []
        for letter in "XY":
            along = [dim for dim, axis in bounds if axis == letter]
            ordered = costs.loops.ordered(number, along)
            spatial += [loop(dims[dim], bounds[dim, letter], letter) for dim in ordered]
        levels.append(
            LevelMapping(
                buffer.name, tuple(reversed(temporal)), tuple(reversed(spatial)), frozenset(names)
            )
        )
    return Mapping(tuple(levels), tuple(dims), tuple(names))


def firsts_are_innermost(costs: Costs, path: Path) -> bool:
    """Whether above compute units the first loop of each axis may be the innermost one: otherwise
    the mapping is that of another path.
    """
    level = costs.depth - 1
    added = [each for some in path for each in some if each[0] == level]
    along = [[dim for _, dim, _, axis in added if axis == letter] for letter in "XY"]
    return all(costs.loops.ordered(level, dims)[:1] == dims[:1] for dims in along)


def grown(costs: Costs, rows: InnerMappings, added: Added) -> InnerMappings | None:
    """The inner mapping with one more loop, as far as constraints look at it; None where they do
    not allow that.
    """
    level, dim, bound, axis = added
    loops, place = costs.loops, "XY".index(axis) if axis else None
    may = (
        loops.may_repeat(rows, level, dim, bound)
        if place is None
        else loops.may_spread(rows, level, dim, bound, place)
    )
    if not np.all(may):
        return None
    tile, meshes = rows.tile.copy(), rows.meshes.copy()
    tile[:, dim] *= bound
    if place is not None:
        meshes[:, place] *= bound
    return replace(loops.with_loop(rows, level, dim, bound, place), tile=tile, meshes=meshes)


def states(
    costs: Costs, plan: list[Stage], path: Path
) -> Iterator[tuple[int, Path, InnerMappings | None]]:
    """All inner mappings on a path: their stage, what has been added, and themselves; None from
    where constraints do not allow the next one.
    """
    rows: InnerMappings | None = empty(costs)
    for number, (stage, added) in enumerate(zip(plan, path, strict=True)):
        before = path[:number]
        if not stage.choices and rows is not None:
            rows = replace(rows, meshes=np.ones_like(rows.meshes), laid=np.zeros_like(rows.laid))
        yield number, (*before, ()), rows
        for length, each in enumerate(added, 1):
            rows = None if rows is None else grown(costs, rows, each)
            if not stage.choices:
                yield number, (*before, added[:length]), rows
        if rows is not None and not stage.choices:
            rows = costs.loops.ended(rows, stage.level)
            rows = replace(rows, here=np.ones_like(rows.here)) if len(rows) else None
        elif rows is not None and not added and alone(costs, plan, number):
            (dim, _), *_ = stage.choices
            rows = rows if costs.loops.may_do_without(stage.level, dim) else None


def alone(costs: Costs, plan: list[Stage], number: int) -> bool:
    """Whether a dimension has no other stage at this mesh."""
    return plan[number].level < costs.depth - 1


def what_follows(path: Path, before: Path) -> Path:
    """The rest of a path."""
    *_, last = before
    number = len(before) - 1
    return (path[number][len(last) :], *path[number + 1 :])


def wrong_exchanges(seed: int, *, coupled: bool = False) -> list[str]:
    """Inner mappings that lead to a mapping and would be dropped; and those that one of the same
    key may replace that cannot be followed by the same.
    """
    space = drawn(Random(seed), coupled=coupled)
    costs = Costs(space)
    plan, wrong = list(stages(costs)), []
    known: dict[tuple[int, Path], InnerMappings] = {}
    futures: dict[tuple[int, Path], set[Path]] = defaultdict(set)
    for path in paths(costs, plan):
        legal = firsts_are_innermost(costs, path) and space.contains(mapping(costs, space, path))
        for number, before, rows in states(costs, plan, path):
            kept = rows is not None and len(costs.loops.completable(rows, plan[number].outside))
            if rows is not None and kept:
                known[number, before] = rows
            if legal and not kept:
                wrong.append(f"seed {seed}: {before} of {path} is dropped: {space.constraints}")
            if legal:
                futures[number, before].add(what_follows(path, before))
    groups: dict[tuple[int, ...], list[tuple[int, Path]]] = defaultdict(list)
    for (number, before), rows in known.items():
        keys = costs.loops.keys(rows, plan[number].outside)
        alike = (*rows.tile[0], *rows.meshes[0], *(each[0] for each in keys))
        groups[number, *map(int, alike)].append((number, before))
    for (number, *_), group in groups.items():
        for one, other in permutations(group, 2):
            loose = (
                costs.loops.looseness(known[each], plan[number].outside) for each in (one, other)
            )
            if np.all(np.greater_equal(*loose)) and not futures[one] >= futures[other]:
                wrong.append(f"seed {seed}: {one} does not replace {other}: {space.constraints}")
    return wrong


@pytest.mark.parametrize("first", [0, *in_campaigns(range(10, 80, 10))])
def test_what_may_follow_one_may_follow_another_in_its_place(first):
    assert not [each for seed in range(first, first + 10) for each in wrong_exchanges(seed)]


def test_what_may_follow_where_loops_of_a_mesh_depend_on_each_other():
    assert not [each for seed in range(15) for each in wrong_exchanges(seed, coupled=True)]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 4000, 20))
def test_what_may_follow_many(first):
    assert not [each for seed in range(first, first + 20) for each in wrong_exchanges(seed)]

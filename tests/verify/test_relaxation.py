"""Bounds of boxes never exceed the figures of a mapping of the box, whatever the mapping and
however boxes are split.
"""

from __future__ import annotations

from random import Random

import pytest

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.cost.timeloop.tiles import build_nest
from solver_mapper.verify.boxes import Box, BoxSpace, Split, members
from solver_mapper.verify.exhaustive import Exhaustive
from solver_mapper.verify.relaxation import Relaxation
from tests.instances import Instance, instance


def holds(space: BoxSpace, mapping: Mapping, split: Split) -> bool:
    """Whether a mapping is on the first side of a split."""
    kind, one, two, value = split
    nest = build_nest(space.problem, mapping)
    if kind == "store":
        return space.problem.tensors[one].name in mapping.levels[two].keep
    if kind == "innermost":
        innermost = nest.temporal[one][-1].dim if nest.temporal[one] else space.dims
        return bool(two >> innermost & 1)
    places = [
        extents
        for tile, union in zip(nest.tiles, nest.unions, strict=False)
        for extents in (tile, union)
    ]
    level, slot = space.slots[two - 1]
    extent = nest.unions[level] if slot == "temporal" else nest.tiles[level + 1]
    assert len(places) == 2 * space.levels
    return extent[one] <= value


def splits(space: BoxSpace, box: Box) -> list[Split]:
    """All decisions that split a box."""
    found: list[Split] = []
    for dim, masks in enumerate(box.extents):
        for place, mask in enumerate(masks):
            found += [
                ("extent", dim, place, space.divisors[dim][number]) for number in members(mask)[:-1]
            ]
    for tensor, mask in enumerate(box.stores):
        found += [
            ("store", tensor, level, 0)
            for level in range(space.levels)
            if len({space.stores[tensor][number][level] for number in members(mask)}) > 1
        ]
    for level, mask in enumerate(box.innermost):
        found += [("innermost", level, 1 << number, 0) for number in members(mask)[:-1]]
    return found


def exceeded(made: Instance, mapping: Mapping, random: Random) -> list[str]:
    """Boxes with a mapping of better figures than their bound, on a random way down to that
    mapping.
    """
    space = BoxSpace(made.architecture, made.problem, made.constraints)
    box, statistics, wrong = space.root(), evaluate(made.architecture, made.problem, mapping), []
    while box is not None:
        bound = Relaxation(space, box).statistics()
        if bound is None:
            wrong.append(f"no mapping fits, but {mapping} does")
        elif (
            bound.energy > statistics.energy_pj * space.unit
            or bound.cycles > statistics.cycles
            or bound.last_level > statistics.last_level_accesses
        ):
            wrong.append(
                f"{bound} in 1/{space.unit} above {statistics.energy_pj * space.unit}"
                f" {statistics.cycles} {statistics.last_level_accesses} of {mapping} in {made}"
                f" {box}"
            )
        choices = splits(space, box)
        if not choices:
            return wrong
        split = random.choice(choices)
        box = space.split(box, split)[not holds(space, mapping, split)]
    return [*wrong, f"a split lost {mapping} of {made}"]


def checked(seed: int, most: int, count: int) -> list[str]:
    made, random = instance(seed, most), Random(seed)
    keeps = [made.mapspace.keeps(name) for name in made.problem.tensor_names]
    skeletons = list(made.mapspace.skeletons())
    if not skeletons or not all(keeps):
        return []
    wrong = []
    for skeleton in random.sample(skeletons, min(count, len(skeletons))):
        mapping = made.mapspace.mapping(skeleton, tuple(random.choice(each) for each in keeps))
        if not violations(made.architecture, made.problem, mapping):
            wrong += exceeded(made, mapping, random)
    return wrong


@pytest.mark.parametrize("seed", range(100))
def test_no_bound_exceeds_a_mapping(seed):
    """Windows, diagonals, strides, constraints, flags, blocks, clusters, bandwidths, networks and
    leakage.
    """
    assert not checked(seed, 150, 6)


@pytest.mark.parametrize("seed", [8, 20, 77, 260])
def test_no_bound_exceeds_the_best_mapping(seed):
    """The best mapping, on many ways down: bounds come closest to it."""
    made = instance(seed, 60, wired=False)
    best = Exhaustive(made.mapspace).best([parse_objective("edp")])[0]
    assert best is None or not [
        wrong for way in range(25) for wrong in exceeded(made, best[0], Random(way))
    ]


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 4000, 50))
def test_no_bound_exceeds_any_of_many_mappings(first):
    assert not [wrong for seed in range(first, first + 50) for wrong in checked(seed, 400, 20)]

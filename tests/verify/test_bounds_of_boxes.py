"""Bounds of boxes never exceed the figures of a mapping of the box, whatever the mapping and
however boxes are split.
"""

from __future__ import annotations

from math import prod
from operator import le
from random import Random
from typing import Any

import pytest

from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.cost.timeloop.legality import violations
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.cost.timeloop.tiles import build_nest
from solver_mapper.verify.box_bounds import Bound
from solver_mapper.verify.boxes import NONE, Box, Mapspace, mappings
from solver_mapper.verify.exhaustive import Exhaustive
from tests.campaigns import in_campaigns
from tests.instances import Instance, in_odd_clusters, instance

Decision = tuple[Any, ...]


def holds(space: Mapspace, mapping: Mapping, decision: Decision) -> bool:
    """Whether a mapping is on the first side of a decision."""
    kind, one, two = decision[:3]
    nest = build_nest(space.problem, mapping)
    if kind == "store":
        return space.tensors[one].name in mapping.levels[two].keep
    if kind == "innermost":
        loops = nest.temporal[one]
        alone = len(space.sizes) if len(loops) == 1 else 0
        return (loops[-1].dim + alone if loops else NONE) in two
    if kind == "loop":
        level, slot = space.slots[two]
        loops = (mapping.levels[level].temporal, mapping.levels[level].spatial)[slot == "spatial"]
        return prod(x.bound for x in loops if x.dim == space.problem.dims[one]) <= decision[3]
    level, slot = space.slots[two - 1]
    extent = nest.unions[level] if slot == "temporal" else nest.tiles[level + 1]
    return extent[one] <= decision[3]


def decisions(space: Mapspace, box: Box) -> list[Decision]:
    """All decisions that split a box."""
    found: list[Decision] = []
    for d, chains in enumerate(box.chains):
        for place, values in enumerate(chains.extents):
            found += [("extent", d, place, value) for value in values[:-1]]
        for slot, values in enumerate(chains.bounds):
            found += [("loop", d, slot, value) for value in values[:-1]]
    for t, choices in enumerate(box.stores):
        found += [
            ("store", t, level)
            for level in range(space.depth)
            if len({choice[level] for choice in choices}) > 1
        ]
    for level, dims in enumerate(box.innermost):
        found += [("innermost", level, (d,)) for d in sorted(dims)[:-1]]
    return found


def exceeded(made: Instance, mapping: Mapping, random: Random) -> list[str]:
    """Boxes with a mapping of better figures than their bound, on a random way down to that
    mapping.
    """
    space = Mapspace(made.spec)
    box, statistics, wrong = space.root(), evaluate(made.architecture, made.problem, mapping), []
    while box is not None:
        bound = Bound(space, box)
        if bound.unfit() is not None:
            wrong.append(f"{bound.unfit()} is too small, but {mapping} fits")
        true = (statistics.energy_pj * space.unit, statistics.cycles)
        for least in bound.least():
            if all(map(le, least, (*true, statistics.last_level_accesses))):
                continue
            wrong.append(
                f"{least} in 1/{space.unit} above {statistics.energy_pj * space.unit}"
                f" {statistics.cycles} {statistics.last_level_accesses} of {mapping} in {made}"
                f" {box}"
            )
        choices = decisions(space, box)
        if not choices:
            found = is_legal(made.spec, mapping) and mapping not in set(mappings(space, box))
            return [*wrong, f"{mapping} is not listed"] if found else wrong
        decision = random.choice(choices)
        box = space.split(box, decision)[not holds(space, mapping, decision)]
    return [*wrong, f"a split lost {mapping} of {made}"]


def checked(made: Instance, count: int) -> list[str]:
    random = Random(made.seed)
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


@pytest.mark.parametrize("seed", [*range(40), *in_campaigns(range(40, 100))])
def test_no_bound_exceeds_a_mapping(seed):
    """Windows, diagonals, strides, constraints, flags, blocks, clusters, bandwidths, networks and
    leakage.
    """
    assert not checked(instance(seed, 150), 6)


@pytest.mark.parametrize("seed", [*range(20), *in_campaigns(range(20, 100))])
def test_no_bound_exceeds_a_mapping_where_clusters_are_not_whole(seed):
    assert not checked(in_odd_clusters(instance(seed, 150)), 6)


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
    assert not [
        wrong for seed in range(first, first + 50) for wrong in checked(instance(seed, 400), 20)
    ]

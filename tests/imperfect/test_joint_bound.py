"""No bound of all tensors together exceeds what a mapping costs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.check.mapping import is_legal
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.joint.bound import JointBound
from solver_mapper.solve.imperfect.joint.symmetry import symmetries
from solver_mapper.solve.imperfect.search import Tree
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound
from tests.imperfect.enumeration import legal_mappings
from tests.imperfect.test_against_enumeration import QUICK, drawn, small
from tests.imperfect.test_bounds import arranged
from tests.instances import instance

LOOSE = (Fraction(1), Fraction(11, 10), Fraction(3))
"""Targets, over the least value known: more is left out where they are near."""


def too_high(
    spec: Spec, figures: list[Statistics], targets: Sequence[Fraction] = LOOSE
) -> list[str]:
    """Bounds that exceed the least of some figures."""
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    if not figures or not all(space.keeps(name) for name in space.problem.tensor_names):
        return []
    wrong = []
    for name in ("energy", "edp"):
        goal = parse_objective(name).goals[0]
        least = min(goal.rank(each) for each in figures)
        for factor in targets:
            try:
                bound = JointBound(ImperfectLowerBound(space)).goal(goal, least * factor)
            except ValueError:
                continue
            if bound > least:
                wrong.append(f"{name}: {float(bound)} > {float(least)}, target {factor}")
    return wrong


def drawn_mappings(spec: Spec, random: Random, number: int) -> list[Statistics]:
    """Figures of random legal mappings."""
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    tree = Tree(spec, space)
    if tree.empty or not all(space.keeps(name) for name in space.problem.tensor_names):
        return []
    evaluate = Evaluator(space.architecture, space.problem).evaluate
    found = []
    for _ in range(number):
        leaves = [random.randrange(len(table.bounds)) for table in tree.tables]
        mapping = arranged(space, tree, leaves, random)
        if mapping is not None and is_legal(spec, mapping):
            found.append(evaluate(mapping))
    return found


def all_figures(spec: Spec) -> list[Statistics]:
    """Figures of all mappings."""
    evaluate = Evaluator(spec.need_architecture(), spec.need_problem()).evaluate
    return [evaluate(mapping) for mapping in legal_mappings(spec)]


@pytest.mark.parametrize("seed", QUICK[::3])
def test_it_does_not_exceed_the_least_of_all_mappings(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    assert not too_high(spec, all_figures(spec))


def test_a_window_may_leave_holes_where_its_last_tile_is_short() -> None:
    spec = drawn(40).spec
    assert not too_high(spec, all_figures(spec))


@pytest.mark.parametrize("seed", [1, 13, 19, 25, 31, 43, 55])
def test_it_does_not_exceed_figures(seed: int) -> None:
    spec = instance(seed, most=200, wired=seed % 3 == 0).spec
    assert not too_high(spec, drawn_mappings(spec, Random(seed), 12), LOOSE[:1])


def test_a_tile_stays_while_a_loop_runs_once_in_its_last_round() -> None:
    """The best mapping has K=2 in two rounds below M: B stays for all of M in the last one."""
    storage = [
        {"name": "Buffer", "entries": 3, "instances": 1, "vector-access-energy": 1.0},
        {"name": "Shared", "entries": 2, "instances": 1, "vector-access-energy": 1.0},
        {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 200.0},
    ]
    unit = {"name": "MAC", "instances": 1, "vector-access-energy": 1.0}
    keeps = [
        {"target": "Buffer", "type": "bypass", "keep": ["A", "B", "Z"]},
        {"target": "Shared", "type": "bypass", "keep": ["A"], "bypass": ["B", "Z"]},
    ]
    tensors = [
        {"name": "A", "projection": [[["K"]]]},
        {"name": "B", "projection": [[["K"]]]},
        {"name": "Z", "projection": [[["M"]]], "read-write": True},
    ]
    shape = {"name": "sums", "dimensions": ["M", "K"], "data-spaces": tensors}
    spec = sm.load(
        {"arch": {"arithmetic": unit, "storage": storage}, "mapspace_constraints": keeps},
        {"problem": {"shape": shape, "instance": {"M": 3, "K": 3}}},
    )
    assert isinstance(spec, Spec)
    assert not too_high(spec, all_figures(spec))


@pytest.mark.parametrize("layer", ("layer2.x.conv1_1x1", "layer2.x.conv3_1x1"))
def test_it_proves_layers_whose_tensors_compete(layer: str) -> None:
    spec = sm.load("simba", f"resnet50/{layer}")
    assert isinstance(spec, Spec)
    goal = parse_objective("edp").goals[0]
    best = sm.solve(spec, "edp").rank
    assert best is not None
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    target = best * (1 - Fraction(1, 10**6))
    assert float(ImperfectLowerBound(space).goal(goal) or 0) < 0.995 * best
    assert JointBound(ImperfectLowerBound(space)).goal(goal, target) == target


def test_rows_and_columns_of_a_convolution_stand_for_each_other() -> None:
    spec = sm.load("simba", "resnet50/layer2.x.conv2_3x3")
    assert isinstance(spec, Spec)
    problem = spec.need_problem()
    dims = list(problem.dims)
    exchanged = [
        dict(zip(dims, (dims[at] for at in order), strict=True)) for order in symmetries(problem)
    ]
    assert exchanged == [
        dict(zip(dims, dims, strict=True)),
        dict(zip(dims, dims, strict=True)) | {"P": "Q", "Q": "P", "R": "S", "S": "R"},
    ]


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 40) for first in range(0, 320, 40)])
def test_it_does_not_exceed_the_least_of_all_mappings_of_many(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = drawn(seed).spec
        if found := too_high(spec, all_figures(spec)):
            wrong[seed] = found
    assert not wrong


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 1500, 50)])
def test_it_does_not_exceed_figures_of_many(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = instance(seed, most=1000, wired=seed % 3 == 0).spec
        if found := too_high(spec, drawn_mappings(spec, Random(seed), 30), LOOSE[:1]):
            wrong[seed] = found
    assert not wrong

"""No bound of all tensors together exceeds what a mapping costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random

import pytest

import solver_mapper as sm
from solver_mapper.check.mapping import is_legal
from solver_mapper.core.constraints import Constraints, FactorConstraint
from solver_mapper.core.objective import Goal, parse_objective
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.joint import bound as joint
from solver_mapper.solve.imperfect.joint import points, stages
from solver_mapper.solve.imperfect.joint.bound import JointBound
from solver_mapper.solve.imperfect.joint.holders import without_loops
from solver_mapper.solve.imperfect.joint.symmetry import symmetries
from solver_mapper.solve.imperfect.search import Tree
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound
from tests.campaigns import in_campaigns
from tests.imperfect.enumeration import few, legal_mappings
from tests.imperfect.test_against_enumeration import QUICK, drawn, small
from tests.imperfect.test_bounds import arranged
from tests.imperfect.test_solve import gemm
from tests.instances import instance

LOOSE = (Fraction(1), Fraction(11, 10), Fraction(3))
"""Targets, over the least value known: more is left out where they are near."""
UNEVEN = {
    "rows": {"A": ("M", "K"), "Z": ("M",)},
    "copies": {"A": ("M",), "B": ("K",), "Z": ("M",)},
    "outer": {"A": ("M",), "B": ("K",), "Z": ("M", "K")},
    "sums": {"A": ("M", "K"), "B": ("M",), "Z": ("K",)},
    "window": {"A": ("MK",), "B": ("K",), "Z": ("M",)},
}
"""Tensors of small problems and their ranks; the last one is written."""


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


def with_fewer_loops(spec: Spec, random: Random, share: float = 0.3) -> Spec:
    """The same, without temporal loops over some dimensions at some levels."""
    levels, dims = spec.need_architecture().level_names, spec.need_problem().dims
    told = {
        (each.level, each.dim) for each in spec.constraints if isinstance(each, FactorConstraint)
    }
    fixed = [
        FactorConstraint(level, "fixed", "temporal", dim, "==", 1)
        for level, dim in product(levels, dims)
        if (level, dim) not in told and random.random() < share
    ]
    return replace(spec, constraints=Constraints([*spec.constraints, *fixed]))


def bound_of(spec: Spec, target: Fraction) -> Fraction:
    """The bound of the energy, below a target."""
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    return JointBound(ImperfectLowerBound(space)).goal(parse_objective("energy").goals[0], target)


def with_perfect_factors(layer: str) -> tuple[Goal, ImperfectMapspace, Fraction]:
    """The objective edp, the mapspace of a layer of ResNet-50 on `simba`, and the rank of its best
    mapping of perfect factors.
    """
    spec = sm.load("simba", f"resnet50/{layer}")
    assert isinstance(spec, Spec)
    best = sm.solve(spec, "edp").rank
    assert best is not None
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    return parse_objective("edp").goals[0], space, best


def uneven(seed: int) -> Spec:
    """A random problem of two dimensions, one of which is long, on a mesh below one or two buffers,
    some with limited bandwidth.
    """
    random = Random(seed)
    kind = random.choice(sorted(UNEVEN))
    long = random.randint(5, 10) if kind == "window" else random.randint(7, 16)
    instances, lanes = random.choice([2, 2, 3, 4]), random.choice([1, 1, 1, 2])
    buffers = [_buffer(random, "Local", (2, 10), instances)]
    if random.random() < 0.5:
        buffers.append(_buffer(random, "Global", (4, 30), random.choice([1, instances])))
    outer = {"name": "DRAM", "technology": "DRAM", "instances": 1}
    outer |= {"vector-access-energy": random.choice([5, 20, 200])} | _bandwidth(random)
    unit = {"name": "MAC", "instances": instances * lanes, "meshX": instances * lanes}
    unit |= {"vector-access-energy": random.choice([0.1, 1, 10])}
    tensors = [
        {"name": name, "projection": [[[dim] for dim in rank] for rank in ranks]}
        for name, ranks in UNEVEN[kind].items()
    ]
    tensors[-1]["read-write"] = True
    stores = []
    for buffer in buffers:
        kept = {name: random.random() < 0.6 for name in UNEVEN[kind]}
        lists = {
            word: [name for name, keep in kept.items() if keep is each]
            for word, each in (("keep", True), ("bypass", False))
        }
        stores.append({"target": buffer["name"], "type": "bypass", **lists})
    shape = {"name": kind, "dimensions": ["M", "K"], "data-spaces": tensors}
    sizes = {"M": long, "K": random.randint(1, 3)}
    spec = sm.load(
        {
            "arch": {"arithmetic": unit, "storage": [*buffers, outer]},
            "mapspace_constraints": stores,
        },
        {"problem": {"shape": shape, "instance": sizes}},
    )
    assert isinstance(spec, Spec)
    return spec


def _buffer(
    random: Random, name: str, entries: tuple[int, int], instances: int
) -> dict[str, object]:
    energy = random.choice([0.5, 1, 2, 6, 20])
    found = {"name": name, "entries": random.randint(*entries), "vector-access-energy": energy}
    return found | {"instances": instances, "meshX": instances} | _bandwidth(random)


def _bandwidth(random: Random) -> dict[str, float]:
    port = random.choice(["read_bandwidth", "write_bandwidth", "shared_bandwidth"])
    return {port: random.choice([0.25, 0.5, 1, 2])} if random.random() < 0.4 else {}


@pytest.mark.parametrize("seed", [*range(6), *in_campaigns(range(6, 16))])
def test_it_does_not_exceed_the_least_where_spatial_loops_are_uneven(seed: int) -> None:
    spec = uneven(seed)
    if few(spec, 1500):
        assert not too_high(spec, all_figures(spec))


@pytest.mark.parametrize("seed", QUICK[1::3])
def test_it_does_not_exceed_the_least_of_all_mappings_with_fewer_loops(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    fewer = with_fewer_loops(spec, Random(seed))
    assert not too_high(fewer, all_figures(fewer))


def test_loops_that_constraints_exclude_raise_it() -> None:
    """With tiles of one point, a buffer with room for all words reads them again and again."""
    storage = [
        {"name": "Buffer", "entries": 60, "instances": 1, "vector-access-energy": 1.0},
        {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 200.0},
    ]
    unit = {"name": "MAC", "instances": 1, "vector-access-energy": 1.0}
    free = sm.load(
        {"arch": {"arithmetic": unit, "storage": storage}, **gemm(3, 5, 3)},
        {"mapspace_constraints": [{"target": "Buffer", "type": "bypass", "keep": ["Z"]}]},
    )
    assert isinstance(free, Spec)
    outside = [
        FactorConstraint("Buffer", "fixed", "temporal", "K", "==", 1),
        FactorConstraint("Buffer", "fixed", "temporal", "M", "<=", 1),
        FactorConstraint("Buffer", "fixed", "temporal", "N", "<", 2),
        FactorConstraint("DRAM", "free", "temporal", "K", "<=", 5),
        FactorConstraint("Buffer", "free", "spatial", "K", "==", 1),
    ]
    bound = replace(free, constraints=Constraints([*free.constraints, *outside]))
    space = ImperfectMapspace(bound.need_architecture(), bound.need_problem(), bound.constraints)
    assert without_loops(space) == {(1, dim) for dim in range(3)}
    least = min(figures.energy_pj for figures in all_figures(bound))
    assert 1.5 * bound_of(free, least * 2) < bound_of(bound, least * 2) <= least


@pytest.mark.parametrize("seed", QUICK[::3])
def test_it_does_not_exceed_the_least_of_all_mappings(seed: int) -> None:
    spec = small(seed, 1500)
    assert spec is not None
    assert not too_high(spec, all_figures(spec))


@pytest.mark.parametrize("seed", [*QUICK[::4], *in_campaigns(QUICK[2::4])])
def test_it_does_not_exceed_the_least_where_walks_are_too_large(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large walks end early, and walks with tight budgets say what they can."""
    monkeypatch.setattr(points, "MOST_POINTS", 10 + 30 * (seed % 4))
    monkeypatch.setattr(joint, "GoalState", partial(joint.GoalState, heavy=True))
    spec = small(seed, 1500)
    assert spec is not None
    assert not too_high(spec, all_figures(spec))


def test_walks_with_tight_budgets_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all larger walks fail, the bound is still above that of each level apart."""
    goal, space, best = with_perfect_factors("layer2.x.conv3_1x1")
    monkeypatch.setattr(points, "MOST_POINTS", 4000)
    few = JointBound(ImperfectLowerBound(space)).goal(goal, best)
    monkeypatch.setattr(stages, "PARTS", ())
    none = JointBound(ImperfectLowerBound(space)).goal(goal, best)
    assert none < few <= best


def test_it_tells_what_it_knows_where_choices_are_many() -> None:
    goal, space, best = with_perfect_factors("layer2.x.conv1_1x1")
    bound = JointBound(ImperfectLowerBound(space), effort=10_000)
    found = bound.goal(goal, best * 2)
    assert bound.ended_early
    assert 0.9 * best < found <= best


def test_spatial_loops_fit_along_the_sides_of_a_mesh() -> None:
    """3 x 7 x 8 loops fill 168 units, but no two sides of 14 and 12."""
    unit = {"name": "MAC", "instances": 168, "meshX": 14, "meshY": 12, "vector-access-energy": 1.0}
    storage = [{"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 9.0}]
    arch = {"arithmetic": unit, "storage": storage}
    spec = sm.load({"arch": arch}, gemm(3, 7, 8))
    assert isinstance(spec, Spec)
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    assert ImperfectLowerBound(space).steps == 2
    best = sm.solve(spec, "delay", factors="imperfect").evaluation
    assert best is not None and best.cycles == 2


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


@pytest.mark.parametrize(
    "layer", ("layer2.x.conv1_1x1", "layer2.x.conv3_1x1", "layer4.x.conv1_1x1")
)
def test_it_proves_layers_whose_tensors_compete(layer: str) -> None:
    """Of the last one the bandwidth of DRAM decides."""
    goal, space, best = with_perfect_factors(layer)
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


@pytest.mark.parametrize("dim", "PQ")
def test_dimensions_with_other_constraints_do_not_stand_for_each_other(dim: str) -> None:
    """All of a dimension is inside: only if it is spread does a tile of Z fit."""
    told = [
        {"target": "DRAM", "type": "temporal", "factors": f"{dim}=1"},
        {"target": "Local", "type": "bypass", "keep": ["Z"], "bypass": ["W"]},
    ]
    unit = {"name": "MAC", "instances": 3, "meshX": 3, "vector-access-energy": 1.0}
    storage = [
        {"name": "Local", "entries": 1, "instances": 3, "meshX": 3, "vector-access-energy": 1.0},
        {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 200.0},
    ]
    tensors = [
        {"name": "W", "projection": [[["K"]]]},
        {"name": "Z", "projection": [[["P"]], [["Q"]]], "read-write": True},
    ]
    shape = {"name": "sums", "dimensions": ["P", "Q", "K"], "data-spaces": tensors}
    spec = sm.load(
        {"arch": {"arithmetic": unit, "storage": storage}, "mapspace_constraints": told},
        {"problem": {"shape": shape, "instance": {"P": 3, "Q": 3, "K": 2}}},
    )
    assert isinstance(spec, Spec)
    assert len(symmetries(spec.need_problem())) == 2
    figures = all_figures(spec)
    assert figures
    assert not too_high(spec, figures)


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
@pytest.mark.parametrize("seeds", [range(first, first + 40) for first in range(0, 320, 40)])
def test_it_does_not_exceed_the_least_with_fewer_loops_of_many(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = with_fewer_loops(drawn(seed).spec, Random(seed))
        if found := too_high(spec, all_figures(spec)):
            wrong[seed] = found
    assert not wrong


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(100, 700, 50)])
def test_it_does_not_exceed_the_least_of_many_with_uneven_spatial_loops(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = uneven(seed)
        if few(spec, 4000) and (found := too_high(spec, all_figures(spec))):
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

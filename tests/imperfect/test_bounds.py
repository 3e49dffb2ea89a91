"""No bound of a cell exceeds what a mapping of the cell costs."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import solver_mapper as sm
from solver_mapper.check.mapping import is_legal
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import parse_objective
from solver_mapper.core.spec import Spec
from solver_mapper.cost.timeloop.model import Evaluator
from solver_mapper.solve.imperfect.mappings import level_bounds
from solver_mapper.solve.imperfect.search import Tree
from solver_mapper.solve.imperfect.shapes import Kind, Plan
from solver_mapper.solve.imperfect.words import NOISE
from solver_mapper.verify.imperfect import ImperfectMapspace
from solver_mapper.verify.imperfect_bound import ImperfectLowerBound
from tests.instances import in_odd_clusters, instance


def claims_too_much(spec: Spec, random: Random, mappings: int) -> list[str]:
    """Random legal mappings that cost less than the bound of some cell around them."""
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    tree = Tree(spec, space)
    evaluate = Evaluator(space.architecture, space.problem).evaluate
    wrong: list[str] = []
    if tree.empty or not all(space.keeps(name) for name in space.problem.tensor_names):
        return []
    for _ in range(mappings):
        leaves = [random.randrange(len(table.bounds)) for table in tree.tables]
        mapping = arranged(space, tree, leaves, random)
        if mapping is None or not is_legal(spec, mapping):
            continue
        found = evaluate(mapping)
        figures = float(found.energy_pj), found.cycles, found.last_level_accesses
        for plan in (decided(tree, mapping), decided(tree, mapping, random)):
            cell = np.array([[ancestor(tree, d, c, random) for d, c in enumerate(leaves)]])
            leaf = np.array([[ancestor(tree, d, c, None) for d, c in enumerate(leaves)]])
            for nodes in (cell, leaf):
                bounds = [float(each[0]) for each in tree.bounds.least(plan, nodes)]
                if any(b * (1 - NOISE) > f for b, f in zip(bounds, figures, strict=True)):
                    wrong.append(f"{bounds} > {figures}: {plan.innermost} {mapping}")
    return wrong


def arranged(
    space: ImperfectMapspace, tree: Tree, chains: list[int], random: Random
) -> Mapping | None:
    """A mapping of these chains with random orders and stores."""
    chosen = {
        table.dim: random.choice(table.group(chain))
        for table, chain in zip(tree.tables, chains, strict=True)
    }
    bounds = level_bounds(space, chosen)
    skeleton = []
    for level, here in enumerate(bounds):
        orders, layouts = space.ways(level, here)
        if not orders or not layouts:
            return None
        order, (inner, outer) = random.choice(orders), random.choice(layouts)
        skeleton.append(
            (
                tuple((dim, here[""][dim], "") for dim in reversed(order)),
                (
                    *((dim, here["Y"][dim], "Y") for dim in reversed(outer)),
                    *((dim, here["X"][dim], "X") for dim in reversed(inner)),
                ),
            )
        )
    keeps = tuple(random.choice(space.keeps(name)) for name in space.problem.tensor_names)
    return space.mapping(tuple(skeleton), keeps)


def decided(tree: Tree, mapping: Mapping, random: Random | None = None) -> Plan:
    """The plan of a mapping; with `random`, some innermost loops are undecided."""
    dims, kinds = tree.space.problem.dims, list[Kind]()
    for level, each in enumerate(mapping.levels):
        loops = [loop.dim for loop in each.temporal if loop.bound > 1]
        wanted = {dims.index(loops[-1])} if loops else set()
        kind = next(k for k in tree.kinds[level] if (wanted <= k if wanted else not k))
        kinds.append(None if random is not None and random.random() < 0.5 else kind)
    stores = tuple(
        tuple(name in level.keep for level in mapping.levels)
        for name in tree.space.problem.tensor_names
    )
    return Plan(stores, tuple(kinds))


def ancestor(tree: Tree, dim: int, chain: int, random: Random | None) -> int:
    """A node above a chain; without `random`, its leaf."""
    table, node = tree.tables[dim], 0
    while table.parts[0, node]:
        if random is not None and random.random() < 0.25:
            break
        left, right = table.parts[:, node]
        node = int(right if table.chain[right] <= chain else left)
    return node


@pytest.mark.parametrize("seed", range(30))
def test_bounds_do_not_exceed_figures(seed: int) -> None:
    spec = instance(seed, most=400, wired=seed % 3 == 0).spec
    assert not claims_too_much(spec, Random(seed), 12)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_do_not_exceed_figures_where_clusters_are_not_whole(seed: int) -> None:
    spec = in_odd_clusters(instance(seed, most=400, wired=False)).spec
    assert not claims_too_much(spec, Random(seed), 12)
    assert not floors_too_high(spec, Random(seed), 12)


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 1500, 50)])
def test_bounds_do_not_exceed_figures_of_many_mappings(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = instance(seed, most=2000, wired=seed % 3 == 0).spec
        found = claims_too_much(spec, Random(seed), 30)
        if found:
            wrong[seed] = found[:2]
    assert not wrong


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_the_bound_of_all_mappings_does_not_exceed_figures(seed: int) -> None:
    spec = instance(seed, most=1000, wired=seed % 3 == 0).spec
    assert not floors_too_high(spec, Random(seed), 12)


def test_the_bound_of_all_mappings_chooses_spatial_loops_for_all_tensors_together() -> None:
    spec = sm.load("simba", "resnet50/layer3.x.conv3_1x1")
    assert isinstance(spec, Spec)
    best = sm.solve(spec, "edp").value
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    bound = ImperfectLowerBound(space).goal(parse_objective("edp").goals[0])
    assert best is not None and bound is not None
    assert bound <= best <= bound * Fraction(1001, 1000)


def summing(bandwidth: int) -> Spec:
    """A product whose sums run over two dimensions, on a row of 16 units with a word of one factor
    each. Partial sums are all in one level, which writes so many words a cycle.
    """
    tensors = {"A": "MKL", "B": "NKL", "Z": "MN"}
    shape = {
        "name": "product",
        "dimensions": list("MNKL"),
        "data-spaces": [
            {"name": name, "projection": [[[dim]] for dim in dims], "read-write": name == "Z"}
            for name, dims in tensors.items()
        ],
    }
    row = {"instances": 16, "meshX": 16, "word-bits": 8}
    one = {"instances": 1, "word-bits": 8}
    storage = [
        {"name": "Regs", "entries": 1, "vector-access-energy": 1.0, **row},
        {"name": "Sums", "entries": 512, "vector-access-energy": 4.0, **one},
        {"name": "DRAM", "technology": "DRAM", "vector-access-energy": 100.0, **one},
    ]
    storage[1]["write-bandwidth"] = bandwidth
    found = sm.load(
        {"arch": {"arithmetic": {"name": "MAC", "energy": 1.0, **row}, "storage": storage}},
        {"problem": {"shape": shape, "instance": {"M": 32, "N": 4, "K": 7, "L": 3}}},
        {
            "constraints": [
                {"target": "Sums", "type": "bypass", "keep": ["Z"], "bypass": ["A", "B"]},
                {"target": "Regs", "type": "bypass", "keep": ["B"], "bypass": ["A", "Z"]},
            ]
        },
    )
    assert isinstance(found, Spec)
    return found


def test_each_choice_of_spatial_loops_takes_its_steps_or_as_long_as_its_words_need() -> None:
    """16 units along M send each product by itself, 15 along K and L take many steps; 14 along K
    and M send a sum of 7 products, in as many cycles as steps.
    """
    spec = summing(bandwidth=2)
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    bound = ImperfectLowerBound(space)
    assert bound.steps == 32 * 4 * 7 * 3 // 16
    assert bound.metric("delay") == 32 * 4 * 3 // 2
    found = sm.solve(spec, "delay", factors="imperfect")
    assert (found.status, found.value) == ("optimal", 32 * 4 * 3 // 2)


def test_products_are_bounded_for_choices_of_similar_cycles() -> None:
    """The choices of the least energy are slow, although they take few steps."""
    spec = summing(bandwidth=1)
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    bound = ImperfectLowerBound(space)
    energy, cycles = bound.metric("energy"), bound.metric("delay")
    product = bound.goal(parse_objective("edp").goals[0])
    best = sm.solve(spec, "edp", factors="imperfect").value
    assert energy is not None and cycles is not None and product is not None and best is not None
    assert energy * cycles < product <= best
    assert product > best * Fraction(4, 5), "choices of similar steps leave 0.6"


def floors_too_high(spec: Spec, random: Random, mappings: int) -> list[str]:
    """Random legal mappings that cost less than the bound of all mappings."""
    space = ImperfectMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    tree = Tree(spec, space)
    if tree.empty or not all(space.keeps(name) for name in space.problem.tensor_names):
        return []
    bound = ImperfectLowerBound(space)
    names = ("energy", "delay", "last-level-accesses")
    floors = [bound.metric(name) for name in names]
    floors.append(bound.goal(parse_objective("edp").goals[0]))
    evaluate = Evaluator(space.architecture, space.problem).evaluate
    wrong: list[str] = []
    for _ in range(mappings):
        leaves = [random.randrange(len(table.bounds)) for table in tree.tables]
        mapping = arranged(space, tree, leaves, random)
        if mapping is not None and is_legal(spec, mapping):
            found = evaluate(mapping)
            figures = [found.energy_pj, found.cycles, found.last_level_accesses]
            figures.append(found.energy_pj * found.cycles)
            if any(f is None or f > g for f, g in zip(floors, figures, strict=True)):
                wrong.append(f"{floors} > {figures}: {mapping}")
    return wrong


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 1500, 50)])
def test_the_bound_of_all_mappings_does_not_exceed_figures_of_many(seeds: range) -> None:
    wrong = {}
    for seed in seeds:
        spec = instance(seed, most=2000, wired=seed % 3 == 0).spec
        found = floors_too_high(spec, Random(seed), 30)
        if found:
            wrong[seed] = found[:2]
    assert not wrong

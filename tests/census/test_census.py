"""`space` against trying every mapping: each number is the number of mappings that there are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import yaml
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper import library
from solver_mapper.census import tally
from solver_mapper.census.orders import Layouts, Orders
from solver_mapper.census.tally import Tally
from solver_mapper.cli import app
from solver_mapper.mapping import Mapping
from solver_mapper.space.space import build_space
from solver_mapper.spec.constraints import Constraints, PermutationRule
from solver_mapper.spec.ordering import ordered_pairs
from solver_mapper.spec.spec import Spec
from solver_mapper.verify.orders import spatial_orders, temporal_orders
from tests import golden
from tests.census.every import every_legal, mapspace_of, small_specs
from tests.rules.designs import DESIGN, bypass, spatial, spec_with, temporal

EXAMPLE = Path(__file__).parents[2] / "examples" / "small_glb.yaml"


def counted(spec: Spec) -> sm.Count:
    groups = list(every_legal(spec))
    return sm.Count(len(groups), sum(len(each[0]) for each in groups), sum(len(group) for each in groups for group in each))


def unlimited(spec: Spec) -> Spec:
    """The same with buffers that hold everything; those without entries still hold nothing."""
    levels = tuple(replace(buffer, entries=buffer.entries and 10**9, min_utilization=buffer.min_utilization * 0)
                   for buffer in spec.need_architecture().levels)
    return replace(spec, architecture=replace(spec.need_architecture(), levels=levels))


def compare(seeds: range, most: int = 100) -> int:
    """How many designs were counted."""
    number = 0
    for seed, spec in small_specs(seeds, most):
        census = sm.space(spec)
        assert (census.legal, census.ruled) == (counted(spec), counted(unlimited(spec))), seed
        assert {dim: each.left for dim, each in census.chains.items()} == {dim: chains(spec, dim) for dim in census.chains}, seed
        rules = tuple(dict.fromkeys(spec.constraints.rules))
        for cut in census.cuts:
            kept = [rule for rule in rules if not (cut.is_rule and rule.text == cut.text)]
            if len(kept) == len(rules) - 1:
                without = replace(spec, constraints=Constraints(tuple(kept)))
                assert cut.without == total(without), (seed, cut)
        spare = {cut.text for cut in census.cuts if cut.spare}
        assert total(replace(spec, constraints=Constraints(tuple(r for r in rules if r.text not in spare)))) >= census.legal.mappings
        number += 1
    return number


def chains(spec: Spec, dim: str) -> int:
    """Factorizations of a dimension that rules about it allow, on meshes that have room for it."""
    mapspace, fanout = mapspace_of(spec), spec.need_architecture().fanout
    room = [fanout(level)["XY".index(axis)] if axis else spec.need_problem().bounds[dim] for level, axis in mapspace.sites]
    return sum(all(bound <= most for bound, most in zip(chain, room, strict=True)) for chain in mapspace.chains(dim))


def total(spec: Spec) -> int:
    return Tally(build_space(spec.need_architecture(), spec.need_problem(), spec.constraints)).total


def test_all_numbers_are_those_of_trying_every_mapping() -> None:
    assert compare(range(300, 315)) > 5


@pytest.mark.campaign
def test_all_numbers_are_those_of_trying_every_mapping_in_a_thousand_designs() -> None:
    assert compare(range(10_000, 12_000), 300) > 1000


def prefix(mapping: Mapping, number: int) -> Mapping:
    return Mapping(mapping.levels[:number])


def test_ways_down_and_tiles_are_those_of_the_mappings_listed() -> None:
    for seed, spec in small_specs(range(400, 415), 100):
        mappings, census = list(sm.enumerate(spec)), sm.space(spec)
        for number, level in enumerate(census.levels):
            assert level.down == len({prefix(mapping, number + 1) for mapping in mappings}), seed
            tiles = {tuple(sorted(inside(mapping, number).items())) for mapping in mappings}
            assert level.tiles == len(tiles), seed


def inside(mapping: Mapping, number: int) -> dict[str, int]:
    """Bounds above 1 of all loops from a level inwards, by dimension."""
    found: dict[str, int] = {}
    for loop in Mapping(mapping.levels[number:]).loops():
        found[loop.dim] = found.get(loop.dim, 1) * loop.bound
    return found


def test_orders_are_counted_as_they_are_tried() -> None:
    rng = Random(0)
    for _ in range(60):
        dims = tuple("ABCDE")
        rules = [PermutationRule("L", "", "spatial", tuple(rng.sample(dims, rng.randint(0, 3))), (), rng.random() < 0.5)
                 for _ in range(rng.randint(0, 2))]
        pairs = frozenset().union(*(ordered_pairs(rule, dims) for rule in rules))
        some = frozenset(rng.sample(dims, rng.randint(0, 5)))
        across = frozenset(dim for dim in some if rng.random() < 0.5)
        orders = Orders(pairs)
        assert orders.count(some) == len(list(orders.listed(some))) == len(temporal_orders(sorted(some), rules))
        assert set(orders.listed(some)) == set(temporal_orders(sorted(some), rules))
        layouts = Layouts(orders, frozenset(), dims)
        assert layouts.count(across, some - across) == len(spatial_orders(sorted(across), sorted(some - across), rules, None, dims))


def test_rules_that_say_nothing_new_are_redundant() -> None:
    """All of K is spread over GLB, so other levels have none; two equal limits cannot both go."""
    rules = [spatial("GLB", factors="K=4 P=4 C=1 R=1"), temporal("DRAM", factors="K=2"), temporal("GLB", factors="K=1"),
             temporal("RF", factors="C<=2 C<4"), bypass("DRAM", keep=["W"])]
    census = sm.space(spec_with(*rules))
    assert [cut.text for cut in census.cuts if cut.redundant and cut.is_rule] == [
        "GLB spatial: factors C=1", "GLB spatial: factors R=1", "GLB temporal: factors K=1", "RF temporal: factors C<=2",
        "RF temporal: factors C<4", "DRAM: keep W"]
    assert [cut.text for cut in census.cuts if cut.redundant and not cut.spare and cut.is_rule] == ["RF temporal: factors C<4"]
    assert all(cut.times > 1 for cut in census.cuts if not cut.redundant)


@pytest.mark.parametrize(("name", "rules"), [
    ("census.txt", [spatial("GLB", factors="C=1 R=1", permutation="KP"), temporal("GLB", permutation="RCPK", factors="C=2"),
                    temporal("RF", factors="C<=2 C<4"), bypass("RF", keep=["O"]), temporal("RF", no_temporal_reuse=["W"])]),
    ("census_capped.txt", [temporal("RF", factors="K=1"), {"spatial": {"product": "C*P <= 4"}}, {"metrics": {"cycles": "<= 96"}}]),
    ("census_empty.txt", [spatial("GLB", factors="P=16 K=8"), temporal("GLB", factors="C=1")]),
])
def test_the_text_reads_as_before(name: str, rules: list[dict[str, object]]) -> None:
    golden.check(name, f"{sm.space(spec_with(*rules))}\n")


def test_too_many_tiles_are_said_to_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each choice has by itself is counted all the same, exactly; nothing is estimated."""
    monkeypatch.setattr(tally, "MOST_TILES", 100)
    spec = spec_with(spatial("GLB", factors="C=1"), temporal("RF", permutation="CK"), {"metrics": {"cycles": "<= 96"}})
    census = sm.space(spec)
    assert (census.legal, census.cuts, census.empty, census.tiles) == (None, (), False, 120)
    golden.check("census_too_large.txt", f"{census}\n")


def test_products_of_too_many_values_are_said_not_to_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else is counted; `enumerate` keeps to the product nevertheless."""
    rules = [temporal("GLB", factors="C=2"), {"temporal": {"product": "C*K*P <= 40"}}]
    monkeypatch.setattr(tally, "MOST_WORK", 1000)
    census, without = sm.space(spec_with(*rules)), sm.space(spec_with(rules[0]))
    assert census.uncounted == ("all levels temporal: product C*K*P <= 40",)
    assert (census.legal, census.cuts) == (without.legal, without.cuts)
    assert census.uncounted[0] in str(census)
    spec = spec_with(*rules)
    assert all(sm.validate(spec, mapping).legal for mapping in sm.enumerate(spec, 5))


def test_json_has_all_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("design.yaml").write_text(yaml.safe_dump(DESIGN))
    lines = ("mapspace:", "- {target: GLB, type: temporal, factors: C=2}", "- {target: RF, type: temporal, factors: C<=4}")
    Path("rules.yaml").write_text("\n".join(lines))
    done = CliRunner().invoke(app, ["space", "design.yaml", "rules.yaml", "--json"])
    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert set(answer) == {"unruled", "ruled", "legal", "tiles", "dimensions", "levels", "rules", "capacities", "not_counted"}
    (cutting, redundant) = answer["rules"]
    assert cutting["mappings_without"] > answer["legal"]["mappings"] and not cutting["redundant"]
    assert redundant == {"text": "RF temporal: factors C<=4", "file": "rules.yaml", "line": 3, "times": 1.0, "redundant": True,
                         "spare": True, "mappings_without": answer["legal"]["mappings"]}
    assert [level["level"] for level in answer["levels"]] == ["DRAM", "GLB", "RF"]
    assert answer["levels"][2]["down"] == answer["legal"]["mappings"]


def test_an_empty_space_exits_with_1() -> None:
    done = CliRunner().invoke(app, ["space", str(EXAMPLE)])
    assert done.exit_code == 1
    assert done.stdout.startswith("no mapping is legal: see 'explain'\n")


def test_ten_to_the_20_mappings_of_a_real_layer_are_counted() -> None:
    """Six levels, seven dimensions: every mapping is in the number, and the first level's ways lead to all of them."""
    census = sm.space(sm.load(*library.resolve("eyeriss", "resnet50/layer2.x.conv2_3x3")))
    assert census.unruled.mappings > 10**20
    assert census.levels[-1].down == census.legal.mappings
    assert all(one.down <= other.down for one, other in zip(census.levels, census.levels[1:], strict=False))
    assert sum(cut.redundant for cut in census.cuts if cut.is_rule) >= sum(cut.spare for cut in census.cuts) > 0


def test_counting_trees_is_refused() -> None:
    folder = Path(__file__).parents[1] / "data" / "looptree" / "mm_single_01"
    with pytest.raises(sm.InputError, match="counting LoopTree mappings is not supported"):
        sm.space(sm.load(folder / "case.yaml"))


def test_products_of_real_size_are_all_choices() -> None:
    """Without buffers, meshes and rules the number is a product over dimensions."""
    single = [each for each in DESIGN["arch"]["storage"] if each["name"] == "DRAM"]
    spec = sm.load({**DESIGN, "arch": {"arithmetic": {"name": "MAC", "instances": 1}, "storage": single}})
    census = sm.space(spec)
    assert (census.legal.factorizations, census.legal.nests, census.legal.mappings) == (1, 24, 24)

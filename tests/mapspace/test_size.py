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
from solver_mapper.cli import app
from solver_mapper.core.constraints import Constraints, PermutationConstraint
from solver_mapper.core.loop_orders import ordered_pairs
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.io import bundled
from solver_mapper.mapspace.size import counter as counter
from solver_mapper.mapspace.size.counter import MappingCounter
from solver_mapper.mapspace.size.order_counts import Layouts, OrderCount
from solver_mapper.mapspace.space import build_space
from solver_mapper.verify.orders import spatial_orders, temporal_orders
from tests import golden
from tests.constraints.designs import DESIGN, PROBLEM, bypass, spatial, spec_with, temporal
from tests.mapspace.all_mappings import every_legal, mapspace_of, small_specs

EXAMPLE = Path(__file__).parents[2] / "examples" / "small_glb.yaml"


def counted(spec: Spec) -> sm.Count:
    groups = list(every_legal(spec))
    return sm.Count(
        len(groups),
        sum(len(each[0]) for each in groups),
        sum(len(group) for each in groups for group in each),
    )


def unlimited(spec: Spec) -> Spec:
    """The same with buffers that hold everything; those without entries still hold nothing."""
    levels = tuple(
        replace(
            buffer, entries=buffer.entries and 10**9, min_utilization=buffer.min_utilization * 0
        )
        for buffer in spec.need_architecture().levels
    )
    return replace(spec, architecture=replace(spec.need_architecture(), levels=levels))


def compare(seeds: range, most: int = 100) -> int:
    """How many designs were counted."""
    number = 0
    for seed, spec in small_specs(seeds, most):
        mapspace_size = sm.space(spec)
        assert (mapspace_size.legal, mapspace_size.constrained) == (
            counted(spec),
            counted(unlimited(spec)),
        ), seed
        assert {dim: each.left for dim, each in mapspace_size.chains.items()} == {
            dim: chains(spec, dim) for dim in mapspace_size.chains
        }, seed
        constraints = tuple(dict.fromkeys(spec.constraints))
        for cut in mapspace_size.cuts:
            kept = [
                constraint
                for constraint in constraints
                if not (cut.is_constraint and constraint.text == cut.text)
            ]
            if len(kept) == len(constraints) - 1:
                without = replace(spec, constraints=Constraints(tuple(kept)))
                assert cut.without == total(without), (seed, cut)
        spare = {cut.text for cut in mapspace_size.cuts if cut.spare}
        assert (
            total(
                replace(
                    spec,
                    constraints=Constraints(tuple(r for r in constraints if r.text not in spare)),
                )
            )
            >= mapspace_size.legal.mappings
        )
        number += 1
    return number


def chains(spec: Spec, dim: str) -> int:
    """Factorizations of a dimension that constraints about it allow, on meshes that have room for
    it.
    """
    mapspace, fanout = mapspace_of(spec), spec.need_architecture().fanout
    room = [
        fanout(level)["XY".index(axis)] if axis else spec.need_problem().bounds[dim]
        for level, axis in mapspace.loop_slots
    ]
    return sum(
        all(bound <= most for bound, most in zip(chain, room, strict=True))
        for chain in mapspace.chains(dim)
    )


def total(spec: Spec) -> int:
    return MappingCounter(
        build_space(spec.need_architecture(), spec.need_problem(), spec.constraints)
    ).total


def test_all_numbers_are_those_of_trying_every_mapping() -> None:
    assert compare(range(300, 308)) > 2


def test_a_problem_of_bounds_of_one_has_the_mappings_of_its_bypasses() -> None:
    shape = PROBLEM["problem"]["shape"]
    spec = spec_with(problem={"shape": shape, "instance": dict.fromkeys("CKRP", 1)}, mapping=[])
    mapspace_size = sm.space(spec)
    assert mapspace_size.legal == counted(spec)
    assert mapspace_size.legal.mappings > 1


@pytest.mark.campaign
def test_all_numbers_are_those_of_trying_every_mapping_in_a_thousand_designs() -> None:
    assert compare(range(10_000, 12_000), 300) > 1000


def prefix(mapping: Mapping, number: int) -> Mapping:
    return Mapping(mapping.levels[:number])


def test_ways_down_and_tiles_are_those_of_the_mappings_listed() -> None:
    for seed, spec in small_specs(range(400, 415), 100):
        mappings, mapspace_size = list(sm.enumerate(spec)), sm.space(spec)
        for number, level in enumerate(mapspace_size.levels):
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
        constraints = [
            PermutationConstraint(
                "L",
                "",
                "spatial",
                tuple(rng.sample(dims, rng.randint(0, 3))),
                (),
                rng.random() < 0.5,
            )
            for _ in range(rng.randint(0, 2))
        ]
        pairs = frozenset().union(*(ordered_pairs(constraint, dims) for constraint in constraints))
        some = frozenset(rng.sample(dims, rng.randint(0, 5)))
        across = frozenset(dim for dim in some if rng.random() < 0.5)
        orders = OrderCount(pairs)
        assert (
            orders.count(some)
            == len(list(orders.listed(some)))
            == len(temporal_orders(sorted(some), constraints))
        )
        assert set(orders.listed(some)) == set(temporal_orders(sorted(some), constraints))
        layouts = Layouts(orders, frozenset(), dims)
        assert layouts.count(across, some - across) == len(
            spatial_orders(sorted(across), sorted(some - across), constraints, None, dims)
        )


def test_rules_that_say_nothing_new_are_redundant() -> None:
    """All of K is spread over GLB, so other levels have none; two equal limits cannot both go."""
    constraints = [
        spatial("GLB", factors="K=4 P=4 C=1 R=1"),
        temporal("DRAM", factors="K=2"),
        temporal("GLB", factors="K=1"),
        temporal("RF", factors="C<=2 C<4"),
        bypass("DRAM", keep=["W"]),
    ]
    mapspace_size = sm.space(spec_with(*constraints))
    assert [cut.text for cut in mapspace_size.cuts if cut.redundant and cut.is_constraint] == [
        "GLB spatial: factors C=1",
        "GLB spatial: factors R=1",
        "GLB temporal: factors K=1",
        "RF temporal: factors C<=2",
        "RF temporal: factors C<4",
        "DRAM: keep W",
    ]
    assert [
        cut.text
        for cut in mapspace_size.cuts
        if cut.redundant and not cut.spare and cut.is_constraint
    ] == ["RF temporal: factors C<4"]
    assert all(cut.times > 1 for cut in mapspace_size.cuts if not cut.redundant)


@pytest.mark.parametrize(
    ("name", "constraints"),
    [
        (
            "mapspace_size.txt",
            [
                spatial("GLB", factors="C=1 R=1", permutation="KP"),
                temporal("GLB", permutation="RCPK", factors="C=2"),
                temporal("RF", factors="C<=2 C<4"),
                bypass("RF", keep=["O"]),
                temporal("RF", no_temporal_reuse=["W"]),
            ],
        ),
        (
            "mapspace_size_capped.txt",
            [
                temporal("RF", factors="K=1"),
                {"spatial": {"product": "C*P <= 4"}},
                {"metrics": {"cycles": "<= 96"}},
            ],
        ),
        (
            "mapspace_size_empty.txt",
            [spatial("GLB", factors="P=16 K=8"), temporal("GLB", factors="C=1")],
        ),
    ],
)
def test_the_text_reads_as_before(name: str, constraints: list[dict[str, object]]) -> None:
    golden.check(name, f"{sm.space(spec_with(*constraints))}\n")


def test_too_many_tiles_are_said_to_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each choice has by itself is counted all the same, exactly; nothing is estimated."""
    monkeypatch.setattr(counter, "MOST_TILES", 100)
    spec = spec_with(
        spatial("GLB", factors="C=1"),
        temporal("RF", permutation="CK"),
        {"metrics": {"cycles": "<= 96"}},
    )
    mapspace_size = sm.space(spec)
    assert (mapspace_size.legal, mapspace_size.cuts, mapspace_size.empty, mapspace_size.tiles) == (
        None,
        (),
        False,
        120,
    )
    golden.check("mapspace_size_too_large.txt", f"{mapspace_size}\n")


def test_products_of_too_many_values_are_said_not_to_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Everything else is counted; `enumerate` keeps to the product nevertheless."""
    constraints = [temporal("GLB", factors="C=2"), {"temporal": {"product": "C*K*P <= 40"}}]
    monkeypatch.setattr(counter, "MOST_WORK", 1000)
    mapspace_size, without = sm.space(spec_with(*constraints)), sm.space(spec_with(constraints[0]))
    assert mapspace_size.uncounted == ("all levels temporal: product C*K*P <= 40",)
    assert (mapspace_size.legal, mapspace_size.cuts) == (without.legal, without.cuts)
    assert mapspace_size.uncounted[0] in str(mapspace_size)
    spec = spec_with(*constraints)
    assert all(sm.validate(spec, mapping).legal for mapping in sm.enumerate(spec, 5))


def test_json_has_all_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("design.yaml").write_text(yaml.safe_dump(DESIGN))
    lines = (
        "mapspace:",
        "- {target: GLB, type: temporal, factors: C=2}",
        "- {target: RF, type: temporal, factors: C<=4}",
    )
    Path("rules.yaml").write_text("\n".join(lines))
    done = CliRunner().invoke(app, ["space", "design.yaml", "rules.yaml", "--json"])
    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert set(answer) == {
        "unruled",
        "ruled",
        "legal",
        "tiles",
        "dimensions",
        "levels",
        "rules",
        "capacities",
        "not_counted",
    }
    cutting, redundant = answer["rules"]
    assert cutting["mappings_without"] > answer["legal"]["mappings"] and not cutting["redundant"]
    assert redundant == {
        "text": "RF temporal: factors C<=4",
        "file": "rules.yaml",
        "line": 3,
        "times": 1.0,
        "redundant": True,
        "spare": True,
        "mappings_without": answer["legal"]["mappings"],
    }
    assert [level["level"] for level in answer["levels"]] == ["DRAM", "GLB", "RF"]
    assert answer["levels"][2]["down"] == answer["legal"]["mappings"]


def test_an_empty_space_exits_with_1() -> None:
    done = CliRunner().invoke(app, ["space", str(EXAMPLE)])
    assert done.exit_code == 1
    assert done.stdout.startswith("no legal mapping exists; run 'solver-mapper explain'\n")


def test_ten_to_the_20_mappings_of_a_real_layer_are_counted() -> None:
    """Six levels, seven dimensions: every mapping is in the number, and the first level's ways lead
    to all of them.
    """
    mapspace_size = sm.space(sm.load(*bundled.resolve("eyeriss", "resnet50/layer2.x.conv2_3x3")))
    assert mapspace_size.unconstrained.mappings > 10**20
    assert mapspace_size.levels[-1].down == mapspace_size.legal.mappings
    assert all(
        one.down <= other.down
        for one, other in zip(mapspace_size.levels, mapspace_size.levels[1:], strict=False)
    )
    assert (
        sum(cut.redundant for cut in mapspace_size.cuts if cut.is_constraint)
        >= sum(cut.spare for cut in mapspace_size.cuts)
        > 0
    )


def test_products_of_real_size_are_all_choices() -> None:
    """Without buffers, meshes and constraints the number is a product over dimensions."""
    single = [each for each in DESIGN["arch"]["storage"] if each["name"] == "DRAM"]
    spec = sm.load(
        {**DESIGN, "arch": {"arithmetic": {"name": "MAC", "instances": 1}, "storage": single}}
    )
    mapspace_size = sm.space(spec)
    assert (
        mapspace_size.legal.factorizations,
        mapspace_size.legal.nests,
        mapspace_size.legal.mappings,
    ) == (1, 24, 24)

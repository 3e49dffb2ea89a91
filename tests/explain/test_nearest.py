"""`suggest` against looking at every legal mapping, and what it says about the one it finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest
import yaml
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli.app import app
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.explain.nearest import search
from solver_mapper.explain.nearest.directives import KINDS, directives_of
from solver_mapper.verify.mapspace import EnumeratedMapspace
from tests import golden
from tests.campaigns import in_campaigns
from tests.constraints.designs import ARCHITECTURE, DESIGN, MAPPING, spatial, spec_with, temporal
from tests.constraints.random_designs import random_mapping, random_spec


def legal_mappings(spec: Spec) -> Iterator[Mapping]:
    """One order of each: factors and bypass are what the distance is about."""
    mapspace = EnumeratedMapspace(spec.need_architecture(), spec.need_problem(), spec.constraints)
    keeps = [mapspace.keeps(name) for name in spec.need_problem().tensor_names]
    for bounds in mapspace.factorizations():
        skeleton = next(iter(mapspace.arrangements(bounds)), None)
        for chosen in product(*keeps) if skeleton is not None else ():
            mapping = mapspace.mapping(skeleton, chosen)
            if sm.validate(spec, mapping).legal:
                yield mapping


Row = tuple[tuple[int, ...], tuple[frozenset[str], ...]]


def row(spec: Spec, mapping: Mapping) -> Row:
    """The bounds of all directives of a mapping, and what each level keeps."""
    found = directives_of(mapping, spec.need_architecture(), spec.need_problem())
    dims = spec.need_problem().dims
    bounds = (
        found.loop(level, kind, dim).bound
        for level in range(len(found.levels))
        for kind in KINDS
        for dim in dims
    )
    return tuple(bounds), tuple(frozenset(level.keep) for level in found.levels)


def distance(one: Row, other: Row) -> tuple[int, int]:
    """(factors, tensors kept or bypassed) that differ."""
    factors = sum(a != b for a, b in zip(one[0], other[0], strict=True))
    return factors, sum(len(a ^ b) for a, b in zip(one[1], other[1], strict=True))


def compare(seeds: range, most: int) -> int:
    """How many of the random mappings were illegal and had a legal neighbour; of each the
    suggestion is the nearest. Designs with more than `most` mappings are left out.
    """
    found = 0
    for seed in seeds:
        rng = Random(seed)
        spec = random_spec(rng, 3)
        if (
            EnumeratedMapspace(
                spec.need_architecture(), spec.need_problem(), spec.constraints
            ).count(most)
        ) is None:
            continue
        given = random_mapping(rng, spec)
        own = row(spec, given)
        distances = [distance(own, row(spec, other)) for other in legal_mappings(spec)]
        for held in (False, True):
            suggestion = sm.suggest(spec, given, hold_bypass=held)
            assert (suggestion.mapping is None) == (not distances), seed
            if suggestion.mapping is not None:
                nearest = min(distances, key=lambda each: each[::-1]) if held else min(distances)
                assert distance(own, row(spec, suggestion.mapping)) == nearest, seed
                assert (
                    suggestion.count("factor") == nearest[0]
                    and suggestion.count("storage") == nearest[1]
                ), seed
                assert sm.validate(spec, suggestion.mapping).legal and suggestion.proven
        found += bool(distances) and not sm.validate(spec, given).legal
    return found


@pytest.mark.parametrize("first", [0, *in_campaigns([15])])
def test_no_legal_mapping_is_nearer(first: int) -> None:
    assert compare(range(first, first + 15), 300) > 2


@pytest.mark.parametrize("first", in_campaigns(range(5000, 6000, 25)))
def test_no_legal_mapping_is_nearer_in_larger_designs(first: int) -> None:
    assert compare(range(first, first + 25), 3000) > 0


def test_a_legal_mapping_is_its_own_suggestion() -> None:
    spec = spec_with()
    suggestion = sm.suggest(spec)
    assert suggestion.mapping == spec.mapping
    assert (suggestion.differences, suggestion.diff, str(suggestion)) == (
        (),
        "",
        "the mapping is legal; nothing to change",
    )


def test_the_order_is_kept_as_far_as_rules_allow() -> None:
    """P moves inwards, R and C stay as they were."""
    suggestion = sm.suggest(spec_with(temporal("GLB", permutation="P")))
    (order,) = suggestion.differences
    assert (order.part, order.level, order.before, order.after) == (
        "order",
        "GLB",
        "R C P",
        "P R C",
    )


def test_axes_are_differences_and_reuse_that_the_hardware_lacks_is_none() -> None:
    suggestion = sm.suggest(
        spec_with(spatial("GLB", permutation="PKCR", split=1, no_link_transfer=["I"]))
    )
    assert {(each.part, each.what, each.after) for each in suggestion.differences} == {
        ("axis", "spatial K", "along Y"),
        ("axis", "spatial P", "along X"),
    }
    assert all(
        level.no_link_transfer == ({"I"} if level.level == "GLB" else set())
        for level in suggestion.mapping.levels
    )


def test_bypass_is_held_where_factors_do() -> None:
    """Inputs and outputs need 60 of 40 words in the global buffer: bypass would do, and so would
    smaller tiles.
    """
    storage = [
        {**each, "entries": 40} if each["name"] == "GLB" else each
        for each in ARCHITECTURE["arch"]["storage"]
    ]
    spec = spec_with(arch={**ARCHITECTURE["arch"], "storage": storage})
    free, held = sm.suggest(spec), sm.suggest(spec, hold_bypass=True)
    assert (free.count("factor"), free.count("storage")) == (0, 1)
    assert held.count("factor") > 0 and held.count("storage") == 0


def test_residual_factors_are_made_perfect() -> None:
    """Only perfect factors are suggested, and a factor that loses its residual has changed."""
    mapping = [
        {**each, "factors": "K=2 P=3,1"} if each["target"] == "DRAM" else each for each in MAPPING
    ]
    suggestion = sm.suggest(spec_with(mapping=mapping))
    assert [(each.before, each.after) for each in suggestion.differences] == [("P=3,1", "P=2")]


@pytest.mark.parametrize(
    ("caps", "factors"),
    [({"cycles": "<= 96"}, 2), ({"cycles": "<= 95"}, None), ({"energy_pj": "<= 1"}, None)],
)
def test_caps_on_figures_are_kept(
    caps: dict[str, str], factors: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cap on cycles is known to the solver by the steps of loops, any other is judged mapping by
    mapping, and not of very many.
    """
    monkeypatch.setattr(search, "_TRIES", 20)
    half = [
        {**each, "factors": "K=2 P=4"} if each["type"] == "spatial" else each for each in MAPPING
    ]
    half[0] = {**half[0], "factors": "K=4 P=2"}
    spec = spec_with({"metrics": caps}, mapping=half)
    suggestion = sm.suggest(spec)
    if factors is None:
        assert suggestion.mapping is None
    else:
        assert suggestion.mapping is not None and sm.validate(spec, suggestion.mapping).legal
        assert suggestion.count("factor") == factors


def test_where_nothing_is_legal_there_is_no_suggestion() -> None:
    suggestion = sm.suggest(spec_with(spatial("GLB", factors="P=16 K=8")))
    assert (suggestion.mapping, suggestion.proven) == (None, True)
    assert str(suggestion) == "no legal mapping exists; run 'solver-mapper explain'"
    assert suggestion.to_dict()["mapping"] is None


def test_a_time_limit_ends_the_search() -> None:
    suggestion = sm.suggest(spec_with(temporal("GLB", factors="C=4")), time_limit=0)
    assert (suggestion.mapping, suggestion.proven) == (None, False)
    assert str(suggestion) == "no legal mapping was found within the limits"


def test_suggestions_for_trees_are_refused() -> None:
    folder = Path(__file__).parents[1] / "data" / "looptree" / "mm_single_01"
    with pytest.raises(sm.InputError, match="LoopTree mappings are not supported"):
        sm.suggest(sm.load(*sorted(folder.glob("*.yaml"))))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A design, a mapping that breaks four constraints, and the constraints."""
    monkeypatch.chdir(tmp_path)
    mapping = [
        {**each, "factors": "K=4 P=2"} if each["target"] == "DRAM" else each for each in MAPPING
    ]
    texts = {
        "design.yaml": yaml.safe_dump(DESIGN),
        "map.yaml": yaml.safe_dump({"mapping": mapping}, default_flow_style=None, width=200),
        "rules.yaml": (
            "mapspace:\n- {target: GLB, type: temporal, factors: C=4, permutation: PRC}\n"
            "- {target: GLB, type: bypass, keep: [W]}\n"
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return list(texts)


def test_the_terminal_shows_a_diff(files: list[str]) -> None:
    done = CliRunner().invoke(app, ["validate", *files, "--suggest"])
    assert done.exit_code == 1
    golden.check("suggestion.txt", done.stdout)


def test_json_has_the_mapping_and_the_diff(files: list[str]) -> None:
    done = CliRunner().invoke(app, ["validate", *files, "--suggest", "--json"])
    answer = json.loads(done.stdout)
    assert done.exit_code == 1 and answer["legal"] is False and len(answer["violations"]) == 4
    suggestion = answer["suggestion"]
    spec = sm.load("design.yaml", "rules.yaml", {"mapping": suggestion["mapping"]})
    assert sm.validate(spec).legal
    assert suggestion["factors_changed"] == 3 and suggestion["proven"] is True
    assert {
        "part": "factor",
        "level": "GLB",
        "what": "temporal",
        "before": "C=2",
        "after": "C=4",
        "file": "map.yaml",
        "line": 3,
    } in suggestion["differences"]
    assert suggestion["diff"].startswith("--- given\n+++ nearest legal mapping\n@@")


def test_a_legal_mapping_needs_no_diff(files: list[str]) -> None:
    done = CliRunner().invoke(
        app,
        ["validate", "design.yaml", "-", "--suggest"],
        input=yaml.safe_dump({"mapping": MAPPING}),
    )
    assert (done.exit_code, done.stdout) == (0, "legal\n")


def test_without_being_asked_json_has_no_suggestion(files: list[str]) -> None:
    assert "suggestion" not in json.loads(
        CliRunner().invoke(app, ["validate", *files, "--json"]).stdout
    )

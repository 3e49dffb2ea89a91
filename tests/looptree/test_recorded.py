"""Figures and refusals of recorded cases (tests/data/looptree/README.md)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import solver_mapper as sm

DATA = Path(__file__).parents[1] / "data" / "looptree"
GOOD = sorted(
    path.parent.name
    for path in DATA.glob("*/expected.json")
    if not path.parent.name.startswith("bad")
)
BAD = {
    "bad_capacity_36": ("capacity", "Sram"),
    "bad_capacity_37": ("capacity", "Shared"),
    "bad_capacity_shared_42": ("capacity", "Scratch"),
    "bad_component_38": ("unknown-name", "Cache9"),
    "bad_missing_loop_39": ("missing-loop", None),
    "bad_not_nested_41": ("tile-not-nested", None),
    "bad_not_stored_40": ("not-stored", None),
}


def leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    elif isinstance(tree, (int, float)):
        yield path, tree


@pytest.mark.parametrize("name", GOOD)
def test_every_recorded_figure_and_the_same_after_writing_and_reading_the_mapping(name: str):
    spec = sm.load(DATA / name / "case.yaml")
    assert isinstance(spec, sm.TreeSpec)
    again = sm.load(io.StringIO(spec.need_mapping().to_yaml()))
    assert isinstance(again, sm.TreeSpec) and again.mapping == spec.mapping
    found = sm.evaluate(spec).to_dict()
    assert sm.evaluate(spec, mapping=again.need_mapping()).to_dict() == found
    assert sm.validate(spec).legal
    wanted = json.loads((DATA / name / "expected.json").read_text())
    mine = dict(leaves(found))
    for key in ("energy", "latency", "energy_by_component", "per_einsum", "actions", "occupancy"):
        for path, value in leaves(wanted[key], (key,)):
            assert mine.get(path, 0) == pytest.approx(value, rel=1e-9), path


@pytest.mark.parametrize("name", BAD)
def test_wrong_mappings_are_refused_with_rule_and_line(name: str):
    (violation,) = sm.validate(sm.load(DATA / name / "case.yaml")).violations
    rule, level = BAD[name]
    assert (violation.rule, violation.level) == (rule, level)
    assert violation.location.line is not None


def test_all_recorded_cases_are_tested():
    assert {path.parent.name for path in DATA.glob("*/case.yaml")} == {*GOOD, *BAD}

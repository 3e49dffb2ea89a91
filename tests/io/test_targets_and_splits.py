"""Targets with ranges, and splits that cannot mean what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import solver_mapper as sm
from solver_mapper import constraints
from solver_mapper.core.spec import Spec
from solver_mapper.errors import InputError
from solver_mapper.io.yaml.warnings import InputWarning
from tests.constraints.designs import DESIGN, MAPPING, spatial, spec_with, temporal

TREE: dict[str, Any] = {
    "architecture": {
        "version": 0.3,
        "subtree": [
            {
                "name": "system",
                "local": [{"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 16}}],
                "subtree": [
                    {
                        "name": "PE[0..3]",
                        "local": [
                            {
                                "name": "RF[0..1]",
                                "class": "regfile",
                                "attributes": {
                                    "depth": 64,
                                    "width": 16,
                                    "word-bits": 16,
                                    "meshX": 8,
                                },
                            },
                            {
                                "name": "MAC[0..1]",
                                "class": "intmac",
                                "attributes": {"word-bits": 16, "meshX": 8},
                            },
                        ],
                    }
                ],
            }
        ],
    }
}


def about_splits(spec: Spec) -> list[InputWarning]:
    return [each for each in spec.warnings if each.code == "split-above-loops"]


def test_a_target_may_have_the_range_of_its_level() -> None:
    plain = spec_with(temporal("RF", factors="C=2"))
    assert spec_with(temporal("RF[0..15]", factors="C=2")).constraints == plain.constraints
    ranged = [
        {**each, "target": f"{each['target']}[0..15]"} if each["target"] == "RF" else each
        for each in MAPPING
    ]
    assert spec_with(mapping=ranged).mapping == plain.mapping


@pytest.mark.parametrize("target", ["PE", "PE[0..3]", "PE[ 0 .. 3 ]"])
def test_a_subtree_may_have_its_range(target: str) -> None:
    spec = sm.load(
        {
            **TREE,
            "problem": DESIGN["problem"],
            "architecture_constraints": [temporal(target, factors="C=2")],
        }
    )
    assert isinstance(spec, Spec)
    assert [constraint.level for constraint in spec.constraints] == ["RF"]


def test_the_range_of_one_instance_above_is_accepted() -> None:
    """`RF[0..1]` in each of four PEs: 8 instances."""
    spec = sm.load(
        {
            **TREE,
            "problem": DESIGN["problem"],
            "architecture_constraints": [temporal("RF[0..1]", factors="C=2")],
        }
    )
    assert isinstance(spec, Spec) and [constraint.level for constraint in spec.constraints] == [
        "RF"
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("RF[0..6]", "'RF[0..6]' has 7 instances; the architecture has 16 of 'RF'; write 'RF'"),
        ("RF[0-15]", "'RF[0-15]' is not a name with a range; ranges are written 'PE[0..15]'"),
        ("RF[3..1]", "the range of 'RF[3..1]' ends before it begins"),
        ("PE[0..15]", "unknown level 'PE'"),
    ],
)
def test_a_range_that_is_not_the_levels_is_refused(target: str, message: str) -> None:
    for where in (
        {"architecture_constraints": [temporal(target, factors="C=2")]},
        {"mapping": [temporal(target, factors="C=2")]},
    ):
        with pytest.raises(InputError) as caught:
            sm.load({**DESIGN, **where})
        assert message in str(caught.value)


@pytest.mark.parametrize("key", ["architecture_constraints", "mapping"])
def test_a_split_above_the_number_of_loops_is_warned_about_with_its_line(
    key: str, tmp_path: Path
) -> None:
    file = tmp_path / "split.yaml"
    file.write_text(f"{key}:\n- target: GLB\n  type: spatial\n  split: 999\n")
    spec = sm.load(DESIGN, file)
    assert isinstance(spec, Spec)
    (warning,) = about_splits(spec)
    assert warning.startswith(f"{file}:4:10: split 999 of the spatial ")
    assert "above the 4 loops that there are: all of them lie along X" in warning


def test_a_split_of_all_loops_is_not_warned_about() -> None:
    assert about_splits(spec_with(spatial("GLB", split=4))) == []


def test_a_split_of_a_rule_in_python_is_warned_about() -> None:
    (warning,) = about_splits(constraints.add(spec_with(), constraints.split("GLB", 5)))
    assert "split 5 of the spatial constraint of 'GLB' is above the 4 loops" in warning


def test_a_split_of_constrained_temporal_loops_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "split.yaml"
    entry = {"target": "GLB", "type": "temporal", "split": 2}
    file.write_text(yaml.safe_dump({"architecture_constraints": [entry]}, sort_keys=False))
    with pytest.raises(InputError) as caught:
        sm.load(DESIGN, file)
    assert caught.value.line == 4
    assert (
        "has a 'split', but temporal loops lie along no axis of a mesh; move it to the spatial"
        " directive" in str(caught.value)
    )


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        (
            {"type": "temporal", "split": 2},
            "'split' of the temporal directive of 'GLB' is not read, as in Timeloop: temporal loops"
            " lie along no axis of a mesh",
        ),
        (
            {"type": "datatype", "stream": []},
            "'stream' of the datatype directive of 'GLB' is not read, as in Timeloop",
        ),
        (
            {"type": "bypass", "permutation": "KC"},
            "'permutation' of the bypass directive of 'GLB' is not read, as in Timeloop: what is"
            " kept has no loops",
        ),
    ],
)
def test_keys_of_a_mapping_that_timeloop_does_not_read_are_warned_about(
    entry: dict[str, object], what: str, tmp_path: Path
) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(yaml.safe_dump({"mapping": [{"target": "GLB", **entry}]}, sort_keys=False))
    (warning,) = (each for each in sm.load(DESIGN, file).warnings if each.code == "unread-key")
    assert warning == f"{file}:4:{len(str(list(entry)[1])) + 5}: {what}"
    file.write_text(
        yaml.safe_dump({"mapping": [{"target": "GLB", "type": "datatype", "keeps": 1}]})
    )
    with pytest.raises(InputError, match="has no field 'keeps'; did you mean 'keep'"):
        sm.load(DESIGN, file)


def test_loops_in_a_constraint_on_what_is_kept_are_warned_about(tmp_path: Path) -> None:
    """An empty value says nothing, as if the key were not there."""
    file = tmp_path / "constraints.yaml"
    text = "mapspace_constraints:\n- target: GLB\n  type: bypass\n  keep: [I]\n  permutation:"
    file.write_text(text)
    assert not [each for each in sm.load(DESIGN, file).warnings if each.code == "unread-key"]
    file.write_text(f"{text} KC")
    (warning,) = (each for each in sm.load(DESIGN, file).warnings if each.code == "unread-key")
    assert warning == (
        f"{file}:5:16: 'permutation' of the bypass constraint of 'GLB' is not read, as in Timeloop:"
        " what is kept has no loops"
    )


def test_a_stream_that_older_versions_of_timeloop_read_is_warned_about_as_that(
    tmp_path: Path,
) -> None:
    file = tmp_path / "map.yaml"
    file.write_text("mapping:\n- {target: GLB, type: datatype, stream: [Inputs]}\n")
    (warning,) = (each for each in sm.load(DESIGN, file).warnings if each.code == "unread-key")
    assert warning == (
        f"{file}:2:41: 'stream' of the datatype directive of 'GLB' is not read, as in the present"
        " version of Timeloop; older versions read it, and their figures may differ"
    )

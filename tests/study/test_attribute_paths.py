"""Attributes changed by path: the specification is the one that a changed file would give."""

from __future__ import annotations

from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io import bundled

V04 = """
architecture:
  version: 0.4
  nodes:
  - !Container {name: system}
  - !Component {name: DRAM, class: DRAM, attributes: {width: 16, datawidth: 16}}
  - !Component {name: GLB, class: SRAM, attributes: {depth: 64, width: 16, datawidth: 16}}
  - !Container {name: PE, spatial: {meshX: 4}}
  - !Component {name: RF, class: regfile, attributes: {depth: 8, width: 16, datawidth: 16}}
  - !Component {name: MAC, class: intmac, attributes: {datawidth: 16}}
"""
FLAT = """
arch:
  arithmetic: {name: MAC, instances: 4, meshX: 4}
  storage:
  - {name: RF, entries: 8, instances: 4, meshX: 4}
  - {name: GLB, sizeKB: 4, instances: 1}
  - {name: DRAM, technology: DRAM, instances: 1}
"""


def spec_of(*files: object) -> sm.Spec:
    loaded = sm.load(*bundled.resolve(*files))  # type: ignore[arg-type]
    assert isinstance(loaded, sm.Spec)
    return loaded


def level(spec: sm.Spec, name: str):  # type: ignore[no-untyped-def]
    architecture = spec.need_architecture()
    return architecture.levels[architecture.index(name)]


@pytest.fixture(scope="module")
def eyeriss() -> sm.Spec:
    return spec_of("eyeriss", "resnet50/conv1")


def test_a_change_gives_what_a_changed_file_gives(eyeriss: sm.Spec, tmp_path: Path) -> None:
    text = bundled.path("architectures", "eyeriss", "arch.yaml").read_text()
    for old, new in (
        ("entries: 65536", "entries: 32768"),
        ("[0..13]", "[0..6]"),
        ("[0..11]", "[0..9]"),
        ("meshX: 14", "meshX: 7"),
    ):
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "arch.yaml"
    file.write_text(text)
    changed = eyeriss.with_attributes(
        {"shared_glb.entries": 32768, "column.count": 7, "PE.count": 10, "*.meshX": 7}
    )
    written = spec_of(
        file, bundled.path("architectures", "eyeriss", "cnn-layer.yaml"), "resnet50/conv1"
    )
    assert changed.architecture == written.architecture
    assert changed.constraints == written.constraints
    assert level(eyeriss, "shared_glb").entries == 65536, "the original is as it was"


def test_another_name_of_the_same_quantity_is_replaced() -> None:
    changed = spec_of("simba", "resnet50/conv1").with_attributes(
        {"GlobalBuffer.sizeKB": 2, "GlobalBuffer.word_width": 16}
    )
    assert (level(changed, "GlobalBuffer").entries, level(changed, "GlobalBuffer").word_bits) == (
        1024,
        16,
    )


def test_energies_of_a_table_change_by_action_and_formulas_follow_sizes(
    eyeriss: sm.Spec, tmp_path: Path
) -> None:
    changed = level(
        eyeriss.with_attributes({"shared_glb.energy.read": 5.5, "shared_glb.energy.w*": "1/3"}),
        "shared_glb",
    )
    assert (float(changed.energy.read), changed.energy.fill * 3, changed.energy.update) == (
        5.5,
        1,
        6,
    )
    file = tmp_path / "flat.yaml"
    file.write_text(FLAT)
    spec = spec_of(file, "tiny/mm8")
    assert (
        level(spec.with_attributes({"GLB.sizeKB": 64}), "GLB").energy.read
        > level(spec, "GLB").energy.read
    )


def test_the_other_notations_have_paths_too(tmp_path: Path) -> None:
    (tmp_path / "v04.yaml").write_text(V04)
    (tmp_path / "flat.yaml").write_text(FLAT)
    v04 = spec_of(tmp_path / "v04.yaml", "tiny/mm8").with_attributes(
        {"GLB.entries": 32, "PE.meshX": 8}
    )
    assert (level(v04, "GLB").entries, v04.need_architecture().arithmetic.instances) == (32, 8)
    flat = spec_of(tmp_path / "flat.yaml", "tiny/mm8").with_attributes(
        {
            "RF.entries": 16,
            "RF.instances": 8,
            "MAC.instances": 8,
            "*.meshX": 8,
            "DRAM.read_bandwidth": "1/2",
        }
    )
    assert (level(flat, "RF").entries, flat.need_architecture().arithmetic.instances) == (16, 8)
    assert level(flat, "DRAM").read_bandwidth * 2 == 1


def test_variables_are_paths(tmp_path: Path) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text("variables: {size: 8}\n" + FLAT.replace("entries: 8", "entries: 2 * size"))
    assert (
        level(spec_of(file, "tiny/mm8").with_attributes({"variables.size": 5}), "RF").entries == 10
    )


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("shared_glb", 1, "shared_glb: 'shared_glb' is not the path of an attribute; for example"),
        ("glb.entries", 1, "glb.entries: there is no component 'glb'"),
        ("shared_glb.entrie", 1, "no component has an attribute 'entrie'; did you mean 'entries'?"),
        ("DRAM.count", 2, "no component 'DRAM' has a range of names"),
        ("PE.count", 0, "a count must be a whole number of at least 1"),
        ("column.entries", 2, "no component 'column' has an attribute 'entries'"),
        (
            "shared_glb.entries",
            "many",
            "shared_glb.entries: 'entries' of storage level 'shared_glb' must be a number",
        ),
        ("shared_glb.energy.red", 1, "the energy table has no action 'red' of 'shared_glb'"),
        ("variables.size", 1, "there is no 'variables' in the input"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(
    eyeriss: sm.Spec, path: str, value: object, message: str
) -> None:
    with pytest.raises(sm.InputError) as refused:
        eyeriss.with_attributes({path: value})
    assert message in str(refused.value)


def test_a_specification_that_was_not_read_cannot_be_changed(eyeriss: sm.Spec) -> None:
    with pytest.raises(sm.InputError, match="was not read from files"):
        sm.Spec(eyeriss.architecture, eyeriss.problem).with_attributes({"shared_glb.entries": 1})

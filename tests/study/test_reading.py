"""Networks are read as single layers are: templates, warnings, and what turns these off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import solver_mapper as sm
from solver_mapper.io.templates import TemplateOptions
from solver_mapper.io.yaml.warnings import warning_filter
from tests.study.commands import run
from tests.study.test_networks import LAYERS

TEMPLATE = """
architecture:
  subtree:
  - name: system
    local:
    - {name: DRAM, class: DRAM, attributes: {word-bits: 16}}
    subtree:
    - name: chip
      local:
      - {name: GLB, class: SRAM, attributes: {entries: {{ size }}, word-bits: 16, colour: 3}}
      - {name: MAC, class: intmac, attributes: {datawidth: 16}}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "arch.yaml.jinja2"
    path.write_text(TEMPLATE.replace("- name: system", "- name: system", 1))
    return path


def test_variables_of_templates_reach_the_layers(template: Path) -> None:
    def entries(size: int) -> int | None:
        reading = sm.Reading(TemplateOptions({"size": size}))
        found = sm.solve_network(str(template), LAYERS[:1], reading=reading)
        return found.layers[0].spec.need_architecture().levels[1].entries

    assert (entries(100), entries(200)) == (100, 200)


def test_warnings_are_told_once_and_may_be_errors(template: Path) -> None:
    reading = sm.Reading(TemplateOptions({"size": 100}))
    found = sm.solve_network(str(template), LAYERS, reading=reading)
    (warning,) = [each for each in found.warnings if "colour" in each]
    assert sum(each == warning for each in found.warnings) == 1
    strict = sm.Reading(TemplateOptions({"size": 100}), warnings=warning_filter((), strict=True))
    with pytest.raises(sm.InputError, match="colour"):
        sm.solve_network(str(template), LAYERS, reading=strict)


def test_constraints_on_a_dimension_that_is_1_in_some_layers_are_no_mistake() -> None:
    """The rows of a filter, in the dataflow of Eyeriss, beside a filter of 1 x 1."""
    bounds = {"N": 1, "K": 4, "C": 4, "P": 4, "Q": 4, "R": 1, "S": 1}
    layers = {"layers": [{"name": "a", "shape": "cnn-layer", "instance": bounds}]}
    assert sm.solve_network("eyeriss", layers).warnings == ()


def test_the_command_has_the_options(template: Path, tmp_path: Path) -> None:
    layers = tmp_path / "layers.yaml"
    layers.write_text("layers:\n- {name: a, shape: gemm, instance: {M: 4, N: 4, K: 4}}\n")
    code, _, err = run("solve", template, layers, "-D", "size=64", "--json")
    assert code == 0 and "warning: " in err and "colour" in err
    code, _, err = run("solve", template, layers, "-D", "size=64", "--strict")
    assert code == 2 and "colour" in err
    code, _, err = run("solve", template, layers, "-D", "size=64", "-W", "accelergy-attribute")
    assert code == 0 and "colour" not in err
    assert run("solve", template, layers)[0] == 2


SWEEP = """sweep:
  architecture: arch.yaml.jinja2
  workloads: [tiny/mm8]
  parameters: {GLB.entries: [64, {{ most }}]}
"""


@pytest.fixture
def sweep(template: Path) -> Path:
    path = template.parent / "sweep.yaml.jinja2"
    path.write_text(SWEEP)
    return path


def test_sweeps_take_variables_for_themselves_and_their_architecture(sweep: Path) -> None:
    """Neither is reported as unused because only one of the two files uses it; a third is."""
    code, out, err = run(
        "sweep", sweep, "-D", "most=128", "-D", "size=64", "-D", "other=1", "--json"
    )
    assert code == 0
    points = json.loads(out)["points"]
    assert [each["parameters"]["GLB.entries"] for each in points] == [64, 128]
    assert re.findall("no template uses the variable '([a-z]+)'", err) == ["other"]


def test_sweeps_tell_warnings_once_and_filter_them(sweep: Path) -> None:
    said = ("sweep", sweep, "-D", "most=128", "-D", "size=64", "--json")
    code, _, err = run(*said)
    assert code == 0 and err.count("colour") == 1
    assert "colour" not in run(*said, "-W", "accelergy-attribute")[2]
    code, _, err = run(*said, "--strict")
    assert code == 2 and "colour" in err


def test_standard_input_has_positions_and_uses_its_variables(sweep: Path) -> None:
    words = ("sweep", "-", "-D", "most=128", "-D", "size=16", "--json")
    text = SWEEP.replace("arch.yaml.jinja2", str(sweep.parent / "arch.yaml.jinja2"))
    code, out, err = run(*words, stdin=text)
    assert code == 0 and len(json.loads(out)["points"]) == 2
    assert "unused-variable" not in err
    code, _, err = run(*words, stdin=text.replace("tiny/mm8", "tiny/mm9"))
    assert code == 2 and "<stdin>:3:15: " in err


def test_an_architecture_on_standard_input_uses_its_variables(tmp_path: Path) -> None:
    layers = tmp_path / "layers.json"
    layer = {"name": "a", "shape": "gemm", "instance": {"M": 4, "N": 4, "K": 4}}
    layers.write_text(json.dumps({"layers": [layer]}))
    words = ("solve", "-", layers, "-D", "size=64", "--json")
    code, out, err = run(*words, stdin=TEMPLATE)
    assert code == 0 and json.loads(out)["totals"]["macs"] == 64
    assert "unused-variable" not in err and "<stdin>:10:" in err


def test_the_layers_take_the_place_of_a_problem_in_the_design(tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    design.write_text(
        TEMPLATE.replace("{{ size }}", "64") + "problem: {shape: cnn-layer, instance: {C: 3}}\n"
    )
    found = sm.solve_network(str(design), LAYERS[:1])
    (warning,) = [each for each in found.warnings if each.code == "replaced-problem"]
    assert warning == (
        f"{design}:12:1: this problem is not used: the layers of the network take its place"
    )
    assert found.layers[0].spec.need_problem().macs == found.totals.macs // LAYERS[0][1]

"""Networks are read as single layers are: templates, warnings, and what turns these off."""

from __future__ import annotations

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


def test_the_command_has_the_options(template: Path, tmp_path: Path) -> None:
    layers = tmp_path / "layers.yaml"
    layers.write_text("layers:\n- {name: a, shape: gemm, instance: {M: 4, N: 4, K: 4}}\n")
    code, _, err = run("solve", template, layers, "-D", "size=64", "--json")
    assert code == 0 and "warning: " in err and "colour" in err
    assert run("solve", template, layers, "-D", "size=64", "--strict")[0] == 2
    assert run("solve", template, layers)[0] == 2

"""`energies` on LoopTree files: figures of AccelForge's component models, and what is missing where
that package is not installed. A stand-in takes its place here.
"""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app

DESIGN = """\
sliced: &sliced {bits_per_value: {input: slice_bits}, actions_scale: slices}
arch:
  variables: {slice_bits: pick(sizes), slices: 2}
  nodes:
  - !Memory
    name: Dram
    size: inf
    component_class: LPDDR4
    tensors: {keep: All}
  - !Memory
    <<: *sliced
    name: Buffer
    size: 32 * slice_bits
    leak_power_scale: slices
    component_class: SRAM
    tensors: {keep: input, may_keep: All}
  - !Container
    name: Row
    spatial: [{name: X, fanout: 2 * slices, may_reuse: input, min_usage: 1}]
  - !Compute {name: MAC, component_class: Dummy}
variables: {sizes: [4, 8]}
workload:
  rank_sizes: {M: 4, N: 4, K: 4}
  bits_per_value: {All: 8}
  einsums:
  - name: E
    tensor_accesses:
    - {name: input, projection: [m, k]}
    - {name: weight, projection: [k, n]}
    - {name: output, projection: [m, n], output: True}
"""


def leaf(name: str, spatial: dict[str, int] | None = None, **figures: Any) -> SimpleNamespace:
    energies = figures.pop("energies", {})
    actions = [
        SimpleNamespace(name=action, energy=energy, throughput=float("inf"), bits_per_action=1)
        for action, energy in energies.items()
    ]
    listed = [
        SimpleNamespace(name=key, fanout=size, min_usage=1, usage_scale=1)
        for key, size in (spatial or {}).items()
    ]
    return SimpleNamespace(name=name, actions=actions, spatial=listed, **figures)


def components(energy: float) -> list[SimpleNamespace]:
    """What AccelForge would say of `DESIGN`."""
    return [
        leaf("Dram", size=float("inf"), leak_power=0, area=0, energies={"read": 64, "write": 64}),
        leaf(
            "Buffer",
            size=256,
            leak_power=0.5,
            area=1.5,
            actions_scale=2,
            bits_per_value={"input": 4.0},
            energies={"read": energy, "write": 2 * energy},
        ),
        leaf("Row", {"X": 4}),
        leaf("MAC", leak_power=0, area=0, energies={"compute": 0}),
    ]


def accelforge(energy: Callable[[str], float], einsums: list[str]) -> ModuleType:
    """A module in the place of AccelForge; `energy` of a read, by Einsum."""

    class Section:
        @staticmethod
        def from_yaml(*files: str, top_key: str, jinja_parse_data: dict[str, Any]) -> str:
            return top_key

    class Spec:
        def __init__(self, **parts: str):
            self.config = SimpleNamespace(expression_custom_functions=[])
            self.workload = SimpleNamespace(
                einsums=[SimpleNamespace(name=name) for name in einsums]
            )

        def calculate_component_costs(self, einsum_name: str) -> SimpleNamespace:
            if not self.config.expression_custom_functions:
                raise ValueError("NameError: name 'pick' is not defined")
            leaves = [(each, ()) for each in components(energy(einsum_name))]
            return SimpleNamespace(arch=SimpleNamespace(iterate_hierarchically=lambda: leaves))

    module = ModuleType("accelforge")
    vars(module).update(
        Arch=Section, Workload=Section, Variables=Section, Renames=Section, Spec=Spec
    )
    return module


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "macro.yaml"
    path.write_text(DESIGN, encoding="utf-8")
    (tmp_path / "pick.py").write_text("def pick(sizes): return sizes[0]\n", encoding="utf-8")
    return path


def test_figures_take_the_place_of_classes_scales_and_variables(
    design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets stay as they were written, and the filled file is solved."""
    monkeypatch.setitem(sys.modules, "accelforge", accelforge(lambda name: 1.0, ["E"]))
    filled = sm.fill_components(design, functions=[design.parent / "pick.py"])
    dram, buffer, row, mac = filled.to_dict()["arch"]["nodes"]
    assert dram["size"] == "inf"
    assert buffer["size"] == 256
    assert buffer["bits_per_value"] == {"input": 4}
    assert buffer["actions_scale"] == 2
    assert buffer["leak_power"] == 0.5
    assert buffer["tensors"] == {"keep": "input", "may_keep": "All"}
    assert not {"component_class", "leak_power_scale"} & set(buffer)
    assert row["spatial"] == [{"name": "X", "fanout": 4, "may_reuse": "input", "min_usage": 1}]
    assert mac["actions"][0]["throughput"] == "inf"
    spec = sm.load(io.StringIO(filled.to_yaml()))
    solution = sm.solve(spec, "energy")
    assert solution.status == "optimal"


def test_a_macro_without_main_memory_gets_one(
    design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "accelforge", accelforge(lambda name: 1.0, ["E"]))
    options = {"functions": [design.parent / "pick.py"], "main_memory": True}
    first = sm.fill_components(design, **options).to_dict()["arch"]["nodes"][0]
    assert (first["name"], first["size"]) == ("MainMemory", "inf")


def test_energies_that_differ_between_einsums_are_refused(
    design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = {"E": 1.0, "F": 2.0}
    monkeypatch.setitem(sys.modules, "accelforge", accelforge(cost.__getitem__, ["E", "F"]))
    with pytest.raises(sm.InputError, match="energy of 'read' of 'Buffer' differs between"):
        sm.fill_components(design, functions=[design.parent / "pick.py"])


def test_what_accelforge_cannot_tell_is_said_with_its_reason(
    design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "accelforge", accelforge(lambda name: 1.0, ["E"]))
    told = CliRunner().invoke(app, ["energies", str(design)])
    assert told.exit_code == 2
    assert "NameError: name 'pick' is not defined" in told.stderr
    assert "--functions FILE.py" in " ".join(told.stderr.split())


@pytest.mark.skipif(
    importlib.util.find_spec("accelforge") is not None, reason="AccelForge is installed"
)
def test_without_accelforge_every_missing_figure_and_the_command_are_named(design: Path) -> None:
    with pytest.raises(sm.InputError) as caught:
        sm.fill_components(design)
    error = caught.value
    assert "'Dram' lacks" in error.message
    assert ["'Buffer' lacks" in each.message for each in error.more] == [True]
    assert "solver-mapper[accelforge]" in (error.hint or "")


def test_options_for_looptree_files_are_refused_with_others(tmp_path: Path) -> None:
    path = tmp_path / "arch.yaml"
    path.write_text("arch: {arithmetic: {name: MAC}, storage: []}\n", encoding="utf-8")
    told = CliRunner().invoke(app, ["energies", str(path), "--main-memory"])
    assert told.exit_code == 2
    assert "--main-memory is for LoopTree files" in told.stderr

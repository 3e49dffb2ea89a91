"""`energies`: tables of an estimator where one is installed, and what is missing elsewhere."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import solver_mapper as sm
from solver_mapper.cli import app

DESIGN = """\
arch:
  arithmetic: {name: MAC, instances: 4, word-bits: 8}
  storage:
  - {name: Reg, entries: 1, instances: 4, word-bits: 8}
  - {name: GLB, entries: 256, instances: 1, word-bits: 8, block-size: 4}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 8, block-size: 8}
problem:
  shape: gemm-ABZ
  instance: {M: 2, N: 2, K: 2}
"""


def estimator(known: dict[str, float]) -> ModuleType:
    """A module that estimates classes: the energy in J, twice that for a write."""

    def get_action_cost(
        kind: str, attributes: dict[str, Any], action: str, arguments: dict[str, Any]
    ) -> SimpleNamespace:
        if kind not in known:
            raise RuntimeError(f"Can not find a model for {kind}\nLogs")
        width = attributes.get("width", attributes.get("multiplier_width"))
        return SimpleNamespace(energy=known[kind] * width * (2 if action == "write" else 1))

    module = ModuleType("hwcomponents")
    vars(module)["get_action_cost"] = get_action_cost
    return module


ALL = {"LPDDR4": 1e-12, "SRAM": 1e-13, "Register": 1e-14, "IntMAC": 1e-15}


def spec() -> sm.Spec:
    found = sm.load(io.StringIO(DESIGN))
    assert isinstance(found, sm.Spec)
    return found


def test_each_component_is_estimated_by_its_class_width_and_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "hwcomponents", estimator(ALL))
    table = sm.energies(spec(), tech_node=65)
    assert [name for name, _ in table.energies] == ["DRAM", "GLB", "Reg", "MAC"]
    rows = {name: dict(actions) for name, actions in table.energies}
    assert rows["DRAM"] == pytest.approx({"read": 64.0, "write": 128.0, "update": 128.0})
    assert rows["GLB"] == pytest.approx({"read": 3.2, "write": 6.4, "update": 6.4})
    assert rows["Reg"] == pytest.approx({"read": 0.08, "write": 0.16, "update": 0.16})
    assert rows["MAC"] == pytest.approx({"compute": 0.008})
    assert table.origins == (
        "Estimated by hwcomponents.",
        "DRAM: LPDDR4(width=64)",
        "GLB: SRAM(tech_node=6.5e-08, width=32, size=2048)",
        "Reg: Register(tech_node=6.5e-08, width=8)",
        "MAC: IntMAC(tech_node=6.5e-08, multiplier_width=8, adder_width=16)",
    )


def test_the_table_is_read_beside_the_architecture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With it no energy comes from a formula, so that no warning about energies is left."""
    monkeypatch.setitem(sys.modules, "hwcomponents", estimator(ALL))
    design, ert = tmp_path / "design.yaml", tmp_path / "ERT.yaml"
    design.write_text(DESIGN)
    done = CliRunner().invoke(app, ["energies", str(design), "-o", str(ert)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "# GLB: SRAM(tech_node=4.5e-08, width=32, size=2048)\n" in ert.read_text()
    assert "no-energy-table" in [each.code for each in sm.load(design).warnings]
    both = sm.load(design, ert)
    assert isinstance(both, sm.Spec)
    assert [each.code for each in both.warnings] == ["small-level"]
    levels = both.need_architecture().levels
    assert [float(level.energy.read) for level in levels] == pytest.approx([64.0, 3.2, 0.08])
    assert float(both.need_architecture().arithmetic.energy) == pytest.approx(0.008)


def test_every_figure_that_the_estimator_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(
        sys.modules, "hwcomponents", estimator({k: v for k, v in ALL.items() if k != "SRAM"})
    )
    design = tmp_path / "design.yaml"
    design.write_text(DESIGN)
    done = CliRunner().invoke(app, ["energies", str(design)])
    assert (done.exit_code, done.stdout) == (2, "")
    for action in ("read", "write", "update"):
        assert (
            f"design.yaml:5:5: no energy of '{action}' of 'GLB': hwcomponents fails for"
            " SRAM(tech_node=4.5e-08, width=32, size=2048): Can not find a model for SRAM;"
            in done.stderr
        )
    assert "'DRAM'" not in done.stderr


def test_the_reason_is_that_of_the_model_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """hwcomponents-cacti brings a program that needs a recent C library."""
    module = estimator(ALL)
    logs = (
        "Can not find an action_cost model for sram(width=32)\nLogs for models:\n"
        "| SRAM with priority 0.3 estimating value: \n|  | Calling CACTI with cache_size=256\n"
        "|  | Exception: CACTI failed with exit code 1. Please check cacti.log\n"
    )

    def fail(kind: str, *rest: Any) -> SimpleNamespace:
        if kind == "SRAM":
            raise RuntimeError(logs)
        return SimpleNamespace(energy=1e-12)

    vars(module)["get_action_cost"] = fail
    monkeypatch.setitem(sys.modules, "hwcomponents", module)
    design = tmp_path / "design.yaml"
    design.write_text(DESIGN)
    done = CliRunner().invoke(app, ["energies", str(design)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert (
        "no energy of 'read' of 'GLB': hwcomponents fails for SRAM(tech_node=4.5e-08, width=32,"
        " size=2048): Exception: CACTI failed with exit code 1. Please check cacti.log; the program"
        " 'cacti' of the package hwcomponents-cacti does not run here; build it from the sources"
        " beside it (make clean opt), or write the energy into an ERT by hand\n" in done.stderr
    )


def test_an_architecture_needs_no_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "hwcomponents", estimator(ALL))
    done = CliRunner().invoke(app, ["energies", "eyeriss"])
    assert done.exit_code == 0 and "# shared_glb: SRAM(" in done.stdout
    done = CliRunner().invoke(app, ["solve", "eyeriss"])
    assert (done.exit_code, done.stdout) == (2, "") and "no problem was given" in done.stderr


@pytest.mark.skipif(
    importlib.util.find_spec("hwcomponents_cacti") is None, reason="needs hwcomponents"
)
def test_hwcomponents_estimates_a_bundled_design() -> None:
    found = sm.load("eyeriss")
    assert isinstance(found, sm.Spec)
    try:
        table = sm.energies(found)
    except sm.InputError as error:
        if error.hint is not None and "hwcomponents-cacti does not run here" in error.hint:
            pytest.skip(error.hint)
        raise
    rows = {name: dict(actions) for name, actions in table.energies}
    names = {level.name for level in found.need_architecture().levels if level.entries != 0}
    assert {found.need_architecture().arithmetic.name} | names == set(rows)
    assert all(energy > 0 for actions in rows.values() for energy in actions.values())


def test_without_an_estimator_the_missing_figures_and_the_command_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "hwcomponents", None)
    design = tmp_path / "design.yaml"
    design.write_text(DESIGN)
    done = CliRunner().invoke(app, ["energies", str(design)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert (
        "design.yaml:5:5: 'GLB' needs energies (pJ) of read, write, update; it would be estimated"
        " as SRAM(tech_node=4.5e-08, width=32, size=2048); install 'solver-mapper[energies]'"
        " (Python 3.12 or newer), or run 'accelergy FILE... -o DIR' and give DIR/ERT.yaml beside"
        " the architecture\n" in done.stderr
    )
    for name in ("DRAM", "Reg", "MAC"):
        assert f"'{name}' needs energies" in done.stderr


def test_loop_trees_and_nodes_out_of_range_are_refused() -> None:
    tree = sm.load("examples/fused_matmuls.yaml")
    with pytest.raises(sm.InputError, match="energies of LoopTree files stand in their actions"):
        sm.energies(tree)
    with pytest.raises(sm.InputError, match="tech_node is 0; it must be at least 1"):
        sm.energies(spec(), tech_node=0)

"""A model of PyTorch becomes layers; only where torch is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import solver_mapper as sm
from tests.study.commands import run

SCRIPT = Path(__file__).parents[2] / "examples" / "export_torch.py"
PIXELS = 8 * 8
MACS = {
    "cnn-layer": PIXELS * 16 * 3 * 3 * 3,
    "depthwise": PIXELS * 16 * 3 * 3,
    "gemm": 3 * PIXELS * 16 * 16 + 16 * 10,
    "batched-gemm": 2 * 2 * PIXELS * PIXELS * 8,
}
"""Multiply-accumulates of the model in the script, counted by hand."""


def test_the_script_exports_every_product_of_its_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    file = tmp_path / "model.onnx"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{sum(MACS.values()):,} multiply-accumulates" in done.stdout
    imported = sm.import_model(file)
    found = dict.fromkeys(MACS, 0)
    for layer in imported.layers:
        found[layer.shape] += layer.count * layer.macs
    assert found == MACS
    code, _, err = run("import", file, "--fused", "-o", tmp_path / "fused.yaml")
    assert code == 0, err
    fused = sm.load(tmp_path / "fused.yaml")
    assert isinstance(fused, sm.TreeSpec)
    assert len(fused.need_workload().einsums) >= sum(each.count for each in imported.layers)

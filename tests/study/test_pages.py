"""The how-to pages on networks, sweeps and import: what they show is read as it stands, and the
Python runs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import solver_mapper as sm
from solver_mapper.study.networks import as_network
from solver_mapper.study.sweep_plan import read_sweep

DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(
        rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL
    )
    assert found
    return found


def test_the_network_is_read() -> None:
    (layers,) = blocks("networks.md", "yaml")
    assert as_network(yaml.safe_load(layers)).macs == 3 * 64 * 64 * 56 * 56 * 9 + 1000 * 512


def test_the_sweeps_are_read(tmp_path: Path) -> None:
    counts = []
    for number, block in enumerate(blocks("sweeps.md", "yaml")):
        (tmp_path / f"{number}.yaml").write_text(block)
        counts.append(len(read_sweep(tmp_path / f"{number}.yaml").points))
    assert counts == [12, 3]


@pytest.mark.parametrize("page", ["networks.md", "sweeps.md", "import.md"])
def test_the_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page == "import.md":
        _write_model(tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)
    assert isinstance(names["result"], sm.NetworkResult | sm.SweepResult)


def _write_model(path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    float_ = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [
            onnx.helper.make_tensor_value_info("x", float_, ["batch", 8]),
            onnx.helper.make_tensor_value_info("w", float_, [8, 8]),
        ],
        [onnx.helper.make_tensor_value_info("y", float_, None)],
    )
    onnx.save(onnx.helper.make_model(graph), path)

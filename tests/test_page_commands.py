"""Commands that pages name without their output are run as they stand: beside the examples, and
beside small files that have the names which the pages use.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import solver_mapper as sm
from tests.documents import PAGES, ROOT
from tests.test_pages import _usages

EXAMPLES = ROOT / "examples"
NOT_RUN = {
    "docs/how-to/templates.md": "needs Timeloop's exercises; tests/io reads files like them",
    "docs/reference/warnings.md": "needs the extra 'energies'",
}
"""Pages whose commands need what is not part of the project."""
PLACEHOLDERS = ("FILE...", "NETWORK.yaml", "tcp://HOST:8786")
"""Words for which readers put their own."""
FILLED = "filled.yaml"
"""What pages call the file that `energies` writes, which needs the extra 'energies'."""
OPERATOR = """\
operator: convolution
name: layer
input_shape: [1, 28, 28, 512]
kernel: {num: 128, rows: 1, cols: 1}
stride: 1
padding: same
"""
TILING = """\
tiling:
  tile: {inputs: [1, 4, 28, 128], weights: [64, 1, 1, 128], outputs: [1, 4, 28, 64]}
"""
DECONVOLUTION = """\
operator: transposed_convolution
name: up
input_shape: [1, 14, 14, 64]
kernel: {num: 32, rows: 3, cols: 3}
stride: 2
"""


def commands_of(page: str) -> list[str]:
    """The commands of a page in their order, without those with placeholders, or which need more
    than the project has.
    """
    found = [usage.split("`")[0] for name, usage in _usages() if name == page]
    return [each for each in found if not any(word in each for word in (*PLACEHOLDERS, FILLED))]


RUN = [page for page in PAGES if commands_of(page) and page not in NOT_RUN]


def write_stand_ins(folder: Path, page: str) -> None:
    """Small files with the names that pages use for files of their readers."""
    design = [EXAMPLES / "first_accelerator.yaml", EXAMPLES / "first_layer.yaml"]
    mapping = sm.solve(sm.load(*design)).mapping
    assert mapping is not None
    texts = {
        "arch.yaml": design[0].read_text("utf-8"),
        "prob.yaml": design[1].read_text("utf-8"),
        "constraints.yaml": "architecture_constraints:\n- {target: GLB, type: bypass, keep: [Z]}\n",
        "map.yaml": mapping.to_yaml(),
        "network.yaml": (ROOT / "models" / "workloads" / "tiny.yaml").read_text("utf-8"),
        "buffers.yaml": "sweep:\n  architecture: eyeriss\n  workloads: [tiny/mm8]\n"
        "  parameters: {psum_spad.entries: [16, 32]}\n",
        "layer.yaml": OPERATOR,
        "tiling.yaml": TILING,
        "deconv.yaml": DECONVOLUTION,
        "mine.yaml": (ROOT / "models" / "backends" / "smv.yaml").read_text("utf-8"),
    }
    if page == "docs/reference/looptree.md":
        whole = (EXAMPLES / "fused_matmuls.yaml").read_text("utf-8")
        arch, _, rest = whole.partition("renames:")
        workload, _, _ = f"renames:{rest}".partition("mapping:")
        texts |= {"arch.yaml": arch, "workload.yaml": workload}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("model.onnx", "block.onnx"):
        write_model(folder / name)
    (folder / "examples").symlink_to(EXAMPLES)


def write_model(path: Path) -> None:
    """Two matrix products, one after the other."""
    onnx = pytest.importorskip("onnx")

    def tensor(name: str, *shape: int) -> object:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    products = [("x", "v", "y"), ("y", "w", "z")]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", [a, b], [c]) for a, b, c in products],
        "net",
        [tensor("x", 8, 16), tensor("v", 16, 8), tensor("w", 8, 4)],
        [tensor("z", 8, 4)],
    )
    onnx.save(onnx.helper.make_model(graph), path)


@pytest.mark.campaign
@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    """Each ends with an answer: yes, or no where the page asks why there is none."""
    pytest.importorskip("onnx")
    write_stand_ins(tmp_path, page)
    for command in commands_of(page):
        done = subprocess.run(
            [sys.executable, "-m", "solver_mapper", *shlex.split(command, comments=True)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
            capture_output=True,
            timeout=1800,
            check=False,
        )
        assert done.returncode in ((0, 1) if command.startswith("explain") else (0,)), (
            command,
            done.stderr,
        )


def test_every_command_of_every_page_is_run_or_says_why_not() -> None:
    """No page is forgotten, and every reason still has its page and its words."""
    pages = {page for page, _ in _usages()}
    assert pages - set(RUN) == {page for page in pages if page in NOT_RUN or not commands_of(page)}
    assert set(NOT_RUN) <= pages
    every = " ".join(usage for _, usage in _usages())
    assert all(word in every for word in PLACEHOLDERS)

"""The examples do what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import solver_mapper as sm
from solver_mapper.io import bundled

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_every_example_is_described() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for file in EXAMPLES.glob("*.yaml"):
        assert f"`{file.name}`" in text, file.name


def test_the_mapping_by_hand_of_a_layer_onto_eyeriss_has_the_figures_that_its_comment_claims() -> (
    None
):
    spec = sm.load(
        *bundled.resolve("eyeriss", "resnet50/layer3.x.conv2_3x3"), EXAMPLES / "eyeriss_layer.yaml"
    )
    assert sm.validate(spec).legal
    statistics = sm.evaluate(spec)
    assert statistics.macs == statistics.cycles * 168
    assert statistics.levels["DRAM"].tensors["Weights"].reads == 256 * 256 * 3 * 3
    assert statistics.levels["DRAM"].tensors["Inputs"].reads == 2 * 256 * 16 * 16
    assert statistics.levels["DRAM"].tensors["Outputs"].updates == 256 * 14 * 14
    spads = {
        name: next(iter(statistics.levels[name].tensors.values())).tile
        for name in ("ifmap_spad", "weights_spad", "psum_spad")
    }
    assert spads == {"ifmap_spad": 12, "weights_spad": 192, "psum_spad": 16}


def test_the_pictures_of_the_gallery_are_what_the_program_draws(tmp_path: Path) -> None:
    """`python examples/draw_pictures.py examples/pictures` draws them again."""
    program = EXAMPLES / "draw_pictures.py"
    subprocess.run([sys.executable, str(program), str(tmp_path)], check=True, timeout=300)
    kept = EXAMPLES / "pictures"
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_text("utf-8") for path in kept.iterdir()}

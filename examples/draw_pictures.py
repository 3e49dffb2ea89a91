"""Draws the pictures of the gallery: `python examples/draw_pictures.py FOLDER`."""

import sys
from pathlib import Path

import solver_mapper as sm
from solver_mapper.core.results.chart import Chart

HERE = Path(__file__).parent


def pictures() -> dict[str, Chart]:
    """Each picture by its name."""
    layer = sm.load("eyeriss", "resnet50/layer3.x.conv2_3x3", HERE / "eyeriss_layer.yaml")
    by_hand = sm.evaluate(layer)
    sweep = {
        "architecture": "eyeriss",
        "workloads": ["tiny/conv_small"],
        "parameters": {
            "shared_glb.entries": [256, 1024, 4096],
            "psum_spad.entries": [1, 2, 4, 8, 16],
        },
    }
    return {
        "nest": by_hand.plot("nest"),
        "energy": by_hand.plot("energy"),
        "roofline": by_hand.plot("roofline"),
        "front": sm.pareto(sm.load("eyeriss", "tiny/mm12")).plot(),
        "bound": sm.bound(sm.load(HERE / "gemm_64.yaml")).plot(),
        "fusion": sm.fuse(sm.load(HERE / "fusion" / "gpt3_6.7b_ffn.yaml")).plot(),
        "tree": sm.evaluate(sm.load(HERE / "fused_matmuls.yaml")).plot("tree"),
        "lifetimes": sm.evaluate(sm.load(HERE / "fused_matmuls.yaml")).plot("lifetimes"),
        "sweep": sm.sweep(sweep).plot(),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        picture.save(folder / f"{name}.svg")

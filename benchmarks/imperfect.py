"""Perfect against imperfect factors: the gain on layers, whole networks and GEMMs.

Run: python benchmarks/imperfect.py [--objective edp] [--time-limit 20] [--layers] [WHAT...]

WHAT is ARCHITECTURE:LAYER (eyeriss:resnet50/conv1) or ARCHITECTURE:NETWORK (eyeriss:alexnet, all
layers, each weighted by its count) of bundled models; ARCHITECTURE:vit197, vit577 and bert139 are
transformers with so many tokens; GEMM:MxKxN is a product on a mesh of 16 x 16 below a buffer of
65,536 words. Without any, a short suite runs. Each row has the values, how many layers were proven,
the gain, and CPU seconds: the median and the most of one layer.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import solver_mapper as sm
from solver_mapper.io import bundled

SUITE = (
    "GEMM:127x769x127",
    "GEMM:577x1024x1024",
    "eyeriss:resnet50/conv1",
    "eyeriss:alexnet/conv1",
    "eyeriss:alexnet/conv2",
)
MESH: dict[str, Any] = {
    "arch": {
        "arithmetic": {
            "name": "MAC",
            "instances": 256,
            "meshX": 16,
            "meshY": 16,
            "vector-access-energy": 1.0,
        },
        "storage": [
            {"name": "Buffer", "entries": 65536, "instances": 1, "vector-access-energy": 6.0},
            {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 200.0},
        ],
    }
}
TENSORS = [
    {"name": "A", "projection": [[["M"]], [["K"]]]},
    {"name": "B", "projection": [[["K"]], [["N"]]]},
    {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
]
TOKENS = {"vit197": 197, "vit577": 577, "bert139": 139}


def layers(what: str) -> Iterator[tuple[str, int, sm.Spec]]:
    """Name, count and design of each layer that WHAT names."""
    architecture, name = what.split(":")
    network = bundled.network(name)
    if architecture == "GEMM":
        sizes = dict(zip("MKN", map(int, name.split("x")), strict=True))
        shape = {"name": "gemm", "dimensions": ["M", "K", "N"], "data-spaces": TENSORS}
        found = [(name, 1, sm.load(MESH, {"problem": {"shape": shape, "instance": sizes}}))]
    elif name in TOKENS:
        found = [
            (layer, count, sm.load(*bundled.resolve(architecture, problem)))
            for layer, count, problem in _transformer(TOKENS[name])
        ]
    elif network is not None:
        found = [
            (each.name, each.count, sm.load(architecture, f"{name}/{each.name}"))
            for each in network.layers
        ]
    else:
        found = [(name, 1, sm.load(architecture, name))]
    for layer, count, spec in found:
        assert isinstance(spec, sm.Spec)
        yield layer, count, spec


def _transformer(tokens: int) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The products of 12 blocks of width 768 with 12 heads."""
    for name, count, n, k in (
        ("proj", 48, 768, 768),
        ("up", 12, 3072, 768),
        ("down", 12, 768, 3072),
    ):
        yield name, count, {"problem": {"shape": "gemm", "M": tokens, "N": n, "K": k}}
    for name, n, k in (("scores", tokens, 64), ("context", 64, tokens)):
        sizes = {"H": 12, "M": tokens, "N": n, "K": k}
        yield name, 12, {"problem": {"shape": "batched-gemm", **sizes}}


def row(what: str, objective: str, time_limit: float, each_layer: bool) -> str:
    """Sums over layers of both mapspaces, how many layers are proven, CPU seconds, the gain."""
    totals, proven, seconds = [0.0, 0.0], [0, 0], [list[float](), list[float]()]
    number = 0
    for name, count, spec in layers(what):
        number += 1
        values = []
        for kind, factors in enumerate(("perfect", "imperfect")):
            started = time.process_time()
            found = sm.solve(spec, objective, time_limit=time_limit, factors=factors)
            seconds[kind].append(time.process_time() - started)
            values.append(float(found.value or 0))
            totals[kind] += count * values[-1]
            proven[kind] += found.status == "optimal"
        if each_layer:
            gap = "no bound" if found.gap is None else f"gap {100 * found.gap:.3g} %"
            gain = values[0] / values[1] if values[1] else 0
            print(f"  {name:24} {gain:8.4g} {found.status:>9} {gap:>12} {seconds[1][-1]:6.1f} s")
    cells = [what.ljust(26)]
    for kind in range(2):
        cells.append(
            f"{totals[kind]:>12.6g} {proven[kind]:3}/{number:<3}"
            f" {statistics.median(seconds[kind]):6.1f} {max(seconds[kind]):6.1f}"
        )
    gain = f"{totals[0] / totals[1]:8.4g}" if all(totals) else "       -"
    return " ".join([*cells, gain])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=SUITE)
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--layers", action="store_true", help="a line for each layer as well")
    arguments = parser.parse_args()
    for what in arguments.what:
        print(row(what, arguments.objective, arguments.time_limit, arguments.layers), flush=True)


if __name__ == "__main__":
    main()

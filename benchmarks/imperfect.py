"""Perfect against imperfect factors: the gain on layers of public networks and on GEMMs.

Run: python benchmarks/imperfect.py [--objective edp] [--time-limit 20] [PAIR...]

PAIR is ARCHITECTURE:LAYER of bundled models (eyeriss:resnet50/conv1), or GEMM:MxKxN for a product
on a mesh of 16 x 16 below a buffer of 65,536 words. Without any, a short suite runs. CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import solver_mapper as sm

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


def specification(pair: str) -> sm.Spec:
    """The design that a PAIR names."""
    architecture, layer = pair.split(":")
    if architecture != "GEMM":
        found = sm.load(architecture, layer)
    else:
        sizes = dict(zip("MKN", map(int, layer.split("x")), strict=True))
        shape = {"name": "gemm", "dimensions": ["M", "K", "N"], "data-spaces": TENSORS}
        found = sm.load(MESH, {"problem": {"shape": shape, "instance": sizes}})
    assert isinstance(found, sm.Spec)
    return found


def row(pair: str, objective: str, time_limit: float) -> str:
    """Values, status and CPU seconds of both mapspaces, and by how many times imperfect is less."""
    cells, values = [pair.ljust(26)], []
    for factors in ("perfect", "imperfect"):
        started = time.process_time()
        solution = sm.solve(specification(pair), objective, time_limit=time_limit, factors=factors)
        seconds = time.process_time() - started
        gap = "unknown" if solution.gap is None else f"{100 * solution.gap:.3g} %"
        values.append(solution.value)
        cells.append(f"{solution.value or 0:>14.6g} {solution.status:>9} {gap:>8} {seconds:7.1f}")
    perfect, imperfect = values
    gain = f"{perfect / imperfect:8.4g}" if perfect and imperfect else "       -"
    return " ".join([*cells, gain])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs", nargs="*", default=SUITE)
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--time-limit", type=float, default=20.0)
    arguments = parser.parse_args()
    for pair in arguments.pairs:
        print(row(pair, arguments.objective, arguments.time_limit), flush=True)


if __name__ == "__main__":
    main()

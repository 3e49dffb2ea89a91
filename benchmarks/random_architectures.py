"""How often proofs close on designs that nobody tuned for: random architectures with real layers.

    python benchmarks/random_architectures.py [--first N] [--cases N] [--limit SECONDS]
        [--json FILE]

Case N is drawn from the random seed N: 3, 4 or 5 levels in turn, one or two meshes of any shape,
buffers of any size, a bandwidth now and then, and a layer of a real network, each for energy and
edp. Nothing is constrained: factors, orders and bypass are free. One worker; seconds are of
processor time, of the whole solve, and so is the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from processor_time import processor_limit

import solver_mapper as sm

OBJECTIVES = ("energy", "edp")
MESHES = ((12, 14), (7, 9), (32, 8), (16, 16), (3, 5), (1, 8), (4, 4), (8, 8), (1, 1))
SMALL_MESHES = ((4, 4), (1, 8), (3, 5), (2, 4))
CONVOLUTIONS = (
    ("alexnet conv1", 4, {"C": 3, "M": 96, "P": 55, "Q": 55, "R": 11, "S": 11}),
    ("alexnet conv2", 1, {"C": 48, "M": 256, "P": 27, "Q": 27, "R": 5, "S": 5}),
    ("resnet conv1", 2, {"C": 3, "M": 64, "P": 112, "Q": 112, "R": 7, "S": 7}),
    ("resnet conv2", 1, {"C": 64, "M": 64, "P": 56, "Q": 56, "R": 3, "S": 3}),
    ("resnet shortcut", 2, {"C": 128, "M": 256, "P": 28, "Q": 28}),
    ("resnet conv5, batch 4", 2, {"C": 256, "M": 512, "P": 7, "Q": 7, "R": 3, "S": 3, "N": 4}),
    ("resnet conv5 1x1", 1, {"C": 512, "M": 2048, "P": 7, "Q": 7}),
    ("resnext conv4, grouped", 1, {"C": 16, "M": 16, "P": 14, "Q": 14, "R": 3, "S": 3, "G": 32}),
)
"""Name, stride, sizes other than 1."""
DEPTHWISE = ((32, 112, 1), (96, 56, 2), (144, 56, 1), (384, 14, 1), (960, 7, 1))
"""Channels, rows and columns, stride of mobilenet_v2's layers."""
PRODUCTS = ((1, 197, 768, 768), (1, 512, 1024, 1024), (12, 197, 197, 64), (16, 512, 512, 64))
"""Batch, rows, columns, contracted."""


@dataclass(frozen=True)
class Outcome:
    """`seconds` are of processor time, `gap` is relative."""

    case: int
    levels: int
    layer: str
    objective: str
    status: str
    value: float | None
    gap: float | None
    seconds: float


def architecture(random: Random, depth: int) -> dict[str, Any]:
    """DRAM and `depth - 1` buffers, each smaller and cheaper than the one outside, and a mesh or
    two anywhere between them.
    """
    meshes = [(1, 1)] * depth
    spots = random.sample(range(depth), random.choice([1, 1, 2]))
    for spot in spots:
        meshes[spot] = random.choice(MESHES if len(spots) == 1 else SMALL_MESHES)
    energy, entries = float(random.choice([100, 200, 400])), 2 ** random.randint(15, 18)
    x = y = 1
    storage: list[dict[str, Any]] = []
    for level in range(depth):
        buffer: dict[str, Any] = {"name": f"L{level}", "vector-access-energy": round(energy, 4)}
        if level:
            buffer["entries"] = int(entries * random.uniform(0.6, 1.4))
            entries = max(16, entries // 2 ** random.randint(2, 4))
        else:
            buffer["technology"] = "DRAM"
            if random.random() < 0.4:
                buffer["bandwidth"] = random.choice([4, 8, 16])
        storage.append(buffer | {"instances": x * y, "meshX": x, "meshY": y})
        energy /= random.uniform(2, 8)
        x, y = x * meshes[level][0], y * meshes[level][1]
    units = {"name": "MAC", "vector-access-energy": 1.0, "instances": x * y, "meshX": x, "meshY": y}
    return {"arch": {"arithmetic": units, "storage": storage[::-1]}}


def layer(random: Random) -> tuple[str, dict[str, Any]]:
    """A layer's name and its problem."""
    kind = random.choice(["convolution", "convolution", "convolution", "depthwise", "product"])
    if kind == "product":
        batch, rows, columns, inner = random.choice(PRODUCTS)
        spaces = {"A": "H M K", "B": "H K N", "Z": "H M N"}
        sizes = {"H": batch, "M": rows, "N": columns, "K": inner}
        return f"product {batch}x{rows}x{columns}x{inner}", problem(spaces, 1, sizes)
    if kind == "depthwise":
        channels, rows, stride = random.choice(DEPTHWISE)
        spaces = {"W": "C R S", "I": "C P+R Q+S", "Z": "C P Q"}
        sizes = {"C": channels, "P": rows, "Q": rows, "R": 3, "S": 3}
        return f"depthwise {channels}x{rows}", problem(spaces, stride, sizes)
    name, stride, given = random.choice(CONVOLUTIONS)
    spaces = {"W": "G C M R S", "I": "N G C P+R Q+S", "Z": "N G M P Q"}
    return name, problem(spaces, stride, dict.fromkeys("GNCMPQRS", 1) | given)


def problem(
    spaces: dict[str, str], stride: int, sizes: dict[str, int], written: str = "Z"
) -> dict[str, Any]:
    """Tensors by their ranks; the first term of a sum is taken `stride` times. `written` is the
    result.
    """

    def rank(text: str) -> list[list[str]]:
        first, *others = text.split("+")
        return [[first, "stride"] if others else [first], *([each] for each in others)]

    listed = [
        {"name": name, "projection": [rank(text) for text in ranks.split()]}
        | ({"read-write": True} if name == written else {})
        for name, ranks in spaces.items()
    ]
    shape = {
        "name": "layer",
        "dimensions": list(sizes),
        "coefficients": [{"name": "stride", "default": stride}],
        "data-spaces": listed,
    }
    return {"problem": {"shape": shape, "instance": sizes}}


def run(case: int, limit: float) -> Iterator[Outcome]:
    """The outcomes of one case, one for each objective."""
    random, levels = Random(case), 3 + case % 3
    machine, (name, workload) = architecture(random, levels), layer(random)
    specification = sm.load(machine, workload)
    for objective in OBJECTIVES:
        started = time.process_time()
        with processor_limit(limit) as clock:
            found = sm.solve(specification, objective, workers=1, clock=clock)
        seconds = time.process_time() - started
        value = None if found.value is None else float(found.value)
        yield Outcome(case, levels, name, objective, found.status, value, found.gap, seconds)


def summary(outcomes: list[Outcome]) -> str:
    """The share that is proven, with times, as a Markdown table."""
    lines = [
        "| levels | goal | cases | proven | median (s) | worst proven (s) | worst gap |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for levels in sorted({each.levels for each in outcomes}):
        for objective in OBJECTIVES:
            some = [e for e in outcomes if (e.levels, e.objective) == (levels, objective)]
            proven = [each.seconds for each in some if each.status == "optimal"]
            gap = max((math.inf if each.gap is None else each.gap for each in some), default=0.0)
            lines.append(
                f"| {levels} | {objective} | {len(some)} | {len(proven)}"
                f" | {statistics.median(each.seconds for each in some):.2f}"
                f" | {max(proven, default=0.0):.2f} | {100 * gap:.2g} % |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=42)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each answer")
    parser.add_argument("--json", type=Path)
    words = parser.parse_args()
    outcomes = []
    for case in range(words.first, words.first + words.cases):
        for outcome in run(case, words.limit):
            outcomes.append(outcome)
            shown = "no bound" if outcome.gap is None else f"gap {100 * outcome.gap:.2g} %"
            print(
                f"{outcome.case:3} {outcome.levels} {outcome.layer:24} {outcome.objective:6}"
                f" {outcome.status:9} {shown:14} {outcome.seconds:7.2f} s",
                flush=True,
            )
    print(f"\n{summary(outcomes)}")
    if words.json is not None:
        words.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1))


if __name__ == "__main__":
    main()

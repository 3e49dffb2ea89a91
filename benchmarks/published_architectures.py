"""How often proofs close on published accelerators, with their dataflow and without constraints.

    python benchmarks/published_architectures.py [--design NAME]... [--only dataflow|none]
        [--limit SECONDS] [--json FILE]

`published_architectures.yaml` has the accelerators and their sources. Each maps five layers of real
networks, for energy and edp. One worker; seconds are of processor time, of the whole solve, and so
is the limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from processor_time import processor_limit
from random_architectures import problem

import solver_mapper as sm

OBJECTIVES = ("energy", "edp")
KINDS = ("dataflow", "none")
"""What is constrained."""
TENSORS = {"Weights": "G C K R S", "Inputs": "N G C P+R Q+S", "Outputs": "N G K P Q"}
LAYERS = {
    "resnet50 layer2 3x3": (1, {"C": 128, "K": 128, "P": 28, "Q": 28, "R": 3, "S": 3}),
    "resnet50 layer3 3x3, stride 2": (2, {"C": 256, "K": 256, "P": 14, "Q": 14, "R": 3, "S": 3}),
    "resnet50 layer4 1x1": (1, {"C": 512, "K": 2048, "P": 7, "Q": 7}),
    "mobilenet_v2 depthwise 144": (1, {"G": 144, "P": 56, "Q": 56, "R": 3, "S": 3}),
    "bert-base 512x768x768": (1, {"C": 768, "K": 768, "P": 512}),
}
"""Stride and sizes other than 1; a matrix product is a convolution of one row and one weight."""


@dataclass(frozen=True)
class Outcome:
    """`seconds` are of processor time, `gap` is relative."""

    design: str
    levels: int
    constrained: bool
    layer: str
    objective: str
    status: str
    value: float | None
    gap: float | None
    seconds: float


def inputs(design: dict[str, Any], layer: str, constrained: bool) -> list[dict[str, Any]]:
    """What to load for one layer."""
    stride, sizes = LAYERS[layer]
    found = [
        {"arch": design["arch"]},
        problem(TENSORS, stride, dict.fromkeys("GNCKPQRS", 1) | sizes, written="Outputs"),
    ]
    if constrained:
        found.append({"architecture_constraints": design["constraints"]})
    return found


def run(name: str, design: dict[str, Any], limit: float, only: str | None) -> Iterator[Outcome]:
    """The outcomes of one accelerator; `only` is one of `KINDS`."""
    for kind in [only] if only else KINDS:
        constrained = kind == "dataflow"
        for layer in LAYERS:
            specification = sm.load(*inputs(design, layer, constrained))
            for objective in OBJECTIVES:
                started = time.process_time()
                with processor_limit(limit) as clock:
                    found = sm.solve(specification, objective, workers=1, clock=clock)
                seconds = time.process_time() - started
                yield Outcome(
                    name,
                    len(design["arch"]["storage"]),
                    constrained,
                    layer,
                    objective,
                    found.status,
                    None if found.value is None else float(found.value),
                    found.gap,
                    seconds,
                )


def summary(outcomes: list[Outcome]) -> str:
    """The share that is proven, with times, as a Markdown table."""
    lines = [
        "| design | levels | constraints | goal | layers | proven | median (s) | worst (s)"
        " | worst gap |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    groups = dict.fromkeys((e.design, e.levels, e.constrained, e.objective) for e in outcomes)
    for design, levels, constrained, objective in groups:
        some = [
            each
            for each in outcomes
            if (each.design, each.constrained, each.objective) == (design, constrained, objective)
        ]
        proven = sum(each.status == "optimal" for each in some)
        gap = max(1.0 if each.gap is None else each.gap for each in some)
        lines.append(
            f"| {design} | {levels} | {'dataflow' if constrained else 'none'} | {objective}"
            f" | {len(some)} | {proven} | {statistics.median(e.seconds for e in some):.2f}"
            f" | {max(e.seconds for e in some):.2f} | {100 * gap:.2g} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    designs = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    parser.add_argument("--design", action="append", choices=list(designs))
    parser.add_argument("--only", choices=KINDS, help="with these constraints alone")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each answer")
    parser.add_argument("--json", type=Path)
    words = parser.parse_args()
    outcomes: list[Outcome] = []
    for name in words.design or designs:
        for each in run(name, designs[name], words.limit, words.only):
            outcomes.append(each)
            shown = "no bound" if each.gap is None else f"gap {100 * each.gap:.2g} %"
            print(
                f"{each.design:14} {'dataflow' if each.constrained else 'free':8} {each.layer:30}"
                f" {each.objective:6} {each.status:10} {shown:14} {each.seconds:7.2f} s",
                flush=True,
            )
    print(f"\n{summary(outcomes)}")
    if words.json is not None:
        words.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1))


if __name__ == "__main__":
    main()

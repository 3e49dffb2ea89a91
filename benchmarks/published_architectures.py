"""How often proofs close on published accelerators, with their dataflow and without constraints.

    python benchmarks/published_architectures.py [--design NAME]... [--only dataflow|none]
        [--objective NAME]... [--limit SECONDS] [--json FILE]

`published_architectures.yaml` has the accelerators and their sources. Each maps five layers of real
networks, for energy and edp. One worker; seconds are of processor time, of the whole solve, and so
is the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from proofs import Case, measure, parser
from random_architectures import problem

import solver_mapper as sm

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


def cases(name: str, design: dict[str, Any], only: str | None) -> Iterator[Case]:
    """The layers on one accelerator; `only` is one of `KINDS`."""
    for kind in [only] if only else KINDS:
        row = {"design": name, "levels": len(design["arch"]["storage"]), "constraints": kind}
        for layer in LAYERS:
            yield Case(row, layer, sm.load(*inputs(design, layer, kind == "dataflow")))


def designs() -> dict[str, dict[str, Any]]:
    """The accelerators by name."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found


def main() -> None:
    known = designs()
    options = parser(__doc__, limit=20.0)
    options.add_argument("--design", action="append", choices=list(known))
    options.add_argument("--only", choices=KINDS, help="with these constraints alone")
    words = options.parse_args()
    measure(
        (case for name in words.design or known for case in cases(name, known[name], words.only)),
        words,
    )


if __name__ == "__main__":
    main()

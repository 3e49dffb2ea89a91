"""How often proofs close on the dense designs of timeloop-accelergy-exercises.

    python benchmarks/example_designs.py EXERCISES [--layers N] [--first N] [--limit SECONDS]
        [--design NAME]... [--objective NAME]... [--json FILE]

EXERCISES is a clone of github.com/Accelergy-Project/timeloop-accelergy-exercises. Each dense design
is given the exercises' default layer first, and then `--layers` others of `layer_shapes`: the
distinct ones, shuffled once with a fixed seed. One worker;
seconds are of processor time, of the whole solve, and so is the limit.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from proofs import Case, measure, parser

import solver_mapper as sm

DESIGNS = ("eyeriss_like", "simba_like", "simple_output_stationary", "simple_weight_stationary")
DEFAULT = "default"


def layers(folder: Path, count: int) -> list[str]:
    """The default layer, and `count` distinct ones, as paths relative to `layer_shapes`."""
    distinct: dict[str, str] = {}
    for path in sorted(folder.glob("*/*.yaml")):
        instance = re.search(r"instance: *\{.*?\}", path.read_text(encoding="utf-8"))
        if instance is not None:
            distinct.setdefault(instance.group(), str(path.relative_to(folder)))
    listed = list(distinct.values())
    Random(0).shuffle(listed)
    return [DEFAULT, *listed[:count]]


def case(exercises: Path, design: str, layer: str) -> Case:
    """One layer on one design."""
    examples = exercises / "workspace" / "example_designs"
    given = {"architecture": design}
    if layer != DEFAULT:
        given["problem"] = str(examples / "layer_shapes" / layer)
    top = examples / "example_designs" / "top.yaml.jinja2"
    return Case({"design": design}, layer, sm.load(top, variables=given, ignore_sparse=True))


def main() -> None:
    options = parser(__doc__, limit=20.0)
    options.add_argument("exercises", type=Path)
    options.add_argument("--layers", type=int, default=10)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--design", action="append", choices=DESIGNS)
    words = options.parse_args()
    folder = words.exercises / "workspace" / "example_designs" / "layer_shapes"
    measure(
        (
            case(words.exercises, design, layer)
            for layer in layers(folder, words.layers)[words.first :]
            for design in words.design or DESIGNS
        ),
        words,
    )


if __name__ == "__main__":
    main()

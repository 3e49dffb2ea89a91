"""How often proofs close on the dense designs of timeloop-accelergy-exercises.

    python benchmarks/example_designs.py EXERCISES [--layers N] [--first N] [--limit SECONDS]
        [--design NAME]... [--objective NAME]... [--json FILE]

EXERCISES is a clone of github.com/Accelergy-Project/timeloop-accelergy-exercises. Each dense design
is given the exercises' default layer first, and then `--layers` others of `layer_shapes`: the
distinct ones, shuffled once with a fixed seed. One worker;
seconds are of processor time, of the whole solve, and so is the limit.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from processor_time import processor_limit

import solver_mapper as sm

DESIGNS = ("eyeriss_like", "simba_like", "simple_output_stationary", "simple_weight_stationary")
OBJECTIVES = ("energy", "edp")
DEFAULT = "default"


@dataclass(frozen=True)
class Outcome:
    """`seconds` are of processor time, `gap` is relative."""

    design: str
    layer: str
    objective: str
    status: str
    value: float | None
    gap: float | None
    seconds: float


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


def run(
    exercises: Path, design: str, layer: str, limit: float, objectives: list[str]
) -> Iterator[Outcome]:
    """The outcomes of one layer on one design, one for each objective."""
    examples = exercises / "workspace" / "example_designs"
    given = {"architecture": design}
    if layer != DEFAULT:
        given["problem"] = str(examples / "layer_shapes" / layer)
    top = examples / "example_designs" / "top.yaml.jinja2"
    specification = sm.load(top, variables=given, ignore_sparse=True)
    for objective in objectives:
        started = time.process_time()
        try:
            with processor_limit(limit) as clock:
                found = sm.solve(specification, objective, workers=1, clock=clock)
        except sm.ExactnessError as error:
            status, value, gap = f"error {error}", None, None
        else:
            status, gap = found.status, found.gap
            value = None if found.value is None else float(found.value)
        seconds = time.process_time() - started
        yield Outcome(design, layer, objective, status, value, gap, seconds)


def summary(outcomes: list[Outcome]) -> str:
    """The share that is proven, with times, as a Markdown table."""
    lines = [
        "| design | goal | layers | proven | median (s) | worst (s) | worst gap |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for design, objective in sorted({(each.design, each.objective) for each in outcomes}):
        some = [e for e in outcomes if (e.design, e.objective) == (design, objective)]
        proven = sum(each.status == "optimal" for each in some)
        gap = max(1.0 if each.gap is None else each.gap for each in some)
        lines.append(
            f"| {design} | {objective} | {len(some)} | {proven}"
            f" | {statistics.median(each.seconds for each in some):.2f}"
            f" | {max(each.seconds for each in some):.2f} | {100 * gap:.2g} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", type=Path)
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each answer")
    parser.add_argument("--design", action="append", choices=DESIGNS)
    parser.add_argument("--objective", action="append", choices=OBJECTIVES)
    parser.add_argument("--json", type=Path)
    words = parser.parse_args()
    folder = words.exercises / "workspace" / "example_designs" / "layer_shapes"
    outcomes: list[Outcome] = []
    for layer in layers(folder, words.layers)[words.first :]:
        for design in words.design or DESIGNS:
            for each in run(
                words.exercises, design, layer, words.limit, words.objective or list(OBJECTIVES)
            ):
                outcomes.append(each)
                shown = "no bound" if each.gap is None else f"gap {100 * each.gap:.2g} %"
                print(
                    f"{each.design:24} {each.layer:28} {each.objective:6} {each.status:9}"
                    f" {shown:14} {each.seconds:7.2f} s",
                    flush=True,
                )
    print(f"\n{summary(outcomes)}")
    if words.json is not None:
        words.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1))


if __name__ == "__main__":
    main()

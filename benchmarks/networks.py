"""Whole networks on whole designs: what is proven, totals, and what that takes.

    python benchmarks/networks.py [--network NAME]... [--design NAME]... [--exercises FOLDER]
        [--jobs N]... [--layer-limit SECONDS] [--json FILE]

Each case is one `solver-mapper solve DESIGN NETWORK` for edp, in a process of its own. A design is
a bundled name or, with `--exercises` (a clone of
github.com/Accelergy-Project/timeloop-accelergy-exercises), the name of a dense example design; its
layers are then written in the dimensions of the exercises. Seconds of the processor are those of
all processes of the command, its start included. With `--json` a run continues where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from solver_mapper.io import bundled
from solver_mapper.io.yaml.source import to_python

NETWORKS = ("resnet50", "mobilenet_v2", "bert_base", "gpt2", "vit_b_16")
DESIGNS = ("eyeriss", "simba", "tpu")
DIMENSIONS = {
    "cnn-layer": {"K": "M"},
    "depthwise": {},
    "gemm": {"M": "P", "N": "M", "K": "C"},
    "batched-gemm": {"H": "G", "M": "P", "N": "M", "K": "C"},
}
"""The letters of the exercises' one shape, a convolution with groups, for each of ours. Their
filter's rows go with Wdilation and Wstride, as here."""


@dataclass(frozen=True)
class Case:
    """`gaps` are those of layers that are not proven, by name. Seconds are rounded."""

    design: str
    network: str
    jobs: int
    layers: int
    proven: int
    gaps: dict[str, float | None]
    energy_pj: float | None
    cycles: int | None
    edp: float | None
    processor_seconds: float
    wall_seconds: float
    code: int


def exercise_layers(network: str, shape: dict[str, Any]) -> dict[str, Any]:
    """The file of a bundled network whose layers are instances of the exercises' shape."""
    found = bundled.network(network)
    assert found is not None
    return {
        "layers": [
            {
                "name": layer.name,
                "count": layer.count,
                "problem": exercise_problem(layer, shape),
            }
            for layer in found.layers
        ]
    }


def exercise_problem(layer: bundled.Layer, shape: dict[str, Any]) -> dict[str, Any]:
    """A layer of a bundled network as an instance of the exercises' shape."""
    letters = DIMENSIONS[layer.shape]
    ones = dict.fromkeys(shape["dimensions"], 1)
    given = {letters.get(name, name): bound for name, bound in layer.instance.items()}
    return {"shape": shape, "instance": {**ones, **given}}


def words_of(design: str, network: str, exercises: Path | None, folder: Path) -> list[str]:
    """FILE... and the options about reading."""
    if bundled.architecture(design) is not None:
        return [design, network]
    if exercises is None:
        raise SystemExit(f"'{design}' is not bundled: give --exercises")
    examples = exercises / "workspace" / "example_designs"
    base = (examples / "layer_shapes" / "problem_base.yaml").read_text(encoding="utf-8")
    shape = read_shape(base)
    file = folder / f"{network}.json"
    file.write_text(json.dumps(exercise_layers(network, shape)), encoding="utf-8")
    top = examples / "example_designs" / "top.yaml.jinja2"
    return [str(top), str(file), "-D", f"architecture={design}"]


def read_shape(text: str) -> dict[str, Any]:
    """The shape in the exercises' `problem_base.yaml`."""
    from solver_mapper.io.yaml.documents import parse

    shape: dict[str, Any] = to_python(parse(text, "problem_base.yaml"))["problem_base_ignore"]
    return shape["shape"]


def run(words: list[str], design: str, network: str, jobs: int, limit: float | None) -> Case:
    """One case; `jobs` 1 is without other processes."""
    options = [] if jobs == 1 else ["--jobs", str(jobs)]
    options += [] if limit is None else ["--layer-time-limit", str(limit)]
    command = [sys.executable, "-m", "solver_mapper", "solve", *words, *options, "--json"]
    started, before = time.perf_counter(), os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, os.times()
    seconds = after.children_user + after.children_system
    seconds -= before.children_user + before.children_system
    if not done.stdout:
        print(done.stderr, file=sys.stderr)
        return Case(
            design, network, jobs, 0, 0, {}, None, None, None, seconds, wall, done.returncode
        )
    told = json.loads(done.stdout)
    totals = told["totals"]
    gaps = {
        layer["name"]: layer["objective"]["gap"]
        for layer in told["layers"]
        if layer["status"] != "optimal"
    }
    return Case(
        design,
        network,
        jobs,
        len(told["layers"]),
        len(told["layers"]) - len(gaps),
        gaps,
        totals["energy_pj"],
        totals["cycles"],
        totals["edp"],
        round(seconds, 1),
        round(wall, 1),
        done.returncode,
    )


def row(case: Case) -> str:
    """A row of a table in Markdown."""
    left = ", ".join(f"{name} {gap:.2%}" for name, gap in case.gaps.items() if gap is not None)
    edp = "none" if case.edp is None else f"{case.edp:.4e}"
    return (
        f"| {case.network} | {case.design} | {case.proven} of {case.layers} | {edp} | {case.jobs} |"
        f" {case.processor_seconds:.1f} | {case.wall_seconds:.1f} | {left} |"
    )


def main() -> None:
    """Run all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", action="append")
    parser.add_argument("--design", action="append")
    parser.add_argument("--exercises", type=Path)
    parser.add_argument("--jobs", type=int, action="append")
    parser.add_argument("--layer-limit", type=float)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    known: dict[str, Any] = {}
    if given.json is not None and given.json.exists():
        known = json.loads(given.json.read_text(encoding="utf-8"))
    print("| network | design | proven | edp (pJ x cycles) | jobs | CPU s | wall s | gaps |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for network in given.network or NETWORKS:
            for design in given.design or DESIGNS:
                words = words_of(design, network, given.exercises, Path(folder))
                for jobs in given.jobs or [1]:
                    key = f"{network} {design} {jobs}"
                    if key not in known:
                        case = run(words, design, network, jobs, given.layer_limit)
                        known[key] = asdict(case)
                        if given.json is not None:
                            given.json.write_text(json.dumps(known, indent=1), encoding="utf-8")
                    print(row(Case(**known[key])), flush=True)


if __name__ == "__main__":
    main()

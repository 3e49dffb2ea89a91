"""What AccelForge makes of LoopTree files: the other half of `looptree_speed.py`, `peers.py` and
`fused_graphs.py`, and of the tests that compare the two, run by the interpreter in which AccelForge
is installed.

usage: accelforge_peer.py [JOBS]

Standard input: JSON, a list of cases. A case is [file, task] with task "energy", "latency" or "edp"
to map, or "evaluate"; or an object with `files`, `task` and, if wanted, `variables` (of Jinja2),
`max_fused_loops`, and `save`, a file for the mapping that was found. Prints one JSON line a case:
the optimum as `value`, the `seconds` of processor time of making and joining partial mappings
(those of worker processes included) and the same on the `wall`, reading not included; or the
`energy`, the `latency` and the `occupancy` (share of each memory) of the mapping in the files; or
an `error`. If the first case is to be mapped, it is mapped once before, untimed, for what is
compiled or imported on first use.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import accelforge as af
from accelforge.frontend.mapper.metrics import Metrics
from accelforge.mapper.FFM.main import join_pmappings, make_pmappings

METRICS = {
    "energy": (Metrics.ENERGY, "energy"),
    "latency": (Metrics.LATENCY, "latency"),
    "edp": (Metrics.ENERGY_DELAY_PRODUCT, "energy_delay_product"),
}

FIELDS = (
    "tensors",
    "component",
    "persistent",
    "rank_variable",
    "tile_shape",
    "initial_tile_shape",
    "name",
    "einsum",
)
"""What a mapping file says of a node, besides the nodes below it."""


def processor_seconds() -> float:
    """Of this process and of the worker processes that it has at the moment."""
    ticks = 0
    for tasks in Path("/proc/self/task").glob("*/children"):
        for child in tasks.read_text().split():
            with contextlib.suppress(OSError):
                ticks += sum(
                    map(
                        int,
                        Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[11:15],
                    )
                )
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Case:
    """Files to read together, and what to do with them."""

    files: list[str]
    task: str
    variables: dict[str, object] = field(default_factory=dict)
    max_fused_loops: int | None = None
    save: str | None = None

    def spec(self) -> af.Spec:
        return af.Spec.from_yaml(*self.files, jinja_parse_data=self.variables)


def timed(case: Case) -> tuple[float, float, float]:
    """(optimum, seconds of processor time, seconds on the wall)."""
    spec = case.spec()
    spec.mapper.metrics, column = METRICS[case.task]
    if case.max_fused_loops is not None:
        spec.mapper.max_fused_loops = case.max_fused_loops
    started, began = processor_seconds(), time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = join_pmappings(make_pmappings(spec, print_progress=False), spec.mapper.metrics)
    seconds, wall = processor_seconds() - started, time.perf_counter() - began
    if case.save is not None:
        text = "\n".join(["mapping:", "  nodes:", *lines(found.mapping(0).nodes, 1), ""])
        Path(case.save).write_text(text, encoding="utf-8")
    return float(found.data[f"Total<SEP>{column}"].iloc[0]), seconds, wall


def lines(nodes: list[Any], depth: int) -> Iterator[str]:
    """A list of nodes as YAML; AccelForge 1.0.467 cannot write the mappings that it finds."""
    for node in nodes:
        kind = type(node).__name__
        if kind == "Reservation":
            continue
        yield f"{'  ' * depth}- !{kind}"
        for name in FIELDS:
            value = getattr(node, name, None)
            if value is not None and not (name == "persistent" and not value):
                yield f"{'  ' * (depth + 1)}{name}: {json.dumps(plain(value))}"
        if hasattr(node, "nodes"):
            yield f"{'  ' * (depth + 1)}nodes:"
            yield from lines(node.nodes, depth + 1)


def plain(value: Any) -> object:
    """A name, a number, or a list of names."""
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, Iterable):
        return [str(each) for each in value]
    return int(value)


def evaluated(case: Case) -> dict[str, float | dict[str, float]]:
    result = case.spec().evaluate_mapping()
    occupancy: dict[str, float] = {}
    for column in result.data.columns:
        kind, *rest = column.split("<SEP>")
        if kind == "reservation":
            share = float(result.data[column].iloc[0])
            occupancy[rest[0]] = max(occupancy.get(rest[0], 0.0), share)
    return {
        "energy": float(result.energy()),
        "latency": float(result.latency()),
        "occupancy": occupancy,
    }


def answer(case: Case) -> dict[str, float | str | dict[str, float]]:
    try:
        if case.task == "evaluate":
            return dict(evaluated(case))
        value, seconds, wall = timed(case)
    except Exception as error:  # whatever goes wrong in AccelForge is part of the comparison
        return {"error": f"{type(error).__name__}: {error}"}
    return {"value": value, "seconds": seconds, "wall": wall}


def main() -> None:
    warnings.filterwarnings("ignore")
    af.set_n_parallel_jobs(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    cases = [
        Case(**each) if isinstance(each, dict) else Case([each[0]], each[1])
        for each in json.load(sys.stdin)
    ]
    if cases[0].task in METRICS:
        answer(cases[0])
    for case in cases:
        print(json.dumps(answer(case)), flush=True)


if __name__ == "__main__":
    main()

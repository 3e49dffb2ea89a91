"""What AccelForge makes of LoopTree files: the other half of `looptree_speed.py`, of `peers.py`,
and of the tests that compare the two, run by the interpreter in which AccelForge is installed.

usage: accelforge_peer.py [JOBS]

Standard input: JSON, a list of [file, task] with task "energy", "latency" or "edp" to map, or
"evaluate". Prints one JSON line a file: the optimum as `value`, the `seconds` of processor time of
making and joining partial mappings (those of worker processes included) and the same on the `wall`,
reading not included; or the `energy`, the `latency` and the `occupancy` (share of each memory) of
the mapping in the file; or an `error`. A first file to be mapped is mapped once before, untimed,
for what is compiled or imported on first use.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import warnings
from pathlib import Path

import accelforge as af
from accelforge.frontend.mapper.metrics import Metrics
from accelforge.mapper.FFM.main import join_pmappings, make_pmappings

METRICS = {
    "energy": (Metrics.ENERGY, "energy"),
    "latency": (Metrics.LATENCY, "latency"),
    "edp": (Metrics.ENERGY_DELAY_PRODUCT, "energy_delay_product"),
}


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


def timed(path: str, metric: str) -> tuple[float, float, float]:
    """(optimum, seconds of processor time, seconds on the wall)."""
    spec = af.Spec.from_yaml(path)
    spec.mapper.metrics, column = METRICS[metric]
    started, began = processor_seconds(), time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = join_pmappings(make_pmappings(spec, print_progress=False), spec.mapper.metrics)
    seconds, wall = processor_seconds() - started, time.perf_counter() - began
    return float(found.data[f"Total<SEP>{column}"].iloc[0]), seconds, wall


def evaluated(path: str) -> dict[str, float | dict[str, float]]:
    result = af.Spec.from_yaml(path).evaluate_mapping()
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


def answer(path: str, task: str) -> dict[str, float | str | dict[str, float]]:
    try:
        if task == "evaluate":
            return dict(evaluated(path))
        value, seconds, wall = timed(path, task)
    except Exception as error:  # whatever goes wrong in AccelForge is part of the comparison
        return {"error": f"{type(error).__name__}: {error}"}
    return {"value": value, "seconds": seconds, "wall": wall}


def main() -> None:
    warnings.filterwarnings("ignore")
    af.set_n_parallel_jobs(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    cases = json.load(sys.stdin)
    if cases[0][1] in METRICS:
        answer(*cases[0])
    for path, task in cases:
        print(json.dumps(answer(path, task)), flush=True)


if __name__ == "__main__":
    main()

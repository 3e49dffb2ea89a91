"""Maps LoopTree files with AccelForge: the other half of `looptree_speed.py`, run by the interpreter in which AccelForge is installed.

Standard input: JSON, a list of [file, metric] with metric "energy", "latency" or "edp". Prints one JSON line a file: the optimum,
and the seconds of processor time of making and joining its partial mappings, reading not included. The first file is mapped once
before, untimed, for what is compiled or imported on first use.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings

import accelforge as af
from accelforge.frontend.mapper.metrics import Metrics
from accelforge.mapper.FFM.main import join_pmappings, make_pmappings

METRICS = {"energy": (Metrics.ENERGY, "energy"), "latency": (Metrics.LATENCY, "latency"),
           "edp": (Metrics.ENERGY_DELAY_PRODUCT, "energy_delay_product")}


def timed(path: str, metric: str) -> tuple[float, float]:
    """(optimum, seconds of processor time)."""
    spec = af.Spec.from_yaml(path)
    spec.mapper.metrics, column = METRICS[metric]
    started = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = join_pmappings(make_pmappings(spec, print_progress=False), spec.mapper.metrics)
    seconds = time.process_time() - started
    return float(found.data[f"Total<SEP>{column}"].iloc[0]), seconds


def main() -> None:
    warnings.filterwarnings("ignore")
    af.set_n_parallel_jobs(1)
    cases = json.load(sys.stdin)
    timed(*cases[0])
    for path, metric in cases:
        value, seconds = timed(path, metric)
        print(json.dumps({"value": value, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()

"""How much shorter long proofs are with a second worker: each case in turn with one and with two.

    python benchmarks/two_workers.py [--rounds N] [--limit SECONDS] [--json FILE] [CASE ...]

A CASE is a name and a goal: a number of `random_architectures.py`, with what it adds (`29:edp`,
`9 constraints:edp`); a design of `published_architectures.py` and one of its layers
(`tpu_32/resnet50 layer2 3x3:edp`); or a suite and a layer of `suites.py`
(`simba edp/conv1:edp`). Without any, cases whose proof takes 10 s or more with one worker. Seconds
are those of the wall, and of the processor: of the search with one worker; of the search and of the
process beside it with two. Where other programs run, the wall says little, and a search takes at
least the larger one of the latter.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from published_architectures import designs, inputs
from random_architectures import drawn
from suites import cases

import solver_mapper as sm
from solver_mapper.io import bundled

LONG = (
    "311:edp",
    "primes energy/conv 120x90x60x60x3x3:energy",
    "diannao/resnet50 layer2 3x3:energy",
    "ascend/resnet50 layer2 3x3:energy",
    "tesla_npu/resnet50 layer3 3x3, stride 2:energy",
    "eyeriss_1024/resnet50 layer2 3x3:edp",
)


@dataclass(frozen=True)
class Run:
    """One answer; `helper`, the seconds of processor time of the process beside the search."""

    case: str
    workers: int
    status: str
    value: float | None
    wall: float
    search: float
    helper: float


def specification(name: str) -> sm.Spec:
    """What a case maps."""
    number, _, more = name.partition(" ")
    if number.isdigit():
        return drawn(int(number), more or None).specification
    place, _, layer = name.partition("/")
    if place in designs():
        spec = sm.load(*inputs(designs()[place], layer, constrained=False))
        assert isinstance(spec, sm.Spec)
        return spec
    found = next(each for each in cases() if (each.suite, each.name) == (place, layer))
    spec = sm.load(*bundled.resolve(*found.sources))
    assert isinstance(spec, sm.Spec)
    return spec


def measured(case: str, workers: int, limit: float) -> Run:
    """A case with so many workers."""
    name, goal = case.split(":")
    spec = specification(name)
    wall, search, helper = time.perf_counter(), time.process_time(), _of_children()
    found = sm.solve(spec, goal, time_limit=limit, workers=workers)
    return Run(
        case,
        workers,
        found.status,
        None if found.value is None else float(found.value),
        round(time.perf_counter() - wall, 2),
        round(time.process_time() - search, 2),
        round(_of_children() - helper, 2),
    )


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(runs: list[Run]) -> Iterator[str]:
    """Medians of each case, as a Markdown table."""
    yield "| case | wall 1 (s) | wall 2 (s) | ratio | CPU 1 (s) | CPU 2 (s) | ratio |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for case in dict.fromkeys(run.case for run in runs):
        one, two = ([run for run in runs if (run.case, run.workers) == (case, n)] for n in (1, 2))
        wall = [statistics.median(run.wall for run in some) for some in (one, two)]
        alone = statistics.median(run.search for run in one)
        search, helper = (
            statistics.median(getattr(run, name) for run in two) for name in ("search", "helper")
        )
        yield (
            f"| {case.replace(':', ', ')} | {wall[0]:.1f} | {wall[1]:.1f} | {wall[0] / wall[1]:.2f}"
            f" | {alone:.1f} | {search:.1f} + {helper:.1f} | {alone / max(search, helper):.2f} |"
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("cases", nargs="*", default=LONG)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--limit", type=float, default=300.0)
    options.add_argument("--json", type=Path)
    words = options.parse_args()
    runs = []
    for case in words.cases:
        for _ in range(words.rounds):
            for workers in (1, 2):
                runs.append(measured(case, workers, words.limit))
                print(runs[-1], flush=True)
    print("\n".join(("", *table(runs))))
    if words.json is not None:
        words.json.write_text(json.dumps([asdict(run) for run in runs], indent=1))


if __name__ == "__main__":
    main()

"""How much shorter long proofs are with a second worker: each case in turn with one and with two.

    python benchmarks/two_workers.py [--rounds N] [--limit SECONDS] [--json FILE] [CASE ...]

A CASE is a number of `random_architectures.py` or a name of `suites.py`, and a goal: `23:edp`,
`layer1.x.conv2_3x3:energy` (on three_level, unless a suite comes first: `simba edp/conv1:edp`).
Without any, cases whose proof takes 10 s or more with one worker. Seconds are those of the wall,
and of the processor: of the search with one worker; of the search and of its helper with two. Where
other programs run, the wall says little, and a search takes at least the larger one of the latter.
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

from random_architectures import drawn
from suites import cases

import solver_mapper as sm
from solver_mapper.io import bundled

LONG = (
    *("17:energy", "22:energy", "23:edp", "32:edp", "41:edp"),
    *("primes/720x5040x2520:energy", "primes/840x1260x2310:energy"),
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
    if name.isdigit():
        return drawn(int(name)).specification
    suite, _, layer = name.rpartition("/")
    found = next(
        each
        for each in cases()
        if each.name == layer and each.suite.startswith(suite or "three_level")
    )
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

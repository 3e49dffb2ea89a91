"""How long fronts of energy and cycles take on designs that nobody tuned for.

    python benchmarks/fronts.py [--first N] [--cases N] [--limit SECONDS]

Cases are those of random_architectures.py. One worker; seconds are of processor time, of the whole
front, and so is the limit.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import NamedTuple

from processor_time import processor_limit
from random_architectures import drawn

import solver_mapper as sm


class Found(NamedTuple):
    """A front, on so many `levels`."""

    levels: str | int
    status: str
    points: int
    seconds: float


def found(number: int, limit: float) -> Found:
    """The front of a case, stopped after `limit` seconds."""
    case, started = drawn(number), time.process_time()
    front = sm.pareto(case.specification, workers=1, clock=processor_limit(limit))
    seconds = time.process_time() - started
    result = Found(case.row["levels"], front.status, len(front.points), seconds)
    print(f"{case.name:32} {front.status:8} {result.points:2} points {seconds:7.2f} s")
    return result


def summary(fronts: list[Found]) -> str:
    """The share that is complete, with times, as a Markdown table."""
    heads = ("levels", "fronts", "complete", "points", "median (s)", "worst (s)")
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    for levels in sorted({each.levels for each in fronts}, key=str):
        some = [each for each in fronts if each.levels == levels]
        points = sorted(each.points for each in some)
        seconds = [each.seconds for each in some]
        complete = sum(each.status == "complete" for each in some)
        lines.append(
            f"{levels} | {len(some)} | {complete} | {points[0]} to {points[-1]}"
            f" | {statistics.median(seconds):.2f} | {max(seconds):.2f}"
        )
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--cases", type=int, default=24)
    options.add_argument("--limit", type=float, default=60.0, help="seconds for each front")
    words = options.parse_args()
    numbers = range(words.first, words.first + words.cases)
    print(f"\n{summary([found(number, words.limit) for number in numbers])}")


if __name__ == "__main__":
    main()

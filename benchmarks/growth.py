"""How the time to a proof grows: with the size of dimensions, the number of levels, and the number
of dimensions.

    python benchmarks/growth.py [FAMILY ...] [--limit SECONDS] [--json FILE] [--markdown FILE]

Families: size (matrix products of 2^6 to 2^14, all dimensions alike), levels (a product of 1024^3
on 2 to 6 levels), dimensions (contractions of 3 to 8 dimensions of 16). No constraints: factors,
orders and bypass are free. One worker; seconds are of processor time, of the whole solve; the limit
is on the wall.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

import solver_mapper as sm
from solver_mapper.io import bundled

FAMILIES = ("size", "levels", "dimensions")
OBJECTIVES = ("energy", "edp")
CONTRACTIONS = {
    3: ("A", "MK", "B", "KN", "MN"),
    4: ("A", "BMK", "B", "BKN", "BMN"),
    5: ("A", "BMKL", "B", "BKLN", "BMN"),
    6: ("A", "BMOKL", "B", "BKLN", "BMON"),
    7: ("A", "BMOKL", "B", "BKLNQ", "BMONQ"),
    8: ("A", "BCMOKL", "B", "BCKLNQ", "BCMONQ"),
}
"""Ranks of the operands and of the result: batch, rows, columns and contracted dimensions in turn.
"""


@dataclass(frozen=True)
class Point:
    """Seconds are of processor time."""

    family: str
    at: int
    objective: str
    status: str
    gap: float | None
    seconds: float


def product(operands: tuple[str, ...], size: int) -> dict[str, Any]:
    """A contraction as a Timeloop problem; each letter is a dimension of `size`."""
    first, left, second, right, out = operands
    spaces = [
        {"name": name, "projection": [[[dim]] for dim in ranks]}
        for name, ranks in ((first, left), (second, right))
    ]
    spaces.append({"name": "Z", "projection": [[[dim]] for dim in out], "read-write": True})
    dims = sorted({*left, *right, *out})
    shape = {"name": "contraction", "dimensions": dims, "data-spaces": spaces}
    return {"problem": {"shape": shape, "instance": dict.fromkeys(dims, size)}}


def machine(levels: int) -> dict[str, Any]:
    """DRAM, and below it buffers that shrink eightfold and cost half as much each, the innermost in
    16 x 16 elements.
    """
    units = {"instances": 256, "meshX": 16}
    storage: list[dict[str, Any]] = []
    for inner in range(levels - 1):
        mesh = {"instances": 1} if inner else units
        storage.append(
            {
                "name": f"L{inner}",
                "entries": 64 * 8**inner,
                "vector-access-energy": 0.5 * 2**inner,
                **mesh,
            }
        )
    storage.append(
        {"name": "DRAM", "technology": "DRAM", "instances": 1, "vector-access-energy": 100.0}
    )
    return {
        "arch": {
            "arithmetic": {"name": "MAC", "vector-access-energy": 0.5, **units},
            "storage": storage,
        }
    }


def inputs(family: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(where on the axis, what to load)."""
    plain = bundled.resolve("three_level")
    if family == "size":
        yield from (
            (size, (*plain, product(CONTRACTIONS[3], size)))
            for size in (2**power for power in range(6, 15))
        )
    elif family == "levels":
        yield from (
            (levels, (machine(levels), product(CONTRACTIONS[3], 1024))) for levels in range(2, 7)
        )
    else:
        yield from (
            (dims, (*plain, product(operands, 16))) for dims, operands in CONTRACTIONS.items()
        )


def measure(families: list[str], limit: float) -> Iterator[Point]:
    with Progress() as progress:
        bar = progress.add_task(
            "solving", total=sum(len(OBJECTIVES) * len(list(inputs(family))) for family in families)
        )
        for family in families:
            for at, sources in inputs(family):
                for objective in OBJECTIVES:
                    progress.update(bar, description=f"{family} {at} {objective}")
                    spec = sm.load(*sources)
                    started = time.process_time()
                    solution = sm.solve(spec, objective, time_limit=limit)
                    yield Point(
                        family,
                        at,
                        objective,
                        solution.status,
                        solution.gap,
                        round(time.process_time() - started, 3),
                    )
                    progress.advance(bar)


def markdown(points: list[Point]) -> str:
    """A table for each family."""
    titles = {
        "size": "size of each dimension",
        "levels": "levels",
        "dimensions": "dimensions of 16",
    }
    parts = []
    for family in dict.fromkeys(point.family for point in points):
        rows = [
            f"| {titles[family]} | "
            + " | ".join(f"{objective} (s)" for objective in OBJECTIVES)
            + " |",
            "| --- |" + " --- |" * len(OBJECTIVES),
        ]
        for at in dict.fromkeys(point.at for point in points if point.family == family):
            found = {
                point.objective: point
                for point in points
                if (point.family, point.at) == (family, at)
            }
            rows.append(
                f"| {at} | "
                + " | ".join(
                    _cell(found[objective]) for objective in OBJECTIVES if objective in found
                )
                + " |"
            )
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _cell(point: Point) -> str:
    if point.status == "optimal":
        return f"{point.seconds:.2f}"
    gap = "no mapping" if point.gap is None else f"gap {100 * point.gap:.1f} %"
    return f"{point.seconds:.0f}, {gap}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "families", nargs="*", metavar="FAMILY", help="of size, levels, dimensions; all without"
    )
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    options = parser.parse_args()
    points = list(measure(options.families or list(FAMILIES), options.limit))
    print(markdown(points), end="")
    if options.markdown is not None:
        options.markdown.write_text(markdown(points), encoding="utf-8")
    if options.json is not None:
        options.json.write_text(
            json.dumps([asdict(point) for point in points], indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()

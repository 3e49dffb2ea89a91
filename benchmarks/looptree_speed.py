#!/usr/bin/env python3
"""How long optimal LoopTrees take, beside AccelForge on the same machine in the same run.

usage: looptree_speed.py [CASE ...] [--peer-python PYTHON] [--rounds N] [--json FILE]

Cases are single matrix products and chains of two and three, on an eyeriss-like architecture
(looptree_eyeriss.yaml) and on AccelForge's `simple` one with its MainMemory at an energy of 100 and
a buffer of 65,536 bits; `--list` names them. PYTHON is an interpreter (3.12) in which the package
`accelforge` is installed; without it only our own times are shown.

Times are seconds of processor time of one process after a first untimed run, reading not included:
a busy machine disturbs them less than it does wall-clock time. The median of N rounds is shown.
Both sides search divisors only, and their optima are compared.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import solver_mapper as sm

HERE = Path(__file__).resolve().parent
TOLERANCE = 1e-5
"""AccelForge computes in single precision."""


@dataclass(frozen=True)
class Case:
    """A chain of matrix products `sizes[0] x sizes[1] x sizes[2] x ...`; `usage` is min_usage of
    the eyeriss-like array.
    """

    architecture: str
    sizes: tuple[int, ...]
    metric: str
    usage: int = 0

    @property
    def name(self) -> str:
        full = "-full" if self.usage else ""
        return f"{self.architecture}{full}/{'x'.join(map(str, self.sizes))}/{self.metric}"

    def text(self) -> str:
        """The case as one LoopTree file that both programs read."""
        architecture = (HERE / f"looptree_{self.architecture}.yaml").read_text(encoding="utf-8")
        return architecture.replace("min_usage: 0", f"min_usage: {self.usage}") + matmuls(
            self.sizes
        )


def matmuls(sizes: tuple[int, ...]) -> str:
    """The workload `T1 = T0 W0`, `T2 = T1 W1`, ... in 8-bit values."""
    ranks = ", ".join(f"N{index}: {size}" for index, size in enumerate(sizes[1:]))
    lines = [
        "workload:",
        f"  rank_sizes: {{M: {sizes[0]}, {ranks}}}",
        "  bits_per_value: {All: 8}",
        "  einsums:",
    ]
    for index in range(len(sizes) - 2):
        lines += [
            f"  - name: E{index}",
            "    tensor_accesses:",
            f"    - {{name: T{index}, projection: [m, n{index}]}}",
            f"    - {{name: W{index}, projection: [n{index}, n{index + 1}]}}",
            f"    - {{name: T{index + 1}, projection: [m, n{index + 1}], output: True}}",
            f"    renames: {{input: T{index}, weight: W{index}, output: T{index + 1}}}",
        ]
    return "\n".join(lines) + "\n"


CASES = (
    *(
        Case("eyeriss", sizes, metric)
        for sizes in ((64, 64, 64), (256, 256, 256), (1024, 1024, 1024), (512, 768, 3072))
        for metric in ("edp", "energy", "latency")
    ),
    *(Case("eyeriss", sizes, "edp", 1) for sizes in ((112, 96, 128), (448, 768, 3072))),
    *(
        Case("eyeriss", sizes, metric)
        for sizes in ((64, 64, 64, 64), (256, 256, 256, 256), (64, 64, 64, 64, 64))
        for metric in ("edp", "energy")
    ),
    *(
        Case("simple", sizes, "energy")
        for sizes in (
            (64, 64, 64),
            (1024, 1024, 1024),
            (64, 64, 64, 64),
            (64, 64, 64, 64, 64),
            (128, 128, 128, 128, 128),
        )
    ),
)


def ours(case: Case) -> tuple[float, float]:
    """(proven optimum, seconds of processor time)."""
    spec = sm.load(io.StringIO(case.text()))
    started = time.process_time()
    solution = sm.solve(spec, case.metric)
    seconds = time.process_time() - started
    if solution.status != "optimal" or solution.value is None:
        raise SystemExit(f"{case.name}: {solution.status}")
    return float(solution.value), seconds


def theirs(cases: list[Case], python: Path) -> list[tuple[float, float]]:
    """The same from AccelForge."""
    with tempfile.TemporaryDirectory() as folder:
        constraint = []
        for number, case in enumerate(cases):
            path = Path(folder) / f"{number}.yaml"
            path.write_text(case.text(), encoding="utf-8")
            constraint.append([str(path), case.metric])
        done = subprocess.run(
            [str(python), str(HERE / "accelforge_peer.py")],
            input=json.dumps(constraint),
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for case, answer in zip(cases, answers, strict=True):
        if "error" in answer:
            raise SystemExit(f"{case.name}: {answer['error']}")
    return [(answer["value"], answer["seconds"]) for answer in answers]


def measured(cases: list[Case], peer: Path | None, rounds: int) -> list[dict[str, object]]:
    """One row a case, with the median seconds of each side."""
    ours(cases[0])
    mine = [[ours(case) for case in cases] for _ in range(rounds)]
    others = [theirs(cases, peer) for _ in range(rounds)] if peer is not None else []
    rows: list[dict[str, object]] = []
    for number, case in enumerate(cases):
        row: dict[str, object] = {
            "case": case.name,
            "value": mine[0][number][0],
            "seconds": statistics.median(each[number][1] for each in mine),
        }
        if others:
            row["peer_value"] = others[0][number][0]
            row["peer_seconds"] = statistics.median(each[number][1] for each in others)
        rows.append(row)
    return rows


def shown(row: dict[str, object]) -> str:
    value, seconds = float(str(row["value"])), float(str(row["seconds"]))
    line = f"{row['case']:34} {value:14.7g} {seconds:9.2f}"
    if "peer_value" not in row:
        return line
    other, needed = float(str(row["peer_value"])), float(str(row["peer_seconds"]))
    verdict = (
        "equal" if abs(other - value) <= TOLERANCE * value else f"differs: {other / value - 1:+.2%}"
    )
    return f"{line} {needed:11.2f} {seconds / needed:8.3f}  {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help="names or parts of names; all without")
    parser.add_argument("--list", action="store_true", help="the names of all cases")
    parser.add_argument("--peer-python", type=Path, help="an interpreter with AccelForge")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()
    cases = [
        case
        for case in CASES
        if not options.cases or any(part in case.name for part in options.cases)
    ]
    if not cases:
        parser.error("no case has such a name; --list shows them")
    if options.list:
        print("\n".join(case.name for case in cases))
        return
    rows = measured(cases, options.peer_python, options.rounds)
    print(
        f"{'case':34} {'optimum':>14} {'ours (s)':>9}"
        + (f" {'theirs (s)':>11} {'ratio':>8}" if options.peer_python else "")
    )
    print("\n".join(map(shown, rows)))
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

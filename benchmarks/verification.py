"""How far branch and bound confirms the answers of the suites, within ten times the first proof.

    python benchmarks/verification.py [SUITE ...] [--limit SECONDS] [--factor 10] [--json FILE]

Suites are those of suites.py. Times are CPU seconds. `reached` is the gap that is confirmed where
the proof is not complete in time.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from suites import Case, cases

import solver_mapper as sm
from solver_mapper.io import bundled
from solver_mapper.solve.confirm import ACCEPTED
from solver_mapper.verify.boxes import Mapspace
from solver_mapper.verify.prover import Prover
from solver_mapper.verify.target import Target


@dataclass(frozen=True)
class Confirmation:
    """One case; `reached` is the gap up to which the answer is confirmed."""

    suite: str
    name: str
    status: str
    first: float
    seconds: float
    complete: bool
    reached: float
    boxes: int
    evaluated: int


def confirm(case: Case, limit: float, factor: float) -> Confirmation:
    spec = sm.load(*bundled.resolve(*case.sources))
    started = time.process_time()
    solution = sm.solve(spec, case.objective, time_limit=limit)
    first = time.process_time() - started
    assert solution.rank is not None
    started = time.process_time()
    end = started + factor * first
    target = Target(Mapspace(spec), solution.objective, (Fraction(solution.rank),), ACCEPTED)
    proof = Prover(target, lambda: time.process_time() > end).prove()
    assert proof.better is None, f"{case}: {proof.better}"
    seconds = time.process_time() - started
    gap = float(1 - proof.reached)
    return Confirmation(
        case.suite,
        case.name,
        solution.status,
        round(first, 3),
        round(seconds, 3),
        proof.complete,
        gap,
        proof.nodes,
        proof.evaluated,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="the beginning of a name")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the first proof")
    parser.add_argument("--factor", type=float, default=10.0, help="times the first proof")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chosen = [c for c in cases() if any(c.suite.startswith(s) for s in options.suites or [""])]
    rows: list[Confirmation] = []
    for case in chosen:
        rows.append(confirm(case, options.limit, options.factor))
        print(rows[-1], flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    for suite in dict.fromkeys(row.suite for row in rows):
        mine = [row for row in rows if row.suite == suite]
        worst = max((row.reached for row in mine if not row.complete), default=0.0)
        done = sum(row.complete for row in mine)
        print(
            f"{suite}: {done} of {len(mine)} confirmed, worst gap of the rest {100 * worst:.3g} %"
        )


if __name__ == "__main__":
    main()

"""How often proofs close: answers printed as they come, and a table of them by what they share.

One worker; seconds are of processor time, of the whole solve, and so is the limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from processor_time import processor_limit

import solver_mapper as sm

OBJECTIVES = ("energy", "edp")


@dataclass(frozen=True)
class Case:
    """What to solve for each objective. `row` has the first columns of its row of the table."""

    row: dict[str, str | int]
    name: str
    specification: sm.Spec


@dataclass(frozen=True)
class Answer:
    """`seconds` are of processor time, `gap` is relative; `status` may be an error."""

    row: dict[str, str | int]
    case: str
    objective: str
    status: str
    value: float | None
    gap: float | None
    seconds: float


def parser(description: str, limit: float) -> argparse.ArgumentParser:
    """The options `--limit` (`limit` if it is not given), `--objective` and `--json`."""
    made = argparse.ArgumentParser(description=description.split("\n")[0])
    made.add_argument("--limit", type=float, default=limit, help="seconds for each answer")
    made.add_argument("--objective", action="append", choices=OBJECTIVES)
    made.add_argument("--json", type=Path)
    return made


def measure(cases: Iterable[Case], words: argparse.Namespace) -> None:
    """Solve, and print, each case for each objective."""
    answers = []
    for case in cases:
        for objective in words.objective or OBJECTIVES:
            answers.append(answer(case, objective, words.limit))
            print(line(answers[-1]), flush=True)
    print(f"\n{summary(answers)}")
    if words.json is not None:
        words.json.write_text(json.dumps([asdict(each) for each in answers], indent=1))


def answer(case: Case, objective: str, limit: float) -> Answer:
    """The answer for one objective, stopped after `limit` seconds."""
    started = time.process_time()
    try:
        clock = processor_limit(limit)
        found = sm.solve(case.specification, objective, workers=1, clock=clock)
    except sm.ExactnessError as error:
        status, value, gap = f"error {error}", None, None
    else:
        status, gap = found.status, found.gap
        value = None if found.value is None else float(found.value)
    seconds = time.process_time() - started
    return Answer(case.row, case.name, objective, status, value, gap, seconds)


def line(each: Answer) -> str:
    """One answer."""
    row = " ".join(f"{value:{10 * isinstance(value, str)}}" for value in each.row.values())
    gap = "no bound" if each.gap is None else f"gap {100 * each.gap:.2g} %"
    return f"{row} {each.case:28} {each.objective:6} {each.status:9} {gap:14} {each.seconds:7.2f} s"


def summary(answers: list[Answer]) -> str:
    """The share that is proven, with times, as a Markdown table."""
    heads = [*answers[0].row, "goal", "cases", "proven", "median (s)", "worst (s)", "worst gap"]
    rows: dict[tuple[str | int, ...], list[Answer]] = {}
    for each in answers:
        rows.setdefault((*each.row.values(), each.objective), []).append(each)
    lines = [heads, ["---"] * len(heads)]
    for row, some in rows.items():
        seconds = [each.seconds for each in some]
        gap = max(1.0 if each.gap is None else each.gap for each in some)
        proven = sum(each.status == "optimal" for each in some)
        figures = (f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}", f"{100 * gap:.2g} %")
        lines.append([*map(str, (*row, len(some), proven)), *figures])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

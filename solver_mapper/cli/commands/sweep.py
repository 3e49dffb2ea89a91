"""`solver-mapper sweep`: workloads mapped at every point of a design space."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import BAD_INPUT, LIMIT, NO, YES, Json, command, report
from solver_mapper.cli.commands.network import (
    JobMemory,
    Jobs,
    LayerTimeLimit,
    Scheduler,
    StorePath,
    StudySettings,
    print_warnings,
    reading,
    show,
)
from solver_mapper.cli.destination import destination
from solver_mapper.cli.inputs import standard_input_in_memory
from solver_mapper.cli.output import ResultRecord, write_files
from solver_mapper.cli.pictures import Html, Plots
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import limited, stop_code
from solver_mapper.cli.search_options import (
    Factors,
    FactorWord,
    Gap,
    MemoryLimit,
    NoTieBreak,
    Seed,
    TimeLimit,
    Verify,
    Workers,
    folder_for,
)
from solver_mapper.core.objective import GAP
from solver_mapper.study.sweep_plan import SweepLike
from solver_mapper.study.sweep_result import SweepResult


@command("sweep")
def sweep(
    sweep_file: Annotated[
        str,
        typer.Argument(metavar="SWEEP.yaml", help="A file with 'sweep:', or - for standard input."),
    ],
    jobs: Jobs = None,
    job_memory: JobMemory = None,
    scheduler: Scheduler = None,
    store: StorePath = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    layer_time_limit: LayerTimeLimit = None,
    gap: Gap = GAP,
    workers: Workers = 1,
    seed: Seed = 0,
    factors: Factors = FactorWord.PERFECT,
    no_tie_break: NoTieBreak = False,
    verify: Verify = False,
    output: Annotated[Path | None, folder_for("sweep.csv, .json, .txt, .svg")] = None,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
) -> int:
    """Map workloads at every point of a design space."""
    target = destination(output, html, plot, as_json)
    clock = limited(time_limit, memory_limit)
    source: SweepLike = standard_input_in_memory() if sweep_file == "-" else sweep_file
    settings = StudySettings(jobs, job_memory, layer_time_limit, store, scheduler)
    target.prepare(SweepResult, [sweep_file], FILES, settings.files())
    with ProgressLine() as line:
        result = api.sweep(
            source,
            gap=gap,
            workers=workers,
            seed=seed,
            verify=verify,
            tie_break=not no_tie_break,
            factors=factors.value,
            **settings.arguments(output),
            clock=clock,
            on_progress=partial(show, line),
            reading=reading(),
        )
    print_warnings(result.warnings)
    target.deliver(
        result,
        [sweep_file],
        result,
        lambda folder: write_files(folder, _files(result), RECORD),
        result.unstored,
    )
    if result.unreadable is not None:
        report(result.unreadable)
    return stop_code() or _exit_code(result)


def _exit_code(result: SweepResult) -> int:
    if result.unreadable is not None:
        return BAD_INPUT
    if any(point.complete for point in result.points):
        return YES
    return NO if result.status == "complete" else LIMIT


FILES = ("sweep.json", "sweep.csv", "sweep.txt", "sweep.svg")
"""Patterns of the files that `-o` writes, beside the report."""
RECORD = ResultRecord("sweep.json", lambda older: ("sweep.csv", "sweep.txt", "sweep.svg"))


def _files(result: SweepResult) -> dict[str, str]:
    """Tables, and a picture if anything can be drawn."""
    files = {
        "sweep.json": json.dumps(result.to_dict(), indent=1) + "\n",
        "sweep.csv": result.to_csv(),
        "sweep.txt": f"{result}\n",
    }
    drawn = any(point.complete for point in result.points)
    return files | ({"sweep.svg": result.plot().svg} if drawn else {})

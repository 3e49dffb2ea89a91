"""`solver-mapper sweep`: workloads mapped at every point of a design space."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import LIMIT, NO, YES, Json, command
from solver_mapper.cli.commands.network import (
    JobMemory,
    Jobs,
    LayerTimeLimit,
    NoTieBreak,
    Scheduler,
    StorePath,
    print_warnings,
    reading,
    show,
)
from solver_mapper.cli.factors import Factors, FactorWord
from solver_mapper.cli.inputs import standard_input_in_memory
from solver_mapper.cli.output import ResultRecord, deliver, need_folder, print_result, write_files
from solver_mapper.cli.pictures import Html, Plots, pictures
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import MemoryLimit, limited, stop_code
from solver_mapper.cli.search_options import Gap, Seed
from solver_mapper.cli.sizes import memory_size
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
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds for the whole sweep.", min=0)
    ] = None,
    memory_limit: MemoryLimit = None,
    layer_time_limit: LayerTimeLimit = None,
    gap: Gap = GAP,
    workers: Annotated[
        int, typer.Option(metavar="N", help="CP-SAT threads of each search.", min=1)
    ] = 1,
    seed: Seed = 0,
    factors: Factors = FactorWord.PERFECT,
    no_tie_break: NoTieBreak = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Prove each answer again by independent methods.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Directory for sweep.csv, .json, .txt, .svg."
        ),
    ] = None,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
) -> int:
    """Map workloads at every point of a design space."""
    drawn = pictures(html, plot)
    clock = limited(time_limit, memory_limit)
    source: SweepLike = standard_input_in_memory() if sweep_file == "-" else sweep_file
    if output is not None:
        need_folder(output)
        store = store or output / "results.sqlite"
    with ProgressLine() as line:
        result = api.sweep(
            source,
            jobs=jobs,
            scheduler=scheduler,
            memory=memory_size(job_memory, "--job-memory"),
            store=store,
            layer_time_limit=layer_time_limit,
            gap=gap,
            workers=workers,
            seed=seed,
            verify=verify,
            tie_break=not no_tie_break,
            factors=factors.value,
            clock=clock,
            on_progress=partial(show, line),
            reading=reading(),
        )
    print_warnings(result.warnings)

    def write() -> None:
        if output is not None:
            write_files(output, _files(result), RECORD)
        drawn.write(result, output, [sweep_file], result)

    deliver(lambda: print_result(result, as_json), write, result.unstored)
    return stop_code() or _exit_code(result)


def _exit_code(result: SweepResult) -> int:
    if any(point.complete for point in result.points):
        return YES
    return NO if result.status == "complete" else LIMIT


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

"""`solver-mapper solve`: the best mapping, with a proof."""

from __future__ import annotations

import json
import time
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import LIMIT, NO, YES, Files, Json, command
from solver_mapper.cli.commands.network import (
    JobMemory,
    Jobs,
    LayerTimeLimit,
    Scheduler,
    SearchArguments,
    StorePath,
    StudySettings,
    network_of,
    solve_network,
)
from solver_mapper.cli.destination import destination
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import ResultRecord, write_files
from solver_mapper.cli.pictures import Html, Plots
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import limited, stop_code
from solver_mapper.cli.search_options import (
    Factors,
    FactorWord,
    Gap,
    MaxFusedLoops,
    MemoryLimit,
    NoTieBreak,
    Relax,
    Seed,
    TimeLimit,
    Verify,
    Workers,
    folder_for,
)
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.objective import GAP
from solver_mapper.core.results.solution import Solution
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.report.timeloop_stats import timeloop_stats
from solver_mapper.solve.certify import CertificateNotWrittenError


class EngineName(Enum):
    """What searches: see `solve.branch_and_bound.Engine`."""

    CPSAT = "cpsat"
    BRANCH_AND_BOUND = "branch-and-bound"
    BOTH = "both"


Objective = Annotated[
    str,
    typer.Option(
        metavar="METRIC",
        help="energy, delay, edp, last-level-accesses, a product such as "
        "'energy^2*delay', or a list in order of importance: 'delay,energy'. For a network "
        "also network-edp, total energy times total cycles.",
    ),
]
KeepMapping = Annotated[
    bool | None,
    typer.Option(
        "--keep-mapping/--no-keep-mapping",
        help=(
            "Whether to keep the directives of the mapping in FILE...; by default if its loops"
            " do not make up the problem."
        ),
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        metavar="cpsat|branch-and-bound|both",
        help="Search by CP-SAT, by branch and bound without CP-SAT, or by both in turn.",
    ),
]
CertificateFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File for a certificate that `check-certificate` verifies without the solver.",
    ),
]


@command("solve")
def solve(
    files: Files,
    objective: Objective = "edp",
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    gap: Gap = GAP,
    workers: Workers = 1,
    seed: Seed = 0,
    keep_mapping: KeepMapping = None,
    max_fused_loops: MaxFusedLoops = None,
    relax: Relax = None,
    factors: Factors = FactorWord.PERFECT,
    no_tie_break: NoTieBreak = False,
    engine: EngineOption = EngineName.CPSAT,
    verify: Verify = False,
    certificate: CertificateFile = None,
    output: Annotated[
        Path | None, folder_for("map.yaml, stats.txt, solution.json and report.html")
    ] = None,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
    jobs: Jobs = None,
    job_memory: JobMemory = None,
    layer_time_limit: LayerTimeLimit = None,
    store: StorePath = None,
    scheduler: Scheduler = None,
) -> int:
    """Find a provably optimal mapping.

    FILE... may name a whole network, such as resnet50, beside an architecture: then every layer is
    mapped.
    """
    target = destination(output, html, plot, as_json)
    settings = StudySettings(jobs, job_memory, layer_time_limit, store, scheduler)
    asked = SearchArguments(
        gap=gap,
        workers=workers,
        seed=seed,
        verify=verify,
        tie_break=not no_tie_break,
        factors=factors.value,
    )
    network = network_of(files)
    if network is not None:
        refuse_given(
            {
                "--certificate": certificate is not None,
                "--keep-mapping": keep_mapping is not None,
                "--max-fused-loops": max_fused_loops is not None,
                "--relax": bool(relax),
                "--engine": engine is not EngineName.CPSAT,
            },
            "is for a single problem, not for a network",
            COMMAND_LINE,
        )
        clock = limited(time_limit, memory_limit)
        return solve_network(files, network, objective, asked, settings, target, clock)
    settings.refuse()
    clock = limited(time_limit, memory_limit)
    started = time.perf_counter()
    spec = read_any(files)
    load_seconds = round(time.perf_counter() - started, 4)
    kind = TreeSolution if isinstance(spec, TreeSpec) else Solution
    target.prepare(kind, files, FILES, {"--certificate": certificate})
    unwritten: CertificateNotWrittenError | None = None
    with ProgressLine() as line:
        try:
            solution = api.solve(
                spec,
                objective,
                **asked,
                on_progress=line.show,
                clock=clock,
                keep_mapping=keep_mapping,
                max_fused_loops=max_fused_loops,
                relax=[each.value for each in relax or ()],
                certificate=certificate,
                engine=engine.value,
            )
        except CertificateNotWrittenError as error:
            solution, unwritten = error.solution, error
    solution.seconds["load"] = load_seconds
    target.deliver(
        solution, files, spec, lambda folder: write(solution, spec, folder), lost=unwritten
    )
    return (
        stop_code()
        or {"optimal": YES, "feasible": YES, "infeasible": NO, "unknown": LIMIT}[solution.status]
    )


FILES = ("solution.json", "map.yaml", "stats.txt", "mapping.svg", "mapping.html")
"""Patterns of the files that `-o` writes, beside the report."""
RECORD = ResultRecord(
    "solution.json",
    lambda older: (
        ("map.yaml", "stats.txt", "mapping.svg", "mapping.html") if older["mapping"] else ()
    ),
)


def write(solution: Solution | TreeSolution, spec: Spec | TreeSpec, directory: Path) -> None:
    """Write `solution.json`, and if there is a mapping `map.yaml` (which Timeloop or AccelForge
    read), `stats.txt` (in Timeloop's layout, or for a LoopTree its figures), and for a LoopTree
    pictures of it.

    Raises: InputError if the directory cannot be written.
    """
    files = {"solution.json": json.dumps(solution.to_dict(), indent=1) + "\n"}
    if solution.mapping is not None and solution.evaluation is not None:
        stats = (
            f"{solution.evaluation}\n"
            if isinstance(solution, TreeSolution)
            else timeloop_stats(solution.evaluation)
        )
        files |= {"map.yaml": solution.mapping.to_yaml(), "stats.txt": stats}
    if isinstance(spec, TreeSpec) and isinstance(solution.mapping, TreeMapping):
        files |= {
            "mapping.svg": spec.picture(solution.mapping),
            "mapping.html": spec.page(solution.mapping),
        }
    write_files(directory, files, RECORD)

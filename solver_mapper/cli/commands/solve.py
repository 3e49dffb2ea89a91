"""`solver-mapper solve`: the best mapping, with a proof."""

from __future__ import annotations

import json
import time
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import COMMAND_LINE, LIMIT, NO, YES, Files, Json, command
from solver_mapper.cli.commands.network import (
    JobMemory,
    Jobs,
    LayerTimeLimit,
    NoTieBreak,
    Scheduler,
    StorePath,
    StudySettings,
    network_of,
    solve_network,
)
from solver_mapper.cli.factors import Factors, FactorWord
from solver_mapper.cli.fused_options import MaxFusedLoops, Relax
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.output import ResultRecord, deliver, need_folder, print_result, write_files
from solver_mapper.cli.pictures import Html, Plots, pictures
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import MemoryLimit, limited, stop_code
from solver_mapper.cli.search_options import Gap, Seed
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


@command("solve")
def solve(
    files: Files,
    objective: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="energy, delay, edp, last-level-accesses, a product such as "
            "'energy^2*delay', or a list in order of importance: 'delay,energy'. For a network "
            "also network-edp, total energy times total cycles.",
        ),
    ] = "edp",
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Seconds for the whole command; the best mapping so far is printed.",
            min=0,
        ),
    ] = None,
    memory_limit: MemoryLimit = None,
    gap: Gap = GAP,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="CP-SAT threads; with more than 1, which of several optima is found may vary.",
            min=1,
        ),
    ] = 1,
    seed: Seed = 0,
    keep_mapping: Annotated[
        bool | None,
        typer.Option(
            "--keep-mapping/--no-keep-mapping",
            help=(
                "Whether to keep the directives of the mapping in FILE...; by default if its loops"
                " do not make up the problem."
            ),
        ),
    ] = None,
    max_fused_loops: MaxFusedLoops = None,
    relax: Relax = None,
    factors: Factors = FactorWord.PERFECT,
    no_tie_break: NoTieBreak = False,
    engine: Annotated[
        EngineName,
        typer.Option(
            metavar="cpsat|branch-and-bound|both",
            help="Search by CP-SAT, by branch and bound without CP-SAT, or by both in turn.",
        ),
    ] = EngineName.CPSAT,
    verify: Annotated[
        bool, typer.Option("--verify", help="Prove the answer again by independent methods.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for a certificate that `check-certificate` verifies without the solver.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Directory for map.yaml, stats.txt and solution.json.",
        ),
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
    drawn = pictures(html, plot)
    words, network = (
        StudySettings(jobs, job_memory, layer_time_limit, store, scheduler),
        network_of(files),
    )
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
        return solve_network(
            files,
            network,
            words,
            output,
            as_json,
            drawn,
            time_limit=time_limit,
            memory_limit=memory_limit,
            objective=objective,
            gap=gap,
            workers=workers,
            seed=seed,
            verify=verify,
            tie_break=not no_tie_break,
            factors=factors.value,
        )
    words.refuse()
    clock = limited(time_limit, memory_limit)
    started = time.perf_counter()
    spec = read_any(files)
    load_seconds = round(time.perf_counter() - started, 4)
    if output is not None:
        need_folder(output)
    unwritten: CertificateNotWrittenError | None = None
    with ProgressLine() as line:
        try:
            solution = api.solve(
                spec,
                objective,
                seed=seed,
                workers=workers,
                gap=gap,
                verify=verify,
                tie_break=not no_tie_break,
                on_progress=line.show,
                clock=clock,
                keep_mapping=keep_mapping,
                max_fused_loops=max_fused_loops,
                relax=[each.value for each in relax or ()],
                certificate=certificate,
                engine=engine.value,
                factors=factors.value,
            )
        except CertificateNotWrittenError as error:
            solution, unwritten = error.solution, error
    solution.seconds["load"] = load_seconds

    def write_all() -> None:
        if output is not None:
            write(solution, spec, output)
        drawn.write(solution, output, files, spec)
        if unwritten is not None:
            raise unwritten

    deliver(lambda: print_result(solution, as_json), write_all)
    return (
        stop_code()
        or {"optimal": YES, "feasible": YES, "infeasible": NO, "unknown": LIMIT}[solution.status]
    )


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

"""`solver-mapper pareto`: the proven front of two figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import LIMIT, NO, YES, Files, Json, command
from solver_mapper.cli.destination import destination
from solver_mapper.cli.inputs import read_any
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
    Relax,
    Seed,
    TimeLimit,
    Workers,
    folder_for,
)
from solver_mapper.core.objective import GAP
from solver_mapper.core.results.pareto_front import Front, FrontPoint
from solver_mapper.cost.looptree.front import TreeFront, TreeFrontPoint
from solver_mapper.cost.looptree.specification import TreeSpec


@command("pareto")
def pareto(
    files: Files,
    metrics: Annotated[
        str,
        typer.Option(
            metavar="METRIC,METRIC",
            help=(
                "Two of energy, delay and last-level-accesses. LoopTree: energy and delay, or"
                " energy, delay or edp with usage:MEMORY."
            ),
        ),
    ] = "energy,delay",
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    workers: Workers = 1,
    seed: Seed = 0,
    gap: Gap = GAP,
    output: Annotated[Path | None, folder_for("front.json, front.txt, map-1.yaml...")] = None,
    max_fused_loops: MaxFusedLoops = None,
    relax: Relax = None,
    html: Html = None,
    plot: Plots = None,
    factors: Factors = FactorWord.PERFECT,
    as_json: Json = False,
) -> int:
    """Find the Pareto front of two metrics, with a proof."""
    target = destination(output, html, plot, as_json)
    clock = limited(time_limit, memory_limit)
    spec = read_any(files)
    target.prepare(TreeFront if isinstance(spec, TreeSpec) else Front, files, FILES)
    names = [name.strip() for name in metrics.split(",")]
    with ProgressLine() as line:
        front = api.pareto(
            spec,
            names,
            seed=seed,
            gap=gap,
            workers=workers,
            on_progress=line.show,
            clock=clock,
            factors=factors.value,
            max_fused_loops=max_fused_loops,
            relax=[each.value for each in relax or ()],
        )
    target.deliver(front, files, spec, lambda folder: write_files(folder, _files(front), RECORD))
    return (
        stop_code()
        or {"complete": YES, "partial": YES, "infeasible": NO, "unknown": LIMIT}[front.status]
    )


FILES = ("front.json", "front.txt", "map-*.yaml")
"""Patterns of the files that `-o` writes, beside the report."""
RECORD = ResultRecord(
    "front.json",
    lambda older: (
        "front.txt",
        *(f"map-{index}.yaml" for index, _ in enumerate(older["points"], start=1)),
    ),
)


def _files(front: Front | TreeFront) -> dict[str, str]:
    points: Sequence[FrontPoint | TreeFrontPoint] = front.points
    maps = {
        f"map-{index}.yaml": point.mapping.to_yaml() for index, point in enumerate(points, start=1)
    }
    return {
        "front.json": json.dumps(front.to_dict(), indent=1) + "\n",
        "front.txt": f"{front}\n",
        **maps,
    }

"""`solver-mapper evaluate`: exact figures of a mapping."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, print_result
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.output import write_files
from solver_mapper.cli.pictures import Html, Plots, pictures
from solver_mapper.core.statistics import Statistics
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.report.timeloop_stats import timeloop_stats


@command("evaluate")
def evaluate(
    files: Files,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Directory for evaluation.json, stats.txt and diagrams."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Exit with 0 even if the mapping is illegal.")
    ] = False,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
) -> int:
    """Compute exact statistics of a mapping, and check it."""
    drawn = pictures(html, plot)
    spec = read_any(files)
    statistics = api.evaluate(spec)
    if output is not None:
        texts = {"evaluation.json": json.dumps(statistics.to_dict(), indent=1) + "\n"}
        if isinstance(statistics, Statistics):
            texts["stats.txt"] = timeloop_stats(statistics)
        if isinstance(spec, TreeSpec):
            texts |= {"mapping.svg": spec.picture(), "mapping.html": spec.page()}
        write_files(output, texts)
    print_result(statistics, as_json)
    drawn.write(statistics, output, files, spec)
    if statistics.verdict is None or statistics.verdict.legal:
        return YES
    count = len(statistics.verdict.violations)
    print(
        f"solver-mapper: the mapping is illegal ({count} violation{'s' if count > 1 else ''})",
        file=sys.stderr,
    )
    return YES if force else NO

"""`solver-mapper evaluate`: exact figures of a mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import NO, YES, Files, Json, command, say
from solver_mapper.cli.destination import destination
from solver_mapper.cli.inputs import read_any
from solver_mapper.cli.output import ResultRecord, write_files
from solver_mapper.cli.pictures import Html, Plots
from solver_mapper.cli.request import interruptible, stop_code
from solver_mapper.cli.search_options import folder_for
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.report.timeloop_stats import timeloop_stats


@command("evaluate")
def evaluate(
    files: Files,
    output: Annotated[Path | None, folder_for("evaluation.json, stats.txt and diagrams")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Exit with 0 even if the mapping is illegal.")
    ] = False,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
) -> int:
    """Compute exact statistics of a mapping, and check it."""
    target = destination(output, html, plot, as_json)
    spec = read_any(files)
    target.prepare(TreeStatistics if isinstance(spec, TreeSpec) else Statistics, files, FILES)
    with interruptible():
        statistics = api.evaluate(spec)
    target.deliver(statistics, files, spec, lambda folder: _write(spec, statistics, folder))
    if stop_code():
        return stop_code()
    if statistics.verdict is None or statistics.verdict.legal:
        return YES
    count = len(statistics.verdict.violations)
    say(f"solver-mapper: the mapping is illegal ({count} violation{'s' if count > 1 else ''})")
    return YES if force else NO


FILES = ("evaluation.json", "stats.txt", "mapping.svg", "mapping.html")
"""Patterns of the files that `-o` writes, beside the report."""
RECORD = ResultRecord("evaluation.json", lambda older: ("stats.txt", "mapping.svg", "mapping.html"))


def _write(spec: Spec | TreeSpec, statistics: Statistics | TreeStatistics, folder: Path) -> None:
    texts = {"evaluation.json": json.dumps(statistics.to_dict(), indent=1) + "\n"}
    if isinstance(statistics, Statistics):
        texts["stats.txt"] = timeloop_stats(statistics)
    if isinstance(spec, TreeSpec):
        texts |= {"mapping.svg": spec.picture(), "mapping.html": spec.page()}
    write_files(folder, texts, RECORD)

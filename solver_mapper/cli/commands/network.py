"""`solver-mapper solve ARCHITECTURE NETWORK`: every layer mapped."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from solver_mapper import api
from solver_mapper.cli.app import INTERNAL, LIMIT, NO, YES, say
from solver_mapper.cli.destination import Destination
from solver_mapper.cli.input_options import current
from solver_mapper.cli.inputs import standard_input_in_memory
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import ResultRecord, write_files
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import stop_code
from solver_mapper.cli.sizes import memory_size
from solver_mapper.core.arguments import refuse_given
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.yaml.warnings import InputWarning
from solver_mapper.report.timeloop_stats import timeloop_stats
from solver_mapper.study.design import Reading
from solver_mapper.study.execution.clock import StudyClock
from solver_mapper.study.execution.events import Died
from solver_mapper.study.execution.progress import StudyProgress
from solver_mapper.study.network_result import LayerResult, NetworkResult
from solver_mapper.study.networks import is_network

Jobs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Networks: map layers in N processes.")
]
JobMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Networks, with --jobs: memory of a process, such as 4G."),
]
LayerTimeLimit = Annotated[
    float | None, typer.Option(metavar="S", min=0, help="Networks: seconds for each layer.")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Networks: a Dask scheduler, tcp://HOST:PORT.")
]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="Networks: an SQLite file that keeps results."),
]
_UNSAFE = re.compile(r"[^\w.@+-]+")


class SearchArguments(TypedDict):
    """What `solve` says of a search, of a single problem or of a study's."""

    gap: float
    workers: int
    seed: int
    verify: bool
    tie_break: bool
    factors: str


class StudyArguments(TypedDict):
    """What says how a study is run."""

    jobs: int | None
    scheduler: str | None
    store: Path | None
    memory: int | None
    layer_time_limit: float | None


@dataclass(frozen=True)
class StudySettings:
    """What the command line says about how a study is run. None and "" where it says nothing."""

    jobs: int | None = None
    memory: str | None = None
    layer_time_limit: float | None = None
    store: Path | None = None
    scheduler: str | None = None

    def arguments(self, folder: Path | None) -> StudyArguments:
        """As the functions of `api` take them. Results are kept in `folder`, unless a store is
        named.
        """
        return StudyArguments(
            jobs=self.jobs,
            scheduler=self.scheduler,
            store=self.store or (folder / "results.sqlite" if folder else None),
            memory=memory_size(self.memory, "--job-memory"),
            layer_time_limit=self.layer_time_limit,
        )

    def files(self) -> dict[str, Path | None]:
        """The file that is written, by its option."""
        return {"--store": self.store}

    def refuse(self) -> None:
        """Raises: InputError if one was given: they are for networks and sweeps."""
        given = {
            "--jobs": self.jobs is not None,
            "--job-memory": self.memory is not None,
            "--layer-time-limit": self.layer_time_limit is not None,
            "--store": self.store is not None,
            "--scheduler": self.scheduler is not None,
        }
        refuse_given(
            given,
            "is for networks: FILE... has a single problem",
            COMMAND_LINE,
            "name a network, such as resnet50",
        )


def network_of(files: Sequence[str]) -> str | None:
    """The word of FILE... that is a network, if any. Raises: InputError for two of them."""
    found = [word for word in files if is_network(word)]
    if len(found) > 1:
        raise InputError(
            f"two networks are given: {', '.join(found)}",
            SourceLocation(found[1]),
            "map one after the other",
        )
    return found[0] if found else None


def reading() -> Reading:
    """How the command line says that files are read."""
    options = current()
    return Reading(options.templates, options.ignore_sparse, options.warnings)


def print_warnings(warnings: Sequence[InputWarning]) -> None:
    """Each with its code, on standard error."""
    for warning in warnings:
        say(f"warning: {warning} [{warning.code}]")


def solve_network(
    files: Sequence[str],
    network: str,
    objective: str,
    asked: SearchArguments,
    settings: StudySettings,
    target: Destination,
    clock: StudyClock,
) -> int:
    """Map all layers, print the table or JSON, write what was asked for; return the exit code."""
    architecture = [
        standard_input_in_memory() if word == "-" else word for word in files if word != network
    ]
    if not architecture:
        raise InputError(
            f"'{network}' is a network; the architecture is missing",
            COMMAND_LINE,
            f"for example: solver-mapper solve eyeriss {network}, or one layer of it",
        )
    target.prepare(NetworkResult, files, FILES, settings.files())
    with ProgressLine() as line:
        result = api.solve_network(
            architecture,
            network,
            objective,
            **asked,
            **settings.arguments(target.folder),
            clock=clock,
            on_progress=partial(show, line),
            reading=reading(),
        )
    print_warnings(result.warnings)
    target.deliver(
        result, files, result, lambda folder: write_network(result, folder), result.unstored
    )
    return stop_code() or _exit_code(result)


def show(line: ProgressLine, progress: StudyProgress) -> None:
    """Show where a study stands, and on a line of its own what went wrong."""
    event = progress.event
    if isinstance(event, Died):
        then = "; it is begun once more" if event.retried else ""
        line.note(f"{event.job.name}: the process that mapped it died: {event.reason}{then}")
    line.say(progress.line)


def _exit_code(result: NetworkResult) -> int:
    if any((each.record.error or "").startswith("internal error") for each in result.layers):
        return INTERNAL
    return {"optimal": YES, "feasible": YES, "infeasible": NO, "unknown": LIMIT}[result.status]


def write_network(result: NetworkResult, folder: Path) -> None:
    """`network.json`, `network.txt`, `layers.csv`, and a folder for each layer with its
    `solution.json`, `map.yaml`, `stats.txt`.

    Raises: InputError if the folder cannot be written to.
    """
    for layer, name in zip(
        result.layers, folder_names([each.name for each in result.layers]), strict=True
    ):
        write_files(folder / "layers" / name, _layer_files(layer), LAYER)
    write_files(
        folder,
        {
            "network.json": json.dumps(result.to_dict(), indent=1) + "\n",
            "network.txt": f"{result}\n",
            "layers.csv": result.to_csv(),
        },
        NETWORK,
    )


FILES = ("network.json", "network.txt", "layers.csv")
"""Patterns of the files that `-o` writes, beside the report."""
NETWORK = ResultRecord("network.json", lambda older: ("network.txt", "layers.csv"))
LAYER = ResultRecord(
    "solution.json", lambda older: ("map.yaml", "stats.txt") if older["mapping"] else ()
)


def _layer_files(layer: LayerResult) -> dict[str, str]:
    files = (
        {"solution.json": json.dumps(layer.record.solution, indent=1) + "\n"}
        if layer.record.solution
        else {}
    )
    if layer.mapping is not None and layer.evaluation is not None:
        files |= {
            "map.yaml": layer.mapping.to_yaml(),
            "stats.txt": timeloop_stats(layer.evaluation),
        }
    return files


def folder_names(names: Sequence[str]) -> list[str]:
    """Names as folders may have them: letters, digits and `._@+-`; a number is added where two
    would be equal.
    """
    made: list[str] = []
    for name in names:
        plain = _UNSAFE.sub("_", name).strip(".")[:120] or "layer"
        taken, number, word = {each.lower() for each in made}, 1, plain
        while word.lower() in taken:
            number += 1
            word = f"{plain}-{number}"
        made.append(word)
    return made

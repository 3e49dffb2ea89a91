"""`solver-mapper tile`: tiles of an operator, or of all operators of a network, for a scratchpad
accelerator.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper.cli.app import NO, YES, Files, Json, command, say
from solver_mapper.cli.input_options import current, refuse_for_operators
from solver_mapper.cli.inputs import standard_input
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import deliver, print_answer, print_result, print_text, write_file
from solver_mapper.cli.pictures import Html, Plots, pictures
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import interruptible, limited, reading_input, stop_code
from solver_mapper.cli.search_options import MemoryLimit, TimeLimit
from solver_mapper.cli.written import check_written
from solver_mapper.core.arguments import refuse_given, require_number
from solver_mapper.core.clock import Clock
from solver_mapper.errors import (
    InfeasibleError,
    InputError,
    LimitReached,
    SourceLocation,
    did_you_mean,
)
from solver_mapper.io import bundled
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Source, Table
from solver_mapper.report.tiling_text import comparison_text
from solver_mapper.solve.cpsat.engine import MOST_SEED
from solver_mapper.tiling import given
from solver_mapper.tiling.api import Options, default_objective, tile_job
from solver_mapper.tiling.configurations import all_configurations
from solver_mapper.tiling.network import (
    OBJECTIVES,
    NetworkTiling,
    compare,
    is_network,
    read_network,
    tile_network,
)
from solver_mapper.tiling.read import TilingJob, read_operator
from solver_mapper.tiling.result import Tiling
from solver_mapper.tiling.search.solver import Limits

Objective = Annotated[
    str | None,
    typer.Option(
        metavar="utilization|traffic|given",
        help=(
            "SMAUG's choice (the default), provably least elements moved, or the tiling in FILE"
            " (the default if there is one)."
        ),
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(metavar="NAME|FILE", help="Accelerator, instead of the one in FILE."),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="FILE.py", help="Python files that add operators or objectives."
    ),
]
Stale = Annotated[
    bool,
    typer.Option(
        help="Count copied tile shapes with the padding of the whole tensor, as SMAUG does."
    ),
]


@command("tile")
def tile(
    files: Files,
    objective: Objective = None,
    backend: Backend = None,
    plugins: Plugins = None,
    stale_padding: Stale = True,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Random seed of the solver.", show_default="0")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="List every tile shape that fits, in SMAUG's order.")
    ] = False,
    timeloop: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the operator's loop nest as Timeloop files."),
    ] = None,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
) -> int:
    """Tile an operator or a network for scratchpads.

    Prints tile shapes and a schedule as SMAUG does. A tiling under 'tiling:' in FILE is checked,
    scheduled and compared. Bundled networks go by name: resnet50, vgg16.
    """
    drawn = pictures(html, plot)
    for plugin in plugins or []:
        load_plugin(plugin)
    clock = limited(time_limit, memory_limit)
    require_number("--seed", seed, 0, MOST_SEED, whole=True)
    options = Options(stale_padding, Limits(seed=seed or 0, clock=clock))
    refuse_for_operators()
    sources = tuple(source_of(word) for word in files)
    with reading_input():
        top = Reader(sources, current().templates).all(*sources)
    if every:
        refuse_given(
            {
                "a network": is_network(top),
                "--objective": objective is not None,
                "--timeloop": timeloop is not None,
                "--time-limit": time_limit is not None,
                "--seed": seed is not None,
                "--html": html is not None,
                "--plot": bool(plot),
            },
            "does not go with --all, which lists the tile shapes of one operator",
            COMMAND_LINE,
        )
        with interruptible():
            job = read_operator(top, backend)
            listed = all_configurations(job.operator, job.backend, stale_padding)
        print_result(listed, as_json)
        return stop_code()
    drawn.check(NetworkTiling if is_network(top) else Tiling)
    check_written([("--timeloop", timeloop), *drawn.files()], [*files, *(plugins or ())])
    result: Tiling | NetworkTiling | None
    if is_network(top):
        refuse_given(
            {"--objective": objective is not None, "--timeloop": timeloop is not None},
            "is for a single operator; networks are tiled under both objectives",
            COMMAND_LINE,
        )
        result, code = _tile_network(top, backend, options, clock), YES
        print_result(result, as_json)
    else:
        with reading_input():
            job = read_operator(top, backend)
        goal = objective or default_objective(job)
        result, code = _tile_one(job, goal, options, timeloop, as_json)
    if result is not None:
        drawn.write(result, None, _named(sources))
    return stop_code() or code


def _tile_network(top: Table, backend: str | None, options: Options, clock: Clock) -> NetworkTiling:
    """All layers, as far as the time goes. Raises: LimitReached if that is not one."""
    with reading_input():
        network = read_network(top, backend)
    with ProgressLine() as line:
        result = tile_network(
            network,
            options,
            lambda number, count, name: line.say(lambda: f"layer {number + 1} of {count}: {name}"),
        )
    if result.interrupted and not result.layers:
        raise LimitReached(f"{clock.reason} before a layer was tiled")
    return result


def _tile_one(
    job: TilingJob, objective: str, options: Options, timeloop: Path | None, as_json: bool
) -> tuple[Tiling | None, int]:
    if objective not in (*OBJECTIVES, given.OBJECTIVE) or (
        objective == given.OBJECTIVE and job.given is None
    ):
        with interruptible():
            own = tile_job(job, objective, options)
        deliver(lambda: print_result(own, as_json), lambda: _write_timeloop(own, timeloop))
        return own, YES
    with interruptible():
        comparison = compare(job, options)
    found = comparison.results[objective]
    if isinstance(found, InfeasibleError):
        say(f"solver-mapper: {found}")
        for other, tiling in comparison.results.items():
            if isinstance(tiling, Tiling):
                say(
                    f"solver-mapper: --objective {other} finds a tiling that moves"
                    f" {tiling.traffic:,} elements"
                )
        return None, NO
    text = f"{found}\n\n{comparison_text(comparison)}\n"
    if as_json:
        record = {**found.to_dict(), "modes": comparison.to_dict()["modes"]}
        text = json.dumps(record, ensure_ascii=False) + "\n"
    show = print_text if as_json else print_answer
    deliver(lambda: show(text), lambda: _write_timeloop(found, timeloop))
    return found, YES if found.verdict is None or found.verdict.legal else NO


def _write_timeloop(tiling: Tiling, file: Path | None) -> None:
    if file is not None:
        write_file(file, tiling.to_timeloop())


def source_of(word: str) -> Source:
    """A file, standard input, or the name of a shipped network of operators."""
    if word == "-":
        return standard_input()
    there = _exists(word)
    if there or word not in bundled.names("operators"):
        if not there and not Path(word).suffix:
            hint = did_you_mean(word, bundled.names("operators"))
            raise InputError(
                "neither a file nor the name of a network of operators", SourceLocation(word), hint
            )
        return word
    return bundled.path("operators", f"{word}.yaml")


def _exists(word: str) -> bool:
    """Whether there is such a file or pipe. What no file can be called is none."""
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False


def load_plugin(file: Path) -> None:
    """Run a Python file that registers operators, strategies or objectives.

    Raises: InputError if there is no such file or it cannot be run.
    """
    spec = importlib.util.spec_from_file_location(f"solver_mapper_plugin_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError("not a Python file", SourceLocation(str(file)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"cannot be run: {type(error).__name__}: {error}", SourceLocation(str(file))
        ) from None


def _named(sources: tuple[Source, ...]) -> list[str]:
    """The names of what was read; `-` for standard input."""
    return [str(each) if isinstance(each, (str, Path)) else "-" for each in sources]

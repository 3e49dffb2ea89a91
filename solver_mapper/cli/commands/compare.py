"""`solver-mapper compare`: mappings of one problem side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from solver_mapper import api
from solver_mapper.cli.app import YES, Files, Json, command
from solver_mapper.cli.destination import destination
from solver_mapper.cli.input_options import current
from solver_mapper.cli.inputs import read
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import ResultRecord, write_files
from solver_mapper.cli.pictures import Html, Plots
from solver_mapper.cli.progress import ProgressLine
from solver_mapper.cli.request import limited, reading_input, stop_code
from solver_mapper.cli.search_options import MemoryLimit, folder_for
from solver_mapper.compare.comparison import Comparison
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.mapping import Mapping
from solver_mapper.errors import InputError, SourceLocation
from solver_mapper.io.timeloop.specification import with_mapping_of
from solver_mapper.io.yaml.documents import Reader
from solver_mapper.io.yaml.source import Table

IN_FILES = "mapping in FILE"


MappingFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--mapping", metavar="FILE", help="A file with 'mapping:' to compare (repeatable)."
    ),
]
WithOptimum = Annotated[bool, typer.Option("--optimum", help="Compare with the best mapping too.")]
Objective = Annotated[
    str,
    typer.Option(metavar="METRIC", help="What decides which mapping is better, as for solve."),
]
OptimumTimeLimit = Annotated[
    float | None, typer.Option(metavar="S", help="Seconds for the search of --optimum.", min=0)
]


@command("compare")
def compare(
    files: Files,
    mapping: MappingFiles = None,
    optimum: WithOptimum = False,
    objective: Objective = "edp",
    time_limit: OptimumTimeLimit = None,
    memory_limit: MemoryLimit = None,
    output: Annotated[
        Path | None, folder_for("comparison.json, comparison.txt and report.html")
    ] = None,
    html: Html = None,
    plot: Plots = None,
    as_json: Json = False,
) -> int:
    """Compare mappings of one problem side by side.

    A mapping in FILE... is compared too, as the first one.
    """
    refuse_given(
        {"--time-limit": time_limit is not None and not optimum}, "needs --optimum", COMMAND_LINE
    )
    target = destination(output, html, plot, as_json)
    clock = limited(time_limit, memory_limit)
    found: dict[str, Mapping] = {}
    given = mapping or []
    with reading_input():
        tops = {file: _read(file) for file in given}
    used = frozenset[str]().union(*(names for _, names in tops.values()))
    spec = read(files, used=used)
    own = [] if spec.mapping is None else [_file_of(spec.mapping)]
    if spec.mapping is not None:
        found[_name(own[0], [*own, *given]) or IN_FILES] = spec.mapping
    for file in given:
        if [*own, *given].count(file) > 1:
            raise InputError(f"'{file}' is given twice", COMMAND_LINE, "leave one of them out")
        with reading_input():
            found[_name(file, [*own, *given])] = with_mapping_of(spec, tops[file][0]).need_mapping()
    target.prepare(Comparison, [*files, *given], FILES)
    with ProgressLine() as line:
        result = api.compare(
            spec, found, optimum=optimum, objective=objective, clock=clock, on_progress=line.show
        )
    texts = {
        "comparison.json": json.dumps(result.to_dict(), indent=1) + "\n",
        "comparison.txt": f"{result}\n",
    }
    target.deliver(
        result, [*files, *given], spec, lambda folder: write_files(folder, texts, RECORD)
    )
    return stop_code() or YES


FILES = ("comparison.json", "comparison.txt")
"""Patterns of the files that `-o` writes, beside the report."""
RECORD = ResultRecord("comparison.json", lambda older: ("comparison.txt",))


def _name(file: str, files: list[str]) -> str:
    """The name of a file without its folder, unless another one is called the same."""
    name = Path(file).name
    return name if [Path(each).name for each in files].count(name) == 1 else file


def _file_of(mapping: Mapping) -> str:
    """The file that a mapping comes from; empty if it is not known."""
    places = (place for level in mapping.levels for place in level.locations.values())
    return next((place.file for place in places if place.line is not None), "")


def _read(file: str) -> tuple[Table, frozenset[str]]:
    """What a file with a mapping says, and the variables that it uses if it is a template.

    Raises: InputError for a file without a mapping.
    """
    reader = Reader((file,), current().templates)
    top = reader.one(file)
    if "mapping" not in top.entries:
        raise InputError("there is no 'mapping:' in this file", SourceLocation(file))
    return top, reader.template_names

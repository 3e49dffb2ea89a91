"""What `bound` and `fuse` share: NAME=NUMBER options, and writing a curve in all its forms."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from solver_mapper.bounds import Curve, TilePoint
from solver_mapper.bounds.fusion import FusedPoint
from solver_mapper.cli.options_of_arguments import COMMAND_LINE
from solver_mapper.cli.output import ResultRecord, write_files
from solver_mapper.cli.search_options import folder_named
from solver_mapper.core.arguments import refuse_given
from solver_mapper.core.mapping import Mapping
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.snowcat.machine_files import AS_LEVELS, AS_TREE
from solver_mapper.errors import InputError


class Listed(Protocol):
    """A mapping in a list."""

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""


def numbers(text: str | None, option: str) -> dict[str, int] | None:
    """`A=8,B=16` as a table. Raises: InputError for anything else."""
    if text is None:
        return None
    table: dict[str, int] = {}
    for item in text.replace(",", " ").split():
        name, _, value = item.partition("=")
        if not name or not value.isdigit():
            raise InputError(
                f"{option}: '{item}' is not of the form NAME=NUMBER",
                COMMAND_LINE,
                f"for example {option} M=4,K=16",
            )
        if name in table:
            raise InputError(f"{option}: '{name}' is given twice", COMMAND_LINE, "keep one of them")
        table[name] = int(value)
    return table


def words(text: str | None) -> list[str] | None:
    """`M,N K` as a list; a word without separators is taken letter by letter, as Timeloop writes
    permutations.
    """
    if text is None:
        return None
    parts = text.replace(",", " ").split()
    return list(parts[0]) if len(parts) == 1 else parts


def names(text: str | None) -> tuple[str, ...]:
    """`A,B C` as names; nothing as none."""
    return tuple((text or "").replace(",", " ").split())


def write_curve(curve: Curve[Any], folder: Path, trees: bool) -> None:
    """`curve.json`, `.csv`, `.svg` and `.txt` in `folder`, each step's mapping and the machine that
    it is for.

    `trees`: mappings are LoopTrees, else Timeloop's.

    Raises: InputError if it cannot be written to.
    """
    record = json.dumps(curve.to_dict(), indent=1)
    files = {
        "curve.json": f"{record}\n",
        "curve.csv": curve.to_csv(),
        "curve.svg": curve.to_svg(),
        "curve.txt": f"{curve}\n",
    }
    mappings = {
        f"mapping_{point.buffer}.yaml": _example_mapping(point, trees).to_yaml()
        for point in curve.points
        if isinstance(point, TilePoint) or (isinstance(point, FusedPoint) and point.has_mapping)
    }
    files |= mappings | ({"machine.yaml": AS_TREE if trees else AS_LEVELS} if mappings else {})
    write_files(folder, files, RECORD)


CURVE_FILES = (
    "curve.json",
    "curve.csv",
    "curve.svg",
    "curve.txt",
    "machine.yaml",
    "mapping_*.yaml",
)
"""Patterns of the files that `-o` writes, beside the report."""
RECORD = ResultRecord(
    "curve.json",
    lambda older: (
        "curve.csv",
        "curve.svg",
        "curve.txt",
        "machine.yaml",
        *(f"mapping_{point['buffer']}.yaml" for point in older["curve"]),
    ),
)


def _example_mapping(point: FusedPoint | TilePoint, trees: bool) -> TreeMapping | Mapping:
    return point.tree if isinstance(point, TilePoint) and trees else point.mapping


CURVE_FOLDER = typer.Option(
    "-o",
    "--output",
    metavar="DIR",
    help="Directory for curve.json, .csv, .svg, .txt and mappings.",
    parser=folder_named,
)
AllMappings = Annotated[
    bool, typer.Option("--all-mappings", help="List every single-operation mapping as JSON lines.")
]
Pareto = Annotated[
    bool, typer.Option("--pareto", help="With --all-mappings: only the Pareto-optimal ones.")
]
MacsPerCycle = Annotated[
    float | None, typer.Option(metavar="N", help="Operations per cycle, for the least cycles.")
]
Bandwidth = Annotated[
    float | None, typer.Option(metavar="N", help="Units of traffic per cycle, for the same.")
]


def check_listing(all_mappings: bool, pareto: bool, of_curves: Table[str, object]) -> None:
    """Raises: InputError for options that a list of mappings, or a curve, does not have.

    `of_curves`: the values of options that curves alone have, by name; None if not given.
    """
    refuse_given({"--pareto": pareto and not all_mappings}, "needs --all-mappings", COMMAND_LINE)
    refuse_given(
        {name: all_mappings and value is not None for name, value in of_curves.items()},
        "has no meaning for a list of mappings",
        COMMAND_LINE,
    )


def print_lines(mappings: Iterable[Listed]) -> None:
    """One JSON object a line, each printed as it is found."""
    for mapping in mappings:
        sys.stdout.write(json.dumps(mapping.to_dict(), ensure_ascii=False) + "\n")
    sys.stdout.flush()

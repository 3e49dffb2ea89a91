"""Options of several commands that search."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from solver_mapper.core.factors import IMPERFECT as _IMPERFECT
from solver_mapper.core.factors import PERFECT as _PERFECT


class FactorWord(Enum):
    """What `--factors` takes: the mapspace of perfect or of imperfect factors."""

    PERFECT = _PERFECT
    IMPERFECT = _IMPERFECT


class Relaxation(Enum):
    """Constraints of LoopTree files that can be lowered."""

    MIN_USAGE = "min_usage"


TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        min=0,
        help="Seconds for the whole command; what is known by then is printed.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Memory, such as 4G, at which the best so far is the answer."
    ),
]
Gap = Annotated[
    float, typer.Option(metavar="SHARE", help="Accepted relative optimality gap.", min=0, max=1)
]
Seed = Annotated[int, typer.Option(metavar="N", help="CP-SAT random seed.", min=0)]
Workers = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Processes that share the work of searches that take long.",
    ),
]
Factors = Annotated[
    FactorWord,
    typer.Option(
        metavar="perfect|imperfect",
        help="Loop bounds that divide, or also loops whose last rounds are shorter.",
    ),
]
NoTieBreak = Annotated[
    bool,
    typer.Option(
        "--no-tie-break",
        help="Accept any optimal mapping; by default the one of least energy, then delay.",
    ),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Prove each answer again by independent methods.")
]
MaxFusedLoops = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="LoopTree: shared loops that may stand above an Einsum at most; no limit by default.",
        min=0,
    ),
]
Relax = Annotated[
    list[Relaxation] | None,
    typer.Option(
        metavar="min_usage", help="LoopTree: a constraint to lower where an Einsum cannot meet it."
    ),
]


def folder_named(word: str | Path) -> Path:
    """The folder that a word names. Raises: BadParameter for an empty word, which `Path` takes
    for the current folder.
    """
    if not str(word):
        raise typer.BadParameter("the name of a folder is empty; write . for this folder")
    return Path(word)


def folder_for(files: str) -> Any:
    """The option `-o` of a command that writes `files` into a folder."""
    return typer.Option(
        "-o", "--output", metavar="DIR", help=f"Directory for {files}.", parser=folder_named
    )

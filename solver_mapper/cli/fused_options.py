"""Options of the commands that search for LoopTrees."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class Relaxation(Enum):
    """Constraints that can be lowered."""

    MIN_USAGE = "min_usage"


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

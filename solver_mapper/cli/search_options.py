"""Options of several commands that search."""

from __future__ import annotations

from typing import Annotated

import typer

Gap = Annotated[
    float, typer.Option(metavar="SHARE", help="Accepted relative optimality gap.", min=0, max=1)
]
Seed = Annotated[int, typer.Option(metavar="N", help="CP-SAT random seed.", min=0)]

"""The option that names the mapspace: perfect or imperfect factors."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from solver_mapper.core.factors import IMPERFECT as _IMPERFECT
from solver_mapper.core.factors import PERFECT as _PERFECT


class FactorWord(Enum):
    """What `--factors` takes."""

    PERFECT = _PERFECT
    IMPERFECT = _IMPERFECT


Factors = Annotated[
    FactorWord,
    typer.Option(
        metavar="perfect|imperfect",
        help="Loop bounds that divide, or also loops whose last rounds are shorter.",
    ),
]

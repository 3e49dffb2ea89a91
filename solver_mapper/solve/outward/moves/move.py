"""What is added to inner mappings, by number, so that a row can tell how it was made."""

from __future__ import annotations

from typing import NamedTuple

from solver_mapper.solve.numbering import Numbering


class Move(NamedTuple):
    """What is added at a level: a loop over `dim` along `axis` ("" for a temporal one), or, with
    `bound` 0, `holds` as one bit for each tensor, or the `order` of the loops of its mesh.
    """

    level: int
    dim: int = 0
    bound: int = 0
    axis: str = ""
    holds: int = 0
    order: tuple[tuple[int, int], ...] = ()


Moves = Numbering[Move]
"""All moves that were made."""

"""What is added to inner mappings, by number, so that a row can tell how it was made."""

from __future__ import annotations

from typing import NamedTuple


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


class Moves:
    """All moves that were made, by number."""

    def __init__(self) -> None:
        self.made: list[Move] = []
        self._numbers: dict[Move, int] = {}

    def number(self, move: Move) -> int:
        """The number of a move."""
        if move not in self._numbers:
            self._numbers[move] = len(self.made)
            self.made.append(move)
        return self._numbers[move]

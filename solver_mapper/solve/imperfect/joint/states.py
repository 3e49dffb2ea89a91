"""What tensors wait for on the walk outwards."""

from __future__ import annotations

from typing import NamedTuple

FRESH, IDLE, LONE = -1, -2, -3


class Waiting(NamedTuple):
    """Open flows of a tensor that have met the same loops.

    levels: into which they lead, inner to outer.
    mode: FRESH: no loop since the last of `levels` has moved the tile, nor, where the tensor has
        windows, an idle one come; IDLE: idle loops have come; LONE: the loop over `lone` that came
        runs once in its last round; otherwise the dimension over which the window slides.
    short: whether it slides over three tiles or more, of which the last is shorter by two words or
        more.
    paused: whether an idle loop of a tensor with windows has come that runs once in its last round,
        before anything moved the tile.
    """

    tensor: int
    levels: tuple[int, ...]
    mode: int = FRESH
    lone: int | None = None
    short: bool = False
    paused: bool = False


State = tuple[Waiting, ...]
"""All open flows, in order."""
Key = tuple[State, frozenset[int]]
"""A state, and dimensions that have a loop at the level that runs once in its last round."""

"""What tensors wait for on the walk outwards."""

from __future__ import annotations

from typing import NamedTuple

FRESH, IDLE, CLOSED, LONE = -1, -2, -3, -4


class Waiting(NamedTuple):
    """What a tensor waits for.

    mode: FRESH: no loop since the last of `levels` has moved its tile, nor, where it has windows,
        an idle one come; IDLE: idle loops have come; LONE: the loop over `lone` that came runs once
        in its last round; CLOSED: nothing; otherwise the dimension over which its window slides.
    levels: its open flows, inner to outer.
    """

    mode: int
    levels: tuple[int, ...] = ()
    lone: int | None = None


NOTHING = Waiting(CLOSED)
State = tuple[Waiting, ...]
"""For each tensor."""
Key = tuple[State, frozenset[int]]
"""A state, and dimensions that have a loop at the level that runs once in its last round."""

"""What a search and its helper send each other."""

from __future__ import annotations

from typing import NamedTuple

from solver_mapper.core.objective import Goal, Limit
from solver_mapper.solve.outward.run import Ends

READY = "ready"
"""From the helper: it can take the specification."""


class WalkTask(NamedTuple):
    """To the helper: make a walk below `target`, in place of the one that it makes now."""

    serial: int
    goal: Goal
    limits: tuple[Limit, ...]
    target: float


class Told(NamedTuple):
    """From the helper: how much work it has done for a walk, and how that ended."""

    serial: int
    work: int
    ends: Ends | None = None

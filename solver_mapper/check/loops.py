"""The loops of a mapping as constraints see them: those to 1 do not exist."""

from __future__ import annotations

from solver_mapper.core.constraints import Constraint, Kind
from solver_mapper.core.mapping import LevelMapping, Loop
from solver_mapper.errors import SourceLocation


def loops_of(level: LevelMapping, kind: Kind) -> list[Loop]:
    """The level's loops of one kind with more than one iteration, innermost first."""
    listed = level.temporal if kind == "temporal" else level.spatial
    return [each for each in reversed(listed) if each.bound > 1]


def bound_of(level: LevelMapping, kind: Kind, dim: str) -> tuple[int, int]:
    """(bound, last) of the level's loops of one kind over `dim` together; (1, 1) without any."""
    bound, covered = 1, 0
    for each in reversed(loops_of(level, kind)):
        if each.dim == dim:
            bound, covered = bound * each.bound, covered * each.bound + each.last - 1
    return bound, covered + 1


def location_in(level: LevelMapping, constraint: Constraint, *keys: str) -> SourceLocation:
    """Where the mapping says what offends, or the constraint's location if that was not written
    anywhere.
    """
    found = level.location(*keys)
    return constraint.location if found.line is None else found


def cited(constraint: Constraint) -> str:
    """The constraint as messages quote it, with its location."""
    where = "" if constraint.location.line is None else f" ({constraint.location})"
    return f"'{constraint.text}'{where}"

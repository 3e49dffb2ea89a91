"""A machine's own buffers on a curve: what each of its levels must receive at the least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from solver_mapper.bounds.curve import Curve, Mark
from solver_mapper.spec.architecture import Architecture


@dataclass(frozen=True)
class LevelBound:
    """Traffic into one level of a hierarchy, at the least.

    `capacity` is what all instances of the level hold together and `inclusive` the least traffic if every level keeps every
    tensor, so that nothing inner holds more; None where no mapping fits. `below` adds the capacities of all inner levels, and
    `any_keep` is the least traffic whatever the levels keep or bypass.
    """

    level: str
    capacity: int
    inclusive: int | None
    below: int
    any_keep: int | None

    def to_dict(self) -> dict[str, Any]:
        return {"level": self.level, "capacity": self.capacity, "accesses": self.inclusive,
                "capacity_with_inner_levels": self.below, "accesses_with_bypass": self.any_keep}


def marks_of(architecture: Architecture) -> tuple[Mark, ...]:
    """The levels below the backing store that have a size, all their instances together, in words."""
    return tuple(Mark(level.name, level.capacity * level.instances) for level in architecture.levels[1:] if level.capacity)


def level_bounds(curve: Curve[Any], marks: Sequence[Mark]) -> tuple[LevelBound, ...]:
    """The curve read once for each level of a hierarchy, outer to inner.

    What crosses the boundary above a level in any mapping also crosses it in the two-level mapping whose buffer is everything
    below the boundary: its tile is the mapping's tile there, its loops are the mapping's outer loops. Merging the factors that
    one dimension has above the boundary into one loop keeps every visit count or lowers it, so the curve bounds the mapping.
    Instances that hold copies of the same words hold fewer different ones; counting their capacities in full is safe.
    """
    bounds, below = [], 0
    for mark in reversed(marks):
        below += mark.buffer
        bounds.append(LevelBound(mark.name, mark.buffer, curve.accesses(mark.buffer), below, curve.accesses(below)))
    return tuple(reversed(bounds))

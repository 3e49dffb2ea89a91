"""A machine's own buffers on a curve: what each of its levels must receive at the least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solver_mapper.bounds.curve import Curve, LevelBound, Mark
from solver_mapper.core.architecture import Architecture


def marks_of(architecture: Architecture) -> tuple[Mark, ...]:
    """Levels below the backing store that have a size: words of all their instances together."""
    return tuple(
        Mark(level.name, level.capacity * level.instances)
        for level in architecture.levels[1:]
        if level.capacity
    )


def level_bounds(curve: Curve[Any], marks: Sequence[Mark]) -> tuple[LevelBound, ...]:
    """The curve read once for each level of a hierarchy, outer to inner.

    What crosses into a level that keeps every tensor also crosses in the two-level mapping whose
    buffer is that level: its tile is the mapping's tile there, its loops are the mapping's outer
    loops. Merging the factors that one dimension has there into one loop keeps every visit count or
    lowers it, so the curve bounds the mapping. Instances that hold copies of the same words hold
    fewer different ones; counting their capacities in full is safe. A level that some tensor
    bypasses may do with less, for the others have its room.
    """
    return tuple(LevelBound(mark.name, mark.buffer, curve.accesses(mark.buffer)) for mark in marks)

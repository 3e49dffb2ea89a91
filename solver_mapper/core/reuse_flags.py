"""Reuse that the hardware lacks, applied to a mapping: a network that cannot multicast does not,
whatever a mapping says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from solver_mapper.core.constraints import Constraint, ReuseConstraint
from solver_mapper.core.mapping import LevelMapping, Mapping


def with_reuse_flags(mapping: Mapping, constraints: Iterable[Constraint]) -> Mapping:
    """`mapping` with the reuse switched off that the flags among `constraints` (`no_multicast`,
    `no_link_transfer`, `no_temporal_reuse`) switch off. What the mapping itself switches off stays
    off."""
    flags = [constraint for constraint in constraints if isinstance(constraint, ReuseConstraint)]
    if not flags:
        return mapping
    return replace(mapping, levels=tuple(_flagged(level, flags) for level in mapping.levels))


def _flagged(level: LevelMapping, flags: Iterable[ReuseConstraint]) -> LevelMapping:
    def off(flag: str, own: frozenset[str]) -> frozenset[str]:
        return own.union(
            *(
                constraint.tensors
                for constraint in flags
                if (constraint.level, constraint.flag) == (level.level, flag)
            )
        )

    return replace(
        level,
        no_temporal_reuse=off("no_temporal_reuse", level.no_temporal_reuse),
        no_multicast=off("no_multicast", level.no_multicast),
        no_link_transfer=off("no_link_transfer", level.no_link_transfer),
    )

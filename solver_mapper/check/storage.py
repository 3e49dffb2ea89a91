"""Constraints about what levels hold and which reuse they do without, checked."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.check.loops import cited, location_in
from solver_mapper.core.constraints import KeepConstraint, ReuseConstraint
from solver_mapper.core.mapping import LevelMapping
from solver_mapper.core.results.verdict import Violation


def keep(constraint: KeepConstraint, level: LevelMapping) -> Iterator[Violation]:
    """The violation of a keep or bypass constraint at its level, if there is one."""
    kept = constraint.tensor in level.keep
    if kept != constraint.keep:
        does, must = ("keeps", "to be bypassed") if kept else ("bypasses", "to be kept")
        yield Violation(
            "keep" if constraint.keep else "bypass",
            f"{level.level} {does} {constraint.tensor}; {cited(constraint)} requires it {must}",
            level=level.level,
            tensor=constraint.tensor,
            found="keep" if kept else "bypass",
            limit="keep" if constraint.keep else "bypass",
            location=location_in(level, constraint, f"bypass {constraint.tensor}", "bypass"),
            constraint=constraint,
        )


def flag(constraint: ReuseConstraint, level: LevelMapping) -> Iterator[Violation]:
    """A mapping must switch off what the constraint switches off; it may switch off more."""
    kind = "temporal" if constraint.flag == "no_temporal_reuse" else "spatial"
    switched = {
        "no_temporal_reuse": level.no_temporal_reuse,
        "no_multicast": level.no_multicast,
        "no_link_transfer": level.no_link_transfer,
    }[constraint.flag]
    for tensor in sorted(constraint.tensors - switched):
        yield Violation(
            constraint.flag,
            f"{level.level} {kind}: {constraint.flag} does not list {tensor}; "
            f"{cited(constraint)} does",
            level=level.level,
            tensor=tensor,
            location=location_in(level, constraint, kind),
            constraint=constraint,
        )

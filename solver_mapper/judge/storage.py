"""Rules about what levels hold and which reuse they do without, judged."""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.judge.loops import cited, place_in
from solver_mapper.mapping import LevelMapping
from solver_mapper.nest.legality import Violation
from solver_mapper.spec.constraints import FlagRule, KeepRule


def keep(rule: KeepRule, level: LevelMapping) -> Iterator[Violation]:
    kept = rule.tensor in level.keep
    if kept != rule.keep:
        does, must = ("keeps", "to be bypassed") if kept else ("bypasses", "to be kept")
        yield Violation(
            "keep" if rule.keep else "bypass", f"{level.level} {does} {rule.tensor}; {cited(rule)} wants it {must}",
            level=level.level, tensor=rule.tensor, found="keep" if kept else "bypass", limit="keep" if rule.keep else "bypass",
            place=place_in(level, rule, f"bypass {rule.tensor}", "bypass"), asked=rule,
        )  # fmt: skip


def flag(rule: FlagRule, level: LevelMapping) -> Iterator[Violation]:
    """A mapping must switch off what the rule switches off; it may switch off more."""
    kind = "temporal" if rule.flag == "no_temporal_reuse" else "spatial"
    switched = {"no_temporal_reuse": level.no_temporal_reuse, "no_multicast": level.no_multicast,
                "no_link_transfer": level.no_link_transfer}[rule.flag]
    for tensor in sorted(rule.tensors - switched):
        yield Violation(
            rule.flag, f"{level.level} {kind}: {rule.flag} does not list {tensor}; {cited(rule)} does",
            level=level.level, tensor=tensor, place=place_in(level, rule, kind), asked=rule,
        )  # fmt: skip

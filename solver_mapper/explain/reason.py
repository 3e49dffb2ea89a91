"""The answer of `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from solver_mapper.core.mapping import Mapping
from solver_mapper.core.spec import Spec
from solver_mapper.errors import NOWHERE, SourceLocation
from solver_mapper.explain.change import Change, changed
from solver_mapper.explain.wording import What


@dataclass(frozen=True)
class Entry:
    """One thing that takes part in the conflict: what it is, in words, and where it was written."""

    what: What
    text: str
    location: SourceLocation = NOWHERE
    note: str = ""
    """Why the mapspace or the hardware, and not only the other entries, excludes it."""

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        plain = {
            "what": self.what,
            "text": self.text,
            "file": self.location.file,
            "line": self.location.line,
        }
        return plain | {"note": self.note} if self.note else plain


@dataclass(frozen=True)
class Repair:
    """Changes that together make some mapping legal, none of which can be spared. `location` is
    that of the first.
    """

    text: str
    changes: tuple[Change, ...]
    entries: tuple[Entry, ...]

    @property
    def location(self) -> SourceLocation:
        """Where the first change is to be made."""
        return self.entries[0].location

    def apply(self, spec: Spec) -> Spec:
        """`spec` with the changes made."""
        for change in self.changes:
            spec = changed(spec, change)
        return spec

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        changes = [
            {**entry.to_dict(), "to": _plain(change)}
            for entry, change in zip(self.entries, self.changes, strict=True)
        ]
        return {
            "text": self.text,
            "file": self.location.file,
            "line": self.location.line,
            "changes": changes,
        }


def _plain(change: Change) -> Any:
    if isinstance(change.to, tuple):
        return list(change.to)
    return change.to if change.to is None or isinstance(change.to, int) else float(change.to)


@dataclass(frozen=True)
class Reason:
    """Whether any mapping is legal; if not, a minimal conflict, and what would lift all conflicts.

    `others` are further conflicts that share no entry with it or each other, if they were asked
    for; `more` tells whether there are such conflicts (None: not known). `mapping` is some legal
    mapping, if there is one. `complete` tells whether the time sufficed to look for all smallest
    repairs and conflicts.
    """

    feasible: bool
    conflict: tuple[Entry, ...] = ()
    repairs: tuple[Repair, ...] = ()
    others: tuple[tuple[Entry, ...], ...] = ()
    more: bool | None = None
    mapping: Mapping | None = None
    complete: bool = True
    seconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        others = [[entry.to_dict() for entry in other] for other in self.others]
        further = {} if self.feasible else {"more_conflicts": self.more, "other_conflicts": others}
        return {
            "feasible": self.feasible,
            "conflict": [entry.to_dict() for entry in self.conflict],
            **further,
            "repairs": [repair.to_dict() for repair in self.repairs],
        }

    def __str__(self) -> str:
        return "\n".join(text for text, _ in self.lines())

    def lines(self) -> Iterator[tuple[str, SourceLocation]]:
        """What a user reads, a line each, with the place in a file that the line is about."""
        if self.feasible:
            yield "Legal mappings exist.", NOWHERE
            return
        yield from conflict_lines(self.conflict)
        if self.more and not self.others:
            yield (
                "Further conflicts share no entry with this one; 'explain --all' lists them.",
                NOWHERE,
            )
        for number, other in enumerate(self.others, 2):
            yield f"Conflict {number}, which shares no entry with the others:", NOWHERE
            yield from entry_lines(other)
        yield from repair_lines(self.repairs)


class Advice(Protocol):
    """What would lift a conflict, in words, and where it would be written."""

    @property
    def text(self) -> str:
        """The change in words."""

    @property
    def location(self) -> SourceLocation:
        """Where the change would be written."""


def conflict_lines(conflict: Sequence[Entry]) -> Iterator[tuple[str, SourceLocation]]:
    """A minimal conflict, a line for each entry."""
    yield (
        "No legal mapping. Minimal conflict (removing any one entry resolves it; other conflicts"
        " may remain):",
        NOWHERE,
    )
    yield from entry_lines(conflict)


def entry_lines(conflict: Sequence[Entry]) -> Iterator[tuple[str, SourceLocation]]:
    """A line for each entry, with its place."""
    for entry in conflict:
        note = f" ({entry.note})" if entry.note else ""
        yield f"  {_where(entry.location)}{entry.text}{note}", entry.location


def repair_lines(repairs: Sequence[Advice]) -> Iterator[tuple[str, SourceLocation]]:
    """What would lift the conflicts, a line for each repair."""
    if repairs:
        several = len(repairs) > 1
        which = "Each of these changes alone makes" if several else "This change makes"
        yield f"{which} the mapspace non-empty:", NOWHERE
    for repair in repairs:
        yield f"  {_where(repair.location)}{repair.text}", NOWHERE


def _where(location: SourceLocation) -> str:
    return "" if location.line is None else f"{location}: "

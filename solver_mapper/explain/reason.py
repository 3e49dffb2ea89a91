"""The answer of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Why the mapspace, and not only the other entries, excludes it."""

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
    """Whether any mapping is legal; if not, a minimal conflict, and
    what would lift the conflict.

    `mapping` is some legal mapping, if there is one. `complete` tells whether the time sufficed to
    look for all smallest repairs.
    """

    feasible: bool
    conflict: tuple[Entry, ...] = ()
    repairs: tuple[Repair, ...] = ()
    mapping: Mapping | None = None
    complete: bool = True
    seconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "feasible": self.feasible,
            "conflict": [entry.to_dict() for entry in self.conflict],
            "repairs": [repair.to_dict() for repair in self.repairs],
        }

    def __str__(self) -> str:
        return reason_text(self.feasible, self.conflict, self.repairs)


class Advice(Protocol):
    """What would lift a conflict, in words, and where it would be written."""

    @property
    def text(self) -> str: ...
    @property
    def location(self) -> SourceLocation: ...


def reason_text(feasible: bool, conflict: Sequence[Entry], repairs: Sequence[Advice]) -> str:
    """A conflict and its repairs as a user reads them, one a line."""
    if feasible:
        return "Legal mappings exist."
    lines = [
        "No legal mapping. Minimal conflict (removing any one entry resolves it; other"
        " conflicts may remain):"
    ]
    lines += [
        f"  {_where(entry.location)}{entry.text}{f' ({entry.note})' if entry.note else ''}"
        for entry in conflict
    ]
    if repairs:
        lines += [
            "Each of these changes alone makes the mapspace non-empty:"
            if len(repairs) > 1
            else "This change makes the mapspace non-empty:"
        ]
        lines += [f"  {_where(repair.location)}{repair.text}" for repair in repairs]
    return "\n".join(lines)


def _where(location: SourceLocation) -> str:
    return "" if location.line is None else f"{location}: "

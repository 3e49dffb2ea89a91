"""The answer of `validate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from solver_mapper.core.constraints import Constraint
from solver_mapper.errors import NOWHERE, SourceLocation


@dataclass(frozen=True)
class Violation:
    """One constraint broken: what was `found` against the `limit`, where, and why in words.

    `location` is that of the offending line of the mapping, or of the constraint where the mapping
    has no line to show. `constraint` is the constraint that is broken, if it is one from a
    constraint file.
    """

    rule: str
    message: str
    level: str | None = None
    tensor: str | None = None
    dimension: str | None = None
    found: int | float | str | None = None
    limit: int | float | str | None = None
    location: SourceLocation = field(default=NOWHERE, compare=False)
    constraint: Constraint | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        constraint = self.constraint
        return {
            "rule": self.rule,
            "level": self.level,
            "tensor": self.tensor,
            "dimension": self.dimension,
            "found": self.found,
            "limit": self.limit,
            "file": self.location.file,
            "line": self.location.line,
            "message": self.message,
            "constraint": (
                None
                if constraint is None
                else {
                    "text": constraint.text,
                    "file": constraint.location.file,
                    "line": constraint.location.line,
                }
            ),
        }


@dataclass(frozen=True)
class Verdict:
    """Whether a mapping is legal; `violations` lists every constraint that it breaks."""

    violations: tuple[Violation, ...] = ()

    @property
    def legal(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "legal": self.legal,
            "violations": [violation.to_dict() for violation in self.violations],
        }

    def __str__(self) -> str:
        if self.legal:
            return "legal"
        lines = [
            f"illegal: {len(self.violations)} violation{'s' if len(self.violations) > 1 else ''}"
        ]
        for each in self.violations:
            where = f"{each.location}: " if each.location.line is not None else ""
            lines.append(f"  {where}[{each.rule}] {each.message}")
        return "\n".join(lines)

"""The answer of `validate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solver_mapper.nest.legality import Violation


@dataclass(frozen=True)
class Verdict:
    """Whether a mapping is legal; `violations` lists every rule that it breaks."""

    violations: tuple[Violation, ...] = ()

    @property
    def legal(self) -> bool:
        return not self.violations

    def to_dict(self) -> dict[str, Any]:
        return {"legal": self.legal, "violations": [violation.to_dict() for violation in self.violations]}

    def __str__(self) -> str:
        if self.legal:
            return "legal"
        lines = [f"illegal: {len(self.violations)} violation{'s' if len(self.violations) > 1 else ''}"]
        for each in self.violations:
            where = f"{each.place}: " if each.place.line is not None else ""
            lines.append(f"  {where}[{each.rule}] {each.message}")
        return "\n".join(lines)

"""Warnings: what was accepted although its writer may have meant something else."""

from __future__ import annotations

from dataclasses import dataclass, field

from solver_mapper.errors import SourceLocation


@dataclass
class Notes:
    """Warnings gathered while reading."""

    lines: list[str] = field(default_factory=list)

    def add(self, place: SourceLocation, text: str) -> None:
        line = f"{place}: {text}"
        if line not in self.lines:
            self.lines.append(line)

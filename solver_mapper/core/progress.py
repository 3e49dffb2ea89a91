"""How far a search has come, for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where a search stands: the best value so far and its proven lower bound (None before there is
    one).
    """

    value: int | float | None
    bound: float | None
    seconds: float
    where: str

    @property
    def gap(self) -> float | None:
        """Share of the value that is not proven."""
        if self.value is None or self.bound is None:
            return None
        return max(0.0, (float(self.value) - self.bound) / float(self.value)) if self.value else 0.0

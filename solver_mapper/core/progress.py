"""How far a search has come, for whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


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


@dataclass
class Recorder:
    """Keeps each change of value or bound, and passes everything on to `listener`."""

    listener: Callable[[Progress], None] | None = None
    changes: list[Progress] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        """Note a change of value or bound, and pass the progress on."""
        if not self.changes or _told(self.changes[-1]) != _told(progress):
            self.changes.append(progress)
        if self.listener is not None:
            self.listener(progress)


def _told(progress: Progress) -> tuple[object, ...]:
    return progress.where, progress.value, progress.bound

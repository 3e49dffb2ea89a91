"""How long the phases of an answer took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Timer:
    """Wall-clock seconds of named phases: each `lap` ends one."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, phase: str) -> None:
        """Give the seconds since the last lap to a phase."""
        now = time.perf_counter()
        self.seconds[phase] = round(now - self._since, 4)
        self._since = now

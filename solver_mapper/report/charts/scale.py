"""Axes: from values to positions, and the ticks between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Scale:
    """Maps `low` to `high` (with `log` logarithmically; then both are positive) to the pixels from
    `start` to `end`.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high, at = (
            (math.log10(self.low), math.log10(self.high), math.log10(value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, about: int = 6) -> list[float]:
        """Round values within the scale, `about` so many; on a short logarithmic scale they are as
        far from each other as on a linear one.
        """
        decades = list(self._decades()) if self.log else []
        return decades if len(decades) > 2 else list(self._even(about))

    def _even(self, about: int) -> Iterator[float]:
        rough = (self.high - self.low) / max(about, 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in _STEPS if each * power >= rough * 0.999)
        for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
            yield number * step

    def _decades(self) -> Iterator[float]:
        """1, 2 and 5 times powers of ten, powers alone or some of these where they are many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        span = math.log10(self.high / self.low)
        steps = (1, 2, 5) if span <= 2.5 else (1,)
        stride = max(1, math.ceil((last - first) / 8))
        for exponent in range(first, last + 1):
            if (exponent - first) % stride:
                continue
            for step in steps:
                value = step * 10.0**exponent
                if self.low <= value <= self.high:
                    yield value


def scale_of(
    values: Iterable[float], start: float, end: float, log: bool, *, zero: bool = False
) -> Scale:
    """A scale on which all `values` have room (those above 0 where it is logarithmic); with `zero`
    it begins at 0.
    """
    shown = [value for value in values if value > 0 or not log] or [1.0]
    low, high = min(shown), max(shown)
    if log:
        room = max(1.15, (high / low) ** 0.06)
        return Scale(low / room, high * room, start, end, True)
    if zero or low == high:
        return Scale(min(0.0, low), high * 1.05 or 1.0, start, end)
    room = (high - low) * 0.06
    return Scale(low - room if low < 0 or low > room else 0.0, high + room, start, end)


def short(value: float) -> str:
    """A tick's label: `250`, `1.5k`, `3M`, `2e+12`."""
    magnitude = abs(value)
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if limit <= magnitude < limit * 1000:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"

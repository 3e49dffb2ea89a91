"""Mappings that need more cycles than steps, because a level's bandwidth is limited.

Let B(c) be how much energy a mapping of c cycles may spend and still be better than the target.
Where energy and cycles are multiplied, B is convex. So between two numbers of cycles it is at most
the straight line from B at one end to B at the other, and every better mapping in this range spends
less than the line allows. That bounds a sum: energy, and the cycles that a port needs, at the price
of the slope. Each word that passes the port adds to this sum as it adds to energy, so one walk
bounds both together, while the fewest cycles and the least energy may come from different mappings.

The line is above B inside the range. There a mapping that is no better than the target may stay
below the line; then the range is divided at its cycles, where both new lines meet B.

Cycles are whole, while words at a port may need a part of one. So a mapping may stay below the line
of a range that its cycles, rounded up, are no part of. A steeper line that meets B at the end of
the range is also above B in it, and less so behind it; so is a flatter one that meets B at the
beginning, and less so before it. These are looked at next.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from solver_mapper.core.architecture import Architecture
from solver_mapper.verify.bound import Rates


class Port(NamedTuple):
    """A port of a level: cycles that each word takes that an instance reads or writes there."""

    level: int
    read: Fraction
    write: Fraction

    def rates(self, architecture: Architecture) -> list[Rates]:
        """For each level, the cycles of a word of all its instances together, at least."""
        read, write = (
            each / architecture.levels[self.level].instances for each in (self.read, self.write)
        )
        here = Rates(read, write, read, write)
        return [here if n == self.level else Rates() for n in range(len(architecture.levels))]


class Price(NamedTuple):
    """What each cycle costs, in pJ, that the words at a port take."""

    port: Port
    cycle: float

    def words(self, level: int) -> tuple[float, float]:
        """The price of a word that an instance of a level reads and of one that it writes."""
        if level != self.port.level:
            return 0.0, 0.0
        return self.cycle * float(self.port.read), self.cycle * float(self.port.write)


class CycleRange(NamedTuple):
    """Mappings that take between `fewest` and `most` cycles."""

    fewest: float
    most: float


class Line(NamedTuple):
    """The energy in pJ that better mappings of a range spend at most: so much at some number of
    cycles, and `slope` less for each cycle more.
    """

    cycles: float
    energy: float
    slope: float


FLAT, STEEPER, STEEPEST = 0, 8, 64
"""Tilts of lines: how many times as steep as the straight line between the ends of B they are."""


def tilted(cycles: CycleRange, ends: Sequence[float], tilt: int) -> Line:
    """The line for a range, between whose `ends` B lies."""
    early, late = ends
    width = cycles.most - cycles.fewest
    slope = max(early - late, 0.0) / width if width > 0 else 0.0
    if tilt > 1:
        return Line(cycles.most, late, tilt * slope)
    return Line(cycles.fewest, early, tilt * slope)


def divided(cycles: CycleRange, taken: int, tilt: int) -> list[tuple[CycleRange, int]]:
    """Ranges to look at next, with their tilts, where a mapping below the line takes so many
    cycles; none if there is nothing more to tell. A straight line would have the same mapping once
    more, near the end of either part.
    """
    if taken > cycles.most:
        return [(cycles, STEEPER * tilt)] if FLAT < tilt < STEEPEST else []
    if taken <= cycles.fewest:
        return [(cycles, FLAT)] if tilt == 1 else []
    return [
        (CycleRange(cycles.fewest, max(taken - 1.0, cycles.fewest)), STEEPER),
        (CycleRange(float(taken), cycles.most), FLAT),
    ]


def ports(architecture: Architecture) -> list[Port]:
    """All ports of limited bandwidth."""
    found, none = [], Fraction(0)
    for number, level in enumerate(architecture.levels):
        for bandwidth, reads, writes in (
            (level.read_bandwidth, True, False),
            (level.write_bandwidth, False, True),
            (level.shared_bandwidth, True, True),
        ):
            if bandwidth is not None:
                each = 1 / Fraction(bandwidth)
                found.append(Port(number, each if reads else none, each if writes else none))
    return found

"""Mappings that need more cycles than steps, because a level's bandwidth is limited.

Let B(c) be how much energy a mapping of c cycles may spend and still be better than the target.
Where energy and cycles are multiplied, B is convex. So between two numbers of cycles it is at most
the straight line from B at one end to B at the other, and every better mapping in this range spends
less than the line allows. That bounds a sum: energy, and the cycles that a port needs, at the price
of the slope. Each word that passes the port adds to this sum as it adds to energy, so one walk
bounds both together, while the fewest cycles and the least energy may come from different mappings.

The line is above B inside the range. There a mapping that is no better than the target may stay
below the line; then the range is divided at its cycles, where both new lines meet B.
"""

from __future__ import annotations

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

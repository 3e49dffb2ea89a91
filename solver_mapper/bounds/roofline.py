"""Latency beside accesses: the roofline of a machine's compute units and bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver_mapper.core.architecture import Architecture
from solver_mapper.errors import NOWHERE, ArgumentError, SourceLocation


@dataclass(frozen=True)
class Roofline:
    """`macs` operations in all, `peak` of them in a cycle; `bandwidth` units of traffic in a cycle,
    reads and writes together.
    """

    macs: int
    peak: Fraction
    bandwidth: Fraction

    @property
    def compute_cycles(self) -> int:
        """Cycles that the operations take."""
        return math.ceil(self.macs / self.peak)

    def cycles(self, accesses: int) -> int:
        """The least cycles of a mapping with so many accesses: computation and traffic overlap
        completely.
        """
        return max(self.compute_cycles, math.ceil(accesses / self.bandwidth))

    def limit(self, accesses: int) -> str:
        """What takes longer: "compute" or "bandwidth"."""
        return "bandwidth" if accesses / self.bandwidth > self.compute_cycles else "compute"

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "macs": self.macs,
            "macs_per_cycle": float(self.peak),
            "bandwidth": float(self.bandwidth),
            "compute_cycles": self.compute_cycles,
        }


def roofline_of(
    macs: int,
    peak: float | Fraction | None,
    bandwidth: float | Fraction | None,
    architecture: Architecture | None = None,
    location: SourceLocation = NOWHERE,
) -> Roofline | None:
    """The roofline of what is given or, where that is None, of the `architecture`: its compute
    units, and the bandwidth of its outermost level. None if neither number is given and the
    architecture does not say what the bandwidth is.

    Raises: InputError for numbers that are not positive, or if one of both numbers is missing.
    """
    for name, value in (("macs_per_cycle", peak), ("bandwidth", bandwidth)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ArgumentError(name, f"{name} is {value:g}; it must be above 0", location)
    asked = peak is not None or bandwidth is not None
    if architecture is not None:
        peak = architecture.arithmetic.instances if peak is None else peak
        bandwidth = _outermost(architecture) if bandwidth is None else bandwidth
    if bandwidth is None and not asked:
        return None
    if peak is None or bandwidth is None:
        missing = "macs_per_cycle" if peak is None else "bandwidth"
        message = f"a roofline also needs {missing}"
        raise ArgumentError(missing, message, location, "give both numbers")
    return Roofline(macs, Fraction(peak), Fraction(bandwidth))


def _outermost(architecture: Architecture) -> Fraction | None:
    """Words per cycle that the backing store can read and write together; None without limit."""
    store = architecture.levels[0]
    limits = [] if store.shared_bandwidth is None else [store.shared_bandwidth]
    if store.read_bandwidth is not None and store.write_bandwidth is not None:
        limits.append(store.read_bandwidth + store.write_bandwidth)
    return min(limits) * store.instances if limits else None

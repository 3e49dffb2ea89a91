"""Cycles and throughput that each limited bandwidth allows, taken by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.latency import port_demands
from solver_mapper.report.tables import short


@dataclass(frozen=True)
class Port:
    """One limited bandwidth of a level: `words` per instance at `bandwidth` words per cycle, on
    `instances` instances in use.
    """

    level: str
    what: str
    words: int
    bandwidth: Fraction
    instances: int

    @property
    def cycles(self) -> Fraction:
        """Cycles that this bandwidth alone needs."""
        return self.words / self.bandwidth

    @property
    def description(self) -> str:
        """Kind and bandwidth in words."""
        unit = "words" if self.bandwidth > 1 else "word"
        return f"{self.what}, {short(self.bandwidth)} {unit} per cycle"


def ports(statistics: Statistics) -> Iterator[Port]:
    """Every limited bandwidth, outer to inner."""
    for buffer in statistics.architecture.levels:
        rows = statistics.levels[buffer.name].tensors.values()
        instances = max((row.instances for row in rows), default=1)
        reads, writes = sum(row.reads for row in rows), sum(row.fills + row.updates for row in rows)
        for port, words, bandwidth in port_demands(buffer, reads, writes):
            what = "reads and writes" if port == "shared" else f"{port}s"
            yield Port(buffer.name, what, words, bandwidth, instances)


def compute_steps(statistics: Statistics) -> int:
    """Cycles in which compute units work."""
    return statistics.levels[statistics.architecture.arithmetic.name].cycles


def bottleneck(statistics: Statistics) -> str:
    """What determines the cycles, in words."""
    slowest = max(ports(statistics), key=lambda port: port.cycles, default=None)
    if slowest is None or slowest.cycles <= compute_steps(statistics):
        return "compute-bound"
    return f"limited by {slowest.level} ({slowest.description})"

"""Compute cycles, scaled by the bandwidth bottleneck, plus network latency."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, prod
from typing import TypeVar

from solver_mapper.core.architecture import Architecture, Buffer
from solver_mapper.cost.timeloop.accesses import Accesses
from solver_mapper.cost.timeloop.tiles import Nest

Number = TypeVar("Number", int, float)


def steps(nest: Nest) -> int:
    """Temporal steps that happen. Element 0 of every spatial loop is never idle before the others,
    so its steps are counted.
    """
    if nest.perfect:
        return timeloop_steps(nest)
    total = 1
    for dim in range(len(nest.tiles[0])):
        full = final = 1
        for level in range(nest.depth - 1, -1, -1):
            for loop in reversed(nest.spatial[level]):
                if loop.dim == dim and loop.last > 1:
                    final = full
            for loop in reversed(nest.temporal[level]):
                if loop.dim == dim:
                    full, final = loop.bound * full, (loop.last - 1) * full + final
        total *= final
    return total


def timeloop_steps(nest: Nest) -> int:
    """Timeloop's count: the product of all temporal bounds, as if every round were a full one."""
    return prod([loop.bound for loops in nest.temporal for loop in loops])


def level_time(buffer: Buffer, accesses: Sequence[Accesses | None], compute: int) -> Fraction | int:
    """Cycles that a level needs, not rounded: at least the `compute` steps, and its words per
    instance over its bandwidth.

    `accesses` has an entry for each tensor, None where the level does not hold it.
    """
    if not _limited(buffer):
        return compute
    reads, writes = (sum(words) for words in zip(*map(_reads_and_writes, accesses), strict=True))
    times: list[Fraction | int] = [
        words / bandwidth for _, words, bandwidth in port_demands(buffer, reads, writes)
    ]
    return max([compute, *times])


def timeloop_cycles(buffer: Buffer, accesses: Sequence[Accesses | None], compute: int) -> int:
    """Timeloop's figure for the same, in its own double precision, whose noise the ceiling turns
    into a whole cycle at times.
    """
    if not _limited(buffer):
        return compute
    split = [_reads_and_writes(each) for each in accesses]
    reads = sum((words / compute for words, _ in split), 0.0)
    writes = sum((words / compute for _, words in split), 0.0)
    slowdown = 1.0
    for _, need, bandwidth in port_demands(buffer, reads, writes):
        if float(bandwidth) < need:
            slowdown = min(slowdown, float(bandwidth) / need)
    return ceil(compute / slowdown)


def latency(architecture: Architecture) -> int:
    """Cycles to fill and drain all networks, added once to the total."""
    total = 0
    for level in architecture.levels:
        down = level.network
        up = level.update_network or down
        total += (down.fill_latency if down else 0) + (up.drain_latency if up else 0)
    return total


def timeloop_latency(architecture: Architecture) -> int:
    """The same by Timeloop, which takes the fill latency of a declared update network for its drain
    latency too.
    """
    declared = [
        level.update_network for level in architecture.levels if level.update_network is not None
    ]
    return latency(architecture) + sum(
        network.fill_latency - network.drain_latency for network in declared
    )


def _limited(buffer: Buffer) -> bool:
    return (
        buffer.read_bandwidth is not None
        or buffer.write_bandwidth is not None
        or buffer.shared_bandwidth is not None
    )


def port_demands(
    buffer: Buffer, reads: Number, writes: Number
) -> list[tuple[str, Number, Fraction]]:
    """For each limited bandwidth of a level: its name, what is asked of it, and its words per cycle
    and instance.
    """
    limits = (
        ("read", reads, buffer.read_bandwidth),
        ("write", writes, buffer.write_bandwidth),
        ("shared", writes + reads, buffer.shared_bandwidth),
    )
    return [(port, words, bandwidth) for port, words, bandwidth in limits if bandwidth is not None]


def _reads_and_writes(accesses: Accesses | None) -> tuple[int, int]:
    return (0, 0) if accesses is None else (accesses.reads, accesses.fills + accesses.updates)

"""How long the operations of an Einsum take by themselves."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.cost.looptree.hardware import Unit
from solver_mapper.cost.looptree.workload import Einsum


def operations(einsum: Einsum, compute: Unit) -> Fraction | int:
    """How often a compute is called in one run; copies need none."""
    return 0 if einsum.copy else einsum.operations * compute.count_scale


def least_time(einsum: Einsum, compute: Unit) -> float:
    """Seconds of one run at least: with all instances of the compute at work all the time."""
    calls = operations(einsum, compute)
    times = (
        line.weights.get("compute", Fraction(0)) * calls / compute.instances + line.constant
        for line in compute.latency.lines
    )
    return float(max(times, default=Fraction(0)))

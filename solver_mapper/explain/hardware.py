"""What the hardware and the problem alone say about a cap on a figure, whatever the mapping."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.core.constraints import MetricConstraint
from solver_mapper.core.spec import Spec
from solver_mapper.mapspace.requirements import Requirement
from solver_mapper.solve.legality.model import units_of


def implied_by_hardware(requirement: Requirement, spec: Spec) -> str:
    """Which part of the hardware keeps a cap from being met, or nothing where none does so alone.

    Each is a floor of the figure: a compute unit does one MAC in a cycle, and each MAC costs its
    energy.
    """
    if not isinstance(requirement, MetricConstraint):
        return ""
    architecture, problem = spec.need_architecture(), spec.need_problem()
    units, compute = units_of(architecture), architecture.arithmetic
    cycles = -(-problem.macs // units)
    energy = problem.macs * compute.energy
    floors = {
        "cycles": (
            Fraction(cycles),
            f"{units:,} instances of {compute.name} need at least {cycles:,} cycles for"
            f" {problem.macs:,} MACs",
        ),
        "energy_pj": (
            energy,
            f"the MACs alone need {float(energy):,.10g} pJ at {float(compute.energy):g} pJ of"
            f" {compute.name} each",
        ),
    }
    floor, why = floors.get(requirement.metric, (Fraction(0), ""))
    return "" if requirement.limit.holds(floor) else why

"""Input that can be used but looks as if it meant something else: capacities, bandwidths,
constraints, outputs.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from solver_mapper.core.architecture import Architecture, Buffer
from solver_mapper.core.constraints import (
    HARDWARE,
    Constraint,
    FactorConstraint,
    KeepConstraint,
    PermutationConstraint,
)
from solver_mapper.core.problem import Problem
from solver_mapper.core.spec import Spec
from solver_mapper.errors import SourceLocation
from solver_mapper.io.yaml.warnings import Notes

_TENSORS = 3
"""Words that one operation may need in a cycle, where no problem tells."""
_FAR = 16
"""A bandwidth of this many times what the compute units below can use is hardly meant."""
_LARGEST_ON_CHIP = 2**27
"""Words of on-chip storage, all instances together, beyond which a capacity is hardly meant in
words.
"""


def note_suspicious(spec: Spec, notes: Notes) -> None:
    """Warn about what is hardly meant in `spec`."""
    if spec.problem is not None:
        _note_problem(spec.problem, notes)
    if spec.architecture is not None:
        _note_architecture(spec.architecture, notes)
    if spec.problem is not None and spec.architecture is not None:
        _note_unit_dimensions(spec.problem, spec.constraints, notes)
        _note_capacities(spec.architecture, stored_tensors(spec), notes)


def stored_tensors(spec: Spec) -> dict[str, list[str]]:
    """For each level, the tensors that neither a constraint nor the mapping, if there is one, sends
    past it.
    """
    tensors = spec.need_problem().tensor_names
    bypassed = {
        (constraint.level, constraint.tensor)
        for constraint in spec.constraints
        if isinstance(constraint, KeepConstraint) and not constraint.keep
    }
    for level in () if spec.mapping is None else spec.mapping.levels:
        bypassed |= {(level.level, tensor) for tensor in tensors if tensor not in level.keep}
    return {
        name: [tensor for tensor in tensors if (name, tensor) not in bypassed]
        for name in spec.need_architecture().level_names
    }


def _note_architecture(architecture: Architecture, notes: Notes) -> None:
    """Bandwidths, capacities and clusters that are hardly meant, whatever the problem is."""
    for level in architecture.levels:
        _note_clusters(level, notes)
        units = Fraction(architecture.arithmetic.instances, level.instances)
        for way in ("read", "write", "shared"):
            bandwidth: Fraction | None = getattr(level, f"{way}_bandwidth")
            if bandwidth is not None:
                _note_bandwidth(level, way, bandwidth, units, notes)
        words = (level.entries or 0) * level.instances
        if (
            level.technology != "DRAM"
            and level is not architecture.levels[0]
            and words > _LARGEST_ON_CHIP
        ):
            what = (
                f"'{level.name}' stores {words:,} words of {level.word_bits} bits on chip; is its"
                " capacity in bytes or bits?"
            )
            notes.add("capacity-unit", level.entries_location, what)


def _note_clusters(level: Buffer, notes: Notes) -> None:
    """Warn of instances that are not in whole clusters: as in Timeloop, whole ones alone pay."""
    if level.instances % level.cluster_size:
        pay = "no access costs anything"
        if level.clusters:
            pay = f"{level.clusters} of them pay for all instances"
        what = (
            f"the {level.instances} instances of '{level.name}' are not in whole clusters of"
            f" {level.cluster_size}: as in Timeloop, {pay}"
        )
        notes.add("clusters", level.location, what)


def _note_bandwidth(
    level: Buffer, way: str, bandwidth: Fraction, units: Fraction, notes: Notes
) -> None:
    shown = (
        f"the {way} bandwidth of '{level.name}', {float(bandwidth):g} words per cycle and instance,"
    )
    location = level.bandwidth_locations.get(way, level.location)
    if bandwidth < 1:
        notes.add("bandwidth", location, f"{shown} is below one word; is it in other units?")
    elif bandwidth > _FAR * _TENSORS * max(units, Fraction(1)):
        below = f"{float(units):g} compute units" if units > 1 else "the compute unit"
        notes.add(
            "bandwidth",
            location,
            f"{shown} is far above what {below} below can use; is it in bits or bytes?",
        )


def _note_problem(problem: Problem, notes: Notes) -> None:
    if not any(tensor.read_write for tensor in problem.tensors):
        what = (
            "no tensor of the problem is written, so no results are counted; mark the output with"
            " 'read-write: true'"
        )
        notes.add("no-output", problem.tensors[0].location, what)


def _note_capacities(
    architecture: Architecture, stored: dict[str, list[str]], notes: Notes
) -> None:
    """Capacities that are hardly meant, given the tensors that each level may store."""
    for index, level in enumerate(architecture.levels):
        tensors = stored[level.name]
        if level.capacity is not None and 0 < level.capacity < len(tensors):
            what = (
                f"'{level.name}' has room for {level.capacity} word{'s' * (level.capacity > 1)},"
                f" but may store {', '.join(tensors)}, which need at least one each"
            )
            notes.add("small-level", level.entries_location, what)
        _note_larger_inner(level, architecture.levels[index + 1 :], stored, notes)


def _note_larger_inner(
    level: Buffer, inner: tuple[Buffer, ...], stored: dict[str, list[str]], notes: Notes
) -> None:
    for other in inner:
        shared = set(stored[level.name]) & set(stored[other.name])
        if shared and level.entries and other.entries and other.entries > level.entries:
            what = (
                f"one '{level.name}' has {level.entries:,} words, fewer than the {other.entries:,}"
                f" of one '{other.name}' below it; is its capacity in kilobytes?"
            )
            notes.add("capacity-unit", level.entries_location, what)
            return


def _note_unit_dimensions(
    problem: Problem, constraints: tuple[Constraint, ...], notes: Notes
) -> None:
    named: dict[tuple[str, str, str], dict[str, SourceLocation]] = defaultdict(dict)
    for constraint in constraints:
        if (
            isinstance(constraint, (FactorConstraint, PermutationConstraint))
            and constraint.origin != HARDWARE
        ):
            dims = (
                (constraint.dim,)
                if isinstance(constraint, FactorConstraint)
                else (*constraint.inner, *constraint.outer)
            )
            for dim in dims:
                named[constraint.level, constraint.kind, constraint.origin].setdefault(
                    dim, constraint.location
                )
    for (level, kind, _), locations in named.items():
        if all(problem.bounds[dim] == 1 for dim in locations):
            what = (
                f"the {kind} constraint of '{level}' names {', '.join(locations)} only, of bound"
                " 1: it constrains nothing"
            )
            notes.add("unit-dimensions", next(iter(locations.values())), what)

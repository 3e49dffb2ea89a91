"""Curves of what LoopTree files describe, with the machine's memories marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from solver_mapper.bounds.bound import TilePoint, bound, bound_mappings
from solver_mapper.bounds.curve import Curve, Mark
from solver_mapper.bounds.fusion.fuse import FusionOptions, Template, fuse
from solver_mapper.bounds.options import BoundOptions
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.workload import Einsum, Workload
from solver_mapper.errors import InputError, about_argument


def fuse_spec(spec: TreeSpec, template: Template, options: FusionOptions) -> Curve[Any]:
    """`fuse` of the workload in `spec`. An architecture is optional: its memories are marked.

    Raises: InputError for a missing workload, and as `fuse`.
    """
    workload = spec.need_workload()
    curve = fuse(workload, template, options)
    return curve.marked(_marks(spec, workload, curve.units))


def bound_einsum(spec: TreeSpec, einsum: str | None, options: BoundOptions) -> Curve[TilePoint]:
    """`bound` of one Einsum of the workload in `spec`, by name; None for the only one.

    Word sizes are those of the workload, where they differ between tensors, unless `options` has
    some.
    Raises: InputError for an unknown Einsum, for None where there are several, and for options that
    are about constraints, which LoopTree files lack.
    """
    chosen, word_bits = _asked(spec, einsum, options)
    curve = bound(
        chosen.problem,
        word_bits=word_bits,
        stationary=options.stationary,
        order=options.order,
        tiles=options.tiles,
        counting=options.counting,
    )
    return curve.marked(_marks(spec, spec.need_workload(), curve.units))


def list_einsum(
    spec: TreeSpec, einsum: str | None, options: BoundOptions, *, pareto: bool = False
) -> Iterator[TilePoint]:
    """`bound_mappings` of one Einsum. Raises: InputError as `bound_einsum`."""
    chosen, word_bits = _asked(spec, einsum, options)
    return bound_mappings(
        chosen.problem,
        word_bits=word_bits,
        within=options.dataflow(chosen.problem),
        stationary=options.stationary,
        counting=options.counting,
        pareto=pareto,
    )


def _asked(
    spec: TreeSpec, einsum: str | None, options: BoundOptions
) -> tuple[Einsum, Mapping[str, int] | None]:
    """The Einsum, and the bits of its words."""
    if options.constrained:
        raise InputError("LoopTree files have no constraints to keep to", spec.location)
    chosen = _chosen(spec.need_workload(), einsum)
    return chosen, _word_bits(chosen) if options.word_bits is None else options.word_bits


def _word_bits(einsum: Einsum) -> dict[str, int] | None:
    """Bits per word of each tensor; None where all are equal."""
    bits = {access.name: access.bits for access in einsum.accesses}
    if len(set(bits.values())) == 1:
        return None
    odd = next((name for name, each in bits.items() if each.denominator != 1), None)
    if odd is not None:
        raise InputError(
            f"words of '{odd}' have {bits[odd]} bits; a bound needs whole bits", einsum.location
        )
    return {name: int(each) for name, each in bits.items()}


def _chosen(workload: Workload, einsum: str | None) -> Einsum:
    if einsum is not None:
        with about_argument("einsum"):
            return workload.einsum(einsum)
    if len(workload.einsums) > 1:
        names = ", ".join(each.name for each in workload.einsums)
        raise InputError(
            f"the workload has {len(workload.einsums)} Einsums",
            workload.location,
            f"name one of {names}; 'fuse' takes them all together",
        )
    return workload.einsums[0]


def _marks(spec: TreeSpec, workload: Workload, units: str) -> list[Mark]:
    """Memories below the outermost that have a size, all their instances together, in `units`."""
    if spec.architecture is None:
        return []
    word = {"bits": Fraction(1), "bytes": Fraction(8)}.get(
        units, workload.einsums[0].accesses[0].bits
    )
    first = workload.einsums[0]
    chain = spec.architecture.chain(first, spec.architecture.enabled_computes(first)[0])
    return [
        Mark(memory.name, int(memory.size * memory.instances / word))
        for memory in chain.memories[1:]
        if memory.size
    ]

"""Curves of what LoopTree files describe, with the machine's memories marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from solver_mapper.bounds.bound import USUAL, Counting, TilePoint, bound, bound_mappings
from solver_mapper.bounds.curve import Curve, Mark
from solver_mapper.bounds.dataflow import restriction
from solver_mapper.bounds.fusion.fuse import FusionOptions, Template, fuse
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.workload import Einsum, Workload
from solver_mapper.errors import InputError


def fuse_spec(spec: TreeSpec, template: Template, options: FusionOptions) -> Curve[Any]:
    """`fuse` of the workload in `spec`. An architecture is optional: its memories are marked.

    Raises: InputError for a missing workload, and as `fuse`.
    """
    workload = spec.need_workload()
    curve = fuse(workload, template, options)
    return curve.marked(_marks(spec, workload, curve.units))


def bound_einsum(
    spec: TreeSpec,
    einsum: str | None,
    *,
    word_bits: Mapping[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Mapping[str, int] | None = None,
    counting: Counting = USUAL,
) -> Curve[TilePoint]:
    """`bound` of one Einsum of the workload in `spec`, by name; None for the only one.

    Word sizes are those of the workload, where they differ between tensors, unless `word_bits` are
    given.
    Raises: InputError for an unknown Einsum, or for None where there are several.
    """
    workload = spec.need_workload()
    chosen = _chosen(workload, einsum)
    curve = bound(
        chosen.problem,
        word_bits=_word_bits(chosen) if word_bits is None else word_bits,
        stationary=stationary,
        order=order,
        tiles=tiles,
        counting=counting,
    )
    return curve.marked(_marks(spec, workload, curve.units))


def list_einsum(
    spec: TreeSpec,
    einsum: str | None,
    *,
    word_bits: Mapping[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Mapping[str, int] | None = None,
    counting: Counting = USUAL,
    pareto: bool = False,
) -> Iterator[TilePoint]:
    """`bound_mappings` of one Einsum; the arguments are those of `bound_einsum`.

    Raises: InputError as `bound_einsum`.
    """
    chosen = _chosen(spec.need_workload(), einsum)
    return bound_mappings(
        chosen.problem,
        word_bits=_word_bits(chosen) if word_bits is None else word_bits,
        within=restriction(chosen.problem, stationary, order, tiles),
        stationary=stationary,
        counting=counting,
        pareto=pareto,
    )


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

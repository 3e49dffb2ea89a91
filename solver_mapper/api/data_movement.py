"""Bounds on data movement: buffer size against accesses, with and without fusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Table
from typing import Any

from solver_mapper.api.arguments import checked, refuse_two_clocks
from solver_mapper.bounds import Curve, TilePoint
from solver_mapper.bounds.for_specification import bound_spec, list_spec
from solver_mapper.bounds.fusion import EinsumMapping, FusionOptions
from solver_mapper.bounds.fusion import fuse_mappings as list_einsum_mappings
from solver_mapper.bounds.fusion.for_specification import bound_einsum, fuse_spec, list_einsum
from solver_mapper.bounds.fusion.fuse import Template
from solver_mapper.bounds.options import BoundOptions
from solver_mapper.bounds.roofline import roofline_of
from solver_mapper.core.clock import Clock
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.deadline import running
from solver_mapper.errors import ArgumentError, InputError


@checked
def bound(
    spec: Spec | TreeSpec,
    *,
    einsum: str | None = None,
    word_bits: Table[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Table[str, int] | None = None,
    constrained: bool = False,
    regular_shifts: bool = False,
    bypass: bool = False,
    macs_per_cycle: float | None = None,
    bandwidth: float | None = None,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> Curve[TilePoint]:
    """Buffer size against the least data movement that any mapping of one Einsum can have, with a
    mapping for each step.

    Args: `einsum`, which one of a workload of several. `word_bits[tensor]`, sizes of words (figures
    are then in bytes or bits instead of words). `stationary`, `order` and `tiles` ask for the curve
    of one dataflow, `constrained` for that of the constraint files. `regular_shifts` counts sliding
    windows exactly as `solve` does, not as Orojenesis does. `bypass` admits mappings that give some
    tensors no tile in the buffer. `macs_per_cycle` and `bandwidth` (units of the curve per cycle,
    reads and writes together) give the least cycles of each step, a roofline; without them they are
    those of the architecture, if its outermost level has a bandwidth. An architecture is optional:
    its buffers are marked. `time_limit` in seconds; `clock`, to stop from outside.
    Raises: InputError for a missing problem or names that it does not have; InfeasibleError for a
    dataflow without mappings; LimitReached.
    """
    refuse_two_clocks(clock, time_limit)
    options = BoundOptions(word_bits, stationary, order, tiles, constrained, regular_shifts, bypass)
    with running(clock or Clock(time_limit)):
        if isinstance(spec, TreeSpec):
            curve = bound_einsum(spec, einsum, options)
            return curve.timed(roofline_of(curve.macs, macs_per_cycle, bandwidth))
        _refuse_einsum(spec, einsum)
        curve = bound_spec(spec, spec.need_problem(), options)
    machine = spec.architecture if curve.units == "words" else None
    return curve.timed(roofline_of(curve.macs, macs_per_cycle, bandwidth, machine))


@checked
def bound_mappings(
    spec: Spec | TreeSpec,
    *,
    einsum: str | None = None,
    word_bits: Table[str, int] | None = None,
    stationary: str | None = None,
    order: Sequence[str] | None = None,
    tiles: Table[str, int] | None = None,
    constrained: bool = False,
    regular_shifts: bool = False,
    bypass: bool = False,
    pareto: bool = False,
) -> Iterator[TilePoint]:
    """Every mapping that `bound` considers, one by one: each tile with each order of the loops over
    tiles.

    Args: `pareto`, only the mappings that no other improves upon in buffer and accesses (mappings
    of equal figures are all given); the others as for `bound`.
    Raises: InputError and InfeasibleError as `bound`.
    """
    options = BoundOptions(word_bits, stationary, order, tiles, constrained, regular_shifts, bypass)
    if isinstance(spec, TreeSpec):
        return list_einsum(spec, einsum, options, pareto=pareto)
    _refuse_einsum(spec, einsum)
    return list_spec(spec, spec.need_problem(), options, pareto=pareto)


def _refuse_einsum(spec: Spec, einsum: str | None) -> None:
    if einsum is not None:
        raise ArgumentError(
            "einsum",
            f"there is no workload with an Einsum '{einsum}'",
            spec.location,
            "a problem is one Einsum by itself",
        )


@checked
def fuse(
    spec: Spec | TreeSpec,
    template: Template = "ffmr",
    options: FusionOptions | None = None,
    *,
    macs_per_cycle: float | None = None,
    bandwidth: float | None = None,
    time_limit: float | None = None,
    clock: Clock | None = None,
) -> Curve[Any]:
    """Buffer size against the least data movement of several Einsums together, fusion included,
    with a mapping for each step.

    Args: `template`, "ffmr" (every fusion that makes sense), "ffmt" (the template of the Orojenesis
    paper, for chains) or "v2" (the published constraints of Orojenesis v2); `options`, see
    `FusionOptions`; `macs_per_cycle` and `bandwidth` as for `bound`, for all Einsums together;
    `time_limit` in seconds; `clock`, to stop from outside. An architecture is optional: its
    memories are marked.
    Raises: InputError for a missing workload and for options that the template does not know;
    InfeasibleError if no mapping is left; LimitReached.
    """
    refuse_two_clocks(clock, time_limit)
    with running(clock or Clock(time_limit)):
        curve = fuse_spec(_with_einsums(spec), template, options or FusionOptions())
    return curve.timed(roofline_of(curve.macs, macs_per_cycle, bandwidth))


@checked
def fuse_mappings(
    spec: Spec | TreeSpec, options: FusionOptions | None = None, *, pareto: bool = False
) -> Iterator[EinsumMapping]:
    """Every mapping of the single Einsums of a workload, one by one, by the rules of Orojenesis v2:
    each set of fused tensors, each order of fused loops, each tile, each order of the other loops.

    Args: `options` as for `fuse` with the template "v2"; `pareto`, only the mappings that no other
    with the same fused tensors and loops improves upon in buffer and accesses (mappings of equal
    figures are all given).
    Raises: InputError as `fuse`.
    """
    workload = _with_einsums(spec).need_workload()
    return list_einsum_mappings(workload, options or FusionOptions(), pareto=pareto)


def _with_einsums(spec: Spec | TreeSpec) -> TreeSpec:
    if not isinstance(spec, TreeSpec):
        raise InputError(
            "fusion needs a workload of Einsums", spec.location, "add a file with 'workload:'"
        )
    return spec

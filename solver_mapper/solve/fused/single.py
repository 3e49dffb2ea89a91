"""The best mapping of one Einsum by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from solver_mapper.cost.looptree.architecture import Architecture
from solver_mapper.cost.looptree.storage_choices import placements
from solver_mapper.cost.looptree.workload import Einsum
from solver_mapper.solve.fused.compiled import CompiledTables, compile_skeleton
from solver_mapper.solve.fused.minimize import Best, EnergyDelayProduct, Minimizer
from solver_mapper.solve.fused.skeleton import ALONE, Neighbours, Skeleton, skeletons

_BEAM = 200
_FIRST = 3
"""Skeletons, the most promising first, of which a quick look gives the first mapping to beat."""


@dataclass
class SearchCount:
    """How much was looked at: `skeletons` in all, those `searched`, and the least bound among those
    that were not.
    """

    skeletons: int = 0
    searched: int = 0
    complete: bool = True
    bound: float = float("inf")


def all_skeletons(
    architecture: Architecture,
    einsum: Einsum,
    neighbours: Neighbours = ALONE,
    fused: Mapping[str, str] | None = None,
) -> Iterator[Skeleton]:
    """Every skeleton of an Einsum on every compute that may run it.

    Args: `fused[tensor]`, the memory in which a tensor is handed over. What is in common but not
    fused is kept by the outermost. A compute whose path lacks one of these memories, or the copies
    that a shared loop runs over, is passed over.
    """
    for compute in architecture.enabled_computes(einsum):
        chain = architecture.chain(einsum, compute)
        shared = {loop.across[0] for loop in neighbours.prefix if loop.across is not None}
        if not shared.union((fused or {}).values()) <= chain.position.keys():
            continue
        levels = {tensor: chain.position[memory] for tensor, memory in (fused or {}).items()}
        for placement in placements(
            architecture, einsum, chain, levels, frozenset(neighbours.floors)
        ):
            yield from skeletons(einsum, chain, placement, neighbours)


def leak_of(skeleton: Skeleton) -> float:
    """Power in W that leaks while the Einsum runs."""
    chain = skeleton.chain
    units = (*chain.units, *(each.unit for each in chain.aside))
    return float(sum(unit.leak * unit.instances for unit in units))


def minimize(
    listed: Iterator[Skeleton],
    goal: Callable[[Skeleton], EnergyDelayProduct],
    best: Best,
    over: Callable[[], bool],
    report: Callable[[float, float], None],
) -> SearchCount:
    """Improve `best` to the best of all skeletons, or until `over` says to stop. `report` is told
    the value and a bound.
    """
    count = SearchCount()
    work: list[tuple[float, int, Minimizer]] = []
    for skeleton in listed:
        if work and over():
            count.complete, count.bound = False, 0.0
            break
        count.skeletons += 1
        compiled: CompiledTables = compile_skeleton(skeleton)
        if not compiled.empty:
            minimizer = Minimizer(compiled, goal(skeleton), best)
            work.append((minimizer.prepare(), len(work), minimizer))
    work.sort(key=lambda item: item[:2])
    for bound, _, minimizer in work[:_FIRST]:
        if bound <= best.cutoff:
            minimizer.run(beam=_BEAM)
    for bound, _, minimizer in work:
        if bound > best.cutoff:
            break
        report(best.value, min(bound, best.value))
        minimizer.over = over
        minimizer.run()
        if minimizer.stopped or over():
            count.complete, count.bound = False, min(count.bound, bound)
            break
        count.searched += 1
    return count

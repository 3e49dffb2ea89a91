"""The rules by which Timeloop's cost model and LoopTree's differ. `docs/reference/looptree.md`
shows each on one example.
"""

from __future__ import annotations

from collections.abc import Iterator

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.problem import Problem

IMPLIED_REUSE = (
    "implied reuse: Timeloop keeps a tile across loops that do not index it; a LoopTree fetches"
    " again at each pass"
)
WRITE_BACK = (
    "write-back: a LoopTree reads what it returns to the memory above; Timeloop charges the write"
    " above only"
)
HALO = (
    "halo: Timeloop fetches only the new part of a sliding window; a LoopTree fetches the whole"
    " tile again"
)
DIAGONAL = (
    "equal windows: Timeloop multicasts data that happen to be equal; a LoopTree only across loops"
    " that do not index them"
)
LINKS = "links: Timeloop may pass data between neighbours; a LoopTree has none"
BLOCKS = "blocks: Timeloop rounds accesses up to whole blocks; a LoopTree counts parts"
WRITE_ENERGY = "write energy: Timeloop charges fills and updates apart; a LoopTree has one energy"
CLUSTERS = (
    "clusters: Timeloop lets the instances of a cluster share one access; a LoopTree does not"
)
NETWORKS = "networks: Timeloop charges wires and routers; a LoopTree does not"

RESIDUALS = (
    "residuals: with residual factors Timeloop charges every instance like the first; a LoopTree"
    " counts the tiles there are"
)
FIRST_READS = (
    "first reads: Timeloop skips one first read for each word of a result; a LoopTree one for each"
    " instance that adds to it"
)


def applying(
    architecture: Architecture, problem: Problem, mapping: Mapping | None
) -> Iterator[str]:
    """The rules that may show in figures of this input, but for implied reuse."""
    sliding = any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks)
    fanned = any(architecture.fanout(index) != (1, 1) for index in range(len(architecture.levels)))
    yield WRITE_BACK
    if sliding:
        yield HALO
    if sliding and fanned:
        yield DIAGONAL
    if fanned:
        yield LINKS
        yield NETWORKS
    if any(level.block_size > 1 for level in architecture.levels):
        yield BLOCKS
    if any(level.energy.fill != level.energy.update for level in architecture.levels):
        yield WRITE_ENERGY
    if any(level.cluster_size > 1 for level in architecture.levels):
        yield CLUSTERS
    if mapping is not None and any(loop.last != loop.bound for loop in mapping.loops()):
        yield RESIDUALS
    written = [tensor for tensor in problem.tensors if tensor.read_write]
    if mapping is not None and any(
        tensor.name in level.no_multicast for tensor in written for level in mapping.levels
    ):
        yield FIRST_READS

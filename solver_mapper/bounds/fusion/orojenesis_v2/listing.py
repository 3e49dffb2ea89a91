"""Every mapping of every single Einsum by the rules of Orojenesis v2, one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from solver_mapper.bounds.fusion.dataflow_graph import DataflowGraph
from solver_mapper.bounds.fusion.orojenesis_v2.families import (
    FusionPattern,
    Row,
    fusion_patterns,
    moving_problem,
    pattern_points,
    restrictions,
    whole_sets,
)
from solver_mapper.bounds.fusion.special import SpecialRanks
from solver_mapper.bounds.listing import corners_of, loop_orders, tiles_within
from solver_mapper.bounds.search import Restriction
from solver_mapper.cost.snowcat.accesses import movements


@dataclass(frozen=True)
class EinsumMapping:
    """A mapping of one Einsum: the tensors that it fuses, its ordered fused loops, its tile, and
    its loops over tiles. `buffer` and `accesses` are in the curve's units, for one instance of the
    Einsum; fused tensors occupy space and do not move.
    """

    einsum: str
    fused: frozenset[str]
    fused_loops: tuple[str, ...]
    row: Row

    @property
    def buffer(self) -> int:
        """Space, in the curve's units."""
        return self.row.buffer

    @property
    def accesses(self) -> int:
        """Traffic, in the curve's units."""
        return self.row.accesses

    def to_dict(self) -> dict[str, Any]:
        """JSON data, as `--json` prints it."""
        return {
            "einsum": self.einsum,
            "fused": sorted(self.fused),
            "fused_loops": list(self.fused_loops),
            "unfused_loops": [dim for dim in self.row.order if dim not in self.fused_loops],
            "tile": dict(self.row.tile),
            "whole": list(self.row.whole),
            "buffer": self.buffer,
            "accesses": self.accesses,
        }


def einsum_mappings(
    net: DataflowGraph,
    fusable: Collection[str],
    must: Collection[str],
    rule: SpecialRanks,
    uneven_tensors: bool,
    pareto: bool,
) -> Iterator[EinsumMapping]:
    """All mappings of all Einsums, Einsum by Einsum; those of one set of fused tensors and one
    order of fused loops follow each other.

    `pareto`: of these, only those that none of the same set and order improves upon; equal ones are
    all given. The others as for `V2`.
    """
    for einsum, problem in enumerate(net.problems):
        forced = frozenset(must) & frozenset(problem.tensor_names)
        for pattern in fusion_patterns(net, einsum, fusable, rule):
            if not pattern.fused >= forced:
                continue
            corners = corners_of(pattern_points(net, pattern, uneven_tensors)) if pareto else None
            for row in pattern_rows(net, pattern, uneven_tensors, corners):
                yield EinsumMapping(problem.name, pattern.fused, pattern.loops, row)


def pattern_rows(
    net: DataflowGraph,
    pattern: FusionPattern,
    uneven_tensors: bool,
    corners: Mapping[int, int] | None = None,
) -> Iterator[Row]:
    """All mappings of one pattern, each once; with `corners`, least accesses by buffer, only those
    on them.
    """
    problem = net.problems[pattern.einsum]
    spaces = restrictions(net, pattern)
    for whole in whole_sets(problem, pattern.fused, uneven_tensors):
        moving, units = moving_problem(net, pattern, whole)
        occupants = (
            *pattern.held,
            *((tensor, net.weights[tensor.name]) for tensor in moving.tensors),
        )
        for number, space in enumerate(spaces):
            for tile in tiles_within(problem, space):
                if any(_within(tile, earlier) for earlier in spaces[:number]):
                    continue
                buffer = units + sum(weight * each.footprint(tile) for each, weight in occupants)
                if corners is not None and buffer not in corners:
                    continue
                for order in loop_orders(problem, tile, space.stages):
                    moved = movements(moving, tile, order)
                    accesses = units + sum(
                        net.weights[name] * move.accesses for name, move in moved.items()
                    )
                    if corners is None or accesses == corners[buffer]:
                        yield Row(buffer, accesses, tile, order, whole)


def _within(tile: Mapping[str, int], space: Restriction) -> bool:
    return all(tile[dim] in sizes for dim, sizes in space.tiles.items())

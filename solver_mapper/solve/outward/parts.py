"""The work of one step of a walk, in parts that other processes may do (`solve/pool/`).

How it is cut depends on the rows alone. So the answer is the same however many processes there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import Constraints
from solver_mapper.core.problem import Problem
from solver_mapper.solve.outward.aim import Aim
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.dominance import groups, undominated
from solver_mapper.solve.outward.inner import Floats, InnerMappings, Ints, Outside, joined
from solver_mapper.solve.outward.outer_levels import LevelTables, OuterLevels
from solver_mapper.solve.outward.remaining import promising
from solver_mapper.solve.outward.sliding import Filled, Mesh
from solver_mapper.solve.outward.spread_ahead import SpreadAhead
from solver_mapper.solve.pool.pool import Shared
from solver_mapper.verify.mapspace import EnumeratedMapspace

MESHES = 32
"""How many meshes a part fills."""
LARGEST, SMALLEST = 4_096, 256
"""How many rows a part has, at most; and at least, if there are several parts."""


def tables(architecture: Architecture, problem: Problem, constraints: Constraints) -> SpreadAhead:
    """All tables of a mapspace.

    Raises: ValueError if one would be too large.
    """
    outer = OuterLevels(Costs(EnumeratedMapspace(architecture, problem, constraints)))
    outer.make()
    return SpreadAhead(outer)


@dataclass(frozen=True)
class OuterTables:
    """The tables of outer levels."""

    def mentioned(self, costs: Costs) -> list[Ints]:
        """Nothing: see `Tables.mentioned`."""
        return [np.zeros(0, dtype=np.int64) for _ in costs.numberings]

    def __call__(self, tables: SpreadAhead) -> LevelTables:
        """All of them."""
        return tables.outer.make()


@dataclass(frozen=True)
class Bounds:
    """Bounds of rows: see `promising`."""

    rows: InnerMappings
    aim: Aim
    outside: Outside
    closely: bool

    def mentioned(self, costs: Costs) -> list[Ints]:
        """See `Tables.mentioned`."""
        return costs.mentioned(self.rows)

    def __call__(self, tables: SpreadAhead) -> tuple[InnerMappings, list[InnerMappings]]:
        """See `promising`."""
        return promising(tables, self.aim, self.rows, self.outside, closely=self.closely)


@dataclass(frozen=True)
class Comparison:
    """Which rows are not dominated: see `undominated`."""

    rows: InnerMappings
    outside: Outside
    cycles_count: bool
    margin: Floats | None
    alike: bool

    def mentioned(self, costs: Costs) -> list[Ints]:
        """See `Tables.mentioned`."""
        return costs.mentioned(self.rows)

    def __call__(self, tables: SpreadAhead) -> Ints:
        """See `undominated`."""
        return undominated(
            *(tables.outer, self.rows, self.outside),
            cycles_count=self.cycles_count,
            margin=self.margin,
            alike=self.alike,
        )

    def cut(self, costs: Costs, known: int) -> Iterator[tuple[Ints, Comparison]]:
        """Parts with the rows of whole groups, and which these are; without groups that have none
        but the first rows, which are `known`.
        """
        for some in _whole_groups(groups(costs, self.rows, self.outside), known):
            margin = None if self.margin is None else self.margin[some]
            yield some, replace(self, rows=self.rows.take(some), margin=margin)


@dataclass(frozen=True)
class FilledMeshes:
    """What filling meshes means for the tensor with sliding windows of a `column`."""

    column: int
    meshes: list[Mesh]

    def mentioned(self, costs: Costs) -> list[Ints]:
        """See `Tables.mentioned`."""
        found = OuterTables().mentioned(costs)
        found[1 + self.column] = np.array([each.state for each in self.meshes])
        return found

    def __call__(self, tables: SpreadAhead) -> list[list[Filled]]:
        """See `Sliding.filled`."""
        return tables.costs.sliding[self.column].filled(self.meshes)


def fill_meshes(shared: Shared[SpreadAhead], rows: InnerMappings, level: int) -> None:
    """Work out what filling the mesh below a level means for the rows."""
    costs = shared.tables.costs
    width = costs.architecture.fanout(level)[0]
    for each in costs.sliding:
        meshes = each.unfilled(rows, level, width)
        if not meshes:
            continue
        some = [meshes[start : start + MESHES] for start in range(0, len(meshes), MESHES)]
        found = shared.results([FilledMeshes(each.column, part) for part in some])
        each.learn_filled(meshes, list(chain.from_iterable(found)))


def with_bounds(
    shared: Shared[SpreadAhead], bounds: Bounds
) -> tuple[InnerMappings, list[InnerMappings]]:
    """The rows that may lead to mappings that are looked for, and those that may not."""
    rows = bounds.rows
    if not len(rows):
        return rows, []
    # Rows of one part are alike in what is left of a mesh, and in what figures they need.
    states = rows.states.T
    left = shared.tables.costs.left(bounds.outside, rows.meshes)
    rows = rows.take(np.lexsort((*states, left)))
    size = -(-len(rows) // _parts(len(rows)))
    found = shared.results(
        [
            replace(bounds, rows=rows.take(slice(start, start + size)))
            for start in range(0, len(rows), size)
        ]
    )
    return joined([kept for kept, _ in found]), [each for _, dropped in found for each in dropped]


def new_undominated(shared: Shared[SpreadAhead], comparison: Comparison, known: int) -> Ints:
    """Which rows after the first ones, which are `known`, no other one dominates."""
    cut = list(comparison.cut(shared.tables.costs, known))
    found = shared.results([part for _, part in cut])
    kept = np.concatenate([some[each] for (some, _), each in zip(cut, found, strict=True)])
    return np.sort(kept[kept >= known]) - known


def _whole_groups(group: Ints, known: int) -> Iterator[Ints]:
    """The rows of all groups that have new ones, whole groups in each part."""
    with_new = np.zeros(group.max() + 1, dtype=bool)
    with_new[group[known:]] = True
    order = np.argsort(group, kind="stable")
    order = order[with_new[group[order]]]
    ends = np.flatnonzero(np.diff(group[order], append=-1)) + 1
    size, start = len(order) / _parts(len(order)), 0
    while start < len(order):
        end = int(ends[np.searchsorted(ends, min(start + size, len(order)))])
        yield np.sort(order[start:end])
        start = end


def _parts(rows: int) -> int:
    """Into how many parts so many rows are cut."""
    return max(2 * -(-rows // (2 * LARGEST)) if rows >= 2 * SMALLEST else 1, 1)

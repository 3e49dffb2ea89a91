"""The factor of every product of a cost model, for each row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from solver_mapper.cost.looptree.workload import Access, Relevance
from solver_mapper.solve.fused.rows import Dimension, Ints, RowTable
from solver_mapper.solve.fused.skeleton import Skeleton
from solver_mapper.solve.fused.terms import Key, NodeTraffic, Product, Shared, Spread, Steps, Tile


class Factors:
    """Computes the factors of keys for the rows of a table, each once."""

    def __init__(self, skeleton: Skeleton, dimensions: Sequence[Dimension], table: RowTable):
        self.skeleton, self.dimensions, self.table = skeleton, dimensions, table
        self.known: dict[object, Ints] = {}
        self.extents: dict[tuple[str, int, int], Ints] = {}
        self.ones = np.ones(len(table), dtype=np.int64)
        self.trips = {name: _running(rows) for name, rows in table.temporal.items()}
        self.spread = {name: _running(rows) for name, rows in table.spatial.items()}
        self.slots = [
            sum(slot.above <= node for slot in skeleton.slots)
            for node in range(len(skeleton.nodes) + 1)
        ]
        self.relevance: Mapping[str, Mapping[str, Relevance]] = {
            access.name: {name: access.relevance(name) for name in table.variables}
            for access in skeleton.einsum.accesses
        }

    def of(self, key: Key) -> Ints:
        """The factor of a key for every row."""
        result = self.ones
        for part in key:
            if part not in self.known:
                self.known[part] = self.part(part)
            result = self.known[part] if len(key) == 1 else result * self.known[part]
        return result

    def part(self, part: object) -> Ints:
        """The factor of one part of a key, by row."""
        if isinstance(part, NodeTraffic):
            return self.view(part)
        if isinstance(part, Tile):
            return self.tile(part.node)
        result = self.ones
        for name in self.table.variables:
            if isinstance(part, Steps):
                result = result * self.trips[name][-1]
            elif isinstance(part, Shared):
                result = result * self.table.temporal[name][:, part.slot]
            elif isinstance(part, Spread):
                result = result * self.table.spatial[name][:, part.dimension]
            elif isinstance(part, Product) and name in part.variables:
                if part.dimension is not None:
                    result = result * self.table.spatial[name][:, part.dimension]
                elif part.node is not None:
                    result = result * self.extent(
                        name, part.node, self.inside(self.skeleton.nodes[part.node].level)
                    )
        return result

    def inside(self, level: int) -> int:
        """How many dimensions, outermost first, multiply the unit at `level`."""
        return sum(dimension.level <= level for dimension in self.dimensions)

    def extent(self, name: str, node: int, inside: int) -> Ints:
        """Extent of the tile of a variable at a node."""
        key = name, self.slots[node], inside
        if key not in self.extents:
            copies = self.trips[name][self.slots[node]] * self.spread[name][inside]
            self.extents[key] = self.table.bounds[name] // copies
        return self.extents[key]

    def view(self, view: NodeTraffic) -> Ints:
        """The part of a count that this table's variables determine, by row: fetches times copies
        times tile.
        """
        skeleton = self.skeleton
        access = skeleton.einsum.by_tensor[view.tensor]
        below = (
            skeleton.nodes[view.node].level
            if view.node < len(skeleton.nodes)
            else len(skeleton.chain.units) - 1
        )
        seen, within = self.inside(view.level), self.inside(below)
        result = self.ones
        tile: dict[str, Ints] = {}
        for name in self.table.variables:
            relevance = self.relevance[view.tensor][name]
            if relevance is Relevance.IRRELEVANT:
                if not view.unit:
                    result = result * self.spread[name][seen]
                for index in range(seen, within):
                    if view.tensor not in self.dimensions[index].fanout.may_reuse:
                        result = result * self.table.spatial[name][:, index]
                if not view.first:
                    result = result * self.trips[name][self.slots[view.node]]
            else:
                tile[name] = self.extent(name, view.node, within)
                copies = self.spread[name][within]
                result = result * (copies // self.spread[name][seen] if view.unit else copies)
                if not view.first or relevance is Relevance.RELEVANT:
                    result = result * self.trips[name][self.slots[view.node]]
        return result * self.footprint(access, tile) if tile else result

    def footprint(self, access: Access, tile: Mapping[str, Ints]) -> Ints:
        """Values in a tile, as far as this table's variables determine it."""
        result = self.ones
        for rank in access.tensor.ranks:
            mine = [term for term in rank if term.dim in tile]
            if len(mine) == 1 and abs(mine[0].coefficient) == 1:
                result = result * tile[mine[0].dim]
            elif mine:
                extent = self.ones
                for term in mine:
                    extent = extent + abs(term.coefficient) * (tile[term.dim] - 1)
                result = result * extent
        return result

    def tile(self, node: int) -> Ints:
        """Values that a node reserves: below the loops through which it is lowered."""
        skeleton = self.skeleton
        spec = skeleton.nodes[node]
        slot = skeleton.slot_below(node) if spec.parent is not None else None
        tile: dict[str, Ints] = {}
        for name in self.table.variables:
            relevance = self.relevance[spec.tensor][name]
            if relevance is Relevance.IRRELEVANT:
                continue
            extent = self.extent(name, node, self.inside(spec.level))
            if slot is not None and (
                relevance is Relevance.RELEVANT or self.passed(node, slot) == name
            ):
                extent = extent // self.table.temporal[name][:, slot]
            tile[name] = extent
        return self.footprint(skeleton.einsum.by_tensor[spec.tensor], tile) if tile else self.ones

    def passed(self, node: int, slot: int) -> str | None:
        """The partly relevant loop below a node through which it is lowered."""
        if self.skeleton.slots[slot].shared is not None:
            return next(iter(self.skeleton.slots[slot].variables))
        return self.skeleton.first.get(node)


def _running(rows: Ints) -> Ints:
    """Products of the first 0, 1, 2, ... columns, one a row of the result."""
    result = np.ones((rows.shape[1] + 1, len(rows)), dtype=np.int64)
    np.cumprod(rows.T, axis=0, out=result[1:])
    return result

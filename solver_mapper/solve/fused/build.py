"""From a skeleton and the rows that were chosen to the nodes of a branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solver_mapper.cost.looptree.hardware import Kind
from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Leaf,
    Spatial,
    Storage,
    Temporal,
    Toll,
)
from solver_mapper.cost.looptree.workload import Relevance, indexes_alone
from solver_mapper.solve.fused.alike import renamed
from solver_mapper.solve.fused.rows import Dimension, RowTable
from solver_mapper.solve.fused.skeleton import Skeleton


@dataclass(frozen=True)
class Part:
    """One Einsum's nodes: `roots` in the outermost memory, `slots[d]` below d shared loops and
    above the next, the `shared` loops, and the nodes below all of them."""

    roots: tuple[Storage, ...]
    slots: tuple[tuple[Leaf, ...], ...]
    shared: tuple[Temporal | Spatial, ...]
    inner: tuple[Leaf, ...]

    @property
    def nodes(self) -> tuple[Leaf, ...]:
        """All nodes in order, for an Einsum by itself."""
        return (*self.roots, *self.slots[0], *self.inner)

    def renamed(self, names: Mapping[str, str], einsum: str) -> Part:
        """The same nodes with other names of tensors, rank variables and the Einsum."""
        return Part(
            tuple(renamed(node, names, einsum) for node in self.roots),
            tuple(tuple(renamed(node, names, einsum) for node in slot) for slot in self.slots),
            tuple(renamed(node, names, einsum) for node in self.shared),
            tuple(renamed(node, names, einsum) for node in self.inner),
        )


def part_of(
    skeleton: Skeleton,
    dimensions: Sequence[Dimension],
    tables: Sequence[RowTable],
    rows: Sequence[int],
) -> Part:
    """The nodes of one Einsum, from its outermost storage to its compute. Loops with one iteration
    are left out.
    """
    return _Builder(skeleton, dimensions, tables, rows).part()


class _Builder:
    def __init__(
        self,
        skeleton: Skeleton,
        dimensions: Sequence[Dimension],
        tables: Sequence[RowTable],
        rows: Sequence[int],
    ):
        self.skeleton, self.dimensions = skeleton, dimensions
        self.extents = dict(skeleton.einsum.bounds)
        picked = list(zip(tables, rows, strict=True))
        self.temporal = {
            name: table.temporal[name][row] for table, row in picked for name in table.variables
        }
        self.spatial = {
            name: table.spatial[name][row] for table, row in picked for name in table.variables
        }
        self.spread: set[int] = set()

    def part(self) -> Part:
        skeleton, units = self.skeleton, self.skeleton.chain.units
        runs: list[list[Leaf]] = [[]]
        shared: list[Temporal | Spatial] = []
        for index in range(len(skeleton.nodes) + 1):
            for number, above in enumerate(skeleton.prefix_above):
                if above == index:
                    shared += self.shared(number)
                    runs.append([])
            for slot, position in enumerate(skeleton.slots):
                if position.above == index and position.shared is None:
                    runs[-1] += self.loops(slot)
            node = skeleton.nodes[index] if index < len(skeleton.nodes) else None
            for tensor, levels in skeleton.tolls.items():
                runs[-1] += _tolls(skeleton, tensor, levels, index)
            runs[-1] += self.copies(node.level if node else len(units) - 1)
            if node:
                runs[-1].append(Storage((node.tensor,), units[node.level].name))
        roots = tuple(node for node in runs[0][: skeleton.roots] if isinstance(node, Storage))
        runs[0] = runs[0][skeleton.roots :]
        leaf = Compute(skeleton.einsum.name, skeleton.chain.compute.name)
        return Part(
            roots, tuple(tuple(run) for run in [*runs[:-1], []]), tuple(shared), (*runs[-1], leaf)
        )

    def shared(self, number: int) -> Sequence[Temporal | Spatial]:
        """The loop shared with other Einsums that has this number."""
        loop = self.skeleton.prefix[number]
        if loop.across is None:
            (slot,) = (
                index for index, each in enumerate(self.skeleton.slots) if each.shared == number
            )
            return self.loops(slot)
        (index,) = (
            index
            for index, dimension in enumerate(self.dimensions)
            if dimension.across(self.skeleton) == loop.across
        )
        self.extents[loop.variable] //= int(self.spatial[loop.variable][index])
        return [Spatial(loop.variable, self.extents[loop.variable], *loop.across)]

    def loops(self, slot: int) -> list[Temporal]:
        found = []
        for name in _loop_order(self.skeleton, slot, tuple(self.temporal)):
            trips = int(self.temporal[name][slot])
            if trips > 1:
                self.extents[name] //= trips
                found.append(Temporal(name, self.extents[name]))
        return found

    def copies(self, level: int) -> list[Leaf]:
        """Spatial loops of the dimensions still missing above a node at `level`."""
        found: list[Leaf] = []
        for index, dimension in enumerate(self.dimensions):
            closed = dimension.across(self.skeleton) in self.skeleton.closed
            if dimension.level <= level and index not in self.spread and not closed:
                self.spread.add(index)
                component = self.skeleton.chain.units[dimension.level].name
                for name, trips in self.spatial.items():
                    if trips[index] > 1:
                        self.extents[name] //= int(trips[index])
                        found.append(
                            Spatial(name, self.extents[name], component, dimension.fanout.name)
                        )
        return found


def _loop_order(skeleton: Skeleton, slot: int, names: tuple[str, ...]) -> list[str]:
    """The order of the loops at a site: those that lower the reservation above come first."""
    position = skeleton.slots[slot]
    if position.above == 0:
        return sorted(names)
    upper = position.above - 1
    access = skeleton.einsum.by_tensor[skeleton.nodes[upper].tensor]

    def rank(name: str) -> tuple[int, str]:
        if access.relevance(name) is Relevance.RELEVANT:
            return 0 if indexes_alone(access, name) else 1, name
        if skeleton.first.get(upper) == name:
            return 2, name
        return 3 if access.relevance(name) is Relevance.PARTIAL else 4, name

    return sorted(names, key=rank)


def _tolls(skeleton: Skeleton, tensor: str, levels: tuple[int, ...], index: int) -> list[Leaf]:
    """The tolls that stand directly above a node (or the compute): those that the tensor pays on
    its way to it.
    """
    units = skeleton.chain.units
    holders = skeleton.holders(tensor)
    if index < len(skeleton.nodes):
        node = skeleton.nodes[index]
        if node.tensor != tensor or node.parent is None:
            return []
        above, below = skeleton.nodes[node.parent].level, node.level
    else:
        above, below = skeleton.nodes[holders[-1]].level, len(units)
    return [
        Toll((tensor,), units[level].name)
        for level in levels
        if above < level < below and units[level].kind is Kind.TOLL
    ]

"""One Einsum's way through the tree: the loops and holders from the root to its leaf, as this
Einsum sees them.

Where a loop or a holder stands is decided twice. Temporal loops and holders keep the order of the
tree. A spatial loop acts on the hardware: it divides what the components inside its fanout hold and
leaves whole what the components outside hold, wherever it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from solver_mapper.cost.looptree.hardware import Chain, Fanout, Kind, Unit
from solver_mapper.cost.looptree.mapping.mapping_tree import Holder, Leaf, Loop, Spatial, Storage
from solver_mapper.cost.looptree.workload import Access, Einsum, Relevance

Tiles = tuple[tuple[int, int], ...]
"""(extent, how often) of the tiles that a loop cuts, the largest first."""


@dataclass(frozen=True)
class LoopStep:
    """A loop over `variable`. `index` is its position on the branch; `level` that of its component,
    None for temporal loops.
    """

    node: Loop
    index: int
    variable: str
    first: int | None = None
    fanout: Fanout | None = None
    level: int | None = None

    @property
    def spatial(self) -> bool:
        """Whether the loop runs on units side by side."""
        return self.level is not None

    def tiles(self, extent: int) -> Tiles:
        """The tiles of an interval of `extent` points: a first one of its own size if given, full
        ones, and what is left.
        """
        first = min(self.first, extent) if self.first is not None else 0
        full, rest = divmod(extent - first, self.node.tile_shape)
        found: dict[int, int] = {}
        for size, count in ((first, 1), (self.node.tile_shape, full), (rest, 1)):
            if size and count:
                found[size] = found.get(size, 0) + count
        return tuple(sorted(found.items(), reverse=True))


@dataclass(frozen=True)
class StorageStep:
    """`unit` holds a tile of the tensor of `access`, or lets it pass. `level` is the unit's
    position in the chain.
    """

    node: Holder
    index: int
    access: Access
    unit: Unit
    level: int
    backing: bool

    @property
    def toll(self) -> bool:
        """Whether words only pass through: the unit stores nothing."""
        return self.unit.kind is Kind.TOLL

    @property
    def persistent(self) -> bool:
        """Whether the tile stays for the whole workload."""
        return isinstance(self.node, Storage) and self.node.persistent


@dataclass(frozen=True)
class EinsumPath:
    """`nodes` from the root to the leaf; `loops` and `holds` are those that matter to `einsum`,
    outer to inner.

    Positions count loops and holds, one for each tensor of a holder; the compute stands at position
    `length`.
    """

    einsum: Einsum
    chain: Chain
    nodes: tuple[Leaf, ...]
    loops: tuple[LoopStep, ...]
    holds: tuple[StorageStep, ...]

    @property
    def length(self) -> int:
        """Loops and holds on the path; the position of the compute."""
        return len(self.loops) + len(self.holds)

    def holders(self, tensor: str) -> tuple[StorageStep, ...]:
        """Steps that store `tensor` or let it pass, outer to inner."""
        return self._by_tensor.get(tensor, ())

    @cached_property
    def _by_tensor(self) -> dict[str, tuple[StorageStep, ...]]:
        found: dict[str, list[StorageStep]] = {}
        for hold in self.holds:
            found.setdefault(hold.access.name, []).append(hold)
        return {tensor: tuple(holds) for tensor, holds in found.items()}

    @property
    def compute_level(self) -> int:
        """Position of the compute in the chain."""
        return len(self.chain.units) - 1

    def loops_above(self, index: int, level: int) -> tuple[LoopStep, ...]:
        """The loops that divide what a component at `level` holds from position `index` of the
        branch on.
        """
        return tuple(
            loop
            for loop in self.loops
            if (loop.index < index if loop.level is None else loop.level <= level)
        )

    def used(self, component: str, name: str) -> int:
        """Copies along the dimension `name` of `component` that the spatial loops use."""
        copies = 1
        extents = dict(self.einsum.bounds)
        for loop in self.loops:
            tiles = loop.tiles(extents[loop.variable])
            node = loop.node
            if isinstance(node, Spatial) and (node.component, node.name) == (component, name):
                copies *= sum(count for _, count in tiles)
            extents[loop.variable] = tiles[0][0]
        return copies

    def reservation_index(self, hold: StorageStep) -> int:
        """The position on the branch where memory is set aside for a hold.

        A backing holder reserves at its position. Any other is lowered through the temporal loops
        that directly follow it as long as they are relevant to its tensor, since only the part in
        use is kept; a partly relevant loop is passed and ends that. So does a loop that would leave
        the tile in pieces, because copies further in have divided the same variable above it.
        Nothing is lowered where the Einsum only copies.
        """
        if hold.backing or self.einsum.copy:
            return hold.index
        loops = {loop.index: loop for loop in self.loops}
        for index in range(hold.index + 1, self.length):
            loop = loops.get(index)
            if loop is None:
                return index
            if loop.spatial:
                if loop.level != hold.level:
                    return index
                continue
            relevance = hold.access.relevance(loop.variable)
            divided = any(
                other.variable == loop.variable
                and other.index < index
                and other.level is not None
                and other.level > hold.level
                for other in self.loops
            )
            if relevance is Relevance.IRRELEVANT or divided:
                return index
            if relevance is Relevance.PARTIAL:
                return index + 1
        return self.length


def shared_loops(first: EinsumPath, second: EinsumPath) -> int:
    """How many loops two branches have in common from the root on."""
    count = 0
    for mine, theirs in zip(first.nodes, second.nodes, strict=False):
        if mine is not theirs:
            break
        count += isinstance(mine, Loop)
    return count

"""Facts about the tiles of all mappings of a box: ranges of extents, loop bounds, products."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from solver_mapper.verify.boxes import Box, BoxSpace
from solver_mapper.verify.loop_tables import Mask, members


class BoxFacts:
    """Extents and bounds of one box.

    `low` and `high` are indexed by dimension and position, `bounds` by dimension and slot.
    """

    def __init__(self, space: BoxSpace, box: Box):
        self.space, self.box = space, box
        facts = [space.facts(dim, each) for dim, each in enumerate(box.extents)]
        self.low = [fact[0] for fact in facts]
        self.high = [fact[1] for fact in facts]
        self.bounds = [fact[2] for fact in facts]
        self.innermost = [self._innermost(level) for level in range(space.levels)]
        self.stored = [
            [
                t
                for t, choices in enumerate(space.stores)
                if all(choices[n][level] for n in members(box.stores[t]))
            ]
            for level in range(space.levels)
        ]
        self._products: dict[tuple[tuple[int, ...], int], int] = {}

    def _innermost(self, level: int) -> Mask:
        slot, mask = self.space.temporal[level], self.box.innermost[level]
        never = sum(1 << dim for dim in range(self.space.dims) if self.bounds[dim][slot][-1] == 1)
        present = any(self.bounds[dim][slot][0] > 1 for dim in range(self.space.dims))
        return mask & ~never & ~(present << self.space.dims)

    def words(self, tensor: int, position: int) -> int:
        """Words of the smallest tile of a tensor."""
        return prod(
            1
            + sum(
                span * (self.low[dim][position] - 1)
                for dim, span in zip(rank.dims, rank.spans, strict=True)
            )
            for rank in self.space.tensors[tensor].ranks
        )

    def spread(self, level: int, dims: Iterable[int]) -> int:
        """The largest product of the bounds of the spatial loops of a level over `dims`."""
        slot = self.space.spatial[level]
        if slot is None:
            return 1
        return self.space.widest(
            level,
            tuple(
                each[slot] if dim in dims else each[slot][:1]
                for dim, each in enumerate(self.bounds)
            ),
            frozenset(dims),
        )

    def largest(self, dims: tuple[int, ...], level: int) -> int:
        """The largest product of the extents of `dims` in a tile of a level. What the level stores
        must fit: the tile of a tensor has at least as many words as the product of one extent a
        rank."""
        if (dims, level) in self._products:
            return self._products[dims, level]
        position = self.space.tile[level]
        best = prod(self.high[dim][position] for dim in dims)
        room = self.space.architecture.levels[level].capacity if level < self.space.levels else None
        if room is not None:
            tiles = {tensor: self.words(tensor, position) for tensor in self.stored[level]}
            for tensor, words in tiles.items():
                left, counted = room - sum(tiles.values()) + words, set[int]()
                for rank in self.space.tensors[tensor].ranks:
                    fitting = [dim for dim in rank.dims if dim in dims and dim not in counted]
                    if fitting:
                        counted.add(max(fitting, key=lambda dim: self.high[dim][position]))
                    else:
                        left //= 1 + sum(
                            span * (self.low[dim][position] - 1)
                            for dim, span in zip(rank.dims, rank.spans, strict=True)
                        )
                best = min(
                    best,
                    left * prod(self.high[dim][position] for dim in dims if dim not in counted),
                )
        self._products[dims, level] = best
        return best

    def unfit(self) -> str | None:
        """Why the box has no mapping that fits: the position of what is too large, or None."""
        space, levels = self.space, self.space.architecture.levels
        for number, level in enumerate(levels):
            if not self.innermost[number]:
                return f"no innermost loop at {level.name}"
            if not self.spread(number, range(space.dims)):
                return f"fanout of {level.name}"
            words = sum(self.words(tensor, space.tile[number]) for tensor in self.stored[number])
            if level.capacity is not None and words > level.capacity:
                return f"capacity of {level.name}: {words} words"
        used = prod(self.spread(number, range(space.dims)) for number in range(space.levels))
        return f"utilization: {used} instances" if used < space.least_used else None

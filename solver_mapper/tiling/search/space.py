"""The choices of the traffic objective as tables: a split for every loop, and a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from solver_mapper.errors import InputError
from solver_mapper.tiling.backend import Backend, Scratchpad
from solver_mapper.tiling.operator import Operator
from solver_mapper.tiling.search.candidates import DoesNotFit
from solver_mapper.tiling.search.plans import LoopPlan, PlannedTensor, plans_for
from solver_mapper.tiling.search.splits import LoopSplit, followers, splits
from solver_mapper.tiling.tensors import Tensor, padded


@dataclass(frozen=True)
class TilingPoint:
    """One choice: a plan, and the position of a split for every loop."""

    plan: LoopPlan
    chosen: Mapping[str, int]


@dataclass(frozen=True)
class TilingSpace:
    """Tilings that the traffic objective chooses from: `ways[loop]`, splits, fewest pieces first,
    times `plans`.
    """

    operator: Operator
    backend: Backend
    ways: Mapping[str, tuple[LoopSplit, ...]]
    plans: tuple[LoopPlan, ...]

    @property
    def volume(self) -> int:
        """How many choices there are."""
        return len(self.plans) * math.prod(len(ways) for ways in self.ways.values())

    def thinned(self, most: int) -> TilingSpace:
        """A part of the space of about `most` choices at most, with the finest choice in it: every
        other split is left out, of the loop that has most, again and again.
        """
        ways = dict(self.ways)
        finest = self.finest().chosen
        kept = {loop: list(range(len(splits))) for loop, splits in ways.items()}
        while len(self.plans) * math.prod(len(positions) for positions in kept.values()) > most:
            longest = max(kept, key=lambda loop: len(kept[loop]))
            halved = sorted({*kept[longest][::2], finest[longest], self.whole(longest)})
            if len(halved) == len(kept[longest]):
                break
            kept[longest] = halved
        return replace(
            self,
            ways={
                loop: tuple(ways[loop][position] for position in positions)
                for loop, positions in kept.items()
            },
        )

    def relocated(self, point: TilingPoint, other: TilingSpace) -> TilingPoint:
        """A choice of `other`, a part of this space, as a choice of this one."""
        return TilingPoint(
            point.plan,
            {
                loop: self.ways[loop].index(other.ways[loop][position])
                for loop, position in point.chosen.items()
            },
        )

    @cached_property
    def groups(self) -> tuple[tuple[Scratchpad, int, tuple[int, ...]], ...]:
        """Each scratchpad, its elements, and the positions of the tensors that share it."""
        names = [tensor.name for tensor in self.operator.tensors]
        return tuple(
            (pad, self.backend.elements(pad), tuple(names.index(name) for name in held))
            for pad, held in self.backend.groups(tuple(names))
        )

    def constant(self, tensor: Tensor) -> int:
        """Storage along the ranks that follow no loop."""
        last = len(tensor.ranks) - 1
        return math.prod(
            padded(rank.size, self.backend.alignment) if position == last else rank.size
            for position, rank in enumerate(tensor.ranks)
            if rank.loop is None
        )

    def largest(self, tensor: Tensor, loop: str) -> list[int]:
        """Per split of the loop, the longest storage of a piece along the tensor's rank."""
        position = self._follower(tensor, loop)
        return [split.largest[position] for split in self.ways[loop]]

    def total(self, tensor: Tensor, loop: str) -> list[int]:
        """Per split of the loop, the summed storage of the pieces along the tensor's rank."""
        position = self._follower(tensor, loop)
        return [split.total[position] for split in self.ways[loop]]

    def held(self, tensor: Tensor, loop: str) -> int:
        """Storage along the tensor's rank if the loop does not cut it."""
        return self.largest(tensor, loop)[self.whole(loop)]

    def whole(self, loop: str) -> int:
        """Position of the split into one piece."""
        return next(position for position, split in enumerate(self.ways[loop]) if split.trips == 1)

    def _follower(self, tensor: Tensor, loop: str) -> int:
        along = followers(self.operator, loop, self.backend.alignment)
        return [follower.tensor for follower in along].index(tensor.name)

    def room(self, tensor: Tensor, use: PlannedTensor, chosen: Mapping[str, int]) -> int:
        """Elements of the tensor's largest tile."""
        return self.constant(tensor) * math.prod(
            self.largest(tensor, loop)[chosen[loop]] if loop in use.cut else self.held(tensor, loop)
            for loop in tensor.loops
        )

    def moves(self, tensor: Tensor, use: PlannedTensor, chosen: Mapping[str, int]) -> int:
        """Elements that the tensor moves: all its tiles, as often as they are repeated."""
        once = self.constant(tensor) * math.prod(
            self.total(tensor, loop)[chosen[loop]] if loop in use.cut else self.held(tensor, loop)
            for loop in tensor.loops
        )
        return once * math.prod(self.ways[loop][chosen[loop]].trips for loop in use.repeated)

    def traffic(self, point: TilingPoint) -> int:
        """Elements that a choice moves."""
        return sum(
            self.moves(tensor, use, point.chosen)
            for tensor, use in zip(self.operator.tensors, point.plan.uses, strict=True)
        )

    def fits(self, point: TilingPoint) -> bool:
        """Whether the largest tiles of all tensors fit into their scratchpads."""
        rooms = [
            self.room(tensor, use, point.chosen)
            for tensor, use in zip(self.operator.tensors, point.plan.uses, strict=True)
        ]
        return all(
            sum(rooms[position] for position in held) <= elements
            for _, elements, held in self.groups
        )

    def finest(self) -> TilingPoint:
        """Every loop cut as finely as can be and every tensor cut by its loops: the choice that
        takes least room.
        """
        plan = max(self.plans, key=lambda plan: sum(len(use.cut) for use in plan.uses))
        return TilingPoint(
            plan,
            {
                loop: min(range(len(ways)), key=lambda position: ways[position].largest)
                for loop, ways in self.ways.items()
            },
        )

    @property
    def worst(self) -> int:
        """Elements that no choice moves more than."""
        trips = math.prod(max(split.trips for split in ways) for ways in self.ways.values())
        return trips * sum(
            self.constant(tensor)
            * math.prod(max(self.total(tensor, loop)) for loop in tensor.loops)
            for tensor in self.operator.tensors
        )

    def require_one(self) -> None:
        """Raise DoesNotFit unless the finest choice fits.

        Raises: InputError where some choice's traffic is beyond the solver's integers.
        """
        if self.worst >= 1 << 62:
            raise InputError(
                f"{self.operator.name} is too large: up to {self.worst} elements would move"
            )
        finest = self.finest()
        for pad, elements, held in self.groups:
            tensors = [self.operator.tensors[position] for position in held]
            needed = sum(
                self.room(
                    tensor, PlannedTensor(frozenset(tensor.loops), frozenset()), finest.chosen
                )
                for tensor in tensors
            )
            if needed > elements:
                tiles = {tensor.name: self._tile(tensor, finest) for tensor in tensors}
                raise DoesNotFit(self.operator.name, tiles, needed, pad, elements)

    def _tile(self, tensor: Tensor, point: TilingPoint) -> tuple[int, ...]:
        return tuple(
            (
                rank.size
                if rank.loop is None
                else max(
                    rank.span(piece).size
                    for piece in self.ways[rank.loop][point.chosen[rank.loop]].pieces
                )
            )
            for rank in tensor.ranks
        )


def space_of(operator: Operator, backend: Backend) -> TilingSpace:
    """The whole space of an operator on a backend."""
    ways = {
        loop: splits(size, followers(operator, loop, backend.alignment))
        for loop, size in operator.loops.items()
    }
    return TilingSpace(operator, backend, ways, plans_for(operator, ways, backend.alignment))

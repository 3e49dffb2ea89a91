"""The temporal loops that lead to the least energy of a walk, read back from its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, prod
from typing import NamedTuple

from solver_mapper.solve.imperfect.joint.counts import Pairs, TileCounts
from solver_mapper.solve.imperfect.joint.points import (
    Axis,
    Points,
    sizes,
    sources_of,
    value_at,
)
from solver_mapper.solve.imperfect.joint.states import Key, State


class TemporalLoop(NamedTuple):
    """A temporal loop of a level."""

    level: int
    dim: int
    bound: int


class Position(NamedTuple):
    """A state of the walk, and the number of a combination of states of all dimensions."""

    state: State
    at: int


class Led(NamedTuple):
    """Values before the states of a dimension led to others."""

    axis: Axis
    pairs: Pairs
    before: Mapping[State, Points]

    def back(self, here: Position) -> tuple[Position, list[TemporalLoop]]:
        """The position before, and no loops."""
        ways = sources_of(self.before[here.state], self.axis, self.pairs, here.at)
        return here._replace(at=min(ways)[1]), []


class Renamed(NamedTuple):
    """Values before states became others."""

    before: Mapping[State, Points]
    names: Mapping[State, State]

    def back(self, here: Position) -> tuple[Position, list[TemporalLoop]]:
        """The position before, and no loops."""
        states = [state for state, after in self.names.items() if after == here.state]
        least = min(states, key=lambda state: value_at(self.before[state], here.at))
        return here._replace(state=least), []


class Move(NamedTuple):
    """Loops over a dimension that lead from one key to another.

    lone: whether they run once in their last round.
    stays: whether tiles stay where they are then.
    """

    source: Key
    target: Key
    dim: int
    lone: bool
    stays: bool
    pairs: Pairs


class Ordered(NamedTuple):
    """The temporal loops of a level: values of each state before and after them. `cost` gives the
    energy of the flows that a move settles at a combination.
    """

    level: int
    counts: Mapping[int, TileCounts]
    start: Mapping[State, Points]
    after: Mapping[Key, Points]
    moves: list[Move]
    cost: Callable[[Move, int], float]

    def back(self, here: Position) -> tuple[Position, list[TemporalLoop]]:
        """The position before, and the loops since then, outer to inner."""
        keys = [key for key in self.after if key[0] == here.state]
        key, at = min(keys, key=lambda each: value_at(self.after[each], here.at)), here.at
        found: list[TemporalLoop] = []
        while True:
            ways = sorted(self._ways(key, at), key=lambda way: way[0])
            state, done = key
            start = inf if done or state not in self.start else value_at(self.start[state], at)
            if not ways or start <= ways[0][0]:
                return Position(state, at), found
            _, move, before = ways[0]
            found.append(self._loop(move, before, at))
            key, at = move.source, before

    def _axis(self, dim: int) -> Axis:
        numbers = sizes(self.counts)
        place = list(self.counts).index(dim)
        return Axis(numbers[place], numbers[place], prod(numbers[place + 1 :]))

    def _ways(self, key: Key, at: int) -> Iterator[tuple[float, Move, int]]:
        for move in self.moves:
            if move.target == key:
                for value, before in sources_of(
                    self.after[move.source], self._axis(move.dim), move.pairs, at
                ):
                    yield value + self.cost(move, before), move, before

    def _loop(self, move: Move, before: int, at: int) -> TemporalLoop:
        axis, counts = self._axis(move.dim), self.counts[move.dim]
        source, target = (index // axis.behind % axis.before for index in (before, at))
        return TemporalLoop(self.level, move.dim, counts.bound(source, target, lone=move.lone))


def path_back(steps: Sequence[Led | Renamed | Ordered], here: Position) -> list[TemporalLoop]:
    """The loops that lead to a position, outer to inner."""
    found = []
    for step in reversed(steps):
        here, loops = step.back(here)
        found += loops
    return found

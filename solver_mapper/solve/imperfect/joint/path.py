"""The temporal loops that lead to the least energy of a walk, read back from its end.

They are a start for local search and claim nothing: values are kept in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.solve.imperfect.joint.counts import Floats, Ints, Pairs, TileCounts
from solver_mapper.solve.imperfect.joint.states import Key, State

Singles = NDArray[np.float32]


class TemporalLoop(NamedTuple):
    """A temporal loop of a level."""

    level: int
    dim: int
    bound: int


class Position(NamedTuple):
    """A state of the walk, and that of each dimension."""

    state: State
    at: tuple[int, ...]


class Led(NamedTuple):
    """Values before the states of the dimension on `axis` led to others."""

    axis: int
    pairs: Pairs
    before: Mapping[State, Singles]

    def back(self, here: Position) -> tuple[Position, list[TemporalLoop]]:
        """The position before, and no loops."""
        ways = _sources(self.before[here.state], self.axis, self.pairs, here.at)
        return here._replace(at=min(ways)[1]), []


class Renamed(NamedTuple):
    """Values before states became others. `level`: where that holds its tile, of which so many
    `points` are counted along each dimension.
    """

    before: Mapping[State, Singles]
    names: Mapping[State, State]
    level: int | None = None
    points: Sequence[Ints] = ()

    def back(self, here: Position) -> tuple[Position, list[TemporalLoop]]:
        """The position before, and no loops."""
        states = [state for state, after in self.names.items() if after == here.state]
        least = min(states, key=lambda state: _value(self.before[state], here.at))
        return here._replace(state=least), []


class Move(NamedTuple):
    """A loop over a dimension that leads from one key to another, at a cost."""

    source: Key
    target: Key
    dim: int
    lone: bool


class Ordered(NamedTuple):
    """The temporal loops of a level: values of each state before and after them. `cost` gives the
    energy of the flows that a move settles.
    """

    level: int
    dims: list[int]
    counts: Mapping[int, TileCounts]
    loops: Mapping[int, tuple[Pairs, Pairs]]
    start: Mapping[State, Singles]
    after: Mapping[Key, Singles]
    moves: list[Move]
    cost: Callable[[Move], Floats]

    def back(self, here: Position) -> tuple[Position, list[TemporalLoop]]:
        """The position before, and the loops since then, outer to inner."""
        keys = [key for key in self.after if key[0] == here.state]
        key, at = min(keys, key=lambda each: _value(self.after[each], here.at)), here.at
        found: list[TemporalLoop] = []
        while True:
            ways = sorted(self._ways(key, at), key=lambda way: way[0])
            state, done = key
            none = not done and state in self.start
            if not ways or (none and _value(self.start[state], at) <= ways[0][0]):
                return Position(state, at), found
            _, move, before = ways[0]
            found.append(self._loop(move, before, at))
            key, at = move.source, before

    def _ways(self, key: Key, at: tuple[int, ...]) -> Iterator[tuple[float, Move, tuple[int, ...]]]:
        for move in self.moves:
            if move.target == key:
                pairs, axis = self.loops[move.dim][move.lone], self.dims.index(move.dim)
                cost = self.cost(move)
                for value, before in _sources(self.after[move.source], axis, pairs, at):
                    yield value + _value(cost, before), move, before

    def _loop(self, move: Move, before: tuple[int, ...], at: tuple[int, ...]) -> TemporalLoop:
        axis = self.dims.index(move.dim)
        bound = self.counts[move.dim].bound(before[axis], at[axis], lone=move.lone)
        return TemporalLoop(self.level, move.dim, bound)


class Path(NamedTuple):
    """Temporal loops, outer to inner; points of the tile of each level along each dimension, as
    they are counted.
    """

    loops: list[TemporalLoop]
    points: dict[int, tuple[int, ...]]


def path_back(steps: Sequence[Led | Renamed | Ordered], here: Position) -> Path:
    """The way to a position."""
    path = Path([], {})
    for step in reversed(steps):
        if isinstance(step, Renamed) and step.level is not None:
            counted = zip(step.points, here.at, strict=True)
            path.points[step.level] = tuple(int(points[at]) for points, at in counted)
        here, loops = step.back(here)
        path.loops.extend(loops)
    return path


def _value(values: Singles | Floats, at: tuple[int, ...]) -> float:
    """Of an array that may have one entry for all along a dimension."""
    return float(values[tuple(min(n, size - 1) for n, size in zip(at, values.shape, strict=True))])


def _sources(
    values: Singles, axis: int, pairs: Pairs, at: tuple[int, ...]
) -> list[tuple[float, tuple[int, ...]]]:
    """Positions that lead to one, with their values."""
    sources = pairs.source[pairs.target == at[axis]].tolist()
    places = [(*at[:axis], source, *at[axis + 1 :]) for source in sources]
    return [(_value(values, place), place) for place in places]

"""Which words enter a level, and when: the shift automaton, for any factors.

A level remembers the tile it held and the shift by which that tile came. When the next tile comes
by the same shift (or no shift is remembered), only the words that the tile does not hold yet are
fetched. When the shift differs, the whole tile is fetched and the remembered shift is forgotten. An
idle step is a shift by zero. (Timeloop 3.0.3: nest-analysis.cpp, ComputeDeltas;
operation-space.cpp, SaveAndSubtractIfSameStride.)

The sequence of tiles is regular, so it is not walked: every loop is run symbolically on a state
that is expressed relative to the loop's current position, runs are remembered, and a repeated state
within a loop closes a cycle that is then counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from solver_mapper.cost.timeloop.projection import Box, Vector

Flags = frozenset[int]
"""Dimensions whose loops outside are all in their last round."""


class Delta(NamedTuple):
    """The words of one fetch as disjoint boxes in a canonical order, and the flags of the step that
    fetched them.
    """

    boxes: tuple[Box, ...]
    flags: Flags


class State(NamedTuple):
    """What a level remembers: its tile, the shift by which it came (None: unknown), and the words
    fetched last.
    """

    tile: Box | None = None
    shift: Vector | None = None
    delta: Delta | None = None


class Event(NamedTuple):
    """One kind of step: `words` fetched under `flags`.

    `link` is the shift from the words fetched one step earlier to these, where they have the same
    shape, together with the flags of that earlier step; None where they have not.
    """

    words: int
    flags: Flags
    link: tuple[Vector, Flags] | None = None


class TimeLoop(NamedTuple):
    """A loop outside the tile: `shift` moves the tile per iteration. Spatial loops stay at
    iteration 0: element 0 is followed.
    """

    dim: int
    bound: int
    last: int
    shift: Vector
    spatial: bool = False


class _Run(NamedTuple):
    after: State
    counts: Counter[Event]


@dataclass(frozen=True)
class Stream:
    """The tiles that element 0 of one level holds of one tensor, one after the other.

    `loops` are all loops outside, outer to inner. `box(flags)` is the tile relative to the position
    of the loops. `watched` are the dimensions whose last round changes something inside. `reuse` is
    False where every step fetches its whole tile. `follow_links` keeps the last fetch in the state,
    so that events know how each fetch relates to the one before.
    """

    loops: tuple[TimeLoop, ...]
    box: Callable[[Flags], Box]
    watched: Flags
    reuse: bool = True
    follow_links: bool = True
    memory: dict[tuple[int, Flags, State], _Run] = field(default_factory=dict)

    def count(self) -> Counter[Event]:
        """How often each kind of step happens in the whole run."""
        return self._run(0, self._heeded[0], State()).counts

    @cached_property
    def _heeded(self) -> tuple[Flags, ...]:
        """For each depth, the dimensions whose last round still makes a difference inside."""
        below = [self.watched]
        for loop in reversed(self.loops):
            below.append(below[-1] | {loop.dim} if loop.bound != loop.last else below[-1])
        return tuple(reversed(below))

    def _run(self, depth: int, flags: Flags, state: State) -> _Run:
        """Run the loops from `depth` inwards. States are relative to the current position of the
        loops outside.
        """
        flags &= self._heeded[depth]
        key = (depth, flags, state)
        found = self.memory.get(key)
        if found is None:
            found = (
                self._step(flags, state)
                if depth == len(self.loops)
                else self._loop(depth, flags, state)
            )
            self.memory[key] = found
        return found

    def _loop(self, depth: int, flags: Flags, state: State) -> _Run:
        loop = self.loops[depth]
        final = loop.dim in flags
        end = loop.last if final else loop.bound
        early = flags - {loop.dim} if end > 1 else flags
        if loop.spatial:
            return self._run(depth + 1, early, state)
        back = tuple(-s for s in loop.shift)
        state, totals = self._repeat(depth + 1, early, state, back, end - 1 if final else end)
        if final:
            run = self._run(depth + 1, flags, state)
            totals.update(run.counts)
            state = _moved(run.after, back)
        return _Run(_moved(state, tuple(end * s for s in loop.shift)), totals)

    def _repeat(
        self, depth: int, flags: Flags, state: State, back: Vector, times: int
    ) -> tuple[State, Counter[Event]]:
        """Run what is inside a loop `times` times; each time the loop's position lies `-back`
        further on.
        """
        totals: Counter[Event] = Counter()
        seen: dict[State, int] = {}
        rounds: list[tuple[State, Counter[Event]]] = []
        for done in range(times):
            if state in seen:
                cycle = rounds[seen[state] :]
                full, rest = divmod(times - done, len(cycle))
                for position, (_, counts) in enumerate(cycle):
                    for event, number in counts.items():
                        totals[event] += number * (full + (position < rest))
                return cycle[rest][0], totals
            seen[state] = done
            run = self._run(depth, flags, state)
            rounds.append((state, run.counts))
            totals.update(run.counts)
            state = _moved(run.after, back)
        return state, totals

    def _step(self, flags: Flags, state: State) -> _Run:
        tile = self.box(flags)
        fetched: tuple[Box, ...] = (tile,)
        kept: Box | None = None
        remembered: Vector | None = None
        if self.reuse:
            kept = tile
            shift = None if state.tile is None else centroid_shift(state.tile, tile)
            if state.shift is None or shift == state.shift:
                remembered = shift
                fetched = fetched if state.tile is None else subtract(tile, state.tile)
        words = sum(volume(box) for box in fetched)
        if not self.follow_links:
            return _Run(State(kept, remembered), Counter({Event(words, flags): 1}))
        delta = Delta(tuple(sorted(fetched)), flags)
        link = None
        if state.delta is not None and words:
            move = translation(state.delta.boxes, delta.boxes)
            link = None if move is None else (move, state.delta.flags)
        return _Run(State(kept, remembered, delta), Counter({Event(words, flags, link): 1}))


def centroid_shift(before: Box, after: Box) -> Vector:
    """Shift of the centre between two boxes, rounded half away from zero along each rank."""
    doubled = (
        low + high - first - end for first, end, low, high in zip(*before, *after, strict=True)
    )
    return tuple((abs(d) + 1) // 2 * (1 if d > 0 else -1) for d in doubled)


def subtract(box: Box, other: Box) -> tuple[Box, ...]:
    """The part of `box` outside `other`, as disjoint boxes cut rank by rank: below `other`, then
    above it.
    """
    if any(high <= first or end <= low for low, high, first, end in zip(*box, *other, strict=True)):
        return (box,)
    low, high = list(box[0]), list(box[1])
    parts: list[Box] = []
    for rank in range(len(low)):
        first, end = other[0][rank], other[1][rank]
        if low[rank] < first:
            parts.append((tuple(low), (*high[:rank], first, *high[rank + 1 :])))
            low[rank] = first
        if end < high[rank]:
            parts.append(((*low[:rank], end, *low[rank + 1 :]), tuple(high)))
            high[rank] = end
    return tuple(parts)


def volume(box: Box) -> int:
    """Words in a box."""
    words = 1
    for low, high in zip(*box, strict=True):
        words *= high - low
    return words


def translation(before: tuple[Box, ...], after: tuple[Box, ...]) -> Vector | None:
    """The shift that carries one sorted set of boxes onto the other, None if there is none."""
    if len(before) != len(after) or not before:
        return None
    step = tuple(a - b for a, b in zip(after[0][0], before[0][0], strict=True))
    return (
        step
        if all(_shifted(old, step) == new for old, new in zip(before, after, strict=True))
        else None
    )


def _shifted(box: Box, step: Vector) -> Box:
    low, high = box
    return tuple(a + s for a, s in zip(low, step, strict=True)), tuple(
        a + s for a, s in zip(high, step, strict=True)
    )


def _moved(state: State, step: Vector) -> State:
    """The state seen from a place that lies `-step` away."""
    if not any(step):
        return state
    tile = None if state.tile is None else _shifted(state.tile, step)
    delta = state.delta
    if delta is not None:
        delta = Delta(tuple(_shifted(box, step) for box in delta.boxes), delta.flags)
    return State(tile, state.shift, delta)

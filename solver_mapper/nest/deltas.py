"""Which words enter a level, and when: the shift automaton.

A level remembers the tile it held and the shift by which that tile came. When the next tile comes by the same shift (or no shift
is remembered), only the words that the tile does not hold yet are fetched. When the shift differs, the whole tile is
fetched and the remembered shift is forgotten. An idle step is a shift by zero. (Timeloop 3.0.3: nest-analysis.cpp, ComputeDeltas;
operation-space.cpp, SaveAndSubtractIfSameStride.)

The sequence of tiles is regular, so it is not walked: every loop is run symbolically on a state that is expressed relative to
the loop's current position, runs are remembered, and a repeated state within a loop closes a cycle that is then counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from solver_mapper.nest.elements import Vector

Box = tuple[Vector, Vector]
"""Low corner (inclusive) and high corner (exclusive)."""

Flags = frozenset[str]
"""Dimensions whose loops outside are all in their last round."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The words of one fetch as disjoint boxes in a canonical order, and the flags of the step that fetched them."""

    boxes: tuple[Box, ...]
    flags: Flags


@dataclass(frozen=True, slots=True)
class State:
    """What a level remembers: its tile, the shift by which it came (None: unknown), and the words fetched last."""

    tile: Box | None = None
    shift: Vector | None = None
    delta: Delta | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of step: `words` fetched under `flags`.

    `link` is the shift from the words fetched one step earlier to these, where they have the same shape, together with the
    flags of that earlier step; None where they have not.
    """

    words: int
    flags: Flags
    link: tuple[Vector, Flags] | None = None


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """A loop outside the tile: `shift` moves the tile per iteration. Spatial loops stay at iteration 0: element 0 is followed."""

    dim: str
    bound: int
    last: int
    shift: Vector
    spatial: bool = False


@dataclass(frozen=True)
class Stream:
    """The tiles that element 0 of one level holds of one tensor, one after the other.

    `box(flags)` is the tile relative to the position of the loops. `reuse` is False where every step fetches its whole tile.
    `follow_links` keeps the last fetch in the state, so that events know how each fetch relates to the one before.
    """

    loops: tuple[TimeLoop, ...]
    box: Callable[[Flags], Box]
    watched: Flags
    reuse: bool = True
    follow_links: bool = True

    @cached_property
    def relevant_flags(self) -> tuple[Flags, ...]:
        """For each depth, the dimensions whose last round still makes a difference inside."""
        below: list[Flags] = [self.watched]
        for loop in reversed(self.loops):
            uneven = frozenset({loop.dim}) if loop.bound != loop.last else frozenset()
            below.append(below[-1] | uneven)
        return tuple(reversed(below))

    def count(self) -> Counter[Event]:
        """How often each kind of step happens in the whole run."""
        memory: dict[tuple[int, Flags, State], tuple[State, Counter[Event]]] = {}
        return self._run(0, self.relevant_flags[0], State(), memory)[1]

    def _run(
        self, depth: int, flags: Flags, state: State, memory: dict[tuple[int, Flags, State], tuple[State, Counter[Event]]]
    ) -> tuple[State, Counter[Event]]:
        """Run the loops from `depth` inwards. The state is relative to the current position of the loops outside."""
        flags &= self.relevant_flags[depth]
        key = (depth, flags, state)
        found = memory.get(key)
        if found is None:
            if depth == len(self.loops):
                after, event = self._step(flags, state)
                found = after, Counter({event: 1})
            else:
                found = self._loop(depth, flags, state, memory)
            memory[key] = found
        return found

    def _loop(
        self, depth: int, flags: Flags, state: State, memory: dict[tuple[int, Flags, State], tuple[State, Counter[Event]]]
    ) -> tuple[State, Counter[Event]]:
        loop = self.loops[depth]
        final = loop.dim in flags
        end = loop.last if final else loop.bound
        middle = flags - {loop.dim} if end > 1 else flags
        if loop.spatial:
            return self._run(depth + 1, middle, state, memory)
        back = tuple(-s for s in loop.shift)
        totals: Counter[Event] = Counter()
        plain = end - 1 if final else end
        seen: dict[State, int] = {}
        history: list[tuple[State, Counter[Event]]] = []
        done = 0
        while done < plain:
            if state in seen:
                start = seen[state]
                cycle = history[start:]
                rounds, rest = divmod(plain - done, len(cycle))
                for _, counts in cycle:
                    for event, number in counts.items():
                        totals[event] += number * rounds
                for _, counts in cycle[:rest]:
                    totals.update(counts)
                state = history[start + rest][0]
                break
            seen[state] = done
            after, counts = self._run(depth + 1, middle, state, memory)
            history.append((state, counts))
            totals.update(counts)
            state = _moved(after, back)
            done += 1
        if final:
            after, counts = self._run(depth + 1, flags, state, memory)
            totals.update(counts)
            state = _moved(after, back)
        return _moved(state, tuple(end * s for s in loop.shift)), totals

    def _step(self, flags: Flags, state: State) -> tuple[State, Event]:
        tile = self.box(flags)
        shift = None if state.tile is None else centroid_shift(state.tile, tile)
        if not self.reuse:
            fetched: tuple[Box, ...] = (tile,)
            kept, remembered = None, None
        elif state.shift is None or shift == state.shift:
            fetched = (tile,) if state.tile is None else subtract(tile, state.tile)
            kept, remembered = tile, shift
        else:
            fetched = (tile,)
            kept, remembered = tile, None
        words = sum(volume(box) for box in fetched)
        if not self.follow_links:
            return State(kept, remembered), Event(words, flags)
        delta = Delta(tuple(sorted(fetched)), flags)
        link = None if state.delta is None or not words else translation(state.delta.boxes, delta.boxes)
        related = None if link is None or state.delta is None else (link, state.delta.flags)
        return State(kept, remembered, delta), Event(words, flags, related)


def centroid_shift(before: Box, after: Box) -> Vector:
    """Shift of the centre from one box to the other, rounded half away from zero along each rank."""
    doubled = (
        low + high - old_low - old_high
        for old_low, old_high, low, high in zip(*before, *after, strict=True)
    )
    return tuple((abs(d) + 1) // 2 * (1 if d > 0 else -1) for d in doubled)


def subtract(box: Box, other: Box) -> tuple[Box, ...]:
    """The part of `box` outside `other`, as disjoint boxes cut rank by rank: below `other`, then above it."""
    if any(high <= other_low or other_high <= low for low, high, other_low, other_high in zip(*box, *other, strict=True)):
        return (box,)
    low, high = list(box[0]), list(box[1])
    parts: list[Box] = []
    for rank in range(len(low)):
        if low[rank] < other[0][rank]:
            parts.append((tuple(low), (*high[:rank], other[0][rank], *high[rank + 1 :])))
            low[rank] = other[0][rank]
        if other[1][rank] < high[rank]:
            parts.append(((*low[:rank], other[1][rank], *low[rank + 1 :]), tuple(high)))
            high[rank] = other[1][rank]
    return tuple(parts)


def volume(box: Box) -> int:
    words = 1
    for low, high in zip(*box, strict=True):
        words *= high - low
    return words


def translation(before: tuple[Box, ...], after: tuple[Box, ...]) -> Vector | None:
    """The shift that carries one set of boxes onto the other, None if there is none."""
    if len(before) != len(after) or not before:
        return None
    step = tuple(a - b for a, b in zip(after[0][0], before[0][0], strict=True))
    return step if all(_shifted(old, step) == new for old, new in zip(before, after, strict=True)) else None


def _shifted(box: Box, step: Vector) -> Box:
    low, high = box
    return tuple(a + s for a, s in zip(low, step, strict=True)), tuple(a + s for a, s in zip(high, step, strict=True))


def _moved(state: State, step: Vector) -> State:
    """The state seen from a place that lies `-step` away."""
    if not any(step):
        return state
    tile = None if state.tile is None else _shifted(state.tile, step)
    delta = None
    if state.delta is not None:
        delta = Delta(tuple(_shifted(box, step) for box in state.delta.boxes), state.delta.flags)
    return State(tile, state.shift, delta)

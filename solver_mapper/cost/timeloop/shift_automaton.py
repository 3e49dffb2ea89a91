"""Which words enter a level, and when: the shift automaton, for any factors.

A level remembers the tile it held and the shift by which that tile came. When the next tile comes
by the same shift (or no shift is remembered), only the words that the tile does not hold yet are
fetched. When the shift differs, the whole tile is fetched and the remembered shift is forgotten. An
idle step is a shift by zero. (Timeloop 3.0.3: nest-analysis.cpp, ComputeDeltas;
operation-space.cpp, SaveAndSubtractIfSameStride.)

The sequence of tiles is regular, so it is not walked: every loop is run symbolically on a state
that is expressed relative to the loop's current position, runs are remembered, and a repeated state
within a loop closes a cycle that is then counted. Positions are codes (`code_of`), so that
a state moves by adding one integer; sets of dimensions are bits of an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from solver_mapper.cost.timeloop.projection import Box, Vector, code_of, vector_of

Flags = frozenset[int]
"""Dimensions whose loops outside are all in their last round."""
Bits = int
"""The same, as bits."""
Parts = tuple[tuple[int, Vector], ...]
"""Disjoint boxes, sorted: the code of the low corner relative to the tile's, and the extents."""


class State(NamedTuple):
    """What a level remembers: the low corner of its tile and the tile's extents, the shift by which
    it came (None: unknown), and the words fetched last, with the flags of that step.
    """

    at: int | None = None
    spans: Vector = ()
    shift: int | None = None
    delta: tuple[Parts, Bits] | None = None


class Event(NamedTuple):
    """One kind of step: `words` fetched under `flags`.

    `link` is the code of the shift from the words fetched one step earlier to these, where they
    have the same shape, together with the flags of that earlier step; None where they have not.
    """

    words: int
    flags: Flags
    link: tuple[int, Flags] | None = None


class TimeLoop(NamedTuple):
    """A loop outside the tile: `shift` is the code by which an iteration moves the tile. Spatial
    loops stay at iteration 0: element 0 is followed.
    """

    dim: int
    bound: int
    last: int
    shift: int
    spatial: bool = False


Step = tuple[int, Bits, tuple[int, Bits] | None]
"""An event, with bits."""
Counts = dict[Step, int]


class _Run(NamedTuple):
    after: State
    counts: Counts


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
    _memory: dict[tuple[int, Bits, State], _Run] = field(default_factory=dict)
    _tiles: dict[Bits, tuple[int, Vector]] = field(default_factory=dict)

    def count(self) -> dict[Event, int]:
        """How often each kind of step happens in the whole run."""
        counts = self._run(0, self._heeded[0], State()).counts
        return {
            Event(words, _flags(bits), link and (link[0], _flags(link[1]))): number
            for (words, bits, link), number in counts.items()
        }

    @cached_property
    def _heeded(self) -> tuple[Bits, ...]:
        """For each depth, the dimensions whose last round still makes a difference inside."""
        below = [sum(1 << dim for dim in self.watched)]
        for loop in reversed(self.loops):
            below.append(below[-1] | (loop.bound != loop.last) << loop.dim)
        return tuple(reversed(below))

    def _run(self, depth: int, flags: Bits, state: State) -> _Run:
        """Run the loops from `depth` inwards. States are relative to the current position of the
        loops outside.
        """
        flags &= self._heeded[depth]
        key = (depth, flags, state)
        found = self._memory.get(key)
        if found is None:
            inner = self._step if depth == len(self.loops) else self._loop
            found = self._memory[key] = inner(depth, flags, state)
        return found

    def _loop(self, depth: int, flags: Bits, state: State) -> _Run:
        loop = self.loops[depth]
        final = flags & 1 << loop.dim
        end = loop.last if final else loop.bound
        early = flags & ~(1 << loop.dim) if end > 1 else flags
        if loop.spatial:
            return self._run(depth + 1, early, state)
        state, totals = self._repeat(depth + 1, early, state, loop.shift, end - bool(final))
        if final:
            run = self._run(depth + 1, flags, state)
            _add(totals, run.counts)
            state = _moved(run.after, -loop.shift)
        return _Run(_moved(state, end * loop.shift), totals)

    def _repeat(
        self, depth: int, flags: Bits, state: State, shift: int, times: int
    ) -> tuple[State, Counts]:
        """Run what is inside a loop `times` times; each time the loop's position lies `shift`
        further on.
        """
        seen: dict[State, int] = {}
        rounds: list[Counts] = []
        while len(rounds) < times and state not in seen:
            seen[state] = len(rounds)
            run = self._run(depth, flags, state)
            rounds.append(run.counts)
            state = _moved(run.after, -shift)
        first, full, rest = times, 1, 0
        if len(rounds) < times:
            first = seen[state]
            full, rest = divmod(times - first, len(rounds) - first)
            state = list(seen)[first + rest]
        totals: Counts = {}
        for done, counts in enumerate(rounds):
            _add(totals, counts, full + (done - first < rest) if done >= first else 1)
        return state, totals

    def _tile(self, flags: Bits) -> tuple[int, Vector]:
        """The low corner and the extents of the tile."""
        if flags not in self._tiles:
            low, high = self.box(_flags(flags))
            spans = tuple(end - first for first, end in zip(low, high, strict=True))
            self._tiles[flags] = code_of(low), spans
        return self._tiles[flags]

    def _step(self, _: int, flags: Bits, state: State) -> _Run:
        at, spans = self._tile(flags)
        moved = None if state.at is None else at - state.at
        words, parts = _whole(spans)
        remembered: int | None = None
        if self.reuse and moved is not None:
            shift = moved if state.spans == spans else _centre_shift(moved, state.spans, spans)
            if state.shift is None or shift == state.shift:
                remembered = shift
                words, parts = _new_parts(moved, state.spans, spans)
        if not self.follow_links:
            after = State(at, spans, remembered) if self.reuse else state
            return _Run(after, {(words, flags, None): 1})
        link = None
        if state.delta is not None and moved is not None and words:
            move = translation(state.delta[0], parts)
            link = None if move is None else (moved + move, state.delta[1])
        return _Run(State(at, spans, remembered, (parts, flags)), {(words, flags, link): 1})


def _flags(bits: Bits) -> Flags:
    return frozenset(dim for dim in range(bits.bit_length()) if bits >> dim & 1)


def _add(totals: Counts, counts: Counts, times: int = 1) -> None:
    """Add `times` the counts."""
    for step, number in counts.items():
        totals[step] = totals.get(step, 0) + number * times


def _centre_shift(moved: int, before: Vector, after: Vector) -> int:
    """The code of `centroid_shift` between a tile and one whose low corner lies `moved` away."""
    origin, low = (0,) * len(before), vector_of(moved, len(before))
    high = tuple(first + span for first, span in zip(low, after, strict=True))
    return code_of(centroid_shift((origin, before), (low, high)))


@lru_cache(maxsize=1 << 16)
def _whole(spans: Vector) -> tuple[int, Parts]:
    """The words of a tile, and the tile."""
    return volume(((0,) * len(spans), spans)), ((0, spans),)


@lru_cache(maxsize=1 << 16)
def _new_parts(moved: int, before: Vector, after: Vector) -> tuple[int, Parts]:
    """Words, and their boxes, of a tile that lies `moved` from the one before, which did not hold
    them.
    """
    back = vector_of(-moved, len(before))
    held = (back, tuple(first + span for first, span in zip(back, before, strict=True)))
    boxes = subtract(((0,) * len(after), after), held)
    parts = [
        (code_of(low), tuple(end - first for first, end in zip(low, high, strict=True)))
        for low, high in boxes
    ]
    return sum(map(volume, boxes)), tuple(sorted(parts))


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


def translation(before: Parts, after: Parts) -> int | None:
    """The shift that carries one set of boxes onto the other, None if there is none."""
    if len(before) != len(after) or not before:
        return None
    step = after[0][0] - before[0][0]
    alike = all(
        old[0] + step == new[0] and old[1] == new[1] for old, new in zip(before, after, strict=True)
    )
    return step if alike else None


def _moved(state: State, step: int) -> State:
    """The state seen from a place that lies `-step` away."""
    if not step or state.at is None:
        return state
    return State(state.at + step, state.spans, state.shift, state.delta)

"""A nest carried out one step at a time: the judge of the model.

`walk` follows words, not formulas. At every step of every level it writes down the set of words
that each instance needs, takes away those that it still holds, finds out who wants the same set,
and counts. It shares no code with the model and is meant for problems of a few thousand operations.

Some rules of Timeloop's model, which ours agrees with, are conventions rather than consequences of
moving words. Each has a name and can be switched off; docs/reference/conventions.md shows what
changes then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor, prod

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.mapping import Loop, Mapping
from solver_mapper.core.problem import Problem, Tensor

Word = tuple[int, ...]
Words = frozenset[Word]
MeshPosition = tuple[int, int]
"""Column and row of an instance on the grid below its parent."""


@dataclass(frozen=True)
class Conventions:
    """Timeloop's rules by name; False is what a trace of the words gives."""

    bounding_boxes: bool = True
    """A tile is the bounding box of its words: the holes that strides leave are held and moved too.
    """
    regular_shifts: bool = True
    """Words are reused from one tile to the next only while the tile moves by the same shift at
    consecutive steps.
    """
    uniform_instances: bool = True
    """All instances below a parent fetch what the first one fetches, displaced; residual factors
    clip none of them.
    """
    scaled_bypass: bool = True
    """What a parent serves past bypassed levels is scaled from what each network would carry by
    itself, not traced through.
    """
    divided_partitions: bool = True
    """First reads are elided by the size of an instance's share of the tensor, found by division
    and not by looking.
    """


TIMELOOP = Conventions()


@dataclass(frozen=True)
class Walked:
    """Words of one tensor at one level, for the first instance, and the traffic of that instance to
    the level below.
    """

    tile: int
    reads: int
    fills: int
    updates: int


@dataclass(frozen=True)
class Crossing:
    """Words from the first instance of a level to those of an inner one.

    `served` counts words leaving, by multicast factor; `hops` their wire hops; `links` those that
    came from neighbours instead.
    """

    served: Counter[int]
    hops: Fraction
    links: int
    fanout: int

    @property
    def words(self) -> int:
        return sum(self.served.values())

    @property
    def delivered(self) -> int:
        return sum(factor * words for factor, words in self.served.items())


@dataclass(frozen=True)
class Walk:
    """What was counted: `steps`, and for each tensor the accesses of each level that holds it, and
    the crossing below each.
    """

    steps: int
    accesses: dict[str, dict[str, Walked]]
    crossings: dict[str, list[Crossing]]


def walk(
    architecture: Architecture,
    problem: Problem,
    mapping: Mapping,
    conventions: Conventions = TIMELOOP,
) -> Walk:
    """Carry out `mapping` and count."""
    trip = _Trip(architecture, problem, mapping, conventions)
    accesses, crossings = {}, {}
    for tensor in problem.tensors:
        crossings[tensor.name] = [
            trip.cross(tensor, level, level + 1) for level in range(len(mapping.levels))
        ]
        accesses[tensor.name] = trip.count(tensor, crossings[tensor.name])
    steps = sum(1 for _ in trip.times(len(mapping.levels)))
    return Walk(steps, accesses, crossings)


@dataclass(frozen=True)
class _Step:
    """One index for each loop that surrounds a tile; `start` is the first iteration of the tile,
    per dimension.
    """

    start: dict[str, int]
    indices: tuple[int, ...]


class _Trip:
    def __init__(
        self,
        architecture: Architecture,
        problem: Problem,
        mapping: Mapping,
        conventions: Conventions,
    ):
        self.architecture, self.problem, self.mapping, self.conventions = (
            architecture,
            problem,
            mapping,
            conventions,
        )

    # Where loops lead

    def stride(self, level: int, spatial: bool, position: int) -> int:
        """Iterations of its dimension that one round of a loop covers: the product of the bounds of
        all loops inside it.
        """
        levels = self.mapping.levels
        own = levels[level].spatial if spatial else levels[level].temporal
        inside = [*own[position + 1 :], *(() if spatial else levels[level].spatial)]
        for inner in levels[level + 1 :]:
            inside += [*inner.temporal, *inner.spatial]
        return prod(loop.bound for loop in inside if loop.dim == own[position].dim)

    def size(self, level: int) -> dict[str, int]:
        """Iterations per dimension of one tile of `level`."""
        inside = [
            loop for each in self.mapping.levels[level:] for loop in (*each.temporal, *each.spatial)
        ]
        return {
            dim: prod(loop.bound for loop in inside if loop.dim == dim) for dim in self.problem.dims
        }

    def strided(self, level: int, spatial: bool) -> list[tuple[Loop, int]]:
        loops = (
            self.mapping.levels[level].spatial if spatial else self.mapping.levels[level].temporal
        )
        return [
            (loop, self.stride(level, spatial, position)) for position, loop in enumerate(loops)
        ]

    def rounds(self, loops: list[tuple[Loop, int]], start: dict[str, int]) -> Iterator[_Step]:
        """All rounds of `loops` that begin within the problem, in order."""
        for indices in product(*(range(loop.bound) for loop, _ in loops)):
            place = dict(start)
            for index, (loop, stride) in zip(indices, loops, strict=True):
                place[loop.dim] += index * stride
            if all(place[dim] < self.problem.bounds[dim] for dim in self.problem.dims):
                yield _Step(place, indices)

    def times(self, level: int) -> Iterator[dict[str, int]]:
        """Where the tile of the first instance of `level` starts, step after step."""
        loops = [loop for outer in range(level) for loop in self.strided(outer, spatial=False)]
        for step in self.rounds(loops, dict.fromkeys(self.problem.dims, 0)):
            yield step.start

    # Words

    def words(
        self, tensor: Tensor, start: dict[str, int], size: dict[str, int], clip: bool = True
    ) -> Words:
        """Words that the iterations from `start` on touch."""
        ends = {dim: start[dim] + size[dim] for dim in start}
        if clip:
            ends = {dim: min(end, self.problem.bounds[dim]) for dim, end in ends.items()}
        touched = set()
        dims = [dim for dim in self.problem.dims if dim in tensor.dims]
        for point in product(*(range(start[dim], ends[dim]) for dim in dims)):
            at = dict(zip(dims, point, strict=True))
            touched.add(
                tuple(
                    sum(term.coefficient * at[term.dim] for term in rank) for rank in tensor.ranks
                )
            )
        return bounding_box(touched) if self.conventions.bounding_boxes else frozenset(touched)

    def cross(self, tensor: Tensor, level: int, inner: int) -> Crossing:
        """All words that go from `level` to level `inner`, bypassing those between."""
        spread = [loop for each in range(level, inner) for loop in self.strided(each, spatial=True)]
        plan = self.mapping.levels[level]
        memory: dict[tuple[int, ...], _Memory] = defaultdict(_Memory)
        forgetful = (
            inner == len(self.mapping.levels)
            or tensor.name in self.mapping.levels[inner].no_temporal_reuse
        )
        grid = _Grid(self.architecture.fanout(level), [loop for loop, _ in spread])
        linked = grid.used > 1 and tensor.name not in plan.no_link_transfer
        tally = _Tally(grid, tensor.name not in plan.no_multicast, linked)
        size = self.size(inner)
        for time in self.times(inner):
            elements = list(self.rounds(spread, time))
            wanted: dict[tuple[int, ...], Words] = {}
            for element in elements:
                if self.conventions.uniform_instances and any(element.indices):
                    first = elements[0]
                    wanted[element.indices] = displaced(
                        tensor, wanted[first.indices], first.start, element.start
                    )
                    continue
                tile = self.words(tensor, element.start, size)
                holder = memory[element.indices]
                wanted[element.indices] = (
                    tile if forgetful else holder.fetch(tile, self.conventions.regular_shifts)
                )
            tally.step(wanted)
        return tally.crossing()

    # Levels

    def count(self, tensor: Tensor, crossings: list[Crossing]) -> dict[str, Walked]:
        """Accesses of each level that holds the tensor."""
        levels = self.mapping.levels
        kept = [level for level, each in enumerate(levels) if tensor.name in each.keep]
        shares = self.shares(tensor)
        counted = {}
        for order, level in enumerate(kept):
            inner = kept[order + 1] if order + 1 < len(kept) else len(levels)
            content = self.content(tensor, level, inner, crossings)
            arriving = (
                Fraction(crossings[level - 1].delivered, crossings[level - 1].fanout)
                if order
                else Fraction(0)
            )
            links = crossings[level - 1].links if order else 0
            peer = Fraction(links, prod(each.fanout for each in crossings[:level]))
            tile = max(
                len(self.words(tensor, time, self.size(level))) for time in self.times(level)
            )
            if tensor.read_write:
                old = max(0, nearest(content + peer - shares[level]))
                fills = max(0, nearest(arriving + peer - (shares[level] if order else 0)))
                counted[levels[level].level] = Walked(tile, old, fills, nearest(content))
            else:
                counted[levels[level].level] = Walked(
                    tile, nearest(content + peer), floor(arriving + peer), 0
                )
        return counted

    def content(
        self, tensor: Tensor, level: int, inner: int, crossings: list[Crossing]
    ) -> Fraction:
        """Words that `level` serves (or adds up) for the next inner level that holds the tensor."""
        if not self.conventions.scaled_bypass and inner > level + 1:
            return Fraction(self.cross(tensor, level, inner).words)
        content = Fraction(crossings[inner - 1].words)
        for between in range(inner - 2, level - 1, -1):
            crossing = crossings[between]
            content = content * crossing.fanout * Fraction(crossing.words, crossing.delivered)
        return content

    def shares(self, tensor: Tensor) -> list[int]:
        """Distinct words that the first instance of each level ever holds."""
        depth = len(self.mapping.levels)
        if not self.conventions.divided_partitions:
            tiles = (
                ((self.words(tensor, time, self.size(level))) for time in self.times(level))
                for level in range(depth)
            )
            return [len(frozenset().union(*each)) for each in tiles]
        sizes = [self.largest(tensor, 0, 0)]
        for level in range(1, depth):
            together = self.largest(tensor, level, level - 1)
            sizes.append(sizes[-1] * self.largest(tensor, level, level) // together)
        return sizes

    def largest(self, tensor: Tensor, level: int, above: int) -> int:
        """Words in the largest tile of `level`, or of all its instances below one of `above`."""
        size = self.size(level)
        if above < level:
            for loop in self.mapping.levels[above].spatial:
                size[loop.dim] *= loop.bound
        return max(len(self.words(tensor, time, size)) for time in self.times(level))


class _Memory:
    """What one instance holds of one tensor."""

    def __init__(self) -> None:
        self.held: Words = frozenset()
        self.shift: Word | None = None

    def fetch(self, tile: Words, regular: bool) -> Words:
        """The words that must come in so that `tile` is held."""
        if not regular:
            new = tile - self.held
            self.held = tile
            return new
        shift = centre_shift(self.held, tile) if self.held else None
        if self.shift is None or shift == self.shift:
            new = tile - self.held
            self.shift = shift
        else:
            new = tile
            self.shift = None
        self.held = tile
        return new


class _Grid:
    """The physical array below one instance: elements fill it row by row in the order of their
    loops.
    """

    def __init__(self, fanout: tuple[int, int], loops: list[Loop]):
        self.loops = loops
        self.width = max(fanout[0], prod(loop.bound for loop in loops if loop.axis != "Y"))
        self.height = max(fanout[1], prod(loop.bound for loop in loops if loop.axis == "Y"))
        self.used = prod(loop.bound for loop in loops)

    def places(self, elements: list[tuple[int, ...]]) -> dict[tuple[int, ...], MeshPosition]:
        """Column and row of each element. Rows are filled without gaps by the elements of a step,
        as far as they form a box.
        """
        box = [1 + max(indices[loop] for indices in elements) for loop in range(len(self.loops))]
        counts = box if prod(box) == len(elements) else [loop.bound for loop in self.loops]
        where = {}
        for indices in elements:
            position = 0
            for index, count in zip(indices, counts, strict=True):
                position = position * count + index
            where[indices] = position % self.width, position // self.width
        return where


class _Tally:
    """Counts the words of a crossing, step by step."""

    def __init__(self, grid: _Grid, multicast: bool, links: bool):
        self.grid, self.multicast, self.linking = grid, multicast, links
        self.served: Counter[int] = Counter()
        self.hops = Fraction(0)
        self.links = 0
        self.before: dict[MeshPosition, Words] = {}

    def step(self, wanted: dict[tuple[int, ...], Words]) -> None:
        places = self.grid.places(list(wanted))
        now = {places[indices]: words for indices, words in wanted.items()}
        direct = self.groups({place: words for place, words in now.items() if words})
        if self.linking:
            passed = {
                place for place, words in now.items() if words and self.neighbour_had(place, words)
            }
            rest = self.groups(
                {place: words for place, words in now.items() if words and place not in passed}
            )
            if sum(len(words) for words, _ in rest) < sum(len(words) for words, _ in direct):
                direct = rest
                self.links += sum(len(now[place]) for place in passed)
        for words, members in direct:
            self.served[len(members)] += len(words)
            if self.grid.used > 1:
                self.hops += len(words) * self.reach(members)
        self.before = now

    def groups(self, wanted: dict[MeshPosition, Words]) -> list[tuple[Words, list[MeshPosition]]]:
        if not self.multicast:
            return [(words, [place]) for place, words in wanted.items()]
        together: dict[Words, list[MeshPosition]] = defaultdict(list)
        for place, words in wanted.items():
            together[words].append(place)
        return list(together.items())

    def neighbour_had(self, place: MeshPosition, words: Words) -> bool:
        """Whether one of the four neighbours took in exactly these words one step earlier."""
        column, row = place
        around = ((column, row - 1), (column, row + 1), (column - 1, row), (column + 1, row))
        return any(self.before.get(there) == words for there in around)

    def reach(self, members: list[MeshPosition]) -> Fraction:
        """Wire hops: from the middle of the left edge along the row to the furthest column, then up
        and down in each column.
        """
        middle = Fraction(self.grid.height - 1, 2)
        hops = Fraction(max(column for column, _ in members))
        for column in {column for column, _ in members}:
            rows = [row for at, row in members if at == column]
            hops += max(Fraction(0), middle - min(rows)) + max(Fraction(0), max(rows) - middle)
        return hops

    def crossing(self) -> Crossing:
        return Crossing(self.served, self.hops, self.links, self.grid.used)


def bounding_box(words: set[Word]) -> Words:
    ranks = list(zip(*words, strict=True))
    return frozenset(product(*(range(min(rank), max(rank) + 1) for rank in ranks)))


def displaced(tensor: Tensor, words: Words, start: dict[str, int], there: dict[str, int]) -> Words:
    """`words` as seen by an element whose iterations start at `there` instead of `start`."""
    step = [
        sum(term.coefficient * (there[term.dim] - start[term.dim]) for term in rank)
        for rank in tensor.ranks
    ]
    return frozenset(
        tuple(at + move for at, move in zip(word, step, strict=True)) for word in words
    )


def centre_shift(before: Words, after: Words) -> Word:
    """How far the centre of mass moved along each rank, rounded half away from zero."""
    shift = []
    for old, new in zip(zip(*before, strict=True), zip(*after, strict=True), strict=True):
        shift.append(nearest(Fraction(sum(new), len(new)) - Fraction(sum(old), len(old))))
    return tuple(shift)


def nearest(value: Fraction) -> int:
    """The nearest integer; halves go away from zero."""
    return floor(value + Fraction(1, 2)) if value >= 0 else -floor(-value + Fraction(1, 2))

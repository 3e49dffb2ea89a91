"""A lower bound for mappings of imperfect factors, level by level: `LowerBound` with tiles of any
size.

A tile of t points makes at least ceil(D / t) rounds over a dimension of size D, counted over all
instances, and the smallest tile of equal rounds takes the least room; so one tile for each number
of rounds is looked at. Where there are too many combinations, tiles of similar size stand together:
with the room of the smallest and the rounds of the largest.

What holds for perfect factors (`boundary.py`) holds here, but for three points. Where the loop that
moves a tile runs once in its last round, the tile stays, and the rounds of idle loops outside cost
nothing: among v >= 3 positions along a dimension, at the last one. And shares of partial sums whose
first reads are elided may be up to twice as large along each dimension that is spread unevenly.
Instances that are not in use in last rounds may be taken to have in place what the first one has;
so below a mesh, only the dimensions outside windows are counted.

Right above the compute units, where most words cross, spatial loops are chosen for all tensors
together (`ComputeBoundary`); so a multicast of one is not promised with instances that the sums of
another need. Products of energy and cycles are bounded for choices of similar numbers of cycles.
Where a stride leaves holes in tiles, their bounding boxes are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from math import inf, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.constraints import FactorConstraint, Kind
from solver_mapper.core.objective import Goal
from solver_mapper.core.problem import Problem
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.deadline import check_time
from solver_mapper.verify.bound import ROUNDED, Keeps, Key, LowerBound, Rates
from solver_mapper.verify.boundary import Boundary, Ints, Moved
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.views import View, view

MOST_POINTS = 20_000
"""Combinations of tiles that are looked at for one level."""
MOST_SPREADS = 1_000_000
"""Choices of spatial loops that are looked at."""
NOISE = 1e-10
"""More than the relative rounding error of a bound in double precision."""
MOST_BINS = 24
"""Parts of these choices, by their cycles, that products of energy and cycles are looked at for."""
Shares = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class ImperfectBoundary(Boundary):
    """All combinations of tiles at level `child`; `outside[dim]` are rounds of all instances."""

    def moved(
        self, view: View, parent: int, spared: frozenset[int], passing: bool = False
    ) -> Moved:
        """The least words of a tensor between `parent` and the child; see `Boundary`."""
        ones = np.ones(len(self.inside[0]))
        steady = not self.feeds_compute_units or self.helpers
        rounds = ones
        for dim in sorted(view.idle - spared if steady else view.idle):
            rounds = rounds * self.outside[dim]
        if steady:
            rounds = 1 + (rounds - 1) * self._moving(view)
        below, instances = self.shared(view, parent), self.instances
        direct = parent == self.child - 1 and not passing
        words: Shares = ones * view.words
        together = self.feeds_compute_units or self.below(parent) == 1
        if _apart(view) or (steady and direct and together):
            sent, filled = np.maximum(rounds / below, 1), rounds
            if _apart(view) and not passing:
                words = words * self._boxes(view)
        elif steady:
            words = ones * view.fixed_words
            sent = filled = np.maximum(rounds / instances, 1)
        else:
            words, sent, filled = ones, ones * self.problem.macs / below, 0 * ones
        levels = self.architecture.levels
        past = parent < self.child - 1 or passing  # words scaled by a bypass are rounded
        senders = levels[parent].instances
        lost = [
            -(-senders // 2) if past and senders > 1 else 0,
            0 if self.feeds_compute_units else self._filled - 1,
        ]
        sent_again = filled_again = np.zeros(len(ones), dtype=np.int64)
        if view.plain:
            often = np.maximum(rounds / instances, 1)
            sent_again = _counted(words * self._again(view, parent, sent, often), lost[0])
            often = often - self._shares(view, self.child)
            filled_again = _counted(words * often, lost[1])
        return Moved(
            _counted(words * sent, lost[0]),
            sent_again,
            _counted(words * filled, lost[1]),
            filled_again,
        )

    def _boxes(self, view: View) -> Shares:
        """Words of the bounding boxes of all tiles together, with the holes that strides leave,
        over the words in use.
        """
        share = np.ones(len(self.inside[0]))
        for ((dim, coefficient),) in view.projection.ranks:
            if abs(coefficient) == 1:
                continue
            size = self.problem.bounds[self.problem.dims[dim]]
            tiles = -(-size // self.inside[dim])
            share = share * (1 + (abs(coefficient) - 1) * (1 - tiles / size))
        return share

    def shared(self, view: View, parent: int) -> Shares:
        """Instances of the child that can be served with one word of `parent`, at most."""
        return np.array([float(self.below(parent))])

    def _again(self, view: View, parent: int, sent: Shares, often: Shares) -> Shares:
        """How often a partial sum is sent, less the first reads that are elided."""
        return sent - 1 if parent == 0 else often - self._shares(view, parent)

    @property
    def _filled(self) -> int:
        return self.architecture.levels[self.child].instances

    def _moving(self, view: View) -> Shares:
        """At least the share of a tile's positions at which a loop moves it in each round."""
        share = np.ones(len(self.inside[0]))
        for dim in view.fixed:
            size, tile = self.problem.bounds[self.problem.dims[dim]], self.inside[dim]
            places = -(-size // (tile * self.instances))
            some = 1 - 1 / np.maximum(places, 3)
            share = np.where(2 * tile < size, np.minimum(share, some), share)
        return share

    def _shares(self, view: View, level: int) -> int:
        """How often an instance of a level may elide the first read of a word, at most."""
        if not any(max(self.architecture.fanout(outer)) > 1 for outer in range(level)):
            return 1
        sizes = [self.problem.bounds[self.problem.dims[dim]] for dim in view.fixed]
        return int(prod(2 for size in sizes if size > 2))


@dataclass(frozen=True)
class ComputeBoundary(ImperfectBoundary):
    """All choices of spatial loops that constraints on single loops, axes and meshes leave and no
    other choice exceeds: with `spread[level][dim]` instances along each dimension. More instances
    share more words and take fewer steps, so that no other choice costs less.
    """

    spread: tuple[tuple[Ints, ...], ...] = ()

    def shared(self, view: View, parent: int) -> Shares:
        """Instances along the dimensions that may need the same words: along those of a window, one
        of which follows from the word and the others, all but the most.
        """
        levels = range(parent, self.child)
        dims = frozenset(range(len(self.problem.bounds))) - view.fixed
        total = self.along(dims, levels)
        for rank in view.projection.ranks:
            window = {dim for dim, _ in rank}
            if window <= dims:
                along = [self.along(frozenset([dim]), levels) for dim in sorted(window)]
                total = total / reduce(np.maximum, along)
                dims -= window
        return total

    def _again(self, view: View, parent: int, sent: Shares, often: Shares) -> Shares:
        """Each instance of the parent elides its share of the tensor, up to twice as much along
        each dimension that is spread. Without help from neighbours the words that are sent grow in
        the same proportion.
        """
        return np.maximum(sent - self.elided(view, parent), 0)

    def elided(self, view: View, parent: int) -> Shares:
        """How often first reads of a word of the tensor are elided, at most."""
        share = self.along(view.idle, range(parent))
        if self.helpers:
            for level in range(parent):
                for dim in view.fixed:
                    share = share * np.where(self.spread[level][dim] > 1, 2, 1)
        return share

    def along(self, dims: frozenset[int], levels: range) -> Shares:
        """Instances along some dimensions that the spatial loops of some levels make up."""
        total = np.ones(len(self.inside[0]))
        for level, dim in self._wide:
            if level in levels and dim in dims:
                total = total * self.spread[level][dim]
        return total

    @cached_property
    def _wide(self) -> list[tuple[int, int]]:
        """Levels and dimensions along which some choice has several instances."""
        return [
            (level, dim)
            for level, along in enumerate(self.spread)
            for dim, instances in enumerate(along)
            if (instances > 1).any()
        ]

    @cached_property
    def steps(self) -> Ints:
        """Steps of the compute units, at least."""
        total = np.ones(len(self.inside[0]), dtype=np.int64)
        for dim, size in enumerate(self.problem.bounds.values()):
            along = self.along(frozenset([dim]), range(self.child))
            total = total * np.ceil(size / along).astype(np.int64)
        return total


def _counted(words: Shares, lost: int) -> Ints:
    """Whole words, rounded down, less those that rounding may lose."""
    nearest = np.rint(words)
    whole = np.where(np.abs(words - nearest) <= 1e-14 * words, nearest, np.floor(words))
    found: Ints = np.maximum(whole - lost, 0).astype(np.int64)
    return found


class ImperfectLowerBound(LowerBound):
    """Lower bounds of all figures of all mappings of imperfect factors."""

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = self.mapspace.problem
        self.views = tuple(view(problem, number) for number in range(len(problem.tensors)))

    @cached_property
    def boundaries(self) -> dict[int, Boundary]:
        """The boundary above each level, by its number."""
        architecture, problem = self.mapspace.architecture, self.mapspace.problem
        found = dict[int, Boundary]()
        for child in range(1, self.depth + 1):
            check_time()
            inside, outside = _tiles(problem, child == self.depth)
            ones = tuple(np.ones_like(each) for each in inside)
            found[child] = ImperfectBoundary(
                architecture, problem, child, True, inside, ones, outside
            )
        spread = _spreads(self.mapspace)
        if spread is not None:
            ones = tuple(np.ones_like(each) for each in spread[0])
            outside = tuple(
                one * size for one, size in zip(ones, problem.bounds.values(), strict=True)
            )
            found[self.depth] = ComputeBoundary(
                architecture, problem, self.depth, True, ones, ones, outside, spread
            )
        return found

    @property
    def holders(self) -> list[Keeps]:
        """All choices of who holds what. Raises: ValueError if there are too many."""
        return self._holders

    def entering(self, keeps: Keeps) -> Fraction | None:
        """A bound of the energy in pJ of all words that enter levels, for one choice of who holds
        what; None if their tiles cannot fit.
        """
        scaled, unit = self.scaled(self.rates)
        sums = [self._sum(keeps, early, scaled, self.depth - 1) for early in (False, True)]
        found = [each for each in sums if each is not None]
        return Fraction(max(found)) / unit if len(found) == len(sums) else None

    def entering_from(
        self, keeps: Keeps, level: int, rates: list[Rates] | None = None
    ) -> Fraction | None:
        """The same for the words that enter a level or one further out; or the least sum of what
        other rates make of them.
        """
        scaled, unit = self.scaled(self.rates if rates is None else rates)
        least = self._sum(keeps, False, scaled, level)
        return None if least is None else Fraction(least) / unit

    def entering_each(self, keeps: Keeps, level: int, rates: list[Rates] | None = None) -> Shares:
        """The same for the words that enter one level, for each combination of tiles; infinite
        where they do not fit together.
        """
        scaled, unit = self.scaled(self.rates if rates is None else rates)
        found = self._costs(*self._key(keeps, level, False, scaled))
        if found is None:
            return np.full(len(self.boundaries[level].inside[0]), np.inf)
        return np.where(found[0], found[1] / float(unit), np.inf)

    @property
    def steps(self) -> int:
        """Steps of the compute units, at least."""
        room = self.boundaries[self.depth]
        return int(room.steps.min()) if isinstance(room, ComputeBoundary) else super().steps

    @cached_property
    def cycles(self) -> int | None:
        """At least one; None if no mapping fits."""
        known = super().cycles
        if known is None or not isinstance(self.boundaries[self.depth], ComputeBoundary):
            return known
        least = float(self.cycles_by_choice.min())
        return max(known, int(least)) if least < inf else None

    @cached_property
    def cycles_by_choice(self) -> Shares:
        """`cycles_of` all choices of spatial loops, whoever holds what."""
        room = self.boundaries[self.depth]
        assert isinstance(room, ComputeBoundary)
        return self.cycles_of(room, self._holders)

    def cycles_of(self, room: ComputeBoundary, holders: Sequence[Keeps]) -> Shares:
        """Cycles for each choice of spatial loops, at least: its steps, or as long as a level needs
        for what it does not share; infinite where nothing fits.
        """
        architecture = self.mapspace.architecture
        every, least = frozenset(range(len(room.spread[0]))), room.steps.astype(float)
        for index, bandwidth, rates in self._ports:
            here = [rates if level == index else Rates() for level in range(self.depth)]
            words = self._words_of(room, holders, here)
            lost = (
                len(self.views) * float(ROUNDED)
                if architecture.levels[index].instances > 1
                else 0.0
            )
            each = words / room.along(every, range(index)) - lost
            least = np.maximum(least, np.ceil(each / float(bandwidth) * (1 - NOISE)))
        return least + latency(architecture)

    def _words_of(
        self, room: ComputeBoundary, holders: Sequence[Keeps], rates: list[Rates]
    ) -> Shares:
        """The least sum of all words that cross, each counted at the rate of its level, for each
        choice of spatial loops; infinite where nothing fits.
        """
        scaled, unit = self.scaled(rates)
        outside = dict[Key, int]()
        for keeps in holders:
            entering = self._sum(keeps, False, scaled, self.depth - 1)
            if entering is not None:
                key = self._key(keeps, self.depth, False, scaled)
                outside[key] = min(entering, outside.get(key, entering))
        least = np.full(len(room.inside[0]), np.inf)
        for key, entering in outside.items():
            found = self._costs(*key, room)
            if found is not None:
                fits, cost = found
                least = np.where(fits, np.minimum(least, cost + float(entering)), least)
        return np.asarray(least / float(unit))

    def goal(self, goal: Goal) -> Fraction | None:
        """A bound of a goal's rank. Where energy and cycles are multiplied, both are bounded for
        choices of spatial loops with similar numbers of cycles, and the least product counts.
        """
        room = self.boundaries[self.depth]
        powers = dict(goal.powers)
        if not isinstance(room, ComputeBoundary) or not {"energy", "delay"} <= set(powers):
            return super().goal(goal)
        least: Fraction | None = None
        floor = super().goal(goal)
        if floor is None or self.cycles is None:
            return None
        for rows in _bins(self.cycles_by_choice):
            part, cycles = _part(room, rows), self.cycles_by_choice[rows[0]]
            if cycles == inf or (
                least is not None
                and least <= floor * Fraction(int(cycles), self.cycles) ** powers["delay"]
            ):
                break
            known = {key: cost for key, cost in self._least.items() if key[0] < self.depth}
            found = replace(self, _least=known)
            found.boundaries = {**self.boundaries, self.depth: part}
            value = super(ImperfectLowerBound, found).goal(goal)
            if value is not None and (least is None or value < least):
                least = value
        return least


def _apart(view: View) -> bool:
    """Whether tiles at different places share no word."""
    return all(len(rank) == 1 for rank in view.projection.ranks) and len(view.fixed) == len(
        view.projection.ranks
    )


def _bins(cycles: Shares) -> list[Ints]:
    """Rows in parts of rising numbers of cycles, the fewest apart and then more together."""
    order = np.argsort(cycles, kind="stable")
    edges = np.flatnonzero(cycles[order][1:] > cycles[order][:-1]) + 1
    if not len(edges):
        return [order]
    kept = np.unique(np.geomspace(1, len(edges), MOST_BINS).astype(np.int64)) - 1
    return np.split(order, edges[kept])


def compute_boundary(room: ComputeBoundary, rows: Ints) -> ComputeBoundary:
    """The boundary for other choices of spatial loops: (rows, levels, dimensions)."""
    ones = np.ones(len(rows), dtype=np.int64)
    sizes = room.problem.bounds.values()
    return replace(
        room,
        inside=tuple(ones for _ in sizes),
        spatial=tuple(ones for _ in sizes),
        outside=tuple(ones * size for size in sizes),
        spread=tuple(tuple(level.T) for level in np.moveaxis(rows, 1, 0)),
    )


def _part(room: ComputeBoundary, rows: Ints) -> ComputeBoundary:
    """Some of the choices of spatial loops."""
    return replace(
        room,
        inside=tuple(each[rows] for each in room.inside),
        spatial=tuple(each[rows] for each in room.spatial),
        outside=tuple(each[rows] for each in room.outside),
        spread=tuple(tuple(each[rows] for each in level) for level in room.spread),
    )


def _spreads(mapspace: EnumeratedMapspace) -> tuple[tuple[Ints, ...], ...] | None:
    """For each level and dimension the instances along it, in all choices for all levels together
    that no other choice exceeds; None if they are too many.
    """
    for strict in (True, False):
        levels = [
            _rows(_Room.of(mapspace, level, strict=strict))
            for level in range(len(mapspace.architecture.levels))
        ]
        tables = [rows for rows in levels if rows is not None]
        if len(tables) == len(levels) and prod(map(len, tables)) <= MOST_SPREADS:
            return _combined(tables)
    return None


def _rows(room: _Room) -> Ints | None:
    """Choices of spatial loops for one level, (rows, dimensions); None if they are too many."""
    rows = np.ones((1, 0), dtype=np.int64)
    for most in room.most:
        counts = np.minimum(room.instances // rows.prod(axis=1), most)
        if counts.sum() > MOST_SPREADS:
            return None
        source = np.repeat(np.arange(len(rows)), counts)
        bound = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        rows = np.concatenate([rows[source], bound[:, None]], axis=1)
        rows = rows[room.fits(rows)]
    grown = [room.fits(rows + one) for one in np.eye(len(room.most), dtype=np.int64)]
    return np.asarray(rows[~np.any(grown, axis=0)])


def _combined(levels: list[Ints]) -> tuple[tuple[Ints, ...], ...]:
    """All choices for all levels together."""
    picks = np.indices([len(rows) for rows in levels], dtype=np.int32).reshape(len(levels), -1)
    return tuple(
        tuple(rows[pick, dim].astype(np.int32) for dim in range(rows.shape[1]))
        for rows, pick in zip(levels, picks, strict=True)
    )


class _Room(NamedTuple):
    """What spatial loops of a level have room for: along each dimension, which lies along one axis
    only, and all together. `meshes` are the sides along X and Y, and `along` the dimensions that
    lie along each of them: in all ways to lay the dimensions that constraints leave, or, unless it
    is `strict`, only those to which they leave one axis.
    """

    most: tuple[int, ...]
    instances: int
    meshes: tuple[int, int]
    along: tuple[tuple[frozenset[int], frozenset[int]], ...]

    @classmethod
    def of(cls, mapspace: EnumeratedMapspace, level: int, *, strict: bool = True) -> _Room:
        meshes = mapspace.architecture.fanout(level)
        fanout = dict(zip("XY", meshes, strict=True))
        axes = [mapspace.axes(level, dim) for dim in mapspace.problem.dims]
        most = [
            min(
                most_along(mapspace, level, "spatial", dim),
                max([1, *(fanout[axis] for axis in allowed)]),
            )
            for dim, allowed in zip(mapspace.problem.dims, axes, strict=True)
        ]
        alone = [
            frozenset(dim for dim, allowed in enumerate(axes) if tuple(allowed) == (axis,))
            for axis in "XY"
        ]
        both = [dim for dim, each in enumerate(most) if each > 1 and len(axes[dim]) == len("XY")]
        laid = list(product("XY", repeat=len(both))) if strict and min(meshes) > 1 else [()]
        along = [
            tuple(
                alone[number] | {dim for dim, axis in zip(both, each, strict=False) if axis == name}
                for number, name in enumerate("XY")
            )
            for each in laid
        ]
        return cls(tuple(most), prod(meshes), meshes, tuple((x, y) for x, y in along))

    def fits(self, rows: Ints) -> NDArray[np.bool_]:
        """Which choices of instances along each of the first dimensions fit."""
        fits = np.asarray(rows.prod(axis=1) <= self.instances)
        for most, along in zip(self.most, rows.T, strict=False):
            fits &= along <= most
        left = np.flatnonzero(fits)
        fits = np.zeros(len(rows), dtype=bool)
        for each in self.along:
            some = np.ones(len(left), dtype=bool)
            for dims, side in zip(each, self.meshes, strict=True):
                here = sorted(dim for dim in dims if dim < rows.shape[1])
                some &= rows[left][:, here].prod(axis=1) <= side
            fits[left[some]] = True
            left = left[~some]
        return fits


def most_along(mapspace: EnumeratedMapspace, level: int, kind: Kind, dim: str) -> int:
    """The largest bound of loops of a kind that constraints allow at a level."""
    size, name = mapspace.problem.bounds[dim], mapspace.architecture.levels[level].name
    upper = [
        (size if (each.comparison, each.value) == ("==", 0) else each.value)
        - (each.comparison == "<")
        for each in mapspace.constraints
        if isinstance(each, FactorConstraint)
        and (each.level, each.kind, each.dim) == (name, kind, dim)
        and each.comparison in ("==", "<=", "<")
    ]
    return max(1, min([size, *upper]))


def _tiles(problem: Problem, single: bool) -> tuple[tuple[Ints, ...], tuple[Ints, ...]]:
    """Combinations of tiles and their rounds; of single points only if `single`."""
    columns = []
    for size in problem.bounds.values():
        sizes = [1] if single else sorted({-(-size // parts) for parts in range(1, size + 1)})
        columns.append([(tile, -(-size // tile)) for tile in sizes])
    while prod(map(len, columns)) > MOST_POINTS:
        longest = max(range(len(columns)), key=lambda dim: len(columns[dim]))
        rows = columns[longest]
        columns[longest] = [
            (rows[at][0], rows[min(at + 1, len(rows) - 1)][1]) for at in range(0, len(rows), 2)
        ]
    picks = np.indices([len(rows) for rows in columns]).reshape(len(columns), -1)
    tables = [
        np.array(rows, dtype=np.int64)[pick] for rows, pick in zip(columns, picks, strict=True)
    ]
    return tuple(each[:, 0] for each in tables), tuple(each[:, 1] for each in tables)

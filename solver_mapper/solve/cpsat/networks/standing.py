"""How many of their windows units can pass on at most, given how they stand and what they hold.

A unit takes words from a neighbour only if the window that it needs now is the one that the
neighbour held a step before: their windows differ by the move of that step. In each step one loop
advances and those inside it start over. If base(e) is what all units together span of a dimension,
and each holds so much of it that it takes n rounds, loops over e that start over take the window
back by (q - 1) base(e) for a divisor q of n, and if the loop that advances is over e, the window
goes on by base(e) along it, whatever the loops inside. (Where meshes further out deal out e as
well, it goes by multiples of base(e) below n.) After such a move, the parent sends the windows of
all units that have no neighbour who held theirs: whatever the loops outside, no fewer than after
the best of these moves. Of a run along one dimension, the moves within it are single steps, and the
loops that advance between its runs make it start over.

That depends on few decisions: the spatial loops that deal out the units, and the tiles below. Of
dimensions that leave the tensor alone, and of those in which windows do not slide, only the
product along each axis matters. It is split into primes here, in any order, though real loops may
not be split so: that can only lower the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from solver_mapper.core.primes import divisors, factorize
from solver_mapper.core.problem import Tensor
from solver_mapper.mapspace.components import RankComponent, shape_of
from solver_mapper.mapspace.space import Slot
from solver_mapper.solve.cpsat.linear_form import highest
from solver_mapper.solve.cpsat.variables import Variables, slots_where

MOST_UNITS = 20_000
"""Units looked at, over all orders of loops, before help is taken for possible."""
MOST_CODED = 2**40
"""More different windows than that are not told apart by numbers of 64 bits."""
IDLE, PLAIN, BELOW = "idle", "plain", "below"
Windows = NDArray[np.int64]
"""A number for what each unit holds."""
Loop = tuple[str, int]
"""`IDLE`, `PLAIN` or a dimension of a sliding window, and a bound."""


class Moves(Enum):
    """Which moves count: all, those `WITHIN` runs along a dimension, or `BETWEEN` its runs."""

    ALL = "all"
    WITHIN = "within"
    BETWEEN = "between"


@dataclass(frozen=True)
class Standing:
    """Units dealt out along X and Y on a mesh of `width`, filling it row by row.

    By axis, the bounds of loops over each sliding dimension, and of all others together. `tiles`
    has the points of each sliding dimension that one unit holds, `sizes` its bound; `scattered` are
    those that meshes further out may deal out, too. `steady`: units keep what they hold while the
    tensor is idle.
    """

    width: int
    sliding: tuple[RankComponent, ...]
    loops: Mapping[str, Mapping[str, int]]
    tiles: Mapping[str, int]
    sizes: Mapping[str, int]
    scattered: frozenset[str]
    steady: bool

    def lone_share(self, moves: Moves = Moves.ALL, run: str | None = None) -> Fraction:
        """At least this share of the windows that the units need after a move, within runs along
        `run` or between them, some unit has no neighbour for to take it from: the least over these
        moves and the orders of the loops. 0 if there are too many orders.
        """
        codes = self._codes()
        orders = self._orders() if codes[PLAIN] < MOST_CODED else []
        wanted = {
            sum(codes[dim] * points // self.tiles[dim] for dim, points in move.items())
            for move in self._moves(moves, run)
        }
        least = Fraction(1 if orders else 0)
        for loops in orders:
            least = min(least, self._lone(_windows(loops, codes), wanted))
            if not least:
                break
        return least

    @property
    def sharing(self) -> Fraction:
        """How many units want the same words, on average."""
        loops = [loop for axis in "YX" for loop in self.loops[axis].items()]
        units = prod(bound for _, bound in loops)
        if units > MOST_UNITS:
            return Fraction(units)
        return Fraction(units, len(set(_windows(loops, self._codes()).tolist())))

    def _codes(self) -> dict[str, int]:
        """What an index of each kind adds to a number that tells all windows apart, and their
        differences.
        """
        codes, weight = dict.fromkeys(self.tiles, 0), 1
        for component in self.sliding:
            for coefficients in component.coefficients:
                reach = 1
                for dim, coefficient in zip(component.dims, coefficients, strict=True):
                    codes[dim] += weight * coefficient * self.tiles[dim]
                    reach += abs(coefficient) * self.sizes[dim]
                weight *= 4 * reach
        return {**codes, PLAIN: weight, IDLE: 0}

    def _orders(self) -> list[tuple[Loop, ...]]:
        """The loops in all orders that differ, outer first; none if there are too many."""
        orders = [list(_orders(self.loops[axis])) for axis in "YX"]
        units = prod(prod(loops.values()) for loops in self.loops.values())
        if units * len(orders[0]) * len(orders[1]) > MOST_UNITS:
            return []
        return [(*outer, *inner) for outer, inner in product(*orders)]

    def _lone(self, windows: Windows, wanted: set[int]) -> Fraction:
        """The share of the windows, unit by unit."""
        units = len(windows)
        beside = np.arange(max(0, units - 1))
        beside = beside[(beside + 1) % self.width > 0]
        below = np.arange(max(0, units - self.width))
        one = np.concatenate([beside, below])
        other = np.concatenate([beside + 1, below + self.width])
        apart = windows[other] - windows[one]
        fewest = distinct = len(set(windows.tolist()))
        for move in wanted.intersection([*apart.tolist(), *(-apart).tolist()]):
            waits = np.ones(units, dtype=bool)
            waits[one[apart == move]] = waits[other[apart == -move]] = False
            fewest = min(fewest, len(set(windows[waits].tolist())))
        return Fraction(fewest, distinct)

    def _moves(self, moves: Moves, run: str | None) -> Iterator[Mapping[str, int]]:
        """The moves that count, in points of each dimension. Where units keep what they hold, some
        loop has to go back or on.
        """
        for ahead in (run,) if moves is Moves.WITHIN else (None, *self.tiles):
            steps = [self._steps(dim, ahead, moves, run) for dim in self.tiles]
            for chosen in product(*steps):
                moved = {dim for dim, step in zip(self.tiles, chosen, strict=True) if step}
                if moves is Moves.BETWEEN and moved == {run} == {ahead}:
                    continue  # the run goes on
                if moved or not self.steady:
                    yield dict(zip(self.tiles, chosen, strict=True))

    def _steps(self, dim: str, ahead: str | None, moves: Moves, run: str | None) -> list[int]:
        """By how many points the window may move along `dim` if a loop over `ahead` advances, one
        over no dimension of these windows if None.
        """
        span = self.tiles[dim] * prod(loops.get(dim, 1) for loops in self.loops.values())
        rounds = self.sizes[dim] // span
        scattered = dim in self.scattered
        if dim == ahead:
            return [span * each for each in range(1, rounds if scattered else min(2, rounds))]
        if moves is Moves.WITHIN:
            return [0]
        back = range(rounds) if scattered else [each - 1 for each in divisors(rounds)]
        over = moves is Moves.BETWEEN and dim == run
        return [-span * each for each in back if each or not over]


class StandingExponent(NamedTuple):
    """An exponent of a prime, the sum of `powers`, that decides how units stand (`place` is an
    axis) or what they hold (`BELOW`): of the loops of one `kind`, which is `IDLE`, `PLAIN` or a
    dimension.
    """

    place: str
    kind: str
    prime: int
    powers: tuple[cp_model.IntVar, ...]


@dataclass(frozen=True)
class StandingDecisions:
    """What decides how units of level `child` stand."""

    variables: Variables
    tensor: Tensor
    child: int

    @cached_property
    def exponents(self) -> list[StandingExponent]:
        """The decisions, those that seldom matter first."""
        kinds = _kinds(self.variables, self.tensor)
        below = slots_where(self.variables.space, below=self.child)
        places = [(axis, [Slot(self.child - 1, axis)], kinds) for axis in "YX"]
        places += [(BELOW, below, {kind: dims for kind, dims in kinds.items() if kind in dims})]
        found = []
        for place, slots, here in places:
            for kind, dims in here.items():
                chosen = self.variables.loop_slots(dims, slots)
                for number in self.variables.primes(dims):
                    powers = tuple(
                        power
                        for (dim, prime, slot), power in self.variables.power.items()
                        if prime == number and (dim, slot) in chosen
                    )
                    if powers:
                        found.append(StandingExponent(place, kind, number, powers))
        return found

    @cached_property
    def alike(self) -> list[dict[str, str]]:
        """How dimensions may be renamed without changing what units share: not at all, or two
        components that differ in names alone for each other.
        """
        found: list[dict[str, str]] = [{}]
        for one, other in combinations(_sliding(self.variables, self.tensor), 2):
            names = dict(zip((*one.dims, *other.dims), (*other.dims, *one.dims), strict=True))
            if one.coefficients == other.coefficients and self._same_room(names):
                found.append(names)
        return found

    def _same_room(self, names: Mapping[str, str]) -> bool:
        """Whether dimensions have the bounds, and their loops the room, of those that they are
        renamed to.
        """
        bounds, numbers = self.variables.space.problem.bounds, self._numbers
        renamed = {key: (key[0], names.get(key[1], key[1]), key[2]) for key in numbers}
        return all(
            bounds[name] == bounds[other]
            and (name in self._scattered) == (other in self._scattered)
            for name, other in names.items()
        ) and all(
            other in numbers and self.highest(numbers[key]) == self.highest(numbers[other])
            for key, other in renamed.items()
        )

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, int], int]:
        return {(place, kind, prime): n for n, (place, kind, prime, _) in enumerate(self.exponents)}

    @cached_property
    def _scattered(self) -> frozenset[str]:
        """Dimensions of windows that meshes further out may deal out, too."""
        kinds = _kinds(self.variables, self.tensor)
        return frozenset(
            dim
            for (dim, _, slot) in self.variables.power
            if slot.axis and slot.level < self.child - 1 and dim in kinds
        )

    def renamed(self, exponents: Mapping[int, int], names: Mapping[str, str]) -> dict[int, int]:
        """Exponents by their numbers, with dimensions renamed."""
        found = {}
        for number, value in exponents.items():
            place, kind, prime, _ = self.exponents[number]
            found[self._numbers[place, names.get(kind, kind), prime]] = value
        return found

    def read(self, values: Mapping[int, int]) -> tuple[int, ...]:
        """The exponents, by values of variables, which their indices find."""
        return tuple(sum(values[v.index] for v in each.powers) for each in self.exponents)

    def highest(self, number: int) -> int:
        """The highest value of an exponent."""
        return sum(map(highest, self.exponents[number].powers))

    def possible(self, exponents: Sequence[int], *, rows: bool) -> bool:
        """Whether loops with these exponents can be there, and leave rows of the mesh partly filled
        if that is what counts (`rows`).
        """
        if not rows:
            return self.fits(exponents)
        standing = self.standing(exponents)
        x, y = (prod(standing.loops[axis].values()) for axis in "XY")
        return x < standing.width and y > 1 and self.fits(exponents)

    def fits(self, exponents: Sequence[int]) -> bool:
        """Whether loops with these exponents have room. If they have, so have any with less."""
        used, units = dict[tuple[str, int], int](), {"X": 1, "Y": 1, BELOW: 1}
        places = set[tuple[str, str]]()
        for (place, kind, prime, _), exponent in zip(self.exponents, exponents, strict=True):
            if exponent:
                used[kind, prime] = used.get((kind, prime), 0) + exponent
                units[place] *= prime**exponent
                places.add((place, kind))
        along_x = {kind for place, kind in places if place == "X"} - {IDLE, PLAIN}
        width, height = self.variables.space.architecture.fanout(self.child - 1)
        return (
            units["X"] <= width
            and units["Y"] <= height
            and all(exponent <= self._most[key] for key, exponent in used.items())
            and not (self._one_axis and any(("Y", kind) in places for kind in along_x))
        )

    @cached_property
    def _most(self) -> dict[tuple[str, int], int]:
        """The most that all exponents of a kind and prime come to."""
        space = self.variables.space
        return {
            (kind, prime): sum(dict(space.primes[dim]).get(prime, 0) for dim in dims)
            for kind, dims in _kinds(self.variables, self.tensor).items()
            for prime in self.variables.primes(dims)
        }

    @cached_property
    def _one_axis(self) -> bool:
        """Whether a dimension's spatial loop lies on one axis."""
        variables = self.variables
        here = any(level == self.child - 1 for level, _ in variables.on_x)
        return here and not variables.space.splits.get(self.child - 1)

    def standing(self, exponents: Sequence[int]) -> Standing:
        """How units stand with these exponents."""
        space = self.variables.space
        kinds = _kinds(self.variables, self.tensor)
        bounds = {place: dict.fromkeys(kinds, 1) for place in ("X", "Y", BELOW)}
        for each, exponent in zip(self.exponents, exponents, strict=True):
            bounds[each.place][each.kind] *= each.prime**exponent
        sliding = [kind for kind in kinds if kind not in (IDLE, PLAIN)]
        return Standing(
            space.architecture.fanout(self.child - 1)[0],
            _sliding(self.variables, self.tensor),
            {axis: bounds[axis] for axis in "XY"},
            {dim: bounds[BELOW][dim] for dim in sliding},
            {dim: space.problem.bounds[dim] for dim in sliding},
            self._scattered,
            self.child < space.depth
            and not space.has_flag("no_temporal_reuse", self.tensor.name, self.child),
        )


def _sliding(variables: Variables, tensor: Tensor) -> tuple[RankComponent, ...]:
    components = shape_of(tensor, variables.space.dims).components
    return tuple(each for each in components if each.sliding)


def _kinds(variables: Variables, tensor: Tensor) -> dict[str, list[str]]:
    """Dimensions by what a loop over them does to the tensor's windows."""
    dims = variables.space.dims
    sliding = [dim for each in _sliding(variables, tensor) for dim in each.dims]
    idle = variables.space.irrelevant(tensor)
    return {
        IDLE: [dim for dim in dims if dim in idle],
        PLAIN: [dim for dim in dims if dim not in idle and dim not in sliding],
        **{dim: [dim] for dim in sliding},
    }


def _orders(loops: Mapping[str, int]) -> Iterator[tuple[Loop, ...]]:
    """The loops of one axis in all orders that differ."""
    listed: list[Loop] = []
    for name, bound in loops.items():
        if name in (IDLE, PLAIN):
            listed += [(name, prime) for prime, power in factorize(bound) for _ in range(power)]
        elif bound > 1:
            listed.append((name, bound))
    if factorial(len(listed)) > MOST_UNITS:
        return iter([tuple(listed)] * MOST_UNITS)
    return iter(dict.fromkeys(permutations(listed)))


def _windows(loops: Sequence[Loop], codes: Mapping[str, int]) -> Windows:
    """What each unit holds, with the loops in this order, outer first."""
    strides, windows = dict(codes), np.zeros(1, dtype=np.int64)
    for name, bound in reversed(loops):
        windows = np.add.outer(np.arange(bound) * strides[name], windows).ravel()
        strides[name] *= bound
    return windows

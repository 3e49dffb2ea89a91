"""A lower bound of our own: the least figures that any mapping can have, worked out without a
solver.

Every figure here is a sum of what crosses into each level. For each choice of the levels that hold
each tensor, the bound adds up, level by level, the least that can cross (`boundary.py`): over all
ways to split the dimensions there whose tiles fit together, and all sequences of loops outside. The
levels are minimized apart, as if each could have its own factors; a mapping has one of those splits
at each level, so it costs no less than the sum, and the least over all choices of holders is a
bound for all mappings. What a level sends may be counted where it is received or right below the
sender, whichever gives more. Constraints about factors, orders and utilization are left out, which
can only lower the bound. In the style of Orojenesis (Huang et al., ISCA 2024), which bounds the
traffic of one buffer so.

Cycles are at least the steps of the best split over the compute units, and at least the least words
at a port over its bandwidth. Energy is that of operations, accesses and leakage; wires are left
out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, inf, lcm, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.objective import Goal
from solver_mapper.cost.timeloop.energy import leakage, prices
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.deadline import check_time
from solver_mapper.verify.boundary import Boundary, Ints, boundary
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.views import Spared, sparings, view

MOST_HOLDERS = 100_000
"""Choices of holders that are looked at."""


class Crossing(NamedTuple):
    """A tensor on its way from `parent` across a boundary; which words are counted there: those
    sent, those filled.
    """

    number: int
    parent: int
    sends: bool
    fills: bool


Crossings = tuple[Crossing, ...]
Keeps = tuple[tuple[bool, ...], ...]
"""For each tensor, which levels hold it."""
Key = tuple[int, tuple[int, ...], Crossings, tuple[tuple[int, ...], ...]]


class Rates(NamedTuple):
    """What is counted of each word at a level: of an input that it sends, a partial sum that it
    writes or reads again, a fill.
    """

    send: Fraction = Fraction(0)
    update: Fraction = Fraction(0)
    again: Fraction = Fraction(0)
    fill: Fraction = Fraction(0)


EVERY = Rates(*[Fraction(1)] * 4)
ROUNDED = Fraction(3, 2)
"""By how many words of a tensor, on average over the instances of a level, each of them may count
less than it sends, rounded, and is filled with, cut off.
"""


@dataclass
class LowerBound:
    """Lower bounds of all figures of all mappings of a mapspace; None where no mapping fits.

    Raises: ValueError, from any bound, if there are too many ways to look at.
    """

    mapspace: EnumeratedMapspace
    fine: int | None = None
    """Splits of a boundary above which spatial factors are left out there (`boundary`): fewer are
    quicker, more give higher bounds.
    """
    _least: dict[Key, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.mapspace.problem
        self.views = tuple(view(problem, number) for number in range(len(problem.tensors)))
        self.depth = len(self.mapspace.architecture.levels)
        self._keeps = [self.mapspace.keeps(name) for name in problem.tensor_names]

    @cached_property
    def _holders(self) -> list[Keeps]:
        """All choices of who holds what. Raises: ValueError if there are too many."""
        choices = prod(map(len, self._keeps))
        if choices > MOST_HOLDERS:
            raise ValueError(f"there are {choices} ways to choose who holds what")
        return list(product(*self._keeps))

    @cached_property
    def boundaries(self) -> dict[int, Boundary]:
        """The boundary above each level, by its number."""
        architecture, problem = self.mapspace.architecture, self.mapspace.problem
        found = {}
        for child in range(1, self.depth + 1):
            check_time()
            found[child] = boundary(architecture, problem, child, self.fine)
        return found

    @cached_property
    def spared(self) -> list[Spared]:
        """What sliding windows can spare."""
        return sparings(self.views, len(self.mapspace.problem.dims))

    @property
    def coarse(self) -> bool:
        """Whether somewhere spatial factors had to be left out."""
        return any(each.coarse for each in self.boundaries.values())

    def goal(self, goal: Goal) -> Fraction | None:
        """A bound of a goal's rank: the product of the bounds of its metrics."""
        return _product(goal, self.metric)

    def goal_at_once(self, goal: Goal) -> Fraction | None:
        """A lower bound that looks at no choices, and so takes no time: `at_once`."""
        return _product(goal, self.at_once)

    def at_once(self, metric: str) -> Fraction | None:
        """Each operation counts once, on all compute units together, and so does each different
        word at levels that hold its tensor in any case. None where negative energies of addresses
        make more words cheaper.
        """
        if metric == "delay":
            return Fraction(self.cycles_at_once)
        if metric == "last-level-accesses":
            return self._different(0, EVERY)
        if any(min(rates) < 0 for rates in self.rates):
            return None
        moved = sum(self._different(level, each) for level, each in enumerate(self.rates))
        return moved + self.worked(self.cycles_at_once)

    @cached_property
    def cycles_at_once(self) -> int:
        """The least cycles that are known at once: `at_once`."""
        architecture, macs = self.mapspace.architecture, self.mapspace.problem.macs
        steps = -(-macs // architecture.arithmetic.instances)
        waits = (
            self._waited(index, bandwidth, self._different(index, rates))
            for index, bandwidth, rates in self._ports
        )
        return max([steps, *waits]) + latency(architecture)

    def _different(self, level: int, rates: Rates) -> Fraction:
        """What a level does, at its rates, if each different word crosses it once of those tensors
        that it holds in any case. First partial sums do not fill it.
        """
        total = Fraction(0)
        for each, keeps in zip(self.views, self._keeps, strict=True):
            if not all(choice[level] for choice in keeps):
                continue
            if each.projection.read_write:
                total += rates.update * each.words
            else:
                filled = all(any(choice[:level]) for choice in keeps)
                total += (rates.send + rates.fill * filled) * each.words
        return total

    def metric(self, metric: str) -> Fraction | None:
        """A bound of energy in pJ, delay in cycles, or last-level accesses in words.

        Raises: KeyError for another metric.
        """
        if metric == "energy":
            least = self.energy
        elif metric == "delay":
            least = None if self.cycles is None else Fraction(self.cycles)
        elif metric == "last-level-accesses":
            least = self.total([EVERY, *[Rates()] * (self.depth - 1)])
        else:
            raise KeyError(metric)
        # What windows may spare at one level may be more than they do at all.
        at_once = self.at_once(metric)
        return least if least is None or at_once is None else max(least, at_once)

    @cached_property
    def rates(self) -> list[Rates]:
        """The energy in pJ of a word at each level."""
        rates = []
        for level in self.mapspace.architecture.levels:
            price, share = prices(level), level.least_share
            read, fill, update, address = (Fraction(each, price.unit) for each in price[:4])
            rates.append(
                Rates(
                    (read / price.block + address) * share,
                    (update / price.block + address) * share,
                    read / price.block * share,
                    (fill / price.block + address) * share,
                )
            )
        return rates

    @cached_property
    def energy(self) -> Fraction | None:
        """A lower bound of the energy in pJ, None if no choice fits."""
        moved = self.total(self.rates)
        if moved is None or self.cycles is None:
            return None
        return moved + self.worked(self.cycles)

    def worked(self, cycles: int) -> Fraction:
        """The energy in pJ of all operations, and of leakage for so many cycles."""
        architecture = self.mapspace.architecture
        operations = self.mapspace.problem.macs * architecture.arithmetic.energy
        return operations + leakage(architecture) * cycles

    @property
    def steps(self) -> int:
        """Steps of the compute units, at least."""
        room = self.boundaries[self.depth]
        if room.coarse:
            return -(-self.mapspace.problem.macs // room.instances)
        return int(min(np.prod(np.array(room.outside), axis=0)))

    @cached_property
    def cycles(self) -> int | None:
        """At least one; None if no mapping fits."""
        least = self.steps
        for index, bandwidth, rates in self._ports:
            words = self.total([rates if each == index else Rates() for each in range(self.depth)])
            if words is None:
                return None
            least = max(least, self._waited(index, bandwidth, words))
        return least + latency(self.mapspace.architecture)

    @cached_property
    def _ports(self) -> list[tuple[int, Fraction, Rates]]:
        """Levels with a bandwidth, in words a cycle and instance, and which words need it."""
        one, none = Fraction(1), Fraction(0)
        return [
            (index, bandwidth, rates)
            for index, level in enumerate(self.mapspace.architecture.levels)
            for bandwidth, rates in (
                (level.read_bandwidth, Rates(one, none, one, none)),
                (level.write_bandwidth, Rates(none, one, none, one)),
                (level.shared_bandwidth, Rates(one, one, one, one)),
            )
            if bandwidth is not None
        ]

    def _waited(self, level: int, bandwidth: Fraction, words: Fraction) -> int:
        """Cycles that a level needs at least if so many words of all its instances cross a port."""
        instances = self.mapspace.architecture.levels[level].instances
        each = words / instances - (ROUNDED * len(self.views) if instances > 1 else 0)
        return max(ceil(each / bandwidth), 0)

    def total(self, rates: list[Rates]) -> Fraction | None:
        """The least sum of all words that cross, each counted at the rate of its level; None if no
        choice of holders fits.

        Whole numbers throughout: rates are rounded down to a unit with which nothing overflows.
        """
        scaled, unit = self.scaled(rates)
        if not any(map(any, scaled)):
            return Fraction(0)
        best: float = inf
        for keeps in self._holders:
            sums = [self._sum(keeps, early, scaled) for early in (False, True)]
            if None not in sums:
                best = min(best, max(each for each in sums if each is not None))
        return None if best == inf else Fraction(int(best)) / unit

    def scaled(self, rates: list[Rates]) -> tuple[list[tuple[int, ...]], Fraction]:
        """Rates as whole numbers with which nothing overflows, rounded down, and their unit."""
        every = [rate for each in rates for rate in (each.send, each.update, each.again, each.fill)]
        most = 4 * len(self.views) * self.mapspace.problem.macs * (1 + max(every))
        whole = lcm(*(rate.denominator for rate in every))
        unit = Fraction(whole) if most * whole < 2**62 else Fraction(2**62 - 1) / most
        scaled = [
            tuple(int(rate * unit) for rate in (each.send, each.update, each.again, each.fill))
            for each in rates
        ]
        return scaled, unit

    def _sum(
        self, keeps: Keeps, early: bool, rates: list[tuple[int, ...]], most: int | None = None
    ) -> int | None:
        """The least sum for one choice of holders; None if their tiles cannot fit. `most`: only
        what crosses into levels up to this one.
        """
        check_time()
        total = 0
        for child in range(1, 1 + (self.depth if most is None else most)):
            key = self._key(keeps, child, early, rates)
            if key not in self._least:
                self._least[key] = self._cheapest(*key)
            least = self._least[key]
            if least is None:
                return None
            total += least
        return total

    def _key(self, keeps: Keeps, child: int, early: bool, rates: list[tuple[int, ...]]) -> Key:
        """What decides of the least that crosses into `child`."""
        inner = child < self.depth
        held = tuple(number for number, keep in enumerate(keeps) if inner and keep[child])
        return child, held, _crossings(keeps, child, self.depth, early), tuple(rates[: child + 1])

    def _cheapest(
        self,
        child: int,
        held: tuple[int, ...],
        crossings: Crossings,
        rates: tuple[tuple[int, ...], ...],
    ) -> int | None:
        """The least that crosses into `child`, which holds the tensors `held`; None if their tiles
        cannot fit.
        """
        found = self._costs(child, held, crossings, rates)
        return None if found is None else int(found[1][found[0]].min())

    def _costs(
        self,
        child: int,
        held: tuple[int, ...],
        crossings: Crossings,
        rates: tuple[tuple[int, ...], ...],
        here: Boundary | None = None,
    ) -> tuple[NDArray[np.bool_], Ints] | None:
        """For all splits, whether tiles of the tensors `held` fit into `child`, and the least that
        crosses into it then; None if none fits. `here`: the boundary above it, with other splits.
        """
        check_time()
        here = here or self.boundaries[child]
        fits = here.fitting([self.views[number] for number in held])
        if not fits.any():
            return None
        costs = []
        for spared in {
            tuple(each[crossing.number] for crossing in crossings) for each in self.spared
        }:
            check_time()
            cost = np.zeros(len(fits), dtype=np.int64)
            for crossing, free in zip(crossings, spared, strict=True):
                if any(map(any, (rates[crossing.parent], *rates[child:]))):
                    cost = cost + self._cost(here, crossing, free, rates)
            costs.append(cost)
        return fits, np.minimum.reduce(costs)

    def _cost(
        self,
        here: Boundary,
        crossing: Crossing,
        spared: frozenset[int],
        rates: tuple[tuple[int, ...], ...],
    ) -> Ints:
        """What one tensor costs, for every split."""
        seen = self.views[crossing.number]
        send, update, again, _ = rates[crossing.parent]
        fill = rates[here.child][3] if crossing.fills and here.child < self.depth else 0
        moved = here.moved(seen, crossing.parent, spared, passing=not crossing.fills)
        written = seen.projection.read_write
        sent = update * moved.sent + again * moved.sent_again if written else send * moved.sent
        return sent * crossing.sends + fill * (moved.filled_again if written else moved.filled)


def _product(goal: Goal, metric: Callable[[str], Fraction | None]) -> Fraction | None:
    """A goal's rank from figures of its metrics; None if one is None."""
    figures = [(metric(name), power) for name, power in goal.powers]
    if any(figure is None for figure, _ in figures):
        return None
    return prod(
        (figure**power for figure, power in figures if figure is not None), start=Fraction(1)
    )


def _crossings(keeps: Keeps, child: int, depth: int, early: bool) -> Crossings:
    """What crosses into `child`, or past it if that is counted `early`, right below its sender."""
    crossings = []
    for number, keep in enumerate(keeps):
        parent = next((level for level in reversed(range(child)) if keep[level]), None)
        if parent is None:
            continue
        receives = child == depth or keep[child]
        passed = early and any(keep[child:])
        if receives or (passed and parent == child - 1):
            crossings.append(
                Crossing(
                    number, parent, not early or child == depth or parent == child - 1, receives
                )
            )
    return tuple(crossings)

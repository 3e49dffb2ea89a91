"""A lower bound for mappings of imperfect factors: all choices of spatial loops, and for each of
them the least energy of all temporal loops together.

The choices are looked at from the one on that `ImperfectLowerBound` promises most. Those that it
excludes already, being above a target, stand for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.constraints import FactorConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.cost.timeloop.energy import prices
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.bandwidth import CycleRange, Port, Price, ports
from solver_mapper.solve.imperfect.joint.counts import Floats
from solver_mapper.solve.imperfect.joint.fetches import ROUNDING, Fetches
from solver_mapper.solve.imperfect.joint.mapping import mapping_of
from solver_mapper.solve.imperfect.joint.symmetry import symmetries
from solver_mapper.solve.imperfect.joint.walk import Effort, Ended, Least, TemporalWalk
from solver_mapper.verify.bound import Keeps
from solver_mapper.verify.imperfect_bound import (
    ComputeBoundary,
    ImperfectLowerBound,
    compute_boundary,
)
from solver_mapper.verify.mapspace import EnumeratedMapspace

NOISE = 1e-10
"""More than the relative rounding error of a bound in double precision."""
MARGIN = 1e-8
"""How much further ranges of cycles reach than those that lead below the target, relatively."""
MOST_CHOICES = 20_000
"""Choices of spatial loops that may be better than the target."""
FEW_CHOICES = 400
"""The same where another search could follow."""
MUCH_EFFORT = 2e7
"""What walks may take where there are more."""
MOST_HOLDERS = 64
"""Choices of what levels hold that are looked at."""
BUDGETS = (1.0003, 1.003, 1.01, 1.03, 1.1, 1.3, 1.9)
"""Budgets for a first mapping, as multiples of the least energy."""
TIGHT, COARSE, EXACT, FINE = range(4)
"""Walks for a choice of spatial loops, in order: with tight budgets, if a walk has been too large;
with tiles of equal number together; exact ones; if there are windows, exact ones that tell apart
what levels hold of these.
"""
PARTS = (0.1, 0.25, 0.5, 0.75)
"""Budgets where walks are large, as parts of what the target leaves."""
Rows = NDArray[np.int64]
"""Choices of spatial loops: (rows, levels, dimensions), instances along each."""


@dataclass
class JointBound:
    """Lower bounds of goals that are products of powers of energy, cycles, or both.

    Raises: ValueError where a problem or mapspace is too large for it, or a tensor is not as
    `Fetches` says.
    """

    bound: ImperfectLowerBound
    found: Callable[[Mapping], Fraction | None] = lambda mapping: None
    """Called with mappings that may be good; returns the target from then on if it is a new one."""
    most: int = MOST_CHOICES
    """With more choices of spatial loops that may be better than the target, walks may take
    `MUCH_EFFORT` at most.
    """
    effort: float = inf
    """How much walks may take, in units of `Effort`."""
    exhausted: bool = False
    """Whether they would have taken more."""

    def goal(self, goal: Goal, target: Fraction) -> Fraction:
        """A lower bound of the rank of all mappings, at most the target. When the time is over it
        is what is known by then.

        Raises: LimitReached if the time is over before anything is known.
        """
        powers = dict(goal.powers)
        if not {"energy"} <= set(powers) <= {"energy", "delay"}:
            raise ValueError(f"{goal.name} is no matter of energy and cycles alone")
        room = self.bound.boundaries[self.bound.depth]
        keeps = self.bound.holders
        if not isinstance(room, ComputeBoundary) or len(keeps) > MOST_HOLDERS:
            raise ValueError("there are too many choices of spatial loops, or of holders")
        race = _Race(target, self.found, Effort(self.effort))
        holders = [_Holders(self.bound, room, each, powers, race) for each in keeps]
        least = self._least(race, holders)
        self.exhausted = race.effort.left < 0
        return race.target if least >= race.limit else min(Fraction(least), race.target)

    def _least(self, race: _Race, holders: list[_Holders]) -> float:
        """The least rank, as far as it is known when the time is over; at most the limit.

        Holders and then their choices of spatial loops wait in the order of what they promise.
        """
        waiting = [_Open(each.promise, at) for at, each in enumerate(holders)]
        heapify(waiting)
        choices = 0
        while waiting:
            least = heappop(waiting)
            if least.final or least.rank >= race.limit:
                return min(least.rank, race.limit)
            holder = holders[least.holder]
            try:
                check_time()
                if least.number < 0:
                    found = holder.open(least)
                    choices += len(found)
                    if choices > self.most:
                        race.effort.left = min(race.effort.left, MUCH_EFFORT)
                else:
                    found = [holder.refined(least)]
            except LimitReached:
                return least.rank
            for each in found:
                heappush(waiting, each)
        return race.limit


class _Open(NamedTuple):
    """What waits: a holder, if `number` is negative, or one of its choices of spatial loops; `rank`
    is the least that is known of it, which is `final` if nothing more can be said. `stage`: which
    walks come next.
    """

    rank: float
    holder: int
    number: int = -1
    stage: int = 0
    final: bool = False


class _Walked(NamedTuple):
    """What a walk with tiles of equal number together has shown, for at most so many temporal
    iterations over each dimension and a budget.
    """

    most: dict[int, int]
    budget: float
    least: Least

    def covers(self, most: dict[int, int]) -> bool:
        """Whether it has looked at all these iterations."""
        return all(number <= self.most[dim] for dim, number in most.items())


class _Refined(NamedTuple):
    """What walks for a choice of spatial loops have shown: the least rank, the least energy of what
    enters levels, whether they came to their end, and the cycles of the last mapping they found.
    """

    rank: float
    entering: float
    ended: bool = True
    cycles: int = 0


@dataclass
class _Race:
    """The rank that is looked for, which falls with each better mapping."""

    target: Fraction
    found: Callable[[Mapping], Fraction | None]
    effort: Effort
    begun: bool = False
    """Whether a first mapping has been looked for."""
    heavy: bool = False
    """Whether a walk was too large."""

    @property
    def limit(self) -> float:
        """Bounds from here on exclude a choice."""
        return float(self.target) * (1 + NOISE)

    def offer(self, mapping: Mapping) -> None:
        """Look whether a mapping is a better one."""
        target = self.found(mapping)
        if target is not None:
            self.target = min(self.target, target)


@dataclass
class _Holders:
    """The same for one choice of who holds what."""

    bound: ImperfectLowerBound
    room: ComputeBoundary
    keeps: Keeps
    powers: dict[str, int]
    race: _Race
    _known: dict[tuple[bytes, int], _Refined] = field(default_factory=dict)
    _first: dict[bytes, _Walked] = field(default_factory=dict)
    """Walks that looked for a first mapping, by their choice of spatial loops."""

    @cached_property
    def promise(self) -> float:
        """The least rank that any choice promises: fewer instances never cost less."""
        return float(self._ranks(self.room, rounded=False).min())

    def open(self, here: _Open) -> list[_Open]:
        """The choices that may be better than the target; if there are too many, all together."""
        if not self.race.begun:
            self.race.begun = True
            self._probe()
        try:
            self._rows = self._live(self.race.limit)
        except ValueError:
            return [here._replace(final=True)]
        ranks = self._ranks(compute_boundary(self.room, self._rows)).tolist()
        return [
            here._replace(rank=max(rank, here.rank), number=number)
            for number, rank in enumerate(ranks)
            if rank < self.race.limit
        ]

    def refined(self, here: _Open) -> _Open:
        """A choice with the rank of the best temporal loops."""
        stage = here.stage if self.race.heavy else max(here.stage, COARSE)
        found = self._once_refined(self._rows[here.number], stage)
        final = stage == self._last or not found.ended
        return here._replace(rank=max(here.rank, found.rank), stage=stage + 1, final=final)

    def _probe(self) -> None:
        """Refine a choice that promises much: it may lead to a mapping that excludes many."""
        at = int(self._ranks(self.room).argmin())
        row = np.array([[each[at] for each in level] for level in self.room.spread])
        row = self._settled(row.astype(np.int64))
        promised = float(self._ranks(compute_boundary(self.room, row[None]))[0])
        if promised < self.race.limit and self._reached(row[None])[0]:
            with suppress(LimitReached):
                self._first_mapping(row)
            with suppress(LimitReached):
                for stage in (COARSE, EXACT):
                    self._once_refined(row, stage)

    def _settled(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """A choice with so many instances less that no further one less promises more."""
        while True:
            rows = np.concatenate([row[None], _fewer(row[None])])
            best = int(self._ranks(compute_boundary(self.room, rows)).argmin())
            if best == 0:
                return row
            row = rows[best]

    def _once_refined(self, row: NDArray[np.int64], stage: int) -> _Refined:
        """Choices that differ by exchanging dimensions that stand for each other are the same."""
        key = min(row[:, order].tobytes() for order in self._orders)
        if (key, stage) not in self._known:
            earlier = [self._known[key, n] for n in range(stage) if (key, n) in self._known]
            known = earlier[-1] if earlier else _Refined(-inf, self._elsewhere)
            refine = self._raised if stage == TIGHT else self._refined
            self._known[key, stage] = refine(row, known, stage)
        return self._known[key, stage]

    @cached_property
    def _last(self) -> int:
        """The last stage."""
        views = self.bound.views
        windows = any(len(rank) > 1 for view in views for rank in view.projection.ranks)
        return FINE if windows else EXACT

    @cached_property
    def _orders(self) -> list[list[int]]:
        """Ways to exchange dimensions that constraints on temporal loops tell not apart."""
        return [
            order
            for order in symmetries(self.bound.mapspace.problem)
            if {(level, order[dim]) for level, dim in self._fixed} == self._fixed
        ]

    @cached_property
    def _fixed(self) -> frozenset[tuple[int, int]]:
        return without_loops(self.bound.mapspace)

    def _live(self, target: float) -> Rows:
        """All choices of spatial loops whose bound is below the target.

        Fewer instances never cost less, rounding apart: so what is left of a choice with an
        instance less along one dimension is looked at only where the choice itself is below it.
        """
        live = np.flatnonzero(self._ranks(self.room, rounded=False) < target)
        tables = [np.stack([each[live] for each in level], axis=1) for level in self.room.spread]
        rows = np.stack(tables, axis=1).astype(np.int64)
        seen = rows[:0]
        while len(rows):
            check_time()
            ranks = self._ranks(compute_boundary(self.room, rows), rounded=False)
            rows = rows[ranks < target]
            seen = np.concatenate([seen, rows])
            if len(seen) > MOST_CHOICES:
                raise ValueError("there are too many choices of spatial loops")
            rows = _new(_fewer(rows), seen)
        return seen[self._reached(seen)]

    def _reached(self, rows: Rows) -> NDArray[np.bool_]:
        """Choices each of whose loops can be reached by the size of its dimension."""
        sizes = np.array(list(self.bound.mapspace.problem.bounds.values()))
        inside = np.ones((len(rows), len(sizes)), dtype=np.int64)
        reached = np.ones(len(rows), dtype=bool)
        for level in reversed(range(rows.shape[1])):
            reached &= ((rows[:, level] - 1) * inside < sizes).all(axis=1)
            inside = inside * rows[:, level]
        return reached

    def _ranks(self, spread: ComputeBoundary, *, rounded: bool = True) -> Floats:
        """A bound of the rank of each choice: words at the compute units as they are spread, at
        each level the least apart.
        """
        cycles = np.maximum(spread.steps + self._latency, self._cycles)
        operations = self._charged(spread) if rounded else self._macs
        energy = self._computing(spread, operations, rounded=rounded)
        energy = energy + self._elsewhere + self._work(cycles) + self._charges(operations)
        return self._rank(energy, cycles)

    def _rank(self, energy: Floats, cycles: Floats) -> Floats:
        rank: Floats = energy ** self.powers["energy"] * cycles ** self.powers.get("delay", 0)
        return rank * (1 - NOISE)

    def _work(self, cycles: Floats | float) -> Floats | float:
        fixed = float(self.bound.worked(0))
        return fixed + (float(self.bound.worked(1)) - fixed) * cycles

    def _charged(self, spread: ComputeBoundary) -> Floats:
        """Operations that are charged for each choice, at least: those of the first instance of the
        innermost level, for each instance of it.
        """
        total = np.ones(len(spread.inside[0]))
        for dim, size in enumerate(self.bound.mapspace.problem.bounds.values()):
            along = spread.along(frozenset([dim]), range(spread.child - 1))
            total = total * along * np.ceil(size / along)
        return total

    def _charges(self, operations: Floats | float) -> Floats | float:
        """Energy of operations beyond those that happen."""
        price = float(self.bound.mapspace.architecture.arithmetic.energy)
        return (operations - self._macs) * price

    @cached_property
    def _macs(self) -> float:
        return float(self.bound.mapspace.problem.macs)

    @cached_property
    def _latency(self) -> int:
        return latency(self.bound.mapspace.architecture)

    @cached_property
    def _cycles(self) -> int:
        """Cycles of any mapping, at least."""
        if self.bound.cycles is None:
            raise ValueError("nothing fits")
        return self.bound.cycles

    @cached_property
    def _elsewhere(self) -> float:
        """Energy of what enters levels, each apart."""
        found = self.bound.entering(self.keeps)
        return inf if found is None else float(found)

    def _computing(
        self, spread: ComputeBoundary, operations: Floats | float, *, rounded: bool = True
    ) -> Floats:
        """Energy of words between the compute units and the levels above, for each choice, or for
        each number of charged operations of a single one.
        """
        none, found = frozenset[int](), []
        ways = [each if spread.helpers else (none,) * len(each) for each in self.bound.spared]
        operands = partial(self._operands, spread, operations=operations, rounded=rounded)
        costs = {key: operands(*key) for key in {key for each in ways for key in enumerate(each)}}
        for spared in dict.fromkeys(ways):
            energy = np.zeros(1)
            for key in enumerate(spared):
                energy = energy + costs[key]
            found.append(energy)
        least: Floats = np.minimum.reduce(found)
        return least

    def _operands(
        self,
        spread: ComputeBoundary,
        number: int,
        spared: frozenset[int],
        operations: Floats | float,
        *,
        rounded: bool,
    ) -> Floats:
        """The same for one tensor. Unless neighbours help, each charged operation takes its operand
        from an access that serves `shared` of them at most. Words are rounded for each instance of
        the level that sends them; unless `rounded`, what rounding may lose is taken off.
        """
        view, keeps = self.bound.views[number], self.keeps[number]
        parent = max(level for level, held in enumerate(keeps) if held)
        rates, level = self.bound.rates[parent], self.bound.mapspace.architecture.levels[parent]
        update, again, send = float(rates.update), float(rates.again), float(rates.send)
        if spread.helpers:
            moved = spread.moved(view, parent, spared)
            if not view.projection.read_write:
                return np.asarray(moved.sent * send, np.float64)
            return np.asarray(moved.sent * update + moved.sent_again * again, np.float64)
        used = spread.along(frozenset(range(len(spread.inside))), range(parent))
        each: Floats = operations / spread.shared(view, parent) / used
        rest: Floats = each - view.words * spread.elided(view, parent) / used
        share: Floats = np.minimum(used, prices(level).clusters) * level.cluster_size
        words = np.floor(each + ROUNDING + 0.5) if rounded else np.maximum(each - 0.5, 0)
        rest = np.maximum(np.floor(rest + ROUNDING) if rounded else rest - 1, 0)
        if not view.projection.read_write:
            rest, update = rest * 0, send
        return np.asarray(
            share * (words * update + rest * (again if view.plain else 0.0)), np.float64
        )

    def _refined(self, row: NDArray[np.int64], known: _Refined, stage: int) -> _Refined:
        """The rank of the best temporal loops for one choice of spatial loops.

        The best loops that a walk finds are offered as a mapping.
        """
        one, found = compute_boundary(self.room, row[None]), known
        narrow = self._port is not None and self._port[1] > one.steps[0]
        try:
            if narrow:
                found = self._by_bandwidth(row, found, stage)
            if not narrow or stage >= EXACT:
                for shown in self._by_steps(row, found, stage):
                    found = shown
            if stage >= EXACT and not narrow and found.cycles > self._fewest_cycles(one):
                found = self._by_bandwidth(row, found, stage)
        except LimitReached:
            found = found._replace(ended=False)
            if self.race.heavy or stage >= EXACT:
                return found
            self.race.heavy = True
            return self._raised(row, found, stage)._replace(ended=False)
        return found

    def _by_steps(self, row: NDArray[np.int64], known: _Refined, stage: int) -> Iterator[_Refined]:
        """What one walk after the other shows, where energy and steps decide."""
        one, fetches = compute_boundary(self.room, row[None]), self._fetches(row)
        rank, entering = known.rank, known.entering
        before: dict[int, int] | None = None
        while rank < self.race.limit:
            limit = self.race.limit
            most = {d: self._most(one, row, d, entering, limit) for d in fetches.dims}
            if most == before:
                break
            before, budget = most, self._budget(one, limit)
            first = None if stage >= EXACT else self._first.get(row.tobytes())
            if first is not None and first.covers(most):
                entering = max(entering, min(first.least.energy, first.budget))
                rank = max(rank, min(first.least.rank, limit))
                yield _Refined(rank, entering)
                continue
            walk = self._walk(one, fetches, most, budget, stage)
            least = walk.least()
            entering = max(entering, min(least.energy, budget))
            rank = max(rank, min(least.rank, limit))
            yield _Refined(rank, entering, cycles=self._offer(row, walk) if rank < limit else 0)

    def _by_bandwidth(self, row: NDArray[np.int64], known: _Refined, stage: int) -> _Refined:
        """What walks show where the time that words take at a port counts as well, for all numbers
        of cycles that may lead below the target.
        """
        one, limit = compute_boundary(self.room, row[None]), self.race.limit
        if self._port is None or known.rank >= limit:
            return known
        fewest = self._fewest_cycles(one)
        energy = self._energy_with(one, known.entering)
        ratio = limit / energy ** self.powers["energy"]
        most = ratio ** (1 / self.powers["delay"]) * (1 + MARGIN)
        if most <= fewest:
            return known._replace(rank=limit)
        found = self._within(row, known, CycleRange(fewest, most), stage)
        return known._replace(rank=max(known.rank, found))

    def _within(
        self, row: NDArray[np.int64], known: _Refined, cycles: CycleRange, stage: int
    ) -> float:
        """The same for a range of cycles."""
        assert self._port is not None
        one, limit = compute_boundary(self.room, row[None]), self.race.limit
        early, late = (self._budget(one, limit, each) for each in cycles)
        price = Price(self._port[0], max(early - late, 0.0) / (cycles.most - cycles.fewest))
        fetches = self._fetches(row, price)
        walk = TemporalWalk(
            fetches,
            {d: self._most(one, row, d, known.entering, limit) for d in fetches.dims},
            self._rank_within(one, known.entering, cycles, price.cycle),
            exact=stage >= EXACT,
            fine=stage == FINE,
            budget=early + price.cycle * (cycles.fewest - self._latency),
            later=[
                e + price.cycle * c for e, c in zip(self._later, self._later_cycles, strict=True)
            ],
            fixed=self._fixed,
            effort=self.race.effort,
        )
        rank = min(walk.least().rank, limit)
        taken = self._offer(row, walk) if rank < limit else 0
        if stage < EXACT or not cycles.fewest < taken < cycles.most:
            return rank
        parts = CycleRange(cycles.fewest, taken), CycleRange(taken, cycles.most)
        return min(self._within(row, known, part, stage) for part in parts)

    def _rank_within(
        self, one: ComputeBoundary, entering: float, cycles: CycleRange, price: float
    ) -> Callable[[Ended], Floats]:
        """The rank of temporal loops within a range of cycles, each of which has a price where a
        port needs it. `entering`: what enters levels at least, without that price.

        For a given sum of both the rank is least at one of two ends: with the fewest cycles, or
        with the least energy.
        """
        charged, least = self._charged(one), max(entering, self._elsewhere)

        def rank(ended: Ended) -> Floats:
            steps = np.maximum(np.floor(ended.steps + ROUNDING), one.steps)
            fewest = np.maximum(np.maximum(steps + self._latency, self._cycles), cycles.fewest)
            operations = np.maximum(ended.operations * (1 - NOISE), charged)
            computing = self._computing(one, operations) + self._charges(operations)
            spare = np.maximum(ended.energy - least, 0) / price if price else np.zeros(1)
            most = np.clip(spare + self._latency, fewest, np.maximum(cycles.most, fewest))
            ranks = []
            for each in (fewest, most):
                energy = np.maximum(ended.energy - price * (each - self._latency), least)
                ranks.append(self._rank(energy + self._work(each) + computing, each))
            return np.minimum(*ranks)

        return rank

    def _raised(self, row: NDArray[np.int64], known: _Refined, stage: int) -> _Refined:
        """The same by walks with tight budgets, which end soon. Where they find nothing, no loops
        keep the budget.
        """
        one, fetches = compute_boundary(self.room, row[None]), self._fetches(row)
        limit, rank, entering = self.race.limit, known.rank, known.entering
        whole = self._budget(one, limit)
        most = {d: self._most(one, row, d, entering, limit) for d in fetches.dims}
        with suppress(LimitReached):
            for part in PARTS:
                budget = known.entering + part * (whole - known.entering)
                if budget <= entering:
                    continue
                walk = self._walk(one, fetches, most, budget, stage)
                least = walk.least()
                entering = max(entering, min(least.energy, budget))
                rank = max(rank, min(self._least_with(one, entering), limit))
                if least.energy < budget:
                    self._offer(row, walk)
                    break
        return _Refined(rank, entering)

    def _least_with(self, one: ComputeBoundary, entering: float) -> float:
        """The least rank where so much energy enters levels."""
        energy, cycles = self._energy_with(one, entering), self._fewest_cycles(one)
        return float(self._rank(np.array(energy), np.array(cycles)))

    def _fewest_cycles(self, one: ComputeBoundary) -> float:
        """Cycles for a choice of spatial loops, at least."""
        return float(max(one.steps[0] + self._latency, self._cycles))

    def _energy_with(self, one: ComputeBoundary, entering: float) -> float:
        """The energy in pJ at least, where so much energy enters levels."""
        operations = self._charged(one)
        computing = self._computing(one, operations) + self._charges(operations)
        worked = self._work(self._fewest_cycles(one))
        return float(max(entering, self._elsewhere) + worked + computing[0])

    def _fetches(self, row: NDArray[np.int64], price: Price | None = None) -> Fetches:
        mapspace = self.bound.mapspace
        forgets = any(level.no_temporal_reuse for level in mapspace.plans)
        return Fetches(
            mapspace.architecture,
            mapspace.problem,
            self.keeps,
            row.tolist(),
            forgets=forgets,
            price=price,
        )

    def _walk(
        self,
        one: ComputeBoundary,
        fetches: Fetches,
        most: dict[int, int],
        budget: float,
        stage: int,
    ) -> TemporalWalk:
        return TemporalWalk(
            fetches,
            most,
            self._rank_of(one),
            exact=stage >= EXACT,
            fine=stage == FINE,
            budget=budget,
            later=self._later,
            fixed=self._fixed,
            effort=self.race.effort,
        )

    def _first_mapping(self, row: NDArray[np.int64]) -> None:
        """Look for a mapping near the least energy that the fewest steps need: by exact walks with
        rising budgets, which take little time as long as these are tight.
        """
        one, fetches = compute_boundary(self.room, row[None]), self._fetches(row)
        most = {dim: self._fewest(row, dim) for dim in fetches.dims}
        budget = self._budget(one, self.race.limit)
        walk = self._walk(one, fetches, most, budget, COARSE)
        found = walk.least()
        least = found.energy
        self._first[row.tobytes()] = _Walked(most, budget, found)
        self._offer(row, walk)
        if least == inf:
            return
        for part in BUDGETS:
            budget = min(least * part, self._budget(one, self.race.limit))
            walk = self._walk(one, fetches, most, budget, EXACT)
            if walk.least().rank < inf or budget < least * part:
                self._offer(row, walk)
                return

    def _budget(self, one: ComputeBoundary, limit: float, cycles: float | None = None) -> float:
        """How much energy may enter levels where the rank is below the limit, with so many cycles
        or the fewest.
        """
        cycles = self._fewest_cycles(one) if cycles is None else cycles
        most = (limit / cycles ** self.powers.get("delay", 0)) ** (1 / self.powers["energy"])
        operations = self._charged(one)
        computing = self._computing(one, operations) + self._charges(operations)
        return float(most * (1 + 1e-9) - computing[0] - self._work(cycles))

    @cached_property
    def _port(self) -> tuple[Port, float] | None:
        """The port that needs the most cycles of all, at least, and these cycles; None where no
        bandwidth is limited or cycles do not count.
        """
        if not self.powers.get("delay"):
            return None
        architecture, levels = self.bound.mapspace.architecture, self.bound.depth
        found = []
        for port in ports(architecture):
            needed = self.bound.entering_from(self.keeps, levels, port.rates(architecture))
            found.append((port, inf if needed is None else float(needed)))
        return max(found, key=lambda each: each[1], default=None)

    @cached_property
    def _later_cycles(self) -> list[float]:
        """Cycles that the port needs for what enters each level and those further out, at least."""
        assert self._port is not None
        rates = self._port[0].rates(self.bound.mapspace.architecture)
        levels = range(self.bound.depth)
        found = [self.bound.entering_from(self.keeps, level, rates) for level in levels]
        return [inf if each is None else float(each) * (1 - NOISE) for each in found]

    @cached_property
    def _later(self) -> list[float]:
        """Energy of what enters each level and those further out, each apart."""
        found = [self.bound.entering_from(self.keeps, n) for n in range(self.bound.depth)]
        return [inf if each is None else float(each) * (1 - NOISE) for each in found]

    def _rank_of(self, one: ComputeBoundary) -> Callable[[Ended], Floats]:
        """The rank of temporal loops for a choice of spatial loops."""
        fewest = self._charged(one)

        def rank(ended: Ended) -> Floats:
            steps = np.maximum(np.floor(ended.steps + ROUNDING), one.steps)
            cycles = np.maximum(steps + self._latency, self._cycles).astype(np.float64)
            operations = np.maximum(ended.operations * (1 - NOISE), fewest)
            energy = np.maximum(ended.energy, self._elsewhere) + self._work(cycles)
            computing = self._computing(one, operations) + self._charges(operations)
            return self._rank(energy + computing, cycles)

        return rank

    def _fewest(self, row: NDArray[np.int64], dim: int) -> int:
        """Temporal iterations of the first instance over a dimension, at least."""
        sizes = list(self.bound.mapspace.problem.bounds.values())
        return -(-sizes[dim] // int(row[:, dim].prod()))

    def _offer(self, row: NDArray[np.int64], walk: TemporalWalk) -> int:
        """Offer the mapping of a walk's best loops. Returns its cycles; 0 if there is none."""
        loops, mapspace = walk.loops, self.bound.mapspace
        if loops is None:
            return 0
        mapping = mapping_of(mapspace, row.tolist(), loops, self.keeps)
        if mapping is None:
            return 0
        self.race.offer(mapping)
        return evaluate(mapspace.architecture, mapspace.problem, mapping).cycles

    def _most(
        self,
        one: ComputeBoundary,
        row: NDArray[np.int64],
        dim: int,
        entering: float,
        target: float,
    ) -> int:
        """How many temporal iterations of the first instance over a dimension may lead below the
        target, where so much energy enters levels. More take more cycles, and fewer compute units
        share each word.
        """
        size, spread = list(self.bound.mapspace.problem.bounds.values())[dim], row[:, dim]
        least = self._fewest(row, dim)
        steps = np.arange(least, size + 1, dtype=np.float64)
        cycles = np.maximum(one.steps / least * steps + self._latency, self._cycles)
        energy = np.asarray(entering + self._work(cycles), np.float64)
        for number, keeps in enumerate(self.keeps):
            parent = max(level for level, held in enumerate(keeps) if held)
            view = self.bound.views[number]
            costs = [
                self._operands(one, number, each[number], self._macs, rounded=False)[0]
                for each in self.bound.spared
            ]
            shared = dim in view.idle and not one.helpers and spread[:parent].prod() == 1
            alone = size / spread.prod()
            energy = energy + min(costs) * (steps / alone if shared else np.ones(len(steps)))
        return int(steps[self._rank(energy, cycles) < target].max(initial=least))


def without_loops(mapspace: EnumeratedMapspace) -> frozenset[tuple[int, int]]:
    """The dimensions of levels to which constraints leave no temporal loop."""
    levels = [level.name for level in mapspace.architecture.levels]
    return frozenset(
        (levels.index(each.level), mapspace.problem.dims.index(each.dim))
        for each in mapspace.constraints
        if isinstance(each, FactorConstraint)
        and each.kind == "temporal"
        and (each.comparison, each.value) in (("==", 1), ("<=", 1), ("<", 2))
    )


def _fewer(rows: Rows) -> Rows:
    """All choices with one instance less along one dimension."""
    fewer = []
    for level, dim in np.ndindex(*rows.shape[1:]):
        some = rows[rows[:, level, dim] > 1]
        some[:, level, dim] -= 1
        fewer.append(some)
    return np.concatenate(fewer)


def _new(rows: Rows, seen: Rows) -> Rows:
    """Different rows that have not been seen."""
    if not len(rows):
        return rows
    rows = np.unique(rows.reshape(len(rows), -1), axis=0).reshape(-1, *rows.shape[1:])
    known = {row.tobytes() for row in seen}
    return rows[[row.tobytes() not in known for row in rows]]

"""A lower bound for mappings of imperfect factors: all choices of spatial loops, and for each of
them the least energy of all temporal loops together.

The choices are looked at from the one on that `ImperfectLowerBound` promises most. Those that it
excludes already, being above a target, stand for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial, reduce
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.constraints import FactorConstraint
from solver_mapper.core.mapping import Mapping
from solver_mapper.core.objective import Goal
from solver_mapper.cost.timeloop.latency import latency
from solver_mapper.cost.timeloop.model import evaluate
from solver_mapper.deadline import check_time
from solver_mapper.errors import LimitReached
from solver_mapper.solve.imperfect.joint.bandwidth import (
    CycleRange,
    Port,
    Price,
    divided,
    ports,
    tilted,
)
from solver_mapper.solve.imperfect.joint.counts import Floats
from solver_mapper.solve.imperfect.joint.fetches import ROUNDING, Fetches
from solver_mapper.solve.imperfect.joint.mapping import mapping_of
from solver_mapper.solve.imperfect.joint.outside import (
    EnteringByTile,
    LeastOutside,
    entering_by_tile,
)
from solver_mapper.solve.imperfect.joint.points import TooManyStates
from solver_mapper.solve.imperfect.joint.symmetry import symmetries
from solver_mapper.solve.imperfect.joint.walk import Effort, Ended, Least, TemporalWalk
from solver_mapper.verify.bound import Keeps
from solver_mapper.verify.imperfect_bound import (
    NOISE,
    ComputeBoundary,
    ImperfectLowerBound,
    compute_boundary,
)
from solver_mapper.verify.mapspace import EnumeratedMapspace
from solver_mapper.verify.views import View

MARGIN = 1e-8
"""How much further ranges of cycles reach than those that lead below the target, relatively."""
MOST_CHOICES = 20_000
"""Choices of spatial loops that may be better than the target."""
FEW_CHOICES = 400
"""The same where another search could follow."""
MUCH_EFFORT = 2e7
"""What walks may take where there are more."""
MOST_CHOICES_KEPT = 1000
"""Choices of spatial loops whose figures are kept."""
MOST_HOLDERS = 64
"""Choices of what levels hold that are looked at."""
BUDGETS = (1.0003, 1.003, 1.01, 1.03, 1.1, 1.3, 1.9)
"""Budgets for a first mapping, as multiples of the least energy."""
NESTED, TIGHT, COARSE, EXACT, FINE = range(5)
"""What is looked at for a choice of spatial loops, in order: tiles that hold each other, without a
walk; then walks: with tight budgets, if a walk has been too large; with tiles of equal number
together; exact ones; if there are windows, exact ones that tell apart what levels hold of these.
"""
PARTS = (0.1, 0.25, 0.5, 0.75)
"""Budgets where walks are large, as parts of what the target leaves."""
Rows = NDArray[np.int64]
"""Choices of spatial loops: (rows, levels, dimensions), instances along each."""
Charged = Sequence[Floats]
"""Operations along each dimension that are charged, at least, for each choice."""


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
    ended_early: bool = False
    """Whether time or effort ended the search."""
    _begun: _Begun | None = None

    def goal(self, goal: Goal, target: Fraction) -> Fraction:
        """A lower bound of the rank of all mappings, at most the target. When the time is over it
        is what is known by then; asked again for the same goal, it goes on from there.

        Raises: LimitReached if the time is over before anything is known.
        """
        if self._begun is None or self._begun.goal != goal:
            self._begun = self._begin(goal, target)
        race = self._begun.race
        race.target, race.found = min(race.target, target), self.found
        race.effort.left, race.stopped = self.effort, False
        least = self._least(self._begun)
        self.ended_early = race.stopped
        return race.target if least >= race.limit else min(Fraction(least), race.target)

    def _begin(self, goal: Goal, target: Fraction) -> _Begun:
        """All choices of who holds what."""
        powers = dict(goal.powers)
        if not {"energy"} <= set(powers) <= {"energy", "delay"}:
            raise ValueError(f"{goal.name} is no matter of energy and cycles alone")
        room = self.bound.boundaries[self.bound.depth]
        keeps = self.bound.holders
        if not isinstance(room, ComputeBoundary) or len(keeps) > MOST_HOLDERS:
            raise ValueError("there are too many choices of spatial loops, or of holders")
        race = _Race(target, self.found, Effort(self.effort))
        holders = [_Holders(self.bound, room, each, powers, race) for each in keeps]
        waiting = [_Open(each.promise, at) for at, each in enumerate(holders)]
        heapify(waiting)
        return _Begun(goal, race, holders, waiting)

    def _least(self, begun: _Begun) -> float:
        """The least rank, as far as it is known when the time is over; at most the limit.

        Holders and then their choices of spatial loops wait in the order of what they promise.
        """
        race, waiting = begun.race, begun.waiting
        while waiting and not race.stopped:
            least = waiting[0]
            if least.final or least.rank >= race.limit:
                break
            holder = begun.holders[least.holder]
            try:
                check_time()
                if least.number < 0:
                    found = holder.open(least)
                    begun.choices += len(found)
                else:
                    found = [holder.refined(least)]
            except LimitReached:
                race.stopped = True
                break
            if begun.choices > self.most:
                race.effort.left = min(race.effort.left, MUCH_EFFORT)
            heappop(waiting)
            for each in found:
                heappush(waiting, each)
        return min(waiting[0].rank, race.limit) if waiting else race.limit


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


class _Choice(NamedTuple):
    """What is known of a choice of spatial loops, whatever the temporal ones, at least.

    computing: energy in pJ of words between the compute units and the levels above, and of charged
        operations beyond those that happen.
    operands: the same for the words of each tensor alone, with the operations that happen.
    """

    one: ComputeBoundary
    computing: float
    cycles: float
    operands: list[float]


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
    stopped: bool = False
    """Whether time or effort is over."""

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
class _Begun:
    """How far the search for a goal has come: what waits, a heap, and how many choices of spatial
    loops were found.
    """

    goal: Goal
    race: _Race
    holders: list[_Holders]
    waiting: list[_Open]
    choices: int = 0


@dataclass
class _Holders:
    """The same for one choice of who holds what."""

    bound: ImperfectLowerBound
    room: ComputeBoundary
    keeps: Keeps
    powers: dict[str, int]
    race: _Race
    _known: dict[tuple[bytes, int], _Refined] = field(default_factory=dict)
    _choices: dict[bytes, _Choice] = field(default_factory=dict)
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
        stage = COARSE if here.stage == TIGHT and not self.race.heavy else here.stage
        found = self._once_refined(self._rows[here.number], stage)
        rank = max(here.rank, found.rank)
        if self.race.stopped:
            return here._replace(rank=rank)
        final = stage == self._last or not found.ended
        return here._replace(rank=rank, stage=stage + 1, final=final)

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
                for stage in (NESTED, COARSE, EXACT):
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
            refine = {NESTED: self._nested, TIGHT: self._raised}.get(stage, self._refined)
            found = refine(row, known, stage)
            if self.race.stopped:
                return found
            self._known[key, stage] = found
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
        cycles = self._fewest_cycles(spread)
        charged = self._charged(spread) if rounded else self._sizes
        energy = self._computing(spread, charged, rounded=rounded)
        energy = energy + self._elsewhere + self._work(cycles)
        return self._rank(energy, cycles)

    def _rank(self, energy: Floats, cycles: Floats) -> Floats:
        rank: Floats = energy ** self.powers["energy"] * cycles ** self.powers.get("delay", 0)
        return rank * (1 - NOISE)

    def _work(self, cycles: Floats | float) -> Floats | float:
        fixed, leaked = self._worked
        return fixed + leaked * cycles if leaked else fixed

    @cached_property
    def _worked(self) -> tuple[float, float]:
        """Energy of all operations, and of leakage in each cycle."""
        fixed = float(self.bound.worked(0))
        return fixed, float(self.bound.worked(1)) - fixed

    def _charged(self, spread: ComputeBoundary) -> list[Floats]:
        """Operations along each dimension that are charged for each choice, at least: those of the
        first instance of the innermost level, for each instance of it.
        """
        found = []
        for dim, size in enumerate(self._sizes):
            along = spread.along(frozenset([dim]), range(spread.child - 1))
            found.append(along * np.ceil(size / along))
        return found

    @cached_property
    def _sizes(self) -> list[Floats]:
        return [np.array([float(size)]) for size in self.bound.mapspace.problem.bounds.values()]

    @cached_property
    def _latency(self) -> int:
        return latency(self.bound.mapspace.architecture)

    def _fewest_cycles(self, spread: ComputeBoundary) -> Floats:
        """Cycles for each choice, at least, as far as they count."""
        if not self.powers.get("delay") and not self._worked[1]:
            return np.asarray(spread.steps + self._latency, np.float64)
        return np.maximum(self.bound.cycles_of(spread, [self.keeps]), self.bound.cycles or 0)

    @cached_property
    def _elsewhere(self) -> float:
        """Energy of what enters levels, each apart."""
        found = self.bound.entering(self.keeps)
        return inf if found is None else float(found)

    def _computing(
        self, spread: ComputeBoundary, charged: Charged, *, rounded: bool = True
    ) -> Floats:
        """Energy of words between the compute units and the levels above, and of charged operations
        beyond those that happen, for each choice, or for each charge of a single one.
        """
        none, found = frozenset[int](), []
        ways = [each if spread.helpers else (none,) * len(each) for each in self.bound.spared]
        operands = partial(self._operands, spread, charged=charged, rounded=rounded)
        costs = {key: operands(*key) for key in {key for each in ways for key in enumerate(each)}}
        idle = reduce(np.multiply, charged) - reduce(np.multiply, self._sizes)
        for spared in dict.fromkeys(ways):
            energy = idle * float(self.bound.mapspace.architecture.arithmetic.energy)
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
        charged: Charged,
        *,
        rounded: bool,
    ) -> Floats:
        """The same for the words of one tensor. Unless neighbours help, each charged operation
        takes its operand from an access that serves `shared` of them at most. Words are rounded for
        each instance of the level that sends them; unless `rounded`, what rounding may lose is
        taken off.
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
        each: Floats = reduce(np.multiply, charged) / spread.shared(view, parent) / used
        rest: Floats = each - self._elided(spread, view, parent, charged) / used
        # Rates are what an instance pays where all are in use.
        paying: Floats = np.minimum(used, level.clusters)
        share = paying * level.instances / max(level.clusters, 1)
        words = np.floor(each + ROUNDING + 0.5) if rounded else np.maximum(each - 0.5, 0)
        rest = np.maximum(np.floor(rest + ROUNDING) if rounded else rest - 1, 0)
        if not view.projection.read_write:
            rest, update = rest * 0, send
        return np.asarray(
            share * (words * update + rest * (again if view.plain else 0.0)), np.float64
        )

    def _elided(self, spread: ComputeBoundary, view: View, parent: int, charged: Charged) -> Floats:
        """First reads that all instances of a level elide, which count like the first one, at most.

        Along a dimension the first instance has no greater part of the tensor, over the average,
        than the first instance of the innermost level has of the operations. More charged
        operations raise the words that are sent in the same proportion, so what is left is least
        for the fewest of them.
        """
        elided: Floats = view.words * spread.elided(view, parent)
        for dim in view.fixed:
            along = spread.along(frozenset([dim]), range(parent))
            elided = elided * np.where(along > 1, charged[dim] / self._sizes[dim], 1)
        return elided

    def _nested(self, row: NDArray[np.int64], known: _Refined, stage: int) -> _Refined:
        """What tiles that hold each other cost, without a walk."""
        entering = max(known.entering, self._entering.whole(row.tolist()) * (1 - NOISE))
        rank = inf if entering == inf else self._least_with(self._choice(row), entering)
        return _Refined(min(rank, self.race.limit), entering)

    def _refined(self, row: NDArray[np.int64], known: _Refined, stage: int) -> _Refined:
        """The rank of the best temporal loops for one choice of spatial loops.

        The best loops that a walk finds are offered as a mapping.
        """
        choice, found = self._choice(row), known
        narrow = self._port is not None and self._port[1] > choice.one.steps[0]
        try:
            if narrow:
                found = self._by_bandwidth(row, found, stage)
            if not narrow or stage >= EXACT:
                for shown in self._by_steps(row, found, stage):
                    found = shown
            if stage >= EXACT and not narrow and found.cycles > choice.cycles:
                found = self._by_bandwidth(row, found, stage)
        except TooManyStates:
            found = found._replace(ended=False)
            if self.race.heavy or stage >= EXACT:
                return found
            self.race.heavy = True
            return self._raised(row, found, stage)._replace(ended=False)
        except LimitReached:
            self.race.stopped = True
        return found

    def _by_steps(self, row: NDArray[np.int64], known: _Refined, stage: int) -> Iterator[_Refined]:
        """What one walk after the other shows, where energy and steps decide."""
        choice, fetches = self._choice(row), self._fetches(row)
        rank, entering = known.rank, known.entering
        before: dict[int, int] | None = None
        while rank < self.race.limit:
            limit = self.race.limit
            most = {d: self._most(choice, row, d, entering, limit) for d in fetches.dims}
            if most == before:
                break
            before, budget = most, self._budget(choice, limit)
            first = None if stage >= EXACT else self._first.get(row.tobytes())
            if first is not None and first.covers(most):
                entering = max(entering, min(first.least.energy, first.budget))
                rank = max(rank, min(first.least.rank, limit))
                yield _Refined(rank, entering)
                continue
            walk = self._walk(choice, fetches, most, budget, stage)
            least = walk.least()
            entering = max(entering, min(least.energy, budget))
            rank = max(rank, min(least.rank, limit))
            yield _Refined(rank, entering, cycles=self._offer(row, walk) if rank < limit else 0)

    def _by_bandwidth(self, row: NDArray[np.int64], known: _Refined, stage: int) -> _Refined:
        """What walks show where the time that words take at a port counts as well, for all numbers
        of cycles that may lead below the target.
        """
        choice, limit = self._choice(row), self.race.limit
        if self._port is None or known.rank >= limit:
            return known
        fewest = choice.cycles
        energy = self._energy_with(choice, known.entering)
        ratio = limit / energy ** self.powers["energy"]
        most = ratio ** (1 / self.powers["delay"]) * (1 + MARGIN)
        if most <= fewest:
            return known._replace(rank=limit)
        found = self._within(row, known, CycleRange(fewest, most), stage)
        return known._replace(rank=max(known.rank, found))

    def _within(
        self,
        row: NDArray[np.int64],
        known: _Refined,
        cycles: CycleRange,
        stage: int,
        tilt: int = 1,
    ) -> float:
        """The same for a range of cycles. See `bandwidth.py` for `tilt`."""
        assert self._port is not None
        choice, limit = self._choice(row), self.race.limit
        line = tilted(cycles, [self._budget(choice, limit, each) for each in cycles], tilt)
        price = Price(self._port[0], line.slope)
        fetches = self._fetches(row, price)
        walk = TemporalWalk(
            fetches,
            {d: self._most(choice, row, d, known.entering, limit) for d in fetches.dims},
            self._rank_within(choice.one, known.entering, cycles, price.cycle),
            exact=stage >= EXACT,
            fine=stage == FINE,
            budget=line.energy + price.cycle * (line.cycles - self._latency),
            outside=self._outside(fetches.spread, price.cycle),
            fixed=self._fixed,
            effort=self.race.effort,
        )
        rank = min(walk.least().rank, limit)
        taken = self._offer(row, walk) if rank < limit else 0
        if stage < EXACT or not taken:
            return rank
        parts = divided(cycles, taken, tilt)
        found = [self._within(row, known, part, stage, more) for part, more in parts]
        return max(rank, min(found, default=rank))

    def _rank_within(
        self, one: ComputeBoundary, entering: float, cycles: CycleRange, price: float
    ) -> Callable[[Ended], Floats]:
        """The rank of temporal loops within a range of cycles, each of which has a price where a
        port needs it. `entering`: what enters levels at least, without that price.

        For a given sum of both the rank is least at one of two ends: with the fewest cycles, or
        with the least energy.
        """
        fewest_charged, least = self._charged(one), max(entering, self._elsewhere)

        def rank(ended: Ended) -> Floats:
            steps = np.maximum(np.floor(ended.steps + ROUNDING), one.steps)
            fewest = np.maximum(steps + self._latency, cycles.fewest)
            computing = self._computing(one, _larger(ended.charged, fewest_charged))
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
        choice, fetches = self._choice(row), self._fetches(row)
        limit, rank, entering = self.race.limit, known.rank, known.entering
        whole = self._budget(choice, limit)
        most = {d: self._most(choice, row, d, entering, limit) for d in fetches.dims}
        with suppress(LimitReached):
            for part in PARTS:
                budget = known.entering + part * (whole - known.entering)
                if budget <= entering:
                    continue
                walk = self._walk(choice, fetches, most, budget, stage)
                least = walk.least()
                entering = max(entering, min(least.energy, budget))
                rank = max(rank, min(self._least_with(choice, entering), limit))
                if least.energy < budget:
                    self._offer(row, walk)
                    break
        return _Refined(rank, entering)

    def _choice(self, row: NDArray[np.int64]) -> _Choice:
        """What is known of a choice of spatial loops."""
        key = row.tobytes()
        if key not in self._choices:
            if len(self._choices) >= MOST_CHOICES_KEPT:
                self._choices.clear()
            self._choices[key] = self._looked_at(row)
        return self._choices[key]

    def _looked_at(self, row: NDArray[np.int64]) -> _Choice:
        one = compute_boundary(self.room, row[None])
        computing, narrow = self._computing(one, self._charged(one)), 0.0
        if self._port is not None:
            narrow = self._cycles_entering.whole(row.tolist()) * (1 - NOISE)
        operands = [
            min(
                self._operands(one, number, each[number], self._sizes, rounded=False)[0]
                for each in self.bound.spared
            )
            for number in range(len(self.keeps))
        ]
        cycles = float(max(self._fewest_cycles(one)[0], narrow))
        return _Choice(one, float(computing[0]), cycles, operands)

    def _least_with(self, choice: _Choice, entering: float) -> float:
        """The least rank where so much energy enters levels."""
        energy = self._energy_with(choice, entering)
        return float(self._rank(np.array(energy), np.array(choice.cycles)))

    def _energy_with(self, choice: _Choice, entering: float) -> float:
        """The energy in pJ at least, where so much energy enters levels."""
        worked = self._work(choice.cycles)
        return float(max(entering, self._elsewhere) + worked + choice.computing)

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
        choice: _Choice,
        fetches: Fetches,
        most: dict[int, int],
        budget: float,
        stage: int,
    ) -> TemporalWalk:
        return TemporalWalk(
            fetches,
            most,
            self._rank_of(choice),
            exact=stage >= EXACT,
            fine=stage == FINE,
            budget=budget,
            outside=self._outside(fetches.spread),
            fixed=self._fixed,
            effort=self.race.effort,
        )

    def _first_mapping(self, row: NDArray[np.int64]) -> None:
        """Look for a mapping near the least energy that the fewest steps need: by exact walks with
        rising budgets, which take little time as long as these are tight.
        """
        choice, fetches = self._choice(row), self._fetches(row)
        most = {dim: self._fewest(row, dim) for dim in fetches.dims}
        budget = self._budget(choice, self.race.limit)
        walk = self._walk(choice, fetches, most, budget, COARSE)
        found = walk.least()
        least = found.energy
        self._first[row.tobytes()] = _Walked(most, budget, found)
        self._offer(row, walk)
        if least == inf:
            return
        for part in BUDGETS:
            budget = min(least * part, self._budget(choice, self.race.limit))
            walk = self._walk(choice, fetches, most, budget, EXACT)
            if walk.least().rank < inf or budget < least * part:
                self._offer(row, walk)
                return

    def _budget(self, choice: _Choice, limit: float, cycles: float | None = None) -> float:
        """How much energy may enter levels where the rank is below the limit, with so many cycles
        or the fewest.
        """
        cycles = choice.cycles if cycles is None else cycles
        most = (limit / cycles ** self.powers.get("delay", 0)) ** (1 / self.powers["energy"])
        return float(most * (1 + 1e-9) - choice.computing - self._work(cycles))

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

    def _outside(self, spread: Sequence[Sequence[int]], price: float = 0.0) -> LeastOutside:
        """What enters levels for a choice of spatial loops, where each cycle of the port has a
        price.
        """
        parts = [(1 - NOISE, self._entering)]
        if price:
            parts.append((price * (1 - NOISE), self._cycles_entering))
        return LeastOutside(spread, parts)

    @cached_property
    def _entering(self) -> EnteringByTile:
        """Energy of what enters each level."""
        return entering_by_tile(self.bound, self.keeps)

    @cached_property
    def _cycles_entering(self) -> EnteringByTile:
        """Cycles that the port needs for what enters each level, at least."""
        assert self._port is not None
        rates = self._port[0].rates(self.bound.mapspace.architecture)
        return entering_by_tile(self.bound, self.keeps, rates)

    def _rank_of(self, choice: _Choice) -> Callable[[Ended], Floats]:
        """The rank of temporal loops for a choice of spatial loops."""
        one = choice.one
        fewest = self._charged(one)

        def rank(ended: Ended) -> Floats:
            steps = np.maximum(np.floor(ended.steps + ROUNDING), one.steps)
            cycles = np.maximum(steps + self._latency, choice.cycles)
            energy = np.maximum(ended.energy, self._elsewhere) + self._work(cycles)
            computing = self._computing(one, _larger(ended.charged, fewest))
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
        choice: _Choice,
        row: NDArray[np.int64],
        dim: int,
        entering: float,
        target: float,
    ) -> int:
        """How many temporal iterations of the first instance over a dimension may lead below the
        target, where so much energy enters levels. More take more cycles, and fewer compute units
        share each word.
        """
        one, spread = choice.one, row[:, dim]
        size = list(self.bound.mapspace.problem.bounds.values())[dim]
        least = self._fewest(row, dim)
        steps = np.arange(least, size + 1, dtype=np.float64)
        cycles = np.maximum(one.steps / least * steps + self._latency, choice.cycles)
        energy = np.asarray(entering + self._work(cycles), np.float64)
        for number, keeps in enumerate(self.keeps):
            parent = max(level for level, held in enumerate(keeps) if held)
            idle = dim in self.bound.views[number].idle
            shared = idle and not one.helpers and spread[:parent].prod() == 1
            alone = size / spread.prod()
            parts = steps / alone if shared else np.ones(len(steps))
            energy = energy + choice.operands[number] * parts
        return int(steps[self._rank(energy, cycles) < target].max(initial=least))


def _larger(ones: Charged, others: Charged) -> Charged:
    """The larger of both, for each dimension."""
    return [np.maximum(one, other) for one, other in zip(ones, others, strict=True)]


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

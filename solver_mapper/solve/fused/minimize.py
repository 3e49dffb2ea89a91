"""The best rows of a skeleton, by branch and bound over groups of variables.

Groups are joined one after the other. After each join, what cannot fit or cannot beat the best
mapping known is dropped. The last group is halved again and again, each half with what its bounds
leave of the others; few rows are joined by matrix products that give exact sums for all pairs at
once. Nothing else is dropped, so what remains at the end contains every mapping that is better.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from solver_mapper.core.objective import out_of_range
from solver_mapper.solve.fused.compiled import (
    EPSILON,
    CompiledGroup,
    CompiledTables,
    FactorBounds,
    WeightedSum,
    bounds_of,
    without_dominated,
)
from solver_mapper.solve.fused.computing import least_time
from solver_mapper.solve.fused.terms import Floats

_FEW = 128
"""Rows of the last group that are joined at once, at most."""
_STEP = 20_000
"""As how many sums of factors each look at states counts."""
_BLOCK = 4_000_000
_FIRST_BLOCK = 50
_STATES = 1_000_000
"""Joined groups that are taken further at once."""
_TIES = 32
_MOST = 0.5
"""Share of the rows that a search needs for dominated rows to be dropped for all searches."""
_LEAST = 1e-300
"""Floating-point numbers below lose digits."""


@dataclass(frozen=True)
class EnergyDelayProduct:
    """Total energy (J) to the power `energy` times total latency (s) to the power `latency`.

    The Einsum in question runs `repeats` times and leaks `leak` (W) while it runs; the others are
    known to need at least `other_energy` and `other_latency`. What needs more than `latency_limit`
    in all is worth nothing: its value is infinite.
    """

    energy: int
    latency: int
    leak: float = 0.0
    repeats: int = 1
    other_energy: float = 0.0
    other_latency: float = 0.0
    latency_limit: float = float("inf")

    def total_energy(self, dynamic: Floats, latency: Floats) -> Floats:
        """Energy of all runs of this Einsum, leakage included."""
        return self.repeats * (dynamic + self.leak * latency if self.leak else dynamic)

    def value(self, dynamic: Floats, latency: Floats) -> Floats:
        """The goal of dynamic energy (J) and latency (s) of one run, with leakage, repeats and what
        the other Einsums need at least.
        """
        return self.combined(
            self.total_energy(dynamic, latency) + self.other_energy,
            self.repeats * latency + self.other_latency,
        )

    def combined(self, energy: Floats, latency: Floats) -> Floats:
        """The goal of total energy (J) and total latency (s); infinite above the latency limit.

        Raises: InputError for values that floating-point numbers cannot hold.
        """
        result: Floats = np.ones_like(latency)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for _ in range(self.energy):
                result = result * energy
            for _ in range(self.latency):
                result = result * latency
        self._check(result, energy, latency)
        if self.latency_limit < float("inf"):
            result = np.where(latency <= self.latency_limit, result, np.inf)
        return result

    def _check(self, result: Floats, energy: Floats, latency: Floats) -> None:
        """Raises: InputError for a product of ordinary figures that is infinite or almost 0."""
        if not result.size or _LEAST < result.min() <= result.max() < np.inf:
            return
        wrong = (result < _LEAST) & (energy > 0 if self.energy else True)
        wrong = (wrong & (latency > 0 if self.latency else True)) | ~np.isfinite(result)
        if (wrong & np.isfinite(energy) & np.isfinite(latency)).any():
            raise out_of_range("the objective")


@dataclass(frozen=True)
class Outlook:
    """What joined groups may come to at best, one a row: lower bounds of energy (J) and latency (s)
    of all runs; the iterations of the shared loops `trips[row, loop]`; and lower bounds of what is
    held, `held[part, row]` in the order of `CompiledTables.held`.
    """

    energy: Floats
    latency: Floats
    trips: NDArray[np.int64]
    held: Floats

    def __len__(self) -> int:
        return len(self.energy)

    def kept(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Outlook:
        """The rows that `keep` selects."""
        return Outlook(self.energy[keep], self.latency[keep], self.trips[keep], self.held[:, keep])


def trips_of(products: Floats) -> NDArray[np.int64]:
    """Iterations of shared loops, one state a row, from products `[loop, state]`."""
    return np.rint(products).astype(np.int64).T


@dataclass(frozen=True)
class Pairs:
    """Complete choices of one skeleton: joined groups (`partial`, `rows`) with rows of the last
    (`factors`, `source`).
    """

    compiled: CompiledTables
    goal: EnergyDelayProduct
    groups: list[int]
    last: int
    partial: Floats
    rows: NDArray[np.int64]
    factors: Floats
    source: NDArray[np.int64]
    value: Floats
    energy: Floats
    latency: Floats

    def outlook(self) -> Outlook:
        """What the choices come to."""
        shared = list(self.compiled.shared)
        parts = [part for _, parts in self.compiled.held for part in parts]
        held = np.empty((len(parts), len(self.value)))
        for row, part in enumerate(parts):
            used = np.flatnonzero(part.weights)
            held[row] = part.constant + part.weights[used] @ (
                self.partial[used] * self.factors[used]
            )
        return Outlook(
            self.goal.total_energy(self.energy, self.latency),
            self.goal.repeats * self.latency,
            trips_of(self.partial[shared] * self.factors[shared]),
            held,
        )

    def chosen(self, position: int) -> tuple[int, ...]:
        """The rows of one choice, by group."""
        rows = dict(zip(self.groups, self.rows[position], strict=True)) | {
            self.last: self.source[position]
        }
        return tuple(int(rows[each]) for each in range(len(self.compiled.groups)))


class Sink(Protocol):
    """Where complete choices go."""

    @property
    def cutoff(self) -> float:
        """Values above this cannot matter."""

    def threshold(self, least: float) -> float:
        """Of choices found together, of which the best has the value `least`, those up to this
        value are wanted.
        """

    def beats(self, outlook: Outlook, compiled: CompiledTables) -> NDArray[np.bool_]:
        """Which joined groups cannot become anything that is still wanted, whatever their goal."""

    def take(self, pairs: Pairs) -> None:
        """Take complete choices whose goal is at most the threshold."""


@dataclass(frozen=True)
class RowChoice:
    """A choice of one row of each group's table, with its value, dynamic energy and latency."""

    value: float
    energy: float
    latency: float
    compiled: CompiledTables
    rows: tuple[int, ...]


@dataclass
class Best:
    """The best choices so far: all within rounding of the least value, the least latency and energy
    first.
    """

    limit: float = float("inf")
    found: list[RowChoice] = field(default_factory=list)

    @property
    def value(self) -> float:
        """The least goal found; infinite if nothing was."""
        return min((each.value for each in self.found), default=float("inf"))

    @property
    def cutoff(self) -> float:
        """Values above this cannot matter."""
        return min(self.limit, self.value) * (1 + EPSILON)

    def threshold(self, least: float) -> float:
        """Choices up to this are taken: those within rounding of `least`, the best of those at
        hand.
        """
        return min(self.cutoff, least * (1 + EPSILON))

    def beats(self, outlook: Outlook, compiled: CompiledTables) -> NDArray[np.bool_]:
        """None: only the goal counts."""
        return np.zeros(len(outlook), dtype=np.bool_)

    def take(self, pairs: Pairs) -> None:
        """Add choices, and keep those within rounding of the least."""
        order = np.lexsort((pairs.energy, pairs.latency))[:_TIES]
        choices = [
            RowChoice(
                float(pairs.value[each]),
                float(pairs.energy[each]),
                float(pairs.latency[each]),
                pairs.compiled,
                pairs.chosen(int(each)),
            )
            for each in order
        ]
        everything = sorted([*self.found, *choices], key=lambda each: each.value)
        near = [each for each in everything if each.value <= everything[0].value * (1 + EPSILON)]
        self.found = sorted(near, key=lambda each: (each.latency, each.energy))[:_TIES]


@dataclass
class Least(Best):
    """The least value alone: what ties with it is passed over."""

    @property
    def cutoff(self) -> float:
        """Values above this do not lower the least by more than rounding."""
        return min(self.limit, self.value) * (1 - EPSILON)


@dataclass
class _States:
    """Joined groups: `partial[key, state]` products of their factors, and `rows[state]`, a row of
    each.
    """

    groups: list[int]
    partial: Floats
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def kept(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> _States:
        return _States(self.groups, self.partial[:, keep], self.rows[keep])

    def widened(self, index: int) -> _States:
        """No states, of one more group."""
        return _States(
            [*self.groups, index],
            self.partial[:, :0],
            np.empty((0, len(self.groups) + 1), dtype=np.int64),
        )


class _Part:
    """Some rows of the last group that is joined, of number `index`, with bounds for these alone.
    `weights[quantity, key]`; `usual[key]`, what the products of all other factors mostly are.
    """

    def __init__(
        self,
        compiled: CompiledTables,
        weights: Floats,
        index: int,
        usual: Floats,
        group: CompiledGroup,
        bounds: FactorBounds,
    ):
        self.group = group
        self._index, self._compiled, self._weights = index, compiled, weights
        self._usual = usual
        self.bounds = bounds.of_part(compiled, weights, index, group)

    @cached_property
    def halves(self) -> tuple[_Part, _Part]:
        """The rows with the smaller and with the larger factors of one key: the one that makes the
        most difference to all quantities.
        """
        spread = self.group.factors.max(axis=1) - self.group.factors.min(axis=1)
        matter = np.abs(self._weights) * self._usual * spread
        shares = matter / np.maximum(matter.sum(axis=1, keepdims=True), _LEAST)
        order = np.argsort(self.group.factors[int(shares.sum(axis=0).argmax())], kind="stable")
        low, high = (self._of(self.group.kept(np.sort(half))) for half in np.array_split(order, 2))
        return low, high

    def _of(self, group: CompiledGroup) -> _Part:
        return _Part(self._compiled, self._weights, self._index, self._usual, group, self.bounds)


@dataclass
class _Rows:
    """The rows that all searches of a skeleton begin with; dominated ones are dropped as soon as a
    search needs most of them.
    """

    compiled: CompiledTables
    trimmed: bool = False

    def trim(self, left: CompiledTables) -> bool:
        """Drop dominated rows if a search of what is `left` needs most. Returns whether that was
        done now.
        """
        if self.trimmed or _rows_of(left) < _MOST * _rows_of(self.compiled):
            return False
        self.compiled, self.trimmed = without_dominated(self.compiled), True
        return True


def _rows_of(compiled: CompiledTables) -> int:
    return sum(map(len, compiled.groups))


class Minimizer:
    """Searches one skeleton, until `over`, or until more than `most` sums of factors were worked
    out, of which it has `spent` so many. One run takes the `fastest` seconds at least.
    """

    def __init__(
        self,
        compiled: CompiledTables,
        goal: EnergyDelayProduct,
        best: Sink,
        over: Callable[[], bool] = lambda: False,
    ):
        self.goal, self.best, self.over, self.stopped = goal, best, over, False
        self.beam, self.spent, self.most = 0, 0, float("inf")
        self.rows = _Rows(compiled)
        self.compiled = compiled
        self.fastest = least_time(compiled.skeleton.einsum, compiled.skeleton.chain.compute)
        held = [part for _, parts in compiled.held for part in parts]
        quantities = (compiled.energy, *compiled.lines, *compiled.limits, *held)
        self.weights = np.array([quantity.weights for quantity in quantities])
        self.constants = np.array([quantity.constant for quantity in quantities])
        self.limits = np.array(
            [np.inf if quantity.limit is None else quantity.limit for quantity in quantities]
        )
        self.lines = slice(1, 1 + len(compiled.lines))
        self.held = slice(len(quantities) - len(held), len(quantities))

    def again(self, goal: EnergyDelayProduct, best: Sink) -> Minimizer:
        """The same search from all its rows, for another goal or sink."""
        other = copy.copy(self)
        other.goal, other.best, other.stopped = goal, best, False
        other.spent, other.most = 0, float("inf")
        other.compiled = self.rows.compiled
        return other

    def prepare(self) -> float:
        """Drop rows that cannot matter; returns a lower bound of the value (infinite if nothing is
        left).
        """
        before = -1
        while not self.compiled.empty and before != sum(map(len, self.compiled.groups)):
            before = sum(map(len, self.compiled.groups))
            bounds = bounds_of(self.compiled, self.weights)
            keeps = [
                self.promising(_States([index], group.factors, group.source[:, None]), bounds)[0]
                for index, group in enumerate(self.compiled.groups)
            ]
            self.compiled = replace(
                self.compiled,
                groups=tuple(
                    group.kept(keep)
                    for group, keep in zip(self.compiled.groups, keeps, strict=True)
                ),
            )
        if self.compiled.empty:
            return float("inf")
        energy, latency = self.least()
        return float(
            self.goal.combined(
                np.array(energy + self.goal.other_energy),
                np.array(latency + self.goal.other_latency),
            )
        )

    def least(self) -> tuple[float, float]:
        """Lower bounds of the Einsum's total energy and latency, for the rows that are left."""
        if self.compiled.empty:
            return float("inf"), float("inf")
        bounds = bounds_of(self.compiled, self.weights)
        base = bounds.rest(list(range(len(self.compiled.groups))))
        totals = self.constants + self.weights @ base + bounds.excess.sum(axis=1)
        latency = self._latency(totals[:, None])
        energy = self.goal.total_energy(np.maximum(totals[:1], 0.0), latency)
        return float(energy[0]), self.goal.repeats * float(latency[0])

    def _latency(self, totals: Floats) -> Floats:
        """The latency of one run at least, for columns of quantities."""
        return np.asarray(totals[self.lines].max(axis=0, initial=self.fastest))

    def objective(self, totals: Floats) -> Floats:
        """The goal for columns of quantities."""
        return self.goal.value(np.maximum(totals[0], 0.0), self._latency(totals))

    def promising(self, states: _States, bounds: FactorBounds) -> tuple[NDArray[np.bool_], Floats]:
        """Which states may still become legal and better than the best, and a bound of what they
        may become.
        """
        rest = [index for index in range(len(self.compiled.groups)) if index not in states.groups]
        scale = bounds.rest(rest)
        totals = (self.weights * scale) @ states.partial
        self.spent += totals.size + _STEP
        totals += (self.constants + bounds.excess[:, rest].sum(axis=1))[:, None]
        keep = (totals <= (self.limits * (1 + EPSILON))[:, None]).all(axis=0)
        value = self.objective(totals)
        keep &= (value <= self.best.cutoff) & np.isfinite(value)
        most = bounds.rest_most(rest)
        for key, limit in self.compiled.floors:
            keep &= states.partial[key] * most[key] >= limit * (1 - EPSILON)
        for key, wanted in self.compiled.equal:
            keep &= (states.partial[key] * most[key] >= wanted) & (
                states.partial[key] * scale[key] <= wanted
            )
        shared = list(self.compiled.shared)
        if (scale[shared] == most[shared]).all():
            left = np.flatnonzero(keep)
            trips = trips_of(states.partial[shared][:, left] * scale[shared][:, None])
            keep[left] = ~self.best.beats(self.outlook(totals[:, left], trips), self.compiled)
        return keep, value

    def outlook(self, totals: Floats, trips: NDArray[np.int64]) -> Outlook:
        """The least that states may come to, given their quantities at least."""
        latency = self._latency(totals)
        energy = self.goal.total_energy(np.maximum(totals[0], 0.0), latency)
        return Outlook(energy, self.goal.repeats * latency, trips, totals[self.held])

    def run(self, beam: int = 0) -> None:
        """Add everything better than the best to it. With `beam`, only so many states go on after
        each join: no proof.
        """
        self.beam = beam
        if self.prepare() > self.best.cutoff or self.compiled.empty:
            return
        if self.rows.trim(self.compiled):
            self.compiled = self.rows.compiled
            self.prepare()
        elif not self.rows.trimmed:
            self.compiled = without_dominated(self.compiled)
        order = sorted(range(len(self.compiled.groups)), key=self.rank)
        bounds = bounds_of(self.compiled, self.weights)
        first = self.compiled.groups[order[0]]
        if len(order) == 1:
            empty = _States([], np.ones((len(first.factors), 1)), np.empty((1, 0), dtype=np.int64))
            self.finish(empty, order[0], first)
        else:
            self.descend(
                _States([order[0]], first.factors, first.source[:, None]), order[1:], bounds
            )

    def rank(self, index: int) -> tuple[bool, int]:
        """Groups of shared loops are joined first, for only then others can beat what is joined;
        small ones before large ones.
        """
        group = self.compiled.groups[index]
        shared = bool((group.factors[list(self.compiled.shared)] > 1).any())
        return not shared, len(group)

    @property
    def exhausted(self) -> bool:
        """Whether to stop."""
        return self.spent > self.most or self.over()

    def descend(self, states: _States, order: list[int], bounds: FactorBounds) -> None:
        """Join the remaining groups to the states a block at a time, to bound memory."""
        if len(order) == 1:
            (index,) = order
            group = self.compiled.groups[index]
            usual = states.partial.mean(axis=1)
            last = _Part(self.compiled, self.weights, index, usual, group, bounds)
            for block in self.blocks(states, len(group)):
                if self.exhausted:
                    self.stopped = True
                    return
                if self.beam:
                    keep, _ = self.promising(block, bounds)
                    self.finish(block.kept(keep), index, group)
                else:
                    self.narrow(block, index, last)
            return
        step = len(states) if self.beam else max(1, _STATES // len(self.compiled.groups[order[0]]))
        for start in range(0, len(states), max(1, step)):
            if self.exhausted:
                self.stopped = True
                return
            part = states.kept(np.arange(start, min(start + step, len(states))))
            keep, _ = self.promising(part, bounds)
            joined = self.joined(part.kept(keep), order[0], bounds)
            if len(joined):
                self.descend(joined, order[1:], bounds)

    def blocks(self, states: _States, width: int) -> Iterator[_States]:
        """The states in parts small enough for arrays of `width` columns."""
        start, step, most = 0, _FIRST_BLOCK, max(1, _BLOCK // max(1, width))
        while start < len(states):
            step = min(4 * step, most)
            yield states.kept(np.arange(start, min(start + step, len(states))))
            start += step

    def joined(self, states: _States, index: int, bounds: FactorBounds) -> _States:
        """Every promising pair of a state and a row of the next group."""
        group = self.compiled.groups[index]
        parts = [states.kept(np.empty(0, dtype=np.int64)).widened(index)]
        values: list[Floats] = [np.empty(0)]
        for block in self.blocks(states, len(group) * len(group.factors) // 8 + 1):
            pairs = _States(
                [*block.groups, index],
                (block.partial[:, :, None] * group.factors[:, None, :]).reshape(
                    len(group.factors), -1
                ),
                np.hstack(
                    [
                        np.repeat(block.rows, len(group), axis=0),
                        np.tile(group.source, len(block))[:, None],
                    ]
                ),
            )
            keep, value = self.promising(pairs, bounds)
            parts.append(pairs.kept(keep))
            values.append(value[keep])
        result = _States(
            [*states.groups, index],
            np.hstack([part.partial for part in parts]),
            np.vstack([part.rows for part in parts]),
        )
        order = np.argsort(np.concatenate(values), kind="stable")
        return result.kept(order[: self.beam] if self.beam else order)

    def narrow(self, states: _States, index: int, part: _Part) -> None:
        """Join a part of the last group with the states that its bounds leave."""
        keep, _ = self.promising(states, part.bounds)
        left = states.kept(keep)
        if len(part.group) <= _FEW:
            self.finish(left, index, part.group)
        elif len(left):
            for half in part.halves:
                self.narrow(left, index, half)

    def finish(self, states: _States, index: int, group: CompiledGroup) -> None:
        """Join rows of the last group exactly and hand over what counts."""
        if self.beam and len(states) > self.beam:
            states = states.kept(np.arange(self.beam))
        energy = self.total(self.compiled.energy, states, group)
        quickest = np.full(energy.shape, self.fastest)
        cheap = self.goal.value(energy, quickest) <= self.best.cutoff
        # All else is worked out for what costs little enough.
        rows, columns = (np.flatnonzero(cheap.any(axis=axis)) for axis in (1, 0))
        states, group, energy = states.kept(rows), group.kept(columns), energy[rows][:, columns]
        legal = np.ones(energy.shape, dtype=bool)
        for quantity in self.compiled.limits:
            if quantity.limit is not None:
                total = self.total(quantity, states, group)
                legal &= total <= quantity.limit * (1 + EPSILON)
        for key, limit in self.compiled.floors:
            legal &= np.outer(states.partial[key], group.factors[key]) >= limit * (1 - EPSILON)
        for key, wanted in self.compiled.equal:
            legal &= np.abs(np.outer(states.partial[key], group.factors[key]) - wanted) < 0.5
        if not legal.any():
            return
        latency = np.zeros(energy.shape)
        for quantity in self.compiled.lines:
            np.maximum(latency, self.total(quantity, states, group), out=latency)
        value = np.where(legal, self.goal.value(energy, latency), np.inf)
        legal &= np.isfinite(value)
        left, right = np.nonzero(legal & (value <= self.best.threshold(float(value.min()))))
        if len(left):
            self.best.take(
                Pairs(
                    self.compiled,
                    self.goal,
                    states.groups,
                    index,
                    states.partial[:, left],
                    states.rows[left],
                    group.factors[:, right],
                    group.source[right],
                    value[left, right],
                    energy[left, right],
                    latency[left, right],
                )
            )

    def total(self, quantity: WeightedSum, states: _States, group: CompiledGroup) -> Floats:
        """A quantity of all pairs of states and rows of the last group (states, rows)."""
        self.spent += len(states) * len(group)
        used = np.flatnonzero(quantity.weights)
        factors = states.partial[used] * quantity.weights[used][:, None]
        return np.asarray(quantity.constant + factors.T @ group.factors[used])

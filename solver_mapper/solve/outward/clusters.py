"""What levels pay whose instances are in clusters, where these are not all in use.

At most as many instances pay as there are clusters. Where only some of the instances that loops can
use are in use, a word costs `Costs.idling` times as much. How many are in use is known when the
meshes further out are filled. So the energy of such a level is counted apart from all other energy,
and is multiplied in the end. Until then bounds take the largest number that there is room for,
which makes a word cheapest; dominance takes the number that is worst for it.

What neighbours pass on is not counted here: it may cost more than claims say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solver_mapper.solve.outward.bandwidth import SAME
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Ints, Outside
from solver_mapper.solve.outward.sliding import AtRisk, Sliding

LEAST, MOST, DUE, FIRST = range(4)
"""Columns of `InnerMappings.shared`."""
PAID = slice(2)
"""The first two of these."""


def count_paid(
    costs: Costs, draft: Draft, n: int, level: int, paid: Floats, due: Floats | float = 0.0
) -> None:
    """What `level` pays of a tensor that it comes to hold is counted, if it has clusters."""
    if level in costs.clustered:
        mine = draft.shared[:, n, costs.clustered.index(level)]
        mine[:, PAID], mine[:, DUE] = paid[:, None], due
        mine[:, FIRST] = costs.first_times(n, level)


def paid_by_levels(
    costs: Costs, rows: InnerMappings, sliding: Sliding, fetched: Floats, sent: Floats
) -> Floats:
    """What words of all chains of a tensor with windows (rows, depth + 1) cost in pJ at levels with
    clusters that are filled with them and send them (rows, clustered).
    """
    found = np.zeros((len(rows), len(costs.clustered)))
    suppliers = sliding.suppliers(rows) if costs.clustered else None
    for place, level in enumerate(costs.clustered):
        fill, send = (
            float(costs.rates[sliding.number][level].fill),
            costs.price(sliding.number, level),
        )
        found[:, place] = np.where(suppliers == level, sent, 0.0).sum(axis=1) * send
        found[:, place] += fetched[:, level] * fill
    return found


def idling_energy(costs: Costs, rows: InnerMappings, outside: Outside, growth: Ints) -> Floats:
    """What idle instances will cost in pJ at least, if at most `growth` times as many as so far
    will be in use.
    """
    found = np.zeros(len(rows))
    for place, level in enumerate(costs.clustered):
        used = np.minimum(rows.used[:, place] * growth, costs.room(level))
        more = costs.idling(level, used) - 1
        if more.any():
            paid = _least_paid(costs, rows, place, outside, growth)
            found += np.maximum(paid, 0.0) * more
    return found


def _least_paid(
    costs: Costs, rows: InnerMappings, place: int, outside: Outside, growth: Ints
) -> Floats:
    """What a level will have paid at least, if no instances are idle. Until all loops stand,
    nothing is known of tensors with windows.
    """
    paid = np.zeros(len(rows))
    for n, tensor in enumerate(costs.tensors):
        if tensor.ranks and outside.holders:
            continue
        mine = rows.shared[:, n, place]
        paid += mine[:, LEAST] + mine[:, DUE] * costs.once(n, rows.tile)
        if tensor.read_again:
            alike = np.minimum(costs.held_alike(n, rows.tile), growth)
            paid -= mine[:, FIRST] * tensor.span * alike
    return np.asarray(paid - rows.lost * growth)


class Idling:
    """What idle instances may come to cost, to compare rows of the same tile and use of meshes.

    least, most: how many instances will hold each word at least, on average, and at most (rows,
                 tensors).
    growth: how many times as many instances as so far each row may come to use.
    """

    def __init__(
        self,
        costs: Costs,
        rows: InnerMappings,
        at_risk: Sequence[AtRisk],
        held: tuple[Floats, Floats],
        growth: Ints,
    ):
        self._costs, self._rows, self._at_risk, self._growth = costs, rows, at_risk, growth
        self._fewest, self._most = held
        numbers = range(len(costs.tensors))
        self._base = np.column_stack([costs.base(n, rows.tile) for n in numbers])
        self._once = np.column_stack([costs.once(n, rows.tile) for n in numbers])
        self._spared = [self._may_spare(each) for each in at_risk]
        # Rounding, and what neighbours pass on.
        self._passed = rows.charged.copy()
        self._rounded = rows.lost * growth
        for each in at_risk:
            self._passed += each.charged.sum(axis=1)
            self._rounded += each.may_lose

    def _may_spare(self, risk: AtRisk) -> Floats:
        """What loops to come may spare levels of fills, and of what they send; (rows, clustered,
        2).
        """
        sliding, sparing = risk.sliding, risk.sparing
        fills = self._rows.fetched[:, sliding.column] * (sparing.fetched + sparing.passed)
        sent = self._rows.sent[:, sliding.column] * sparing.sent
        ways = (fills, np.zeros_like(sent)), (np.zeros_like(fills), sent)
        return np.stack(
            [paid_by_levels(self._costs, self._rows, sliding, *each) for each in ways], axis=-1
        )

    def owed(self, one: Ints, other: Ints) -> Floats:
        """By how much more in pJ idle instances may come to cost `one` than `other`, at most."""
        total = np.zeros(len(one))
        for place, level in enumerate(self._costs.clustered):
            used, its_used = self._rows.used[one, place], self._rows.used[other, place]
            growth = self._growth[one]
            few, many = (self._idling(level, used * each) for each in (1, growth))
            if not few.any():
                continue
            more = self._more(place, one, other)
            total += np.where(more > 0, more * few, more * many)
            fewer = used < its_used
            if fewer.any():
                clusters = self._costs.architecture.levels[level].clusters
                then = np.clip(clusters / used, 1, growth)
                apart = self._idling(level, used * then) - self._idling(level, its_used * then)
                total += np.where(fewer, self._most_paid(place, other) * apart, 0.0)
        return total

    def _idling(self, level: int, used: Floats) -> Floats:
        room = self._costs.room(level)
        return self._costs.idling(level, np.minimum(used, room)) - 1

    def _most_paid(self, place: int, rows: Ints) -> Floats:
        """What a level will have paid at most, if no instances are idle."""
        mine = self._rows.shared[rows, :, place]
        paid = mine[..., MOST] + mine[..., DUE] * self._base[rows]
        return np.asarray(paid.sum(axis=1) + self._passed[rows] + self._rounded[rows])

    def _more(self, place: int, one: Ints, other: Ints) -> Floats:
        """How much more a level of `one` will have paid than that of `other`, at most, if no
        instances are idle.
        """
        rows, costs = self._rows, self._costs
        mine, theirs = rows.shared[one, :, place], rows.shared[other, :, place]
        total = np.zeros(len(one))
        for n, tensor in enumerate(costs.tensors):
            fewer = (theirs[:, n, FIRST] - mine[:, n, FIRST]) * tensor.span
            total += fewer * np.where(fewer > 0, self._most[other, n], self._fewest[other, n])
            if tensor.ranks:
                continue
            known = mine[:, n, MOST] - theirs[:, n, LEAST]
            base, once = self._base[one, n], self._once[one, n]
            due, its_due = mine[:, n, DUE], theirs[:, n, DUE]
            both = rows.open[one, n] & rows.open[other, n]
            together = (due - its_due) * np.where(due > its_due, base, once)
            total += known + np.where(both, together, due * base - its_due * once)
        same = self._same(one, other)
        for risk, spared in zip(self._at_risk, self._spared, strict=True):
            n = risk.number
            alike = risk.alike(one, other)
            near = alike & self._near(mine[:, n, PAID], theirs[:, n, PAID])
            same &= near
            total += np.where(near, 0.0, mine[:, n, MOST] - theirs[:, n, LEAST])
            left = np.where(alike[:, None], spared[one, place], 0.0)
            total += np.maximum(spared[other, place] - left, 0.0).sum(axis=1)
        if self._at_risk:
            doubts = self._passed[one] + self._rounded[one] + self._rounded[other]
            total += np.where(same, 0.0, doubts)
        known = mine[..., MOST].sum(axis=1)
        return np.where(np.abs(total) <= SAME * known, 0.0, total)

    def _same(self, one: Ints, other: Ints) -> Flags:
        """Whether both have the same of all that is rounded and passed on."""
        ways = np.column_stack([self._passed, self._rounded, self._rows.lost])
        return self._near(ways[one], ways[other])

    def _near(self, mine: Floats, theirs: Floats) -> Flags:
        return np.asarray((np.abs(mine - theirs) <= SAME * np.abs(mine)).all(axis=-1))

"""Which inner mappings can be dropped, since another one is at least as good whatever follows.

Of two with the same tile, whatever follows the one may follow the other, and then costs the same
apart from what is due. What one owes more for a tensor is priced at the most that a word of it can
cost, what it owes less at the least. So a row that is dropped is not wanted below any target.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.ahead import saved_by_rounding
from solver_mapper.solve.outward.bandwidth import SAME, Traffic
from solver_mapper.solve.outward.clusters import Idling
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.futures import futures
from solver_mapper.solve.outward.inner import (
    DOUBTFUL,
    Flags,
    Floats,
    InnerMappings,
    Ints,
    Outside,
    alike,
)
from solver_mapper.solve.outward.networks import Networks
from solver_mapper.solve.outward.outer_levels import OuterLevels
from solver_mapper.solve.outward.sliding import ROUNDED, AtRisk
from solver_mapper.solve.outward.twins import as_free

IN_VAIN, WORTH = 200_000, 300
"""Of how many pairs the comparison may be in vain before the rest is left; each row that is dropped
makes up for so many.
"""
HISTORY, SPEED = ("even", "floor", "least", "parent", "move"), ("pace", "moved", "pending")
"""What of inner mappings is no matter of their future, and what is none of energy."""


def undominated(
    outer: OuterLevels,
    rows: InnerMappings,
    outside: Outside,
    *,
    cycles_count: bool,
    margin: Floats | None = None,
    alike: bool = True,
) -> Ints:
    """Which rows are not dominated, as far as comparing them is worth it. Those of low `least` are
    likely to dominate others.

    Args:
        cycles_count: whether a higher pace is worth anything.
        margin: by how much energy in pJ each row has to be worse than another one to be dropped.
        alike: whether those that cost the same as another one are dropped all the same.

    Raises: TimeUp if the clock that runs is over.
    """
    group = groups(outer.costs, rows, outside)
    order = np.lexsort((rows.least, group))
    rivals = _Rivals(outer, rows.take(order), outside, cycles_count=cycles_count)
    margins = None if margin is None else margin[order]
    left, turn, in_vain = np.arange(len(rows)), 0, 0
    while True:
        check_time()
        mine = group[order[left]]
        starts = np.flatnonzero(np.concatenate([[True], mine[1:] != mine[:-1]]))
        sizes = np.diff(np.append(starts, len(mine)))
        if not (sizes > turn + 1).any() or in_vain > IN_VAIN:
            return np.sort(order[left])
        # The row that is `turn` places after the first of its group, against the rows behind it.
        firsts = np.repeat(starts, sizes)
        behind = np.flatnonzero(np.arange(len(left)) - firsts > turn)
        best, others = left[firsts[behind] + turn], left[behind]
        worse = rivals.dominates(best, others, 0.0 if margins is None else margins[others])
        if margins is not None and alike:
            worse |= rivals.cost_the_same(best, others)
        worse &= as_free(rivals.rows, best, others)
        in_vain = max(in_vain + len(behind) - WORTH * int(worse.sum()), 0)
        left = np.delete(left, behind[worse])
        turn += 1


class _Rivals:
    """Rows that are compared pair by pair: `one` and `other` are arrays of their numbers."""

    def __init__(
        self, outer: OuterLevels, rows: InnerMappings, outside: Outside, *, cycles_count: bool
    ):
        self.costs, self.rows, self.cycles_count = outer.costs, rows, cycles_count
        costs, self.outside = self.costs, outside
        self.future = futures(costs, rows, outside)
        self.growth = costs.left(outside, rows.meshes) * costs.beyond(outside)
        self.at_risk = [
            AtRisk(
                each,
                rows,
                costs.tensors[each.number].words,
                self.growth,
                saved_by_rounding(costs, each.number, outside) * costs.most_idling,
            )
            for each in costs.sliding
        ]
        held = self.future.least, self.future.most
        clusters = costs.clustered
        self.idling = Idling(costs, rows, self.at_risk, held, self.growth) if clusters else None
        self.helped = not costs.units_placed(outside)
        self.looseness = costs.loops.looseness(rows, outside)
        self.traffic = Traffic(costs, rows, self.at_risk) if cycles_count else None
        self.filled = _most_filled(costs, rows, outside)

    def dominates(self, one: Ints, other: Ints, margin: Floats | float) -> Flags:
        """Whether `one` costs less energy than `other`, at least by the margin in pJ, whatever
        follows; needs no more cycles, if these count; and may go on in all ways of `other`.
        """
        rows = self.rows
        worse = rows.energy[one] + self._owed(one, other) <= rows.energy[other] - margin
        if self.looseness.shape[1]:
            worse &= (self.looseness[one] >= self.looseness[other]).all(axis=1)
        for risk in self.at_risk:
            worse &= risk.carried[one] <= risk.carried[other]
        if self.traffic is not None:
            worse &= self._as_quick(one, other)
            some = np.flatnonzero(worse)
            worse[some] = self.traffic.no_slower(one[some], other[some])
            for risk in self.at_risk:
                fewer = risk.more_words(one, other) <= 0
                worse &= fewer | (self.future.slow[other, risk.number] == 0)
        return np.asarray(worse)

    def _owed(self, one: Ints, other: Ints) -> Floats:
        """By how much energy in pJ `one` may come to cost more further out than `other`, at most,
        than it does so far.
        """
        owed = self._owed_for_words(one, other)
        rows, growth = self.rows, self.growth[other]
        for risk in self.at_risk:
            high = self.future.high[other, risk.number]
            low = np.zeros_like(high) if self.helped else self.future.low[other, risk.number]
            owed += risk.owed(one, other, low, high)
        if self.at_risk:
            owed += np.maximum((rows.lost[other] - rows.lost[one]) * growth, 0.0)
            owed += sum(risk.rounding(one, other) for risk in self.at_risk)
            charged = rows.charged[one] - rows.charged[other]
            owed += np.maximum(charged, charged / growth)
        if self.outside.holders and any(map(any, self.costs.block_prices)):
            owed += self._owed_for_blocks(one, other)
        if self.idling is not None:
            owed += self.idling.owed(one, other)
        return owed

    def _owed_for_blocks(self, one: Ints, other: Ints) -> Floats:
        """The same for the last blocks of the outermost level, which are used in part: where the
        words of a tensor to come are not known to be as many, one may need a block of which the
        other needs a single word less.
        """
        rows, block = self.rows, self.costs.architecture.levels[0].block_size
        owed = np.zeros(len(one))
        known = [rows.due, rows.open, rows.sends, rows.anew]
        for n, prices in enumerate(self.costs.block_prices):
            same = np.all([each[one, n] == each[other, n] for each in known], axis=0)
            for risk in self.at_risk:
                if risk.number == n:
                    same &= risk.alike(one, other) & (risk.more[one] == risk.more[other])
                    same &= risk.waiting[one] == risk.waiting[other]
            owed += np.where(same, 0.0, (block - 1) * sum(prices))
        return owed

    def cost_the_same(self, one: Ints, other: Ints) -> Flags:
        """Whether both cost the same, whatever follows: they agree in all that is known of them,
        and nothing else is in doubt but the rounding of what neighbours of one holder pass on. That
        depends on how many words these are, in which the two agree as they are charged the same for
        them.
        """
        rows = self.rows
        doubts = rows.doubts[other]
        same: Flags = (doubts & (doubts - 1) == 0) & (doubts < DOUBTFUL)
        if self.cycles_count and rows.moved.size:
            same &= doubts == 0  # what neighbours pass on takes time, too
        for known, name in zip(rows.columns(), (each.name for each in fields(rows)), strict=True):
            if name not in (HISTORY if self.cycles_count else HISTORY + SPEED):
                mine, theirs = known[one], known[other]
                close = np.abs(np.subtract(mine, theirs, dtype=float)) <= SAME * np.abs(mine)
                same &= close.reshape(len(one), -1).all(axis=1)
        return same

    def _owed_for_words(self, one: Ints, other: Ints) -> Floats:
        """The same for words of tensors without windows, and for those that are sent anew."""
        rows, future = self.rows, self.future
        total = np.zeros(len(one))
        for n, tensor in enumerate(self.costs.tensors):
            refund = (rows.refund[other, n] - rows.refund[one, n]) * tensor.span
            total += refund * np.where(refund > 0, future.most[other, n], future.least[other, n])
            if tensor.ranks:
                continue
            low, high, base = future.low[other, n], future.high[other, n], future.base[other, n]
            words = float(tensor.words)
            first, second = rows.open[one, n], rows.open[other, n]
            due, sends = rows.due[one, n], rows.sends[one, n]
            theirs, they_send = rows.due[other, n], rows.sends[other, n]
            # Both are open; or the other one fetches as little as it can; or this one all it can.
            both = first & second
            more = np.where(
                both, due - theirs, np.where(second, -theirs, np.where(first, due, 0.0))
            )
            more *= np.where(both & (more > 0), base, np.where(second, words, base))
            sent = np.where(first, sends * np.where(second, 1.0, base), due)
            sent -= np.where(second, they_send * np.where(first, 1.0, words), theirs)
            sent *= np.where(both, np.where(sent > 0, base, words), 1.0)
            sent += rows.anew[one, n] - rows.anew[other, n]
            owed = more + sent * np.where(sent > 0, high, low)
            if self.helped:
                owed = np.where(first == second, np.maximum(owed, 0.0), np.inf)
            total += owed
            if self.costs.networks:
                total += self._hopping(self.costs.networks, n, one, other, base)
                more, less = (rows.linked[one, n] - rows.linked[other, n]).T
                total += more - np.minimum(less * words, less * base)
        return total

    def _hopping(
        self, networks: Networks, number: int, one: Ints, other: Ints, base: Floats
    ) -> Floats:
        """By how much more networks may come to charge `one` for hops that are not charged yet, at
        most; `base`, see `Future`. Routers charge whole numbers of hops for each word that passed.
        """
        rows, more = self.rows, np.zeros(len(one))
        for level in range(rows.hops.shape[2]):
            passing = networks.passing(level)
            hops, passed = rows.hops[:, number, level], rows.passed[:, number, level]
            farther = np.maximum(hops[one] - hops[other], 0.0) * base
            owed = (passing.hop + passing.router) * farther + passing.router * passed[other]
            same = (hops[one] == hops[other]) & (passed[one] == passed[other])
            more += np.where(same | (hops[one] == 0), 0.0, owed)
        return more

    def _as_quick(self, one: Ints, other: Ints) -> Flags:
        """Whether `one` needs no more cycles than `other`, whatever follows, but for what levels
        move that hold tensors already, and for tensors with windows: its pace is no lower, and no
        other tensor has more words to be sent at a level with a bandwidth, unless all words
        together, and those that the level is filled with, take no more time there than `other`
        needs already.
        """
        costs, rows, future = self.costs, self.rows, self.future
        quick: Flags = rows.pace[one] >= rows.pace[other]
        if not future.slow.any():
            return quick
        words, total = {}, self.filled[one]
        for risk in self.at_risk:
            ways = 2 if costs.tensors[risk.number].written else 1
            total = total + ways * risk.most_words[one]
        plain = [(n, tensor) for n, tensor in enumerate(costs.tensors) if not tensor.ranks]
        for n, tensor in plain:
            most = rows.anew[one, n] + rows.sends[one, n] * future.base[one, n]
            words[n] = np.where(rows.open[one, n], most, rows.due[one, n])
            total += words[n] * (2 if tensor.written else 1)
        enough = costs.operations / rows.pace[other]
        for n, tensor in plain:
            is_open = rows.open[other, n]
            least = rows.anew[other, n] + rows.sends[other, n] * tensor.words
            least = np.where(is_open, least, rows.due[other, n])
            fewer = (rows.sends[one, n] <= rows.sends[other, n]) & (
                rows.anew[one, n] <= rows.anew[other, n]
            )
            fewer = np.where(is_open & rows.open[one, n], fewer, words[n] <= least)
            quick &= fewer | (total * future.slow[other, n] <= enough)
        return quick


def _most_filled(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """The words of all tensors that a level still to come is filled with at most, if it has a
    bandwidth; the outermost one is not. With what may be rounded up at a level.
    """
    most = np.full(len(rows), 2 * ROUNDED * sum(not tensor.exact for tensor in costs.tensors))
    if any(0 < level < outside.holders for level in costs.slow):
        for n, tensor in enumerate(costs.tensors):
            every = costs.operations * tensor.stretch
            most += costs.base(n, rows.tile) if tensor.exact else every
    return most


def groups(costs: Costs, rows: InnerMappings, outside: Outside) -> Ints:
    """The same number for rows with the same tile and use of the mesh, that constraints allow to go
    on alike; where networks charge there, with the same loops, and the same tensors just inside.
    """
    columns = [*rows.tile.T, *rows.meshes.T, rows.supplied, rows.arranged]
    columns += [each.meshes(rows) for each in costs.sliding]
    columns += costs.loops.keys(rows, outside)
    return alike(columns)[1]

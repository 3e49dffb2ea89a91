"""Which inner mappings can be dropped, since another one is at least as good whatever follows.

Of two with the same tile, whatever follows the one may follow the other, and then costs the same
apart from what is due. What one owes more for a tensor is priced at the most that a word of it can
cost, what it owes less at the least. So a row that is dropped is not wanted below any target.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.ahead import saved_by_rounding
from solver_mapper.solve.outward.bandwidth import SAME, Traffic
from solver_mapper.solve.outward.clusters import Idling
from solver_mapper.solve.outward.costs import Costs
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
from solver_mapper.solve.outward.sharing import most_shared
from solver_mapper.solve.outward.sliding import ROUNDED, AtRisk
from solver_mapper.solve.outward.twins import as_free

HISTORY, SPEED = ("even", "floor", "least", "parent", "move"), ("pace", "moved", "pending")
"""What of inner mappings is no matter of their future, and what is none of energy."""
AT_ONCE = 65_536
"""Rows whose future is worked out together."""


@dataclass(frozen=True)
class _Future:
    """What may come for each tensor of each row; arrays are (rows, tensors).

    low, high: the least and the most that a word costs that the next holder sends, in pJ; all
               instances that share it pay together.
    base: words that the outermost holder so far gets at most, if every loop outside its tile sends
          it anew.
    least, most: how many instances will hold each word at least, on average, and at most.
    slow: the most cycles that a word takes at the next holder, for all instances so far together.
    """

    low: Floats
    high: Floats
    base: Floats
    least: Floats
    most: Floats
    slow: Floats

    def take(self, rows: Ints) -> _Future:
        """Some of the rows."""
        return _Future(
            *(self.low[rows], self.high[rows], self.base[rows]),
            *(self.least[rows], self.most[rows], self.slow[rows]),
        )


def undominated(
    outer: OuterLevels,
    rows: InnerMappings,
    outside: Outside,
    *,
    cycles_count: bool,
    margin: Floats | None = None,
    alike: bool = True,
) -> Ints:
    """Which rows are not dominated. Those of low `least` are likely to dominate others.

    Args:
        cycles_count: whether a higher pace is worth anything.
        margin: by how much energy in pJ each row has to be worse than another one to be dropped.
        alike: whether those that cost the same as another one (`_same_cost`) are dropped all the
            same.

    Raises: TimeUp if the clock that runs is over.
    """
    costs = outer.costs
    group = _groups(costs, rows, outside)
    order = np.lexsort((rows.least, group))
    rows, group = rows.take(order), group[order]
    future = _futures(outer, rows, outside)
    growth = costs.left(outside, rows.meshes) * costs.beyond(outside)
    at_risk = [
        AtRisk(
            each,
            rows,
            costs.tensors[each.number].words,
            growth,
            saved_by_rounding(costs, each.number, outside) * costs.most_idling,
        )
        for each in costs.sliding
    ]
    held = future.least, future.most
    idling = Idling(costs, rows, at_risk, held, growth) if costs.clustered else None
    then = np.arange(len(rows))
    helped = not costs.units_placed(outside)
    looseness = costs.loops.looseness(rows, outside)
    traffic = Traffic(costs, rows, at_risk) if cycles_count else None
    filled = _most_filled(costs, rows, outside)
    turn = 0
    while True:
        check_time()
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        sizes = np.diff(np.append(starts, len(group)))
        if not (sizes > turn + 1).any():
            return np.sort(order[then])
        # The row that is `turn` places after the first of its group, against the rows behind it.
        place = np.arange(len(group)) - np.repeat(starts, sizes)
        behind = np.flatnonzero(place > turn)
        best = np.repeat(starts, sizes)[behind] + turn
        owed = _owed(costs, rows, future, best, behind, helped=helped)
        for risk in at_risk:
            high = future.high[behind, risk.number]
            low = np.zeros_like(high) if helped else future.low[behind, risk.number]
            owed += risk.owed(then[best], then[behind], low, high)
        if at_risk:
            lost = rows.lost[behind] - rows.lost[best]
            owed += np.maximum(lost * growth[then[behind]], 0.0)
            owed += sum(risk.rounding(then[best], then[behind]) for risk in at_risk)
            charged = rows.charged[best] - rows.charged[behind]
            owed += np.maximum(charged, charged / growth[then[behind]])
        if idling is not None:
            owed += idling.owed(then[best], then[behind])
        limit = rows.energy if margin is None else rows.energy - margin[order][then]
        worse = rows.energy[best] + owed <= limit[behind]
        if looseness.shape[1]:
            worse &= (looseness[then[best]] >= looseness[then[behind]]).all(axis=1)
        for risk in at_risk:
            worse &= risk.carried[then[best]] <= risk.carried[then[behind]]
        if traffic is not None:
            besides = filled[then[best]]
            for risk in at_risk:
                ways = 2 if costs.tensors[risk.number].written else 1
                besides = besides + ways * risk.most_words[then[best]]
            worse &= _as_quick(costs, rows, future, best, behind, besides)
            some = np.flatnonzero(worse)
            worse[some] = traffic.no_slower(then[best[some]], then[behind[some]])
            for risk in at_risk:
                fewer = risk.more_words(then[best], then[behind]) <= 0
                worse &= fewer | (future.slow[behind, risk.number] == 0)
        if margin is not None and alike:
            worse |= _same_cost(rows, best, behind, cycles_count=cycles_count)
        worse &= as_free(rows, best, behind)
        keep = np.ones(len(group), dtype=bool)
        keep[behind[worse]] = False
        kept = np.flatnonzero(keep)
        rows, group, future = rows.take(kept), group[kept], future.take(kept)
        then = then[kept]
        turn += 1


def _same_cost(rows: InnerMappings, one: Ints, other: Ints, *, cycles_count: bool) -> Flags:
    """Whether both cost the same, whatever follows: they agree in all that is known of them, and
    nothing else is in doubt but the rounding of what neighbours of one holder pass on. That depends
    on how many words these are, in which the two agree as they are charged the same for them.
    """
    doubts = rows.doubts[other]
    alike: Flags = (doubts & (doubts - 1) == 0) & (doubts < DOUBTFUL)
    if cycles_count and rows.moved.size:
        alike &= doubts == 0  # what neighbours pass on takes time, too
    for known, name in zip(rows.columns(), (each.name for each in fields(rows)), strict=True):
        if name not in (HISTORY if cycles_count else HISTORY + SPEED):
            mine, theirs = known[one], known[other]
            same = np.abs(np.subtract(mine, theirs, dtype=float)) <= SAME * np.abs(mine)
            alike &= same.reshape(len(one), -1).all(axis=1)
    return alike


def _owed(
    costs: Costs, rows: InnerMappings, future: _Future, one: Ints, other: Ints, *, helped: bool
) -> Floats:
    """By how much energy `one` may come to cost more further out than `other`, at most."""
    total = np.zeros(len(one))
    for n, tensor in enumerate(costs.tensors):
        refund = (rows.refund[other, n] - rows.refund[one, n]) * tensor.span
        total += refund * np.where(refund > 0, future.most[other, n], future.least[other, n])
        if tensor.ranks:
            continue
        low, high, base = future.low[other, n], future.high[other, n], future.base[other, n]
        words = float(tensor.words)
        first, second = rows.open[one, n], rows.open[other, n]
        due, sends = rows.due[one, n], rows.sends[one, n]
        theirs, they_send = rows.due[other, n], rows.sends[other, n]
        # Both are open; or the other one fetches as little as it can; or this one all that it can.
        both = first & second
        more = np.where(both, due - theirs, np.where(second, -theirs, np.where(first, due, 0.0)))
        more *= np.where(both & (more > 0), base, np.where(second, words, base))
        sent = np.where(first, sends * np.where(second, 1.0, base), due)
        sent -= np.where(second, they_send * np.where(first, 1.0, words), theirs)
        sent *= np.where(both, np.where(sent > 0, base, words), 1.0)
        sent += rows.anew[one, n] - rows.anew[other, n]
        owed = more + sent * np.where(sent > 0, high, low)
        if helped:
            owed = np.where(first == second, np.maximum(owed, 0.0), np.inf)
        total += owed
        if costs.networks:
            total += _hopping(costs.networks, rows, n, one, other, base)
            more, less = (rows.linked[one, n] - rows.linked[other, n]).T
            total += more - np.minimum(less * words, less * base)
    return total


def _hopping(
    networks: Networks, rows: InnerMappings, number: int, one: Ints, other: Ints, base: Floats
) -> Floats:
    """By how much more networks may come to charge `one` for hops that are not charged yet, at
    most; `base`, see `_Future`. Routers charge whole numbers of hops for each word that passed.
    """
    more = np.zeros(len(one))
    for level in range(rows.hops.shape[2]):
        passing = networks.passing(level)
        hops, passed = rows.hops[:, number, level], rows.passed[:, number, level]
        farther = np.maximum(hops[one] - hops[other], 0.0) * base
        owed = (passing.hop + passing.router) * farther + passing.router * passed[other]
        alike = (hops[one] == hops[other]) & (passed[one] == passed[other])
        more += np.where(alike | (hops[one] == 0), 0.0, owed)
    return more


def _as_quick(
    costs: Costs, rows: InnerMappings, future: _Future, one: Ints, other: Ints, besides: Floats
) -> Flags:
    """Whether `one` needs no more cycles than `other`, whatever follows, but for what levels move
    that hold tensors already, and for tensors with windows: its pace is no lower, and no other
    tensor has more words to be sent at a level with a bandwidth, unless all its words together, and
    so many `besides`, take no more time there than `other` needs already.

    besides: words of tensors with windows, and those that the level is filled with.
    """
    quick: Flags = rows.pace[one] >= rows.pace[other]
    if not future.slow.any():
        return quick
    words, total = {}, besides.copy()
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


def _futures(outer: OuterLevels, rows: InnerMappings, outside: Outside) -> _Future:
    """`_future` of many rows."""
    parts = []
    for start in range(0, max(len(rows), 1), AT_ONCE):
        check_time()
        parts.append(_future(outer.costs, rows.take(slice(start, start + AT_ONCE)), outside))
    return _Future(*(np.concatenate(each) for each in zip(*map(_columns, parts), strict=True)))


def _columns(future: _Future) -> tuple[Floats, ...]:
    return tuple(getattr(future, each.name) for each in fields(future))


def _future(costs: Costs, rows: InnerMappings, outside: Outside) -> _Future:
    """What may come for each tensor of each row."""
    room = costs.left(outside, rows.meshes) * costs.beyond(outside)
    columns = []
    for n, tensor in enumerate(costs.tensors):
        begun: Ints | None = None
        beside, growth = np.ones(len(rows)), np.ones(len(rows))
        for each in costs.sliding:
            if each.number == n:
                growth, begun = each.growth(rows), each.begun(rows)
                beside = each.sharers(rows, costs.order[: outside.spread])
        shares = most_shared(costs, n, rows.tile, outside, rows.meshes, begun)
        low, high = np.full(len(rows), np.inf), np.zeros(len(rows))
        slow, tile = np.zeros(len(rows)), tensor.tile_words(rows.tile)
        for level in range(outside.holders):
            may, price = costs.may_hold(n, level, tile), costs.price(n, level)
            sharing = np.minimum(shares[level], room // costs.room(level)) * beside
            low = np.minimum(low, np.where(may, price / sharing, np.inf))
            idling = costs.idling(level, np.ones(1))
            dearest = np.inf if costs.networks else price * growth * idling
            high = np.maximum(high, np.where(may, dearest, 0.0))
            instances = room / costs.room(level)
            slow = np.maximum(slow, np.where(may, costs.slowness(level) * instances, 0.0))
        low = np.where(np.isinf(low), 0.0, low)  # no level may hold the tile
        least, most = tensor.overlap(rows.tile)
        most = np.minimum(room, shares[0] * most)
        columns.append((low, high, costs.base(n, rows.tile), least, most, slow))
    return _Future(*(np.column_stack(each) for each in zip(*columns, strict=True)))


def _groups(costs: Costs, rows: InnerMappings, outside: Outside) -> Ints:
    """The same number for rows with the same tile and use of the mesh, that constraints allow to go
    on alike; where networks charge there, with the same loops, and the same tensors just inside.
    """
    columns = [*rows.tile.T, *rows.meshes.T, rows.supplied, rows.arranged]
    columns += [each.meshes(rows) for each in costs.sliding]
    columns += costs.loops.keys(rows, outside)
    return alike(columns)[1]

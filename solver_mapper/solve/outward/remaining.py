"""What inner mappings will cost at least further out, whatever is added.

Three things hold for all tensors at once: they share the instances further out (`Costs.shares`),
one loop is the next temporal one, and whoever waits for words gets them from the cheapest level
that is left and may hold the tile, which itself is filled once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from solver_mapper.core.objective import Goal
from solver_mapper.solve.outward.bandwidth import fewest_cycles
from solver_mapper.solve.outward.costs import (
    ENDS,
    FIXED,
    IDLE,
    NOISE,
    Costs,
    most_shared,
)
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Outside
from solver_mapper.solve.outward.moves import hopping
from solver_mapper.solve.outward.outer_levels import OuterLevels
from solver_mapper.solve.outward.sliding import ROUNDED, Sliding

Key = tuple[int, int, int]
"""A tensor, how many instances share its words, and the kind of the next temporal loop for it."""


def least_energy(outer: OuterLevels, rows: InnerMappings, outside: Outside) -> Floats:
    """The least energy in pJ of a whole mapping, apart from that of operations and leakage."""
    costs = outer.costs

    def least(some: InnerMappings, left: int) -> Floats:
        best, sums = np.full(len(some), np.inf), _Sums(_supplied_from(outer, some, outside))
        for parts, possible in _ways(costs, some, outside, left, sums):
            best = np.minimum(best, np.where(possible, sums.least(parts), np.inf))
        return np.asarray(_settled(costs, some, outside) + best)

    return _by_left(costs, rows, outside, least)


def least_without(outer: OuterLevels, rows: InnerMappings, outside: Outside) -> Floats:
    """The same, but for each tensor (rows, tensors) without what the next supply of that one will
    cost.
    """
    costs = outer.costs

    def least(some: InnerMappings, left: int) -> Floats:
        best = np.full((len(some), len(costs.tensors)), np.inf)
        sums = _Sums(_supplied_from(outer, some, outside))
        for parts, possible in _ways(costs, some, outside, left, sums):
            for n in range(len(parts)):
                others = sums.least((*parts[:n], None, *parts[n + 1 :]))
                best[:, n] = np.minimum(best[:, n], np.where(possible, others, np.inf))
        return np.asarray(_settled(costs, some, outside)[:, None] + best)

    return _by_left(costs, rows, outside, least)


def _supplied_from(outer: OuterLevels, rows: InnerMappings, outside: Outside) -> Floats:
    """What the levels further out cost, for all choices of suppliers that may hold the tiles."""
    costs, least = outer.costs, outer.least(rows.tile, outside.holders)
    for n, tensor in enumerate(costs.tensors):
        tile = tensor.tile_words(rows.tile)
        may = [costs.may_hold(n, level, tile) for level in range(outside.holders)]
        shape = [1] * least.ndim
        shape[n], shape[-1] = outside.holders, len(rows)
        least = np.where(np.array(may).reshape(shape), least, np.inf)
    return least


class _Sums:
    """The least of what suppliers of all tensors cost together, with what levels further out cost,
    over all choices of suppliers. What a tensor's supply costs (holders, rows) is known by a key.
    """

    def __init__(self, outer: Floats):
        self.parts: dict[Key, Floats] = {}
        self._known: dict[tuple[Key | None, ...], Floats] = {(): outer}

    def least(self, keys: tuple[Key | None, ...]) -> Floats:
        """The least for these supplies of the tensors, None for one that costs nothing."""
        if keys not in self._known:
            part = 0.0 if keys[0] is None else self.parts[keys[0]]
            self._known[keys] = np.asarray((self.least(keys[1:]) + part).min(axis=-2))
        return self._known[keys]


def _settled(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """What is settled, at least: rounding may save more on more instances, where the next holder
    sends, and where neighbours pass words on.
    """
    growth = costs.left(outside, rows.meshes) * costs.beyond(outside)
    settled = rows.energy + rows.charged / growth - rows.lost * growth
    if costs.networks:
        rest = costs.sizes / rows.tile
        for n, tensor in enumerate(costs.tensors):
            if not tensor.ranks:
                # Loops that leave the tensor alone may come first.
                fixed = rest[:, sorted(tensor.fixed)].prod(axis=1)
                settled = settled + hopping(costs, rows, n, tensor.tile_words(rows.tile) * fixed)
    if outside.holders:
        saved, meshes = saved_by_rounding(costs, outside), costs.room(outside.meshes) > 1
        for each in costs.sliding:
            settled = settled - each.may_lose(rows) * growth
            settled = settled - saved * (1 if meshes else each.rounded(rows))
    return np.asarray(settled)


def saved_by_rounding(costs: Costs, outside: Outside) -> float:
    """What the next holder of a tensor with windows may save by rounding what it sends, in pJ."""
    levels = range(outside.holders)
    return ROUNDED * max(float(costs.rates[level].send) * costs.room(level) for level in levels)


def _by_left(
    costs: Costs,
    rows: InnerMappings,
    outside: Outside,
    least: Callable[[InnerMappings, int], Floats],
) -> Floats:
    """`least` of rows that all have the same left of the innermost mesh to come."""
    left = costs.left(outside, rows.meshes)
    numbers = [int(number) for number in np.unique(left)] or [1]
    if len(numbers) == 1:
        return least(rows, numbers[0])
    places = [np.flatnonzero(left == number) for number in numbers]
    found = [least(rows.take(each), number) for each, number in zip(places, numbers, strict=True)]
    ordered = np.empty((len(rows), *found[0].shape[1:]))
    ordered[np.concatenate(places)] = np.concatenate(found)
    return ordered


def _ways(
    costs: Costs, rows: InnerMappings, outside: Outside, left: int, sums: _Sums
) -> Iterator[tuple[tuple[Key, ...], Flags]]:
    """All ways to share the instances further out and to go on, by the keys of each tensor's least
    energy further out in `sums`, and for which rows they are possible.

    As long as the mesh of the compute units is not filled, any word that a unit asks for may yet
    come from the unit beside it.
    """
    rest, loops = costs.sizes / rows.tile, costs.loops
    spared = {each.number: _spared(costs, rows, each) for each in costs.sliding}
    more = [(kind, loops.repeats(outside, rows.tile, dims)) for kind, dims in costs.kinds]
    ends = np.asarray(rest.prod(axis=1) <= left * costs.beyond(outside))
    ends &= loops.all_spread(outside, rows.tile)
    more = [
        *(each for each in more if each[1].any()),
        *([((ENDS,) * len(costs.tensors), ends)] if ends.any() else []),
    ]
    helped = outside.meshes == costs.depth
    instances = left * costs.beyond(outside)
    begun = {each.number: each.begun(rows) for each in costs.sliding}
    spread = costs.order[: outside.spread]
    beside = {each.number: each.sharers(rows, spread) for each in costs.sliding}
    most = [most_shared(costs, n, rows.tile, begun.get(n)) for n in range(len(costs.tensors))]
    carried = {each.number: each.carried(rows) for each in costs.sliding if costs.networks}
    known = set()
    for shares in costs.shares(outside, left):
        for n, share in enumerate(shares):
            if (n, share) not in known:
                known.add((n, share))
                shared = np.minimum(share, most[n])
                supply = _Supply(costs, n, outside, instances, shared, carried.get(n, 0.0))
                found = (
                    _windowed(rows, supply, spared[n], beside[n], helped=helped)
                    if n in spared
                    else _stays_and_moves(rows, supply, helped=helped)
                )
                sums.parts |= {(n, share, kind): energy for kind, energy in found.items()}
        for kind, possible in more:
            keys = zip(range(len(shares)), shares, kind, strict=True)
            yield tuple(keys), possible


class _Supply:
    """Who may supply tensor `number`: the levels that are `outside`, to so many `instances` further
    out than the inner mapping together, of which at most `shared` (rows,) share its words.

    carried: what networks further in charge in pJ for each word.
    """

    def __init__(
        self,
        costs: Costs,
        number: int,
        outside: Outside,
        instances: int,
        shared: Floats,
        carried: Floats | float,
    ):
        self.costs, self.number, self.shared = costs, number, shared
        holders = outside.holders
        self.tensor, rates = costs.tensors[number], costs.rates[:holders]
        rooms = np.array([[costs.room(outer)] for outer in range(holders)])
        self.apart = np.minimum(shared, instances // rooms)
        sent = [each.update if self.tensor.written else each.send for each in rates]
        passing = [costs.entries(outer, outside.meshes) for outer in range(holders)]
        self.prices = (np.array(sent, dtype=float) + passing)[:, None] + carried
        self.again = np.array([[costs.again(number, outer)] for outer in range(holders)])
        self.first = self.tensor.words * np.minimum(shared, rooms)

    def energy(self, words: Floats, beside: Floats | int = 1) -> Floats:
        """The least energy of the next holder that has to send `words` if no instances share any;
        (holders, rows), for each level that may be that one.

        `beside`: how many instances of the mesh that is being filled may share words already.
        """
        sent = np.maximum(words / (self.apart * beside), self.tensor.words)
        energy = sent * self.prices
        if self.again.any():
            energy += np.maximum(sent - self.first, 0.0) * self.again
        return np.asarray(energy)


def _stays_and_moves(rows: InnerMappings, supply: _Supply, *, helped: bool) -> dict[int, Floats]:
    """The least energy further out of a tensor without windows, by the kind of the next temporal
    loop: it stays as long as loops can spare it, unless that is over a fixed dimension.

    `helped`: whether neighbours may still help.
    """
    number, tensor = supply.number, supply.tensor
    due, is_open, sends = rows.due[:, number], rows.open[:, number], rows.sends[:, number]
    refund = rows.refund[:, number]
    words = np.where(is_open | helped, 0.0, due)
    moves = stays = supply.energy(words) - refund * tensor.words * supply.shared
    if is_open.any():
        base = supply.costs.base(number, rows.tile)
        moves = supply.energy(np.where(is_open, sends * base, words))
        moves = moves + np.where(is_open, due * base, 0.0) - refund * tensor.words * supply.shared
        # Instances that share words each pay what is due, and each have the refund.
        net = due - refund
        net = np.where(is_open, net * np.where(net > 0, 1.0, supply.shared), 0.0)
        stays = np.where(is_open, supply.energy(words) + net * tensor.words, stays)
    return {ENDS: stays, IDLE: stays, FIXED: moves}


def _windowed(
    rows: InnerMappings,
    supply: _Supply,
    spared: dict[int, tuple[Floats, Floats]],
    beside: Floats,
    *,
    helped: bool,
) -> dict[int, Floats]:
    """The same of a tensor with windows, of which loops to come may spare as much as `spared`."""
    due = rows.due[:, supply.number]

    def supplied(less: Floats | float) -> Floats:
        words = np.zeros(len(rows)) if helped else np.maximum(due - less, 0.0)
        return supply.energy(words, beside)

    closed = supplied(0.0)
    moved = {kind: supplied(words) - energy for kind, (energy, words) in spared.items()}
    return {ENDS: closed, FIXED: closed, **moved}


def _spared(
    costs: Costs, rows: InnerMappings, sliding: Sliding
) -> dict[int, tuple[Floats, Floats]]:
    """The energy in pJ and the words that a tensor with windows may be spared, by the kind of the
    next temporal loop.
    """
    tensor, found = costs.tensors[sliding.number], {}
    for dim in (*sliding.idle[:1], *sliding.moving):
        sparing = sliding.sparing(rows, dim, tensor.words)
        energy, words = sliding.sparing_energy(rows, sparing), sliding.sparing_words(rows, sparing)
        found[tensor.kind(dim)] = energy, words
    return found


def least_cycles(costs: Costs, latency: int, rows: InnerMappings, outside: Outside) -> Floats:
    """The least cycles of a whole mapping: operations by pace, or what the outermost level needs to
    send and get each word once.
    """
    pace = rows.pace * costs.spread_at_most(outside, rows.tile, rows.meshes)
    cycles = np.maximum(costs.operations / pace, fewest_cycles(costs))
    return np.asarray(np.ceil(cycles * (1 - NOISE)) + latency)


def least_rank(
    outer: OuterLevels, goal: Goal, latency: int, rows: InnerMappings, outside: Outside
) -> Floats:
    """The least rank of the goal, powers of energy and cycles, of a whole mapping."""
    costs = outer.costs
    cycles = least_cycles(costs, latency, rows, outside)
    if outside.holders:
        energy = least_energy(outer, rows, outside)
    else:
        energy = _settled(costs, rows, outside)
        for n, tensor in enumerate(costs.tensors):
            if not tensor.ranks:
                energy = energy + rows.due[:, n] * costs.base(n, rows.tile)
                energy -= rows.refund[:, n] * tensor.words
    fixed, leak = costs.work
    # What may still be saved can exceed what is settled; the square of that would be too high.
    figures = {"energy": np.maximum(energy + fixed + leak * cycles, 0.0), "delay": cycles}
    return np.asarray(prod((figures[metric] ** power for metric, power in goal.powers)))


def most_energy(
    costs: Costs, goal: Goal, latency: int, rows: InnerMappings, outside: Outside, target: float
) -> tuple[Floats, Floats]:
    """The energy in pJ that a whole mapping below `target` has at most: apart from that of
    operations and leakage, and with it.
    """
    cycles = least_cycles(costs, latency, rows, outside)
    powers = dict(goal.powers)
    fixed, leak = costs.work
    rank = (target / cycles ** powers.get("delay", 0)) ** (1 / powers["energy"])
    return np.asarray(rank - fixed - leak * cycles), np.asarray(rank)

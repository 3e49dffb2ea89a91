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
from solver_mapper.solve.outward.costs import FIXED, IDLE, Costs, Outside
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings
from solver_mapper.solve.outward.sliding import Sliding

NOISE = 1e-10
"""More than rounding can add to any sum here, relative."""
ENDS = -1
"""Instead of the kind of the next temporal loop: there is none."""


def least_energy(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """The least energy in pJ of a whole mapping, apart from that of operations and leakage."""

    def least(some: InnerMappings, left: int) -> Floats:
        best = np.full(len(some), np.inf)
        for parts, possible in _ways(costs, some, outside, left):
            best = np.minimum(best, np.where(possible, sum(parts), np.inf))
        return np.asarray(_settled(costs, some, outside) + best)

    return _by_left(costs, rows, outside, least)


def least_without(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """The same, but for each tensor (rows, tensors) without what that one will cost further out."""

    def least(some: InnerMappings, left: int) -> Floats:
        best = np.full((len(some), len(costs.tensors)), np.inf)
        for parts, possible in _ways(costs, some, outside, left):
            for n in range(len(parts)):
                others = sum(parts[:n] + parts[n + 1 :])
                best[:, n] = np.minimum(best[:, n], np.where(possible, others, np.inf))
        return np.asarray(_settled(costs, some, outside)[:, None] + best)

    return _by_left(costs, rows, outside, least)


def _settled(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """What is settled, at least: rounding may save more on more instances."""
    growth = costs.left(outside, rows.meshes) * costs.beyond(outside)
    return np.asarray(rows.energy - (rows.lost + rows.floor * (growth > 1)) * growth)


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
    costs: Costs, rows: InnerMappings, outside: Outside, left: int
) -> Iterator[tuple[list[Floats], Flags]]:
    """All ways to share the instances further out and to go on, with the least energy of each
    tensor further out, and for which rows they are possible.

    As long as the mesh of the compute units is not filled, any word that a unit asks for may yet
    come from the unit beside it.
    """
    rest = costs.sizes / rows.tile
    known: dict[tuple[int, int], dict[int, Floats]] = {}
    spared = {each.number: _spared(costs, rows, each) for each in costs.sliding}
    more = [
        (kind, np.asarray((rows.tile[:, dims] < costs.sizes[dims]).any(axis=1)))
        for kind, dims in costs.kinds
    ]
    ends = np.asarray(rest.prod(axis=1) <= left * costs.beyond(outside))
    helped = outside.meshes == costs.depth
    for shares in costs.shares(outside, left):
        for n, share in enumerate(shares):
            if (n, share) not in known:
                shared = np.minimum(share, most_shared(costs, n, rest))
                known[n, share] = (
                    _windowed(costs, rows, n, outside.holders, shared, spared[n], helped=helped)
                    if n in spared
                    else _stays_and_moves(costs, rows, n, outside.holders, shared, helped=helped)
                )
        found = [known[each] for each in enumerate(shares)]
        yield [each[ENDS] for each in found], ends
        for kind, possible in more:
            yield [each[code] for code, each in zip(kind, found, strict=True)], possible


def most_shared(costs: Costs, number: int, rest: Floats) -> Floats:
    """How many instances can share a tensor's words if these loops are left: over idle ones."""
    idle = [dim for dim in range(rest.shape[1]) if dim not in costs.tensors[number].apart]
    return np.asarray(rest[:, idle].prod(axis=1))


def _stays_and_moves(
    costs: Costs,
    rows: InnerMappings,
    number: int,
    holders: int,
    shared: Floats,
    *,
    helped: bool,
) -> dict[int, Floats]:
    """The least energy further out of a tensor without windows that at most `shared` instances
    share, by the kind of the next temporal loop: it stays as long as loops can spare it, unless
    that is over a fixed dimension.

    `helped`: whether neighbours may still help.
    """
    tensor, base = costs.tensors[number], costs.base(number, rows.tile)
    tile = tensor.tile_words(rows.tile)
    refund = rows.refund[:, number] * tensor.words * shared
    due, is_open, sends = rows.due[:, number], rows.open[:, number], rows.sends[:, number]
    words = np.where(is_open | helped, 0.0, due / shared)
    stays = _supply(costs, number, holders, tile, words, shared) - refund
    words = np.where(is_open, sends * base / shared, words)
    moves = _supply(costs, number, holders, tile, words, shared) - refund
    stays += np.where(is_open, due * tensor.words, 0.0)
    return {ENDS: stays, IDLE: stays, FIXED: moves + np.where(is_open, due * base, 0.0)}


def _windowed(
    costs: Costs,
    rows: InnerMappings,
    number: int,
    holders: int,
    shared: Floats,
    spared: dict[int, tuple[Floats, Floats]],
    *,
    helped: bool,
) -> dict[int, Floats]:
    """The same of a tensor with windows, of which loops to come may spare as much as `spared`."""
    tile = costs.tensors[number].tile_words(rows.tile)
    (sliding,) = (each for each in costs.sliding if each.number == number)
    shared = shared * sliding.sharers(rows)

    def supplied(less: Floats | float) -> Floats:
        words = 0.0 * shared if helped else np.maximum(rows.due[:, number] - less, 0.0) / shared
        return _supply(costs, number, holders, tile, words, shared)

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


def _supply(
    costs: Costs, number: int, holders: int, tile: Floats, words: Floats, shared: Floats
) -> Floats:
    """The least energy of the next holder of a tensor, of tiles of `tile` words at least, that has
    to send `words`, and of filling that holder once.
    """
    tensor, best = costs.tensors[number], np.full(len(words), np.inf)
    words = np.maximum(words, tensor.words)
    top = costs.rates[0]
    for outer in range(holders):
        rates = costs.rates[outer]
        if tensor.written:
            again = float(rates.again) if tensor.exact else 0.0
            energy = words * (float(rates.update) + again) - again * tensor.words * shared
            once = float(top.update)
        else:
            energy, once = words * float(rates.send), float(top.send + rates.fill)
        energy += once * tensor.words if outer else 0.0
        may = costs.may_hold(number, outer, tile)
        best = np.minimum(best, np.where(may, energy, np.inf))
    return best


def least_cycles(costs: Costs, latency: int, rows: InnerMappings, outside: Outside) -> Floats:
    """The least cycles of a whole mapping: operations by pace."""
    pace = rows.pace * costs.left(outside, rows.meshes) * costs.beyond(outside)
    return np.asarray(np.ceil(costs.operations / pace * (1 - NOISE)) + latency)


def least_rank(
    costs: Costs, goal: Goal, latency: int, rows: InnerMappings, outside: Outside
) -> Floats:
    """The least rank of the goal, powers of energy and cycles, of a whole mapping."""
    cycles = least_cycles(costs, latency, rows, outside)
    if outside.holders:
        energy = least_energy(costs, rows, outside)
    else:
        energy = _settled(costs, rows, outside) + rows.passed
        for n, tensor in enumerate(costs.tensors):
            if not tensor.ranks:
                energy = energy + rows.due[:, n] * costs.base(n, rows.tile)
                energy -= rows.refund[:, n] * tensor.words
    fixed, leak = costs.work
    figures = {"energy": energy + fixed + leak * cycles, "delay": cycles}
    return np.asarray(prod((figures[metric] ** power for metric, power in goal.powers)))


def most_energy(
    costs: Costs, goal: Goal, latency: int, rows: InnerMappings, outside: Outside, target: float
) -> Floats:
    """The energy in pJ that a whole mapping below `target` has at most, apart from that of
    operations and leakage.
    """
    cycles = least_cycles(costs, latency, rows, outside)
    powers = dict(goal.powers)
    fixed, leak = costs.work
    rank = (target / cycles ** powers.get("delay", 0)) ** (1 / powers["energy"])
    return np.asarray(rank - fixed - leak * cycles)

"""What inner mappings will cost at least further out, whatever is added; and which of them may lead
below a target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solver_mapper.core.objective import Goal
from solver_mapper.solve.outward.ahead import Ahead, settled_energy
from solver_mapper.solve.outward.aim import Aim, least_cycles, rank
from solver_mapper.solve.outward.costs import NOISE, Costs
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Outside
from solver_mapper.solve.outward.outer_levels import OuterLevels
from solver_mapper.solve.outward.spread_ahead import SpreadAhead

SAMPLE, WORTH = 32, 1 / 8
"""Of how many rows ways to spread are looked at first; and which share of these has to be dropped
because of that, so that it is done for all others.
"""


def least_energy(
    outer: OuterLevels, rows: InnerMappings, outside: Outside, *, together: bool = True
) -> Floats:
    """The least energy in pJ of a whole mapping, apart from that of operations and leakage. If not
    `together`, each tensor goes on in the way that is the cheapest one for itself: that is less,
    but takes a fraction of the time.
    """
    if not outside.holders:
        return _complete(outer.costs, rows, outside)

    def least(some: InnerMappings, left: int) -> Floats:
        ahead = Ahead(outer, some, outside, left)
        return ahead.together() if together else ahead.apart()

    return _by_left(outer.costs, rows, outside, least)


def least_without(outer: OuterLevels, rows: InnerMappings, outside: Outside) -> Floats:
    """The same, but for each tensor (rows, tensors) without what the next supply of that one will
    cost.
    """

    def least(some: InnerMappings, left: int) -> Floats:
        ahead, tensors = Ahead(outer, some, outside, left), range(len(outer.costs.tensors))
        return np.column_stack([ahead.apart(without=n) for n in tensors])

    return _by_left(outer.costs, rows, outside, least)


def _complete(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """What whole mappings cost, of which the outermost level holds all tensors."""
    energy = settled_energy(costs, rows, outside)
    for n, tensor in enumerate(costs.tensors):
        if not tensor.ranks:
            energy = energy + rows.due[:, n] * costs.base(n, rows.tile)
            energy -= rows.refund[:, n] * tensor.words
    return energy


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


def least_rank(
    spread_ahead: SpreadAhead, aim: Aim, rows: InnerMappings, outside: Outside
) -> Floats:
    """The least rank of the goal of a whole mapping, by all bounds together."""
    outer, costs = spread_ahead.outer, spread_ahead.costs
    cycles = least_cycles(costs, aim.latency, rows, outside)
    ranks = rank(costs, aim.goal, cycles, least_energy(outer, rows, outside))
    ranks = np.maximum(ranks, _spread_out(spread_ahead, aim, rows, outside)[1])
    if _levels_may_be_slow(costs, aim.goal, outside):
        ranks = np.maximum(ranks, _least_with_cycles(outer, aim, rows, outside))
    return ranks


def promising(
    spread_ahead: SpreadAhead,
    aim: Aim,
    rows: InnerMappings,
    outside: Outside,
    *,
    closely: bool = True,
) -> tuple[InnerMappings, float]:
    """The rows that may lead to mappings that are looked for, with their bounds; and the least rank
    that one of the others needs. Bounds that take little time come first: the energy that was known
    before the last step, each tensor for itself, all of them together, what their meshes mean for
    tiles (if rows are looked at `closely`), and what levels need time for.
    """
    outer, costs = spread_ahead.outer, spread_ahead.costs
    rows, cycles, beyond = in_time(costs, aim, rows, outside)

    def below(rows: InnerMappings, energy: Floats, ranks: Floats) -> tuple[InnerMappings, Flags]:
        """The rows below the target, with these bounds if they are better ones; and which."""
        nonlocal beyond
        ranks = np.maximum(ranks, rows.least)
        some = np.asarray(ranks * (1 - NOISE) < aim.target)
        beyond = min(beyond, float(ranks[~some].min(initial=np.inf)))
        rows = replace(rows, floor=np.maximum(rows.floor, energy), least=ranks)
        return rows.take(some), some

    for together in (False, True):
        if len(rows):
            energy = least_energy(outer, rows, outside, together=together)
            ranks = rank(costs, aim.goal, cycles, np.maximum(rows.floor, energy))
            rows, some = below(rows, energy, ranks)
            cycles = cycles[some]
    if closely and len(rows) and outside.holders:
        rows, _ = below(rows, *_spread_out(spread_ahead, aim, rows, outside))
    if len(rows) and _levels_may_be_slow(costs, aim.goal, outside):
        rows, _ = below(rows, rows.floor, _least_with_cycles(outer, aim, rows, outside))
    return rows, beyond


def _spread_out(
    spread_ahead: SpreadAhead, aim: Aim, rows: InnerMappings, outside: Outside
) -> tuple[Floats, Floats]:
    """The least energy and rank by the ways to spread ahead, of all rows if that drops some."""

    def least(some: InnerMappings) -> tuple[Floats, Floats]:
        (left,) = np.unique(spread_ahead.costs.left(outside, some.meshes)).tolist()
        return spread_ahead.least(Ahead(spread_ahead.outer, some, outside, left), aim)

    energy, ranks = np.full((2, len(rows)), -np.inf)
    if not spread_ahead.blocks(outside):
        return energy, ranks
    sample = np.zeros(len(rows), dtype=bool)
    sample[:: -(-len(rows) // SAMPLE)] = True
    energy[sample], ranks[sample] = least(rows.take(sample))
    dropped = ranks[sample] * (1 - NOISE) >= aim.target
    if not sample.all() and dropped.mean() > WORTH:
        energy[~sample], ranks[~sample] = least(rows.take(~sample))
    return energy, ranks


def in_time(
    costs: Costs, aim: Aim, rows: InnerMappings, outside: Outside
) -> tuple[InnerMappings, Floats, float]:
    """The rows that may lead to mappings that are looked for by the energy that is known so far,
    with the least cycles of each; and the least rank that one of the others needs.
    """
    cycles = least_cycles(costs, aim.latency, rows, outside)
    ranks = np.maximum(rank(costs, aim.goal, cycles, rows.floor), rows.least)
    # Nothing is known of the empty inner mapping, which tells where targets begin.
    below = (ranks * (1 - NOISE) < aim.target) | np.isneginf(rows.floor)
    below &= cycles < aim.cycles
    beyond = float(ranks[~below].min(initial=np.inf))
    return replace(rows, least=ranks).take(below), cycles[below], beyond


def _levels_may_be_slow(costs: Costs, goal: Goal, outside: Outside) -> bool:
    """Whether levels still to come may limit the cycles, and these count."""
    slow = any(map(costs.slowness, range(outside.holders)))
    return slow and "delay" in dict(goal.powers)


def _least_with_cycles(
    outer: OuterLevels, aim: Aim, rows: InnerMappings, outside: Outside
) -> Floats:
    """The least rank of a whole mapping where levels need time for what they send."""

    def least(some: InnerMappings, left: int) -> Floats:
        return Ahead(outer, some, outside, left).least_rank(aim.goal, aim.latency)

    return _by_left(outer.costs, rows, outside, least)

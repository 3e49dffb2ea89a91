"""What inner mappings will cost at least further out, whatever is added; and which of them may lead
below a target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from solver_mapper.solve.outward.ahead import Ahead, settled_energy
from solver_mapper.solve.outward.aim import Aim, least_cycles, rank
from solver_mapper.solve.outward.costs import NOISE, Costs
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Outside
from solver_mapper.solve.outward.spread_ahead import SpreadAhead

FEW = 256
"""Of so few rows, what may follow is worked out once for all bounds, unless more than half of them
are dropped.
"""
SAMPLE, WORTH = 32, 1 / 8
"""Of how many rows ways to spread are looked at first; and which share of these has to be dropped
because of that, so that it is done for all others.
"""


def _complete(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """What whole mappings cost, of which the outermost level holds all tensors."""
    energy = settled_energy(costs, rows, outside)
    for n, tensor in enumerate(costs.tensors):
        if not tensor.ranks:
            energy = energy + rows.due[:, n] * costs.base(n, rows.tile)
        energy = energy - rows.refund[:, n] * tensor.span
    return energy


def least_rank(
    spread_ahead: SpreadAhead, aim: Aim, rows: InnerMappings, outside: Outside
) -> Floats:
    """The least rank of the goal of a whole mapping, by all bounds together."""
    cycles = least_cycles(spread_ahead.costs, aim.latency, rows, outside)
    ranks, ahead = np.full(len(rows), -np.inf), Ahead(spread_ahead.outer, rows, outside)
    for bound in _bounds(spread_ahead, aim, outside, closely=True):
        energy, least = bound(rows, ahead)
        least = np.maximum(least, rank(spread_ahead.costs, aim, cycles, energy))
        ranks = np.maximum(ranks, least)
    return ranks


Bound = Callable[[InnerMappings, Ahead], tuple[Floats, Floats]]
"""The least energy and the least rank of rows; nothing is known where these are minus infinity."""


def _bounds(
    spread_ahead: SpreadAhead, aim: Aim, outside: Outside, *, closely: bool
) -> Iterator[Bound]:
    """Bounds, those that take little time first: each tensor for itself, with what levels need time
    for; all of them together; and what their meshes mean for tiles (if rows are looked at
    `closely`).
    """
    costs = spread_ahead.costs

    def unranked(how: Callable[[Ahead], Floats]) -> Bound:
        def bound(rows: InnerMappings, ahead: Ahead) -> tuple[Floats, Floats]:
            return how(ahead), np.full(len(rows), -np.inf)

        return bound

    def with_cycles(rows: InnerMappings, ahead: Ahead) -> tuple[Floats, Floats]:
        return np.full(len(rows), -np.inf), ahead.least_rank(aim)

    if not outside.holders:
        yield lambda rows, _: (_complete(costs, rows, outside), np.full(len(rows), -np.inf))
        return
    yield unranked(Ahead.apart)
    if _levels_may_be_slow(costs, aim, outside):
        yield with_cycles
    yield unranked(Ahead.together)
    if closely and spread_ahead.blocks(outside):
        yield lambda rows, ahead: _spread_out(spread_ahead, aim, rows, ahead)


def promising(
    spread_ahead: SpreadAhead,
    aim: Aim,
    rows: InnerMappings,
    outside: Outside,
    *,
    closely: bool = True,
) -> tuple[InnerMappings, list[InnerMappings]]:
    """The rows that may lead to mappings that are looked for, with their bounds (`_bounds`, after
    the energy that was known before the last step); and those that may not, with those that they
    were dropped for.
    """
    costs = spread_ahead.costs
    rows, cycles, *dropped = in_time(costs, aim, rows, outside)
    ahead: Ahead | None = None
    for bound in _bounds(spread_ahead, aim, outside, closely=closely):
        if not len(rows):
            break
        ahead = ahead or Ahead(spread_ahead.outer, rows, outside)
        energy, ranks = bound(rows, ahead)
        floor = np.maximum(rows.floor, energy)
        ranks = np.maximum(np.maximum(ranks, rank(costs, aim, cycles, floor)), rows.least)
        rows = replace(rows, floor=floor, least=ranks)
        below = np.asarray(ranks * (1 - NOISE) < aim.target)
        if np.count_nonzero(~below) > (0 if len(rows) > FEW else len(rows) / 2):
            dropped.append(rows.take(~below))
            ahead, cycles = ahead.take(below), cycles[below]
            rows = replace(ahead.rows, floor=floor[below], least=ranks[below])
    below = np.asarray(rows.least * (1 - NOISE) < aim.target)
    if not below.all():
        dropped.append(rows.take(~below))
        rows = rows.take(below)
    return rows, dropped


def _spread_out(
    spread_ahead: SpreadAhead, aim: Aim, rows: InnerMappings, every: Ahead
) -> tuple[Floats, Floats]:
    """The least energy and rank by the ways to spread ahead, of all rows if that drops some."""
    if len(rows) <= SAMPLE:
        return spread_ahead.least(every, aim)

    def least(some: Flags) -> tuple[Floats, Floats]:
        return spread_ahead.least(every.take(some), aim)

    energy, ranks = np.full((2, len(rows)), -np.inf)
    sample = np.zeros(len(rows), dtype=bool)
    sample[:: -(-len(rows) // SAMPLE)] = True
    energy[sample], ranks[sample] = least(sample)
    dropped = ranks[sample] * (1 - NOISE) >= aim.target
    if dropped.mean() > WORTH:
        energy[~sample], ranks[~sample] = least(~sample)
    return energy, ranks


def in_time(
    costs: Costs, aim: Aim, rows: InnerMappings, outside: Outside
) -> tuple[InnerMappings, Floats, InnerMappings]:
    """The rows that may lead to mappings that are looked for by the energy that is known so far,
    with the least cycles of each; and those that may not.
    """
    cycles = least_cycles(costs, aim.latency, rows, outside)
    ranks = np.maximum(rank(costs, aim, cycles, rows.floor), rows.least)
    # Nothing is known of the empty inner mapping, which tells where targets begin.
    below = (ranks * (1 - NOISE) < aim.target) | np.isneginf(rows.floor)
    rows = replace(rows, least=ranks)
    return rows.take(below), cycles[below], rows.take(~below)


def _levels_may_be_slow(costs: Costs, aim: Aim, outside: Outside) -> bool:
    """Whether levels still to come may limit the cycles, and these count."""
    slow = any(map(costs.slowness, range(outside.holders)))
    return slow and aim.of_cycles

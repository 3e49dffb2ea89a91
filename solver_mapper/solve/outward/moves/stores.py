"""What a level holds: it sends what was due, and words of its own tiles are due to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from solver_mapper.solve.outward.bandwidth import count_moved, nearest, paced
from solver_mapper.solve.outward.clusters import count_paid
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import DOUBTFUL, InnerMappings
from solver_mapper.solve.outward.moves.move import Move, Moves
from solver_mapper.solve.outward.sliding import ROUNDED, Sliding


def hold(costs: Costs, rows: InnerMappings, level: int, moves: Moves) -> list[InnerMappings]:
    """The rows with each choice of what `level` holds, where it fits."""
    words = [tensor.tile_words(rows.tile) for tensor in costs.tensors]
    found = []
    for choice in product(*costs.holds[level]):
        held = [n for n, holds in enumerate(choice) if holds]
        stored = [n for n in held if level >= costs.first_holder[n]]
        needed = sum((words[n] for n in stored), np.zeros(len(rows)))
        fits = costs.fits(level, needed)
        if fits.any():
            number = moves.number(Move(level, holds=sum(1 << n for n in stored)))
            found.append(_held(costs, rows.take(fits), level, held, number))
    return found


def _held(
    costs: Costs, rows: InnerMappings, level: int, held: list[int], number: int
) -> InnerMappings:
    """The rows where `level` holds the tensors `held`."""
    draft = Draft(rows)
    draft.move[:] = number
    draft.looped[:], draft.here[:] = (0, -1), 1
    charge = level and costs.networks and costs.networks.charge_below(level - 1)
    draft.supplied[:] = sum(1 << n for n in held) if charge else 0
    if level and held and costs.architecture.levels[level].block_size > 1:
        draft.doubts[:] |= DOUBTFUL
    count_moved(costs, draft, level, held)
    for each in costs.sliding:
        if each.number in held:
            _hold_windows(costs, draft, each, level)
    for n in held:
        draft.refund[:, n] += costs.first_times(n, level)
        if not costs.tensors[n].ranks:
            _hold_plain(costs, draft, n, level)
    found = draft.finished()
    return replace(found, pace=paced(costs, found, windows=True))


def _hold_windows(costs: Costs, draft: Draft, sliding: Sliding, level: int) -> None:
    """A tensor with windows: the level sends what was due, and all that it holds is due to it."""
    rows, n, column = draft.rows, sliding.number, sliding.column
    send, fill = costs.price(n, level), float(costs.rates[n][level].fill)
    words = np.maximum(rows.due[:, n], costs.tensors[n].words)
    due = costs.base(n, rows.tile) if level else np.zeros(len(rows))
    draft.energy[:] += words * (send + sliding.carried(rows))
    if level:
        rounded = sliding.rounded(rows)
        draft.lost[:] += ROUNDED * send * rounded
        draft.doubt(rounded > 0)
    else:
        # All that it sends is known, of which it has no share from neighbours.
        whole = nearest(words)
        draft.energy[:] += (whole - words) * send + costs.last_blocks(n, whole)
    draft.energy[:] += due * fill
    count_paid(costs, draft, n, level, words * send + due * fill)
    draft.due[:, n] = due
    tile = costs.tensors[n].tile_words(rows.tile)
    draft.fetched[:, column, level] = draft.sent[:, column, level] = tile
    draft.copies[:, column, level] = 1.0
    draft.states[:, column] = sliding.held(rows, level)


def _hold_plain(costs: Costs, draft: Draft, n: int, level: int) -> None:
    """A tensor without windows: what the level sends `now` is known, and what each word of its own
    tile costs `later`, as long as this stays.
    """
    rows, tensor = draft.rows, costs.tensors[n]
    is_open, due = rows.open[:, n], rows.due[:, n]
    anew, sends = rows.anew[:, n], rows.sends[:, n]
    send, fill = costs.price(n, level), float(costs.rates[n][level].fill)
    if tensor.written and not tensor.read_again:
        fill = 0.0
    now = np.where(is_open, anew, due) * send
    later = np.where(is_open, send * sends, 0.0) + fill
    draft.energy[:] += now
    if not level and any(costs.block_prices[n]):
        words = anew + sends * costs.base(n, rows.tile)
        draft.energy[:] += costs.last_blocks(n, np.where(is_open, words, due))
    count_paid(costs, draft, n, level, now, later)
    draft.due[:, n] = np.where(is_open, due, 0.0) + later
    draft.open[:, n], draft.sends[:, n], draft.anew[:, n] = True, 1.0, 0.0

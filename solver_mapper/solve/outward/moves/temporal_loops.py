"""A temporal loop outside all other loops.

A holder's tile is fetched anew in each round of every loop from the innermost one over a fixed
dimension outwards. Loops further in leave the tensor alone and cost nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver_mapper.solve.outward.bandwidth import SENT_AND_FILLED, moved_by_levels, paced
from solver_mapper.solve.outward.clusters import DUE, LEAST, MOST, PAID, paid_by_levels
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings
from solver_mapper.solve.outward.moves.move import Move
from solver_mapper.solve.outward.moves.network_charges import hopping, linking
from solver_mapper.solve.outward.sliding import Sliding


def splits(rows: InnerMappings, dim: int) -> Flags:
    """Whether a temporal loop over a dimension of windows would stand apart from another one over
    it at the same level. A mapping has one loop over each dimension there, which may slide windows
    less.
    """
    looped, newest = rows.looped.T
    return np.asarray((looped >> dim & 1 > 0) & (newest != dim))


def repeat(costs: Costs, rows: InnerMappings, move: Move, number: int) -> InnerMappings:
    """The rows with a temporal loop, outside all other loops."""
    dim, bound = move.dim, move.bound
    draft = Draft(costs.loops.with_loop(rows, move.level, dim, bound, None))
    draft.move[:] = number
    draft.tile[:, dim] *= bound
    goes_on = (draft.tile[:, dim] < costs.sizes[dim]) & (dim in costs.moving)
    draft.looped[:, 0] = rows.looped[:, 0] & ~(1 << dim) | np.where(goes_on, 1 << dim, 0)
    draft.looped[:, 1] = np.where(goes_on, dim, -1)
    for each in costs.sliding:
        _repeat_windows(costs, draft, each, dim, bound)
    for n, tensor in enumerate(costs.tensors):
        if dim in tensor.fixed and not tensor.ranks:
            _close(costs, draft, n)
    found = draft.finished()
    return replace(found, pace=paced(costs, found))


def _repeat_windows(costs: Costs, draft: Draft, sliding: Sliding, dim: int, bound: int) -> None:
    """What the loop spares of a tensor with windows is taken off."""
    rows, n = draft.rows, sliding.number
    rounds: Floats = np.prod(costs.sizes / draft.tile, axis=1)
    less = sliding.repeated(rows, dim, bound, rounds)
    draft.states[:, sliding.column] = less.states
    draft.energy[:] -= less.energy
    draft.charged[:] += less.charged
    draft.due[:, n] -= less.words
    draft.lost[:] += less.lost
    draft.doubts[:] |= less.doubts
    moved = moved_by_levels(costs, rows, sliding, less.fetched, less.sent)
    draft.moved[:, n, :, SENT_AND_FILLED] -= moved
    draft.shared[:, n, :, LEAST] -= paid_by_levels(costs, rows, sliding, less.fetched, less.sent)
    draft.shared[:, n, :, MOST] -= paid_by_levels(costs, rows, sliding, less.kept, less.sent)


def _close(costs: Costs, draft: Draft, n: int) -> None:
    """Each round brings other words of a tensor without windows: it is known how many its outermost
    holder so far gets, and what these cost.
    """
    rows = draft.rows
    words, is_open, due = costs.base(n, rows.tile), rows.open[:, n], rows.due[:, n]
    draft.energy[:] += np.where(is_open, due * words, 0.0)
    if costs.networks:
        draft.energy[:] += hopping(costs, rows, n, words)
        draft.energy[:] += linking(rows, n, words)
    draft.passed[:, n] = draft.hops[:, n] = draft.linked[:, n] = 0.0
    draft.moved[:, n, :, SENT_AND_FILLED] += rows.pending[:, n] * words[:, None, None]
    draft.pending[:, n] = 0.0
    draft.shared[:, n, :, PAID] += (rows.shared[:, n, :, DUE] * words[:, None])[..., None]
    draft.shared[:, n, :, DUE] = 0.0
    draft.due[:, n] = np.where(is_open, rows.anew[:, n] + rows.sends[:, n] * words, due)
    draft.open[:, n], draft.sends[:, n], draft.anew[:, n] = False, 1.0, 0.0

"""A spatial loop outside all other loops.

The next holder sends words once to all instances that differ in idle dimensions only.
"""

from __future__ import annotations

import numpy as np

from solver_mapper.solve.outward.bandwidth import OFF
from solver_mapper.solve.outward.clusters import DUE, FIRST
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import Floats, InnerMappings
from solver_mapper.solve.outward.moves.move import Move
from solver_mapper.solve.outward.sliding import Sliding
from solver_mapper.solve.outward.spreads import Spread


def spread(costs: Costs, rows: InnerMappings, move: Move, number: int) -> InnerMappings:
    """The rows with a spatial loop below `move.level`, outside all other loops."""
    loop = Spread(move.dim, move.bound, "XY".index(move.axis))
    draft = Draft(costs.loops.with_loop(rows, move.level, *loop))
    draft.move[:] = number
    draft.tile[:, loop.dim] *= loop.bound
    draft.meshes[:, loop.axis] *= loop.bound
    _arrange(costs, draft, move.level, loop)
    _multiply_instances(costs, draft, move.level, loop.bound)
    for each in costs.sliding:
        _spread_windows(draft, each, move.level, loop)
    for n, tensor in enumerate(costs.tensors):
        if tensor.read_again:
            _multiply_first_times(costs, draft, n, loop.bound)
        if tensor.ranks:
            continue
        if loop.dim in tensor.fixed:
            _spread_apart(costs, draft, n, loop.bound)
        else:
            _spread_together(costs, draft, n, move.level, loop.bound)
    return draft.finished()


def _arrange(costs: Costs, draft: Draft, level: int, loop: Spread) -> None:
    """The loops of the mesh have another number with one more."""
    units = level == costs.depth - 1
    if units or (costs.networks and costs.networks.charge_below(level)):
        known, where = np.unique(draft.rows.arranged, return_inverse=True)
        numbers = [costs.spreads.number((*costs.spreads[int(mesh)], loop)) for mesh in known]
        draft.arranged[:] = np.array(numbers, dtype=np.int64)[where.reshape(-1)]


def _multiply_instances(costs: Costs, draft: Draft, level: int, bound: int) -> None:
    """Each of `bound` times as many instances does what one did before, in as many fewer rounds."""
    draft.parents[..., level + 2 :] *= bound
    draft.used[:] *= [bound if inner > level else 1 for inner in costs.clustered]
    for each in (draft.pace, draft.copies, draft.fetched, draft.sent, draft.lost):
        each *= bound
    for each in (draft.moved, draft.charged):
        each /= bound


def _multiply_first_times(costs: Costs, draft: Draft, n: int, bound: int) -> None:
    """Instances hold so many times as many words of a tensor as different ones."""
    tensor = costs.tensors[n]
    more = bound * tensor.tile_words(draft.rows.tile) / tensor.tile_words(draft.tile)
    draft.refund[:, n] *= more
    draft.moved[:, n, :, OFF] *= more[:, None]
    draft.shared[:, n, :, FIRST] *= more[:, None]


def _spread_windows(draft: Draft, sliding: Sliding, level: int, loop: Spread) -> None:
    """Instances share some words of a tensor with windows."""
    rows, bound = draft.rows, loop.bound
    states, more = sliding.spread(rows, level, *loop)
    draft.states[:, sliding.column] = states
    draft.due[:, sliding.number] *= more / bound
    outermost = sliding.outermost_chain(rows)
    draft.sent[outermost] *= more / bound
    # A word that several elements get enters networks further in once for each of these.
    draft.network[outermost] *= bound / more


def _spread_together(costs: Costs, draft: Draft, n: int, level: int, bound: int) -> None:
    """All instances get the same words of a tensor, by multicast if it is not switched off."""
    is_open = draft.rows.open[:, n]
    _multiply_prices(draft, n, np.full(len(is_open), float(bound)))
    if level in costs.off[n].multicast:
        draft.sends[:, n] *= np.where(is_open, bound, 1.0)
    else:
        draft.due[:, n] *= np.where(is_open, 1.0, 1 / bound)
        draft.anew[:, n] /= bound


def _spread_apart(costs: Costs, draft: Draft, n: int, bound: int) -> None:
    """All instances get different words of a tensor. The tile of all has words between these that
    nobody gets, if a rank has a stride.
    """
    tensor, rows = costs.tensors[n], draft.rows
    draft.pending[:, n] /= bound
    if not tensor.exact:
        less = tensor.apart(rows.tile, draft.tile)
        _multiply_prices(draft, n, less)
        draft.pending[:, n] *= less[:, None, None]
        draft.sends[:, n] *= np.where(rows.open[:, n], less, 1.0)


def _multiply_prices(draft: Draft, n: int, times: Floats) -> None:
    """A word of an open tensor's tile costs holders and networks so many times as much."""
    draft.hops[:, n] *= times[:, None]
    draft.linked[:, n, 1:] *= times[:, None]
    draft.shared[:, n, :, DUE] *= times[:, None]
    draft.due[:, n] *= np.where(draft.rows.open[:, n], times, 1.0)

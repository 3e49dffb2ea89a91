"""What is known when no more loops will stand on a mesh: what its elements take from each other.

Compute units remember nothing, but take a word that stays from the unit beside them if that has it
too. Where all loops of their mesh stand, it is known which words no unit beside has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import Floats, InnerMappings, Ints
from solver_mapper.solve.outward.sliding import Sliding
from solver_mapper.solve.outward.spreads import Spread, asked_anew


def windows_placed(costs: Costs, rows: InnerMappings) -> InnerMappings:
    """The rows when no more loops over dimensions of windows will stand on the mesh, above other
    levels than the compute units.
    """
    draft = Draft(rows)
    for each in costs.sliding:
        _share_windows(draft, each, *each.placed(rows))
    return draft.finished()


def mesh_filled(costs: Costs, rows: InnerMappings, level: int) -> InnerMappings:
    """The rows when all spatial loops below `level` stand: for each kind of orders of these in
    which neighbours do the same.
    """
    width = costs.architecture.fanout(level)[0]
    for each in costs.sliding:
        which, states, more, certain = each.mesh_filled(rows, level, width)
        draft = Draft(rows.take(which))
        _share_windows(draft, each, states, more)
        draft.doubt(~certain)
        rows = draft.finished()
    rows = replace(rows, meshes=np.ones_like(rows.meshes), laid=np.zeros_like(rows.laid))
    return _units_filled(costs, rows, width) if level == costs.depth - 1 else rows


def _share_windows(draft: Draft, sliding: Sliding, states: Ints, more: Floats) -> None:
    """A tensor has new states, and so many times as many words of it are sent."""
    draft.states[:, sliding.column] = states
    draft.due[:, sliding.number] *= more
    outermost = sliding.outermost_chain(draft.rows)
    draft.sent[outermost] *= more
    draft.network[outermost] /= more


def _units_filled(costs: Costs, rows: InnerMappings, width: int) -> InnerMappings:
    """The rows when all spatial loops above compute units stand: words that all units take from
    those beside them need not be sent as long as they stay.
    """
    draft = Draft(rows)
    known, where = np.unique(rows.arranged, return_inverse=True)
    meshes = [costs.spreads[int(mesh)] for mesh in known]
    for n, tensor in enumerate(costs.tensors):
        if not tensor.ranks:
            _share_units(costs, draft, n, _asked_anew(costs, n, meshes, width)[where.reshape(-1)])
    if not (costs.networks and costs.networks.charge_below(costs.depth - 1)):
        draft.arranged[:] = 0
    return draft.finished()


def _asked_anew(costs: Costs, n: int, meshes: list[tuple[Spread, ...]], width: int) -> Floats:
    """`asked_anew` of each mesh of compute units (meshes, 3)."""
    units, off = costs.depth - 1, costs.off[n]
    if units in off.links:
        return np.tile([1.0, 0.0, 1.0], (len(meshes), 1))
    fixed, multicast = costs.tensors[n].fixed, units not in off.multicast
    found = [asked_anew(mesh, fixed, width, multicast=multicast) for mesh in meshes]
    return np.array(found, dtype=float).reshape(-1, 3)


def _share_units(costs: Costs, draft: Draft, n: int, asked: Floats) -> None:
    """Words of a tensor stay at compute units unless all of them are `asked` for anew."""
    rows, due = draft.rows, draft.rows.due[:, n]
    share, served, certain = asked.T
    stays = share < 1
    if costs.networks:
        price = np.where(stays, costs.networks.passed_on(costs.depth - 1) * served, 0.0)
        every = costs.operations * price
        first = costs.tensors[n].density(rows.tile) / due
        draft.linked[:, n] = np.column_stack([every, every * first])
    mine = (1 - share) * due / costs.base(n, rows.tile)
    draft.open[:, n] = stays
    draft.anew[:, n] = np.where(stays, share * due, 0.0)
    draft.sends[:, n] = np.where(stays, mine, rows.sends[:, n])
    draft.due[:, n] = np.where(stays, 0.0, due)
    draft.doubt(certain == 0)

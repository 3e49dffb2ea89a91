"""The orders of a mesh's loops between which networks make a difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver_mapper.solve.outward.costs import Costs, rounds_alone
from solver_mapper.solve.outward.inner import DOUBTFUL, Flags, Floats, InnerMappings, Ints
from solver_mapper.solve.outward.moves.move import Move, Moves
from solver_mapper.solve.outward.moves.network_charges import charge, each_once
from solver_mapper.solve.outward.networks import Arrangement, Price


def charged(costs: Costs, rows: InnerMappings, level: int, moves: Moves) -> InnerMappings:
    """The rows with what networks below `level` charge, where all loops of its mesh stand: for each
    order of these that is the best one for some tensors.
    """
    networks = costs.networks
    if not (networks and networks.charge_below(level)):
        return rows
    direct, once = _direct(costs, rows, level), _once(costs, rows, level)
    tile = np.where([dim in costs.moving for dim in range(len(costs.sizes))], rows.tile, 1)
    keys = np.column_stack([rows.arranged, _bits(direct), _bits(once), tile])
    known, where = np.unique(keys, axis=0, return_inverse=True)
    kind = where.reshape(-1)
    ways = [
        networks.arrangements(level, mesh, tensors, no_more, tuple(extents))
        for mesh, tensors, no_more, *extents in known.tolist()
    ]
    prices, numbers = _tables(ways, len(costs.tensors), level, moves)
    which, way = np.nonzero(numbers[kind] >= 0)
    order, chosen = (kind[which], way), rows.take(which)
    found = charge(costs, networks, chosen, level, direct[which], once[which], prices[order])
    certain = prices[order][..., -1].all(axis=1)
    doubts = found.doubts | np.where(certain, 0, DOUBTFUL)
    return replace(found, doubts=doubts, move=numbers[order])


def _tables(
    ways: list[tuple[Arrangement, ...]], tensors: int, level: int, moves: Moves
) -> tuple[Floats, Ints]:
    """The prices of each kind of rows in its orders (kinds, orders, tensors, fields of `Price`),
    and these orders' numbers as moves, or -1 where a kind has fewer of them.
    """
    most = max(map(len, ways), default=0)
    numbers = np.full((len(ways), most), -1, dtype=np.int64)
    prices = np.zeros((len(ways), most, tensors, len(Price._fields)))
    for row, some in enumerate(ways):
        prices[row, : len(some)] = [way.prices for way in some]
        numbers[row, : len(some)] = [moves.number(Move(level, order=way.order)) for way in some]
    return prices, numbers


def _direct(costs: Costs, rows: InnerMappings, level: int) -> Flags:
    """Whether the next level inwards takes of each tensor (rows, tensors) what enters networks
    below `level`, whenever it takes anything: compute units do unless some of them take words that
    stay from each other, and others do not.
    """
    if level < costs.depth - 1:
        return (rows.supplied[:, None] >> np.arange(len(costs.tensors)) & 1).astype(bool)
    windows = np.array([bool(tensor.ranks) for tensor in costs.tensors])
    return np.asarray(~rows.open | (rows.anew == 0) | windows)


def _once(costs: Costs, rows: InnerMappings, level: int) -> Flags:
    """Whether no old partial sums of each tensor (rows, tensors) come down networks below `level`:
    each word enters these once; or no loops are left that bring the same ones again.
    """
    found = np.ones((len(rows), len(costs.tensors)), dtype=bool)
    if costs.networks and costs.networks.returns(level):
        for n, tensor in enumerate(costs.tensors):
            if tensor.written:
                no_more = rounds_alone(costs, n, rows.tile) == 1
                once = each_once(costs, n, rows.due[:, n])
                found[:, n] = np.where(rows.open[:, n], no_more, once)
    return found


def _bits(flags: Flags) -> Ints:
    """One bit for each tensor (rows, tensors)."""
    return np.asarray((flags << np.arange(flags.shape[1])).sum(axis=1))

"""Which inner mappings can be dropped, since another one is at least as good whatever follows.

Of two with the same tile and the same open tensors, whatever follows the one may follow the other,
and then costs the same apart from what is due: what is due in one and not in the other is priced
at the dearest level that is left.
"""

from __future__ import annotations

from math import prod

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import Costs, Outside
from solver_mapper.solve.outward.inner import Floats, InnerMappings, Ints


def undominated(
    costs: Costs, rows: InnerMappings, outside: Outside, *, cycles_count: bool
) -> InnerMappings:
    """The rows that are not dominated.

    `cycles_count`: whether more instances in use are worth anything.

    Raises: TimeUp if the clock that runs is over.
    """
    group = _groups(rows)
    order = np.lexsort((rows.energy, group))
    rows, group = rows.take(order), group[order]
    prices = [_highest(costs, n, outside.holders) for n in range(len(costs.tensors))]
    room = costs.room(outside.meshes)
    turn = 0
    while True:
        check_time()
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        sizes = np.diff(np.append(starts, len(group)))
        if not (sizes > turn + 1).any():
            return rows
        # The row that is `turn` places after the best of its group, against the rows behind it.
        place = np.arange(len(group)) - np.repeat(starts, sizes)
        behind = np.flatnonzero(place > turn)
        best = np.repeat(starts, sizes)[behind] + turn
        owed = _owed(costs, rows, best, behind, prices, room)
        worse = rows.energy[best] + owed <= rows.energy[behind]
        if cycles_count:
            worse &= rows.used[best] >= rows.used[behind]
        keep = np.ones(len(group), dtype=bool)
        keep[behind[worse]] = False
        rows, group = rows.take(keep), group[keep]
        turn += 1


def _owed(
    costs: Costs,
    rows: InnerMappings,
    one: Ints,
    other: Ints,
    prices: list[float],
    room: int,
) -> Floats:
    """By how much energy `one` may come to cost more further out than `other`, at most."""
    total = np.zeros(len(one))
    for n, tensor in enumerate(costs.tensors):
        is_open = rows.open[one, n]
        base = costs.base(n, rows.tile[one]) if is_open.any() else 0.0
        due = np.maximum(rows.due[one, n] - rows.due[other, n], 0.0)
        sends = np.maximum(rows.sends[one, n] - rows.sends[other, n], 0.0)
        refund = np.maximum(rows.refund[other, n] - rows.refund[one, n], 0.0)
        total += np.where(is_open, (due + sends * prices[n]) * base, due * prices[n])
        total += refund * tensor.words * room
    return total


def _highest(costs: Costs, number: int, holders: int) -> float:
    """The highest price in pJ of a word of a tensor that a level still to come sends."""
    return max((costs.price(number, level) for level in range(holders)), default=0.0)


def _groups(rows: InnerMappings) -> Ints:
    """The same number for rows with the same tile, open tensors and use of the mesh."""
    columns = [*rows.tile.T, *rows.open.T.astype(np.int64), *rows.meshes.T]
    radices = [int(column.max(initial=0)) + 1 for column in columns]
    if prod(radices) < 2**62:
        key = np.zeros(len(rows), dtype=np.int64)
        for column, radix in zip(columns, radices, strict=True):
            key = key * radix + column
        return key
    _, found = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return np.asarray(found.reshape(-1), dtype=np.int64)

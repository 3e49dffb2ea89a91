"""What may come for each tensor of an inner mapping: what its words may cost further out."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.inner import Floats, InnerMappings, Ints, Outside
from solver_mapper.solve.outward.sharing import most_shared

AT_ONCE = 65_536
"""Rows whose future is worked out together."""


@dataclass(frozen=True)
class Future:
    """What may come for each tensor of each row; arrays are (rows, tensors).

    low, high: the least and the most that a word costs that the next holder sends, in pJ; all
               instances that share it pay together.
    base: words that the outermost holder so far gets at most, if every loop outside its tile sends
          it anew.
    least, most: how many instances will hold each word at least, on average, and at most.
    slow: the most cycles that a word takes at the next holder, for all instances so far together.
    """

    low: Floats
    high: Floats
    base: Floats
    least: Floats
    most: Floats
    slow: Floats


def futures(costs: Costs, rows: InnerMappings, outside: Outside) -> Future:
    """What may come for each tensor of each row.

    Raises: TimeUp if the clock that runs is over.
    """
    parts = []
    for start in range(0, max(len(rows), 1), AT_ONCE):
        check_time()
        parts.append(_future(costs, rows.take(slice(start, start + AT_ONCE)), outside))
    return Future(*(np.concatenate(each) for each in zip(*map(_columns, parts), strict=True)))


def _columns(future: Future) -> tuple[Floats, ...]:
    return tuple(getattr(future, each.name) for each in fields(future))


def _future(costs: Costs, rows: InnerMappings, outside: Outside) -> Future:
    """What may come for each tensor of each row."""
    room = costs.left(outside, rows.meshes) * costs.beyond(outside)
    columns = []
    for n, tensor in enumerate(costs.tensors):
        begun: Ints | None = None
        beside, growth = np.ones(len(rows)), np.ones(len(rows))
        for each in costs.sliding:
            if each.number == n:
                growth, begun = each.growth(rows), each.begun(rows)
                beside = each.sharers(rows, costs.order[: outside.spread])
        shares = most_shared(costs, n, rows.tile, outside, rows.meshes, begun)
        low, high = np.full(len(rows), np.inf), np.zeros(len(rows))
        slow, tile = np.zeros(len(rows)), tensor.tile_words(rows.tile)
        for level in range(outside.holders):
            may, price = costs.may_hold(n, level, tile), costs.price(n, level)
            sharing = np.minimum(shares[level], room // costs.room(level)) * beside
            low = np.minimum(low, np.where(may, price / sharing, np.inf))
            idling = costs.idling(level, np.ones(1))
            dearest = np.inf if costs.networks else price * growth * idling
            high = np.maximum(high, np.where(may, dearest, 0.0))
            instances = room / costs.room(level)
            slow = np.maximum(slow, np.where(may, costs.slowness(level) * instances, 0.0))
        low = np.where(np.isinf(low), 0.0, low)  # no level may hold the tile
        least, most = tensor.overlap(rows.tile)
        most = np.minimum(room, shares[0] * most)
        columns.append((low, high, costs.base(n, rows.tile), least, most, slow))
    return Future(*(np.column_stack(each) for each in zip(*columns, strict=True)))

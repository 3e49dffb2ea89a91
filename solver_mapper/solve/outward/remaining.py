"""What inner mappings will cost at least further out, whatever is added.

Three things hold for all tensors at once: they share the instances further out (`Costs.shares`),
one loop is the next temporal one, and whoever waits for words gets them from the cheapest level
that is left, which itself is filled once.
"""

from __future__ import annotations

from math import prod

import numpy as np

from solver_mapper.core.objective import Goal
from solver_mapper.solve.outward.costs import Costs, Outside
from solver_mapper.solve.outward.inner import Floats, InnerMappings

NOISE = 1e-11
"""More than rounding can add to any sum here, relative."""


def least_energy(costs: Costs, rows: InnerMappings, outside: Outside) -> Floats:
    """The least energy in pJ of a whole mapping, apart from that of operations and leakage.

    As long as the mesh of the compute units is not filled, any word that a unit asks for may yet
    come from the unit beside it.
    """
    helped = outside.meshes == costs.depth
    rest = costs.sizes / rows.tile
    bases = [costs.base(n, rows.tile) for n in range(len(costs.tensors))]
    most = [
        np.prod([rest[:, dim] for dim in range(rest.shape[1]) if dim not in tensor.fixed], axis=0)
        if len(tensor.fixed) < rest.shape[1]
        else np.ones(len(rows))
        for tensor in costs.tensors
    ]
    more = [
        (kind, (rows.tile[:, dims] < costs.sizes[dims]).any(axis=1)) for kind, dims in costs.kinds
    ]
    ends = rest.prod(axis=1) <= costs.room(outside.meshes)
    best = np.full(len(rows), np.inf)
    for shares in costs.shares(outside.meshes):
        stays, moves, holders = [], [], outside.holders
        for n, tensor in enumerate(costs.tensors):
            shared = np.minimum(shares[n], most[n])
            refund = rows.refund[:, n] * tensor.words * shared
            due, is_open, sends = rows.due[:, n], rows.open[:, n], rows.sends[:, n]
            asked = 0.0 * due if helped else due / shared
            waiting = _supply(costs, n, holders, asked, shared)
            still = due * tensor.words + _supply(costs, n, holders, 0.0 * due, shared)
            anew = due * bases[n] + _supply(costs, n, holders, sends * bases[n] / shared, shared)
            stays.append(np.where(is_open, still, waiting) - refund)
            moves.append(np.where(is_open, anew, waiting) - refund)
        value = np.where(ends, sum(stays), np.inf)
        for kind, possible in more:
            total = sum(moves[n] if fixed else stays[n] for n, fixed in enumerate(kind))
            value = np.minimum(value, np.where(possible, total, np.inf))
        best = np.minimum(best, value)
    return np.asarray(rows.energy + best)


def _supply(costs: Costs, number: int, holders: int, words: Floats, shared: Floats) -> Floats:
    """The least energy of the next holder of a tensor that has to send `words`, and of filling that
    holder once.
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
        best = np.minimum(best, energy + (once * tensor.words if outer else 0.0))
    return best


def least_rank(
    costs: Costs, goal: Goal, latency: int, rows: InnerMappings, outside: Outside
) -> Floats:
    """The least rank of the goal, powers of energy and cycles, of a whole mapping. Compute units
    need so many cycles at least: operations by instances.
    """
    used = rows.used * costs.room(outside.meshes)
    cycles = np.maximum(1.0, costs.operations / used) + latency
    if outside.holders:
        energy = least_energy(costs, rows, outside)
    else:
        energy = rows.energy + sum(
            rows.due[:, n] * costs.base(n, rows.tile) - rows.refund[:, n] * tensor.words
            for n, tensor in enumerate(costs.tensors)
        )
    fixed, leak = costs.work
    figures = {"energy": energy + fixed + leak * cycles, "delay": cycles}
    return np.asarray(prod((figures[metric] ** power for metric, power in goal.powers)))

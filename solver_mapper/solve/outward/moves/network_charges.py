"""What networks charge for words, once all loops of the mesh that they serve stand.

Some of it is known at once; the rest when it is clear how many words the outermost holder so far
gets (`hopping`, `linking`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.costs import Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings
from solver_mapper.solve.outward.networks import TINY, Networks, Passing
from solver_mapper.solve.outward.sliding import Sliding

WORD, ASKED = range(2)
"""Columns of prices: the first fields of `Price`."""


class _Tensor(NamedTuple):
    """A tensor whose words enter networks below a level.

    price: of a word, if the next level inwards takes all that enters; or else its hops.
    direct: whether it does. `once`: whether no old partial sums come down.
    apart: `TensorCosts.apart` of the elements of the mesh that is being filled.
    """

    number: int
    level: int
    passing: Passing
    price: Floats
    direct: Flags
    once: Flags
    apart: Floats


def charge(
    costs: Costs,
    networks: Networks,
    rows: InnerMappings,
    level: int,
    direct: Flags,
    once: Flags,
    prices: Floats,
) -> InnerMappings:
    """The rows with what networks below `level` charge, at `Arrangement.prices` (rows, tensors,
    fields of `Price`).
    """
    draft, passing, apart = Draft(rows), networks.passing(level), _apart(costs, rows)
    windowed = {each.number: each for each in costs.sliding}
    for n in range(len(costs.tensors)):
        columns = prices[:, n, WORD], direct[:, n], once[:, n], apart[:, n]
        tensor = _Tensor(n, level, passing, *columns)
        if n in windowed:
            _charge_windows(costs, draft, windowed[n], tensor, prices[:, n, ASKED])
        else:
            _charge_plain(costs, networks, draft, tensor)
    draft.supplied[:] = draft.arranged[:] = 0
    return draft.finished()


def _charge_windows(
    costs: Costs, draft: Draft, sliding: Sliding, tensor: _Tensor, asked: Floats
) -> None:
    """Each word comes once at least, whatever spares the next level inwards others."""
    rows, n, passing = draft.rows, tensor.number, tensor.passing
    hops_of_all = np.where(tensor.direct, 0.0, tensor.price) * costs.tensors[n].words
    counted = (rows.doubts == 0) & ~rows.open[:, n]
    entered = np.where(counted, rows.due[:, n], np.inf)
    draft.energy[:] += passing.of_hops(entered, hops_of_all)
    draft.energy[:] += rows.due[:, n] * asked
    entry = np.where(tensor.direct, tensor.price, passing.entry)
    draft.network[sliding.outermost_chain(rows)] += entry


def _charge_plain(costs: Costs, networks: Networks, draft: Draft, tensor: _Tensor) -> None:
    """Words that are known to enter pay at once, others as soon as they are known."""
    rows, n, level, price = draft.rows, tensor.number, tensor.level, tensor.price
    is_open, whole = rows.open[:, n], rows.anew[:, n] == 0
    words = np.where(is_open, rows.anew[:, n], rows.due[:, n])
    draft.energy[:] += words * np.where(tensor.direct, price, tensor.passing.entry)
    later = ~tensor.direct & ~is_open
    draft.passed[:, n, level] = np.where(later, words, 0.0)
    draft.hops[:, n, level] = np.where(later, price * tensor.apart, 0.0)
    back = _back(costs, tensor)
    again = np.where(back, networks.returning(level), 0.0)
    draft.energy[:] += words * again
    draft.refund[:, n] += again
    per_word = _per_word(rows, tensor, whole) + rows.sends[:, n] * again
    draft.due[:, n] += np.where(is_open, per_word, 0.0)
    # Of a level that does not hold them all partial sums come back, also the first time.
    every = level > 0 and costs.tensors[n].written and networks.returns(level)
    draft.doubt(~(tensor.once | back) | every)
    if tensor.passing.hop or tensor.passing.router:
        draft.doubt(~tensor.direct & is_open & ~whole)


def _per_word(rows: InnerMappings, tensor: _Tensor, whole: Flags) -> Floats:
    """What each word of an open tensor's tile pays. As long as the tile stays, no other words
    enter; unless some units ask for them all the same. Then routers may charge for these alone.
    """
    sends, price, passing = rows.sends[:, tensor.number], tensor.price, tensor.passing
    of_tile = price * tensor.apart
    onwards = passing.onwards(np.where(whole, sends, of_tile), of_tile, tensor.once & whole)
    return np.where(tensor.direct, sends * price, sends * passing.entry + onwards)


def _back(costs: Costs, tensor: _Tensor) -> Flags:
    """Whether it is known which old partial sums come back, and what they cost. Without hops they
    cost as much as new ones: all but those of the first time.
    """
    price, entry = tensor.price, tensor.passing.entry
    near = np.where(tensor.direct, price <= entry * (1 + TINY), price == 0)
    exact = costs.tensors[tensor.number].exact
    return np.asarray(near & ~tensor.once & (not tensor.level and exact))


def _apart(costs: Costs, rows: InnerMappings) -> Floats:
    """`TensorCosts.apart` of the elements of the mesh that is being filled (rows, tensors); 1 for
    tensors with windows.
    """
    found, tile = np.ones((len(rows), len(costs.tensors))), rows.tile
    strided = [n for n, each in enumerate(costs.tensors) if not (each.exact or each.ranks)]
    if strided:
        known, where = np.unique(rows.arranged, return_inverse=True)
        bounds = np.ones((len(known), tile.shape[1]), dtype=np.int64)
        for mesh, number in enumerate(known.tolist()):
            for each in costs.spreads[number]:
                bounds[mesh, each.dim] *= each.bound
        inner = tile // bounds[where.reshape(-1)]
        for n in strided:
            found[:, n] = costs.tensors[n].apart(inner, tile)
    return found


def hopping(costs: Costs, rows: InnerMappings, number: int, taken: Floats) -> Floats:
    """What networks charge in pJ for hops that are not charged yet if levels that do not hold this
    tensor would have `taken` so many words.
    """
    energy = np.zeros(len(rows))
    for level in range(rows.hops.shape[2]):
        hops, passed = rows.hops[:, number, level], rows.passed[:, number, level]
        pending = np.flatnonzero(hops)
        if costs.networks and len(pending):
            onwards = costs.networks.passing(level).onwards
            together = hops[pending] * taken[pending]
            known = np.ones(len(pending), dtype=bool)
            if costs.tensors[number].written and costs.networks.returns(level):
                known &= each_once(costs, number, passed[pending])
            energy[pending] += onwards(passed[pending], together, known)
    return energy


def linking(rows: InnerMappings, number: int, words: Floats) -> Floats:
    """What networks charge in pJ for what compute units pass on of an open tensor, if its outermost
    holder so far gets so many words.
    """
    most, less = rows.linked[:, number].T
    return np.asarray(np.maximum(most - less * words, 0.0))


def each_once(costs: Costs, number: int, words: Floats) -> Flags:
    """Whether so many words of a tensor are different ones."""
    return np.asarray(words <= costs.tensors[number].words * (1 + TINY))

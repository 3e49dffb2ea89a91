"""How inner mappings grow outwards: by a spatial loop, by a temporal loop, by what a level holds.

The counts are the cost model's own:

- A holder's tile is fetched anew in each round of every loop from the innermost one over a fixed
  dimension outwards. Loops further in leave the tensor alone and cost nothing.
- The next holder sends words once to all instances that differ in idle dimensions only.
- Compute units remember nothing, but take a word that stays from the unit beside them if that has
  it too. Where all loops of their mesh stand, it is known which words no unit beside has.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.bandwidth import (
    OFF,
    SENT_AND_FILLED,
    held_words,
    moved_by_levels,
    nearest,
    paced,
)
from solver_mapper.solve.outward.clusters import (
    DUE,
    FIRST,
    LEAST,
    MOST,
    PAID,
    paid_by_levels,
)
from solver_mapper.solve.outward.costs import Costs, rounds_alone
from solver_mapper.solve.outward.inner import DOUBTFUL, Flags, Floats, InnerMappings, Ints
from solver_mapper.solve.outward.networks import TINY, Networks, Price
from solver_mapper.solve.outward.sliding import ROUNDED, Sliding
from solver_mapper.solve.outward.spreads import Spread, asked_anew


class Move(NamedTuple):
    """What is added at a level: a loop over `dim` along `axis` ("" for a temporal one), or, with
    `bound` 0, `holds` as one bit for each tensor, or the `order` of the loops of its mesh.
    """

    level: int
    dim: int = 0
    bound: int = 0
    axis: str = ""
    holds: int = 0
    order: tuple[tuple[int, int], ...] = ()


class Moves:
    """All moves that were made, by number."""

    def __init__(self) -> None:
        self.made: list[Move] = []
        self._numbers: dict[Move, int] = {}

    def number(self, move: Move) -> int:
        """The number of a move."""
        if move not in self._numbers:
            self._numbers[move] = len(self.made)
            self.made.append(move)
        return self._numbers[move]


def empty(costs: Costs, ways: int = 0) -> InnerMappings:
    """The inner mapping without loops: a unit asks for its operands at each operation. `ways`: in
    how many dimensions may trade places.
    """
    tensors = len(costs.tensors)
    units = np.zeros((1, len(costs.sliding), costs.depth + 1))
    units[..., costs.depth] = 1.0
    dimensions, limits = costs.loops.columns
    return InnerMappings(
        tile=np.ones((1, len(costs.sizes)), dtype=np.int64),
        open=np.zeros((1, tensors), dtype=bool),
        due=np.full((1, tensors), float(costs.operations)),
        sends=np.ones((1, tensors)),
        anew=np.zeros((1, tensors)),
        refund=np.zeros((1, tensors)),
        states=np.array([[each.start for each in costs.sliding]], dtype=np.int64),
        fetched=units.copy(),
        sent=units,
        copies=units.copy(),
        parents=np.ones_like(units),
        lost=np.zeros(1),
        doubts=np.zeros(1, dtype=np.int64),
        network=np.zeros_like(units),
        passed=np.zeros((1, tensors, costs.depth if costs.networks else 0)),
        hops=np.zeros((1, tensors, costs.depth if costs.networks else 0)),
        linked=np.zeros((1, tensors, 2 if costs.networks else 0)),
        supplied=np.zeros(1, dtype=np.int64),
        arranged=np.zeros(1, dtype=np.int64),
        looped=np.array([[0, -1]]),
        pace=np.ones(1),
        moved=np.zeros((1, tensors, len(costs.slow), 3)),
        pending=np.zeros((1, tensors, len(costs.slow), 2)),
        shared=np.zeros((1, tensors, len(costs.clustered), 4)),
        used=np.ones((1, len(costs.clustered))),
        energy=np.zeros(1),
        charged=np.zeros(1),
        meshes=np.ones((1, 2), dtype=np.int64),
        here=np.ones((1, dimensions), dtype=np.int64),
        products=np.ones((1, limits), dtype=np.int64),
        laid=np.zeros(1, dtype=np.int64),
        even=np.full(1, (1 << ways) - 1, dtype=np.int64),
        floor=np.full(1, -np.inf),
        least=np.full(1, -np.inf),
        parent=np.full(1, -1, dtype=np.int64),
        move=np.full(1, -1, dtype=np.int64),
    )


def spread(costs: Costs, rows: InnerMappings, move: Move, number: int) -> InnerMappings:
    """The rows with a spatial loop below `move.level`, outside all other loops."""
    dim, bound = move.dim, move.bound
    axis = "XY".index(move.axis)
    tile = rows.tile.copy()
    tile[:, dim] *= bound
    due, sends, anew = rows.due.copy(), rows.sends.copy(), rows.anew.copy()
    refund, states = rows.refund.copy(), rows.states.copy()
    fetched, sent = rows.fetched * bound, rows.sent * bound
    parents, network = rows.parents.copy(), rows.network.copy()
    parents[..., move.level + 2 :] *= bound
    for each in costs.sliding:
        column = each.column
        states[:, column], more = each.spread(rows, move.level, dim, bound, axis)
        due[:, each.number] *= more / bound
        place = np.arange(len(rows)), column, each.outermost(rows)
        sent[place] *= more / bound
        # A word that several elements get enters networks further in once for each of these.
        network[place] *= bound / more
    hops, moved, pending = rows.hops.copy(), rows.moved / bound, rows.pending.copy()
    linked, shared = rows.linked.copy(), rows.shared.copy()
    for n, tensor in enumerate(costs.tensors):
        if tensor.read_again:
            # Instances hold so many times as many words as different ones.
            more = bound * tensor.tile_words(rows.tile) / tensor.tile_words(tile)
            refund[:, n] *= more
            moved[:, n, :, OFF] *= more[:, None]
            shared[:, n, :, FIRST] *= more[:, None]
        if tensor.ranks:
            continue
        if dim not in tensor.fixed:
            hops[:, n] *= bound
            linked[:, n, 1:] *= bound
            shared[:, n, :, DUE] *= bound
            if move.level in costs.off[n].multicast:
                due[:, n] *= np.where(rows.open[:, n], bound, 1.0)
                sends[:, n] *= np.where(rows.open[:, n], bound, 1.0)
            else:
                due[:, n] *= np.where(rows.open[:, n], bound, 1 / bound)
                anew[:, n] /= bound
            continue
        pending[:, n] /= bound
        if not tensor.exact:
            less = tensor.apart(rows.tile, tile)
            hops[:, n] *= less[:, None]
            linked[:, n, 1:] *= less[:, None]
            pending[:, n] *= less[:, None, None]
            shared[:, n, :, DUE] *= less[:, None]
            due[:, n] *= np.where(rows.open[:, n], less, 1.0)
            sends[:, n] *= np.where(rows.open[:, n], less, 1.0)
    meshes = rows.meshes.copy()
    meshes[:, axis] *= bound
    here, products, laid = costs.loops.with_loop(rows, move.level, dim, bound, axis)
    return replace(
        rows,
        here=here,
        products=products,
        laid=laid,
        tile=tile,
        due=due,
        sends=sends,
        anew=anew,
        refund=refund,
        pace=rows.pace * bound,
        moved=moved,
        pending=pending,
        shared=shared,
        used=rows.used * [bound if level > move.level else 1 for level in costs.clustered],
        states=states,
        fetched=fetched,
        sent=sent,
        copies=rows.copies * bound,
        parents=parents,
        charged=rows.charged / bound,
        lost=rows.lost * bound,
        hops=hops,
        linked=linked,
        arranged=_arranged(costs, rows, move),
        meshes=meshes,
        network=network,
        move=_same(rows, number),
    )


def _arranged(costs: Costs, rows: InnerMappings, move: Move) -> Ints:
    """The numbers of the loops of the mesh with one more."""
    units = move.level == costs.depth - 1
    if not (units or (costs.networks and costs.networks.charge_below(move.level))):
        return rows.arranged
    loop = Spread(move.dim, move.bound, "XY".index(move.axis))
    known, where = np.unique(rows.arranged, return_inverse=True)
    numbers = [costs.spreads.more(int(mesh), loop) for mesh in known]
    return np.array(numbers, dtype=np.int64)[where.reshape(-1)]


def windows_placed(costs: Costs, rows: InnerMappings) -> InnerMappings:
    """The rows when no more loops over dimensions of windows will stand on the mesh, above other
    levels than the compute units.
    """
    for each in costs.sliding:
        rows = _sending(rows, each, *each.placed(rows))
    return rows


def mesh_filled(costs: Costs, rows: InnerMappings, level: int) -> InnerMappings:
    """The rows when all spatial loops below `level` stand: for each kind of orders of these in
    which neighbours do the same.
    """
    width = costs.architecture.fanout(level)[0]
    for each in costs.sliding:
        which, states, more, certain = each.mesh_filled(rows, level, width)
        rows = _sending(rows.take(which), each, states, more)
        rows = replace(rows, doubts=rows.doubts | np.where(certain, 0, DOUBTFUL))
    meshes, laid = np.ones_like(rows.meshes), np.zeros_like(rows.laid)
    rows = replace(rows, meshes=meshes, laid=laid)
    return _units_filled(costs, rows, width) if level == costs.depth - 1 else rows


def _units_filled(costs: Costs, rows: InnerMappings, width: int) -> InnerMappings:
    """The rows when all spatial loops above compute units stand: words that all units take from
    those beside them need not be sent as long as they stay.
    """
    is_open, due, sends = rows.open.copy(), rows.due.copy(), rows.sends.copy()
    anew, doubts, arranged = rows.anew.copy(), rows.doubts, rows.arranged
    networks, linked = costs.networks, rows.linked.copy()
    known, where = np.unique(arranged, return_inverse=True)
    for n, tensor in enumerate(costs.tensors):
        if tensor.ranks:
            continue
        multicast = costs.depth - 1 not in costs.off[n].multicast
        found = [
            asked_anew(costs.spreads.meshes[int(mesh)], tensor.fixed, width, multicast=multicast)
            for mesh in known
        ]
        share, served, certain = np.array(found).reshape(-1, 3)[where.reshape(-1)].T
        if costs.depth - 1 in costs.off[n].links:
            share, served, certain = np.ones_like(share), 0.0 * served, np.ones_like(certain)
        stays = share < 1
        if networks:
            price = np.where(stays, networks.passed_on(costs.depth - 1) * served, 0.0)
            every = costs.operations * price
            first = tensor.density(rows.tile) / due[:, n]
            linked[:, n] = np.column_stack([every, every * first])
        anew[:, n] = np.where(stays, share * due[:, n], 0.0)
        mine = (1 - share) * due[:, n] / costs.base(n, rows.tile)
        sends[:, n] = np.where(stays, mine, sends[:, n])
        due[:, n] = np.where(stays, 0.0, due[:, n])
        is_open[:, n] = stays
        doubts = doubts | np.where(certain > 0, 0, DOUBTFUL)
    if not (networks and networks.charge_below(costs.depth - 1)):
        arranged = np.zeros_like(arranged)
    rows = replace(rows, open=is_open, due=due, sends=sends, anew=anew, linked=linked)
    return replace(rows, doubts=doubts, arranged=arranged)


def charged(costs: Costs, rows: InnerMappings, level: int, moves: Moves) -> InnerMappings:
    """The rows with what networks below `level` charge, where all loops of its mesh stand: for each
    order of these that is the best one for some tensors.
    """
    if not (costs.networks and costs.networks.charge_below(level)):
        return rows
    direct, once = _direct(costs, rows, level), _bits(_once(costs, rows, level))
    tile = np.where([dim in costs.moving for dim in range(len(costs.sizes))], rows.tile, 1)
    keys = np.column_stack([rows.arranged, direct, once, tile])
    known, where = np.unique(keys, axis=0, return_inverse=True)
    ways = [
        costs.networks.arrangements(level, mesh, tensors, no_more, tuple(extents))
        for mesh, tensors, no_more, *extents in known.tolist()
    ]
    most = max(map(len, ways), default=0)
    numbers = np.full((len(ways), most), -1, dtype=np.int64)
    prices = np.zeros((len(ways), most, len(costs.tensors), len(Price._fields)))
    for row, some in enumerate(ways):
        prices[row, : len(some)] = [way.prices for way in some]
        numbers[row, : len(some)] = [moves.number(Move(level, order=way.order)) for way in some]
    which, way = np.nonzero(numbers[where.reshape(-1)] >= 0)
    kind = where.reshape(-1)[which]
    found = rows.take(which)
    found = _charged(costs, costs.networks, found, level, direct[which], prices[kind, way])
    doubts = np.where(prices[kind, way, :, -1].all(axis=1), 0, DOUBTFUL)
    return replace(found, doubts=found.doubts | doubts, move=numbers[kind, way])


def _direct(costs: Costs, rows: InnerMappings, level: int) -> Ints:
    """One bit for each tensor of which the next level inwards takes what enters networks below
    `level`, whenever it takes anything: compute units do unless some of them take words that stay
    from each other, and others do not.
    """
    if level < costs.depth - 1:
        return rows.supplied
    return _bits(~rows.open | (rows.anew == 0) | [bool(tensor.ranks) for tensor in costs.tensors])


def _once(costs: Costs, rows: InnerMappings, level: int) -> Flags:
    """Whether no old partial sums of each tensor (rows, tensors) come down networks below `level`:
    each word enters these once; or no loops are left that bring the same ones again.
    """
    found = np.ones((len(rows), len(costs.tensors)), dtype=bool)
    if costs.networks and costs.networks.returns(level):
        for n, tensor in enumerate(costs.tensors):
            if tensor.written:
                no_more = rounds_alone(costs, n, rows.tile) == 1
                once = _each_once(costs, n, rows.due[:, n])
                found[:, n] = np.where(rows.open[:, n], no_more, once)
    return found


def _each_once(costs: Costs, number: int, words: Floats) -> Flags:
    """Whether so many words of a tensor are different ones."""
    return np.asarray(words <= costs.tensors[number].words * (1 + TINY))


def _bits(flags: Flags) -> Ints:
    """One bit for each tensor (rows, tensors)."""
    return np.asarray((flags << np.arange(flags.shape[1])).sum(axis=1))


def _charged(
    costs: Costs, networks: Networks, rows: InnerMappings, level: int, direct: Ints, prices: Floats
) -> InnerMappings:
    """The rows with what networks below `level` charge, at `Arrangement.prices` (rows, tensors,
    fields of `Price`).
    """
    passing, once = networks.passing(level), _once(costs, rows, level)
    energy, due, network = rows.energy, rows.due.copy(), rows.network.copy()
    in_doubt = np.zeros(len(rows), dtype=bool)
    passed, hops, refund = rows.passed.copy(), rows.hops.copy(), rows.refund.copy()
    apart = _apart(costs, rows)
    for n, tensor in enumerate(costs.tensors):
        price, known = prices[:, n, 0], (direct >> n & 1).astype(bool)
        if tensor.ranks:
            # Each word comes once at least, whatever spares the next level inwards others.
            hops_of_all = np.where(known, 0.0, price) * tensor.words
            counted = (rows.doubts == 0) & ~rows.open[:, n]
            entered = np.where(counted, due[:, n], np.inf)
            energy = energy + passing.of_hops(entered, hops_of_all)
            (each,) = (each for each in costs.sliding if each.number == n)
            place = np.arange(len(rows)), each.column, each.outermost(rows)
            network[place] += np.where(known, price, passing.entry)
            energy = energy + due[:, n] * prices[:, n, 1]
            continue
        is_open = rows.open[:, n]
        words = np.where(is_open, rows.anew[:, n], due[:, n])
        energy = energy + words * np.where(known, price, passing.entry)
        later = ~known & ~is_open
        passed[:, n, level] = np.where(later, words, 0.0)
        hops[:, n, level] = np.where(later, price * apart[:, n], 0.0)
        # As long as the tile stays, no other words enter; unless some units ask for them all the
        # same. Then routers may charge for these alone.
        whole, sends, of_tile = rows.anew[:, n] == 0, rows.sends[:, n], price * apart[:, n]
        onwards = passing.onwards(np.where(whole, sends, of_tile), of_tile, once[:, n] & whole)
        per_word = np.where(known, sends * price, sends * passing.entry + onwards)
        # Without hops, old partial sums cost as much as new ones: all but those of the first time.
        near = np.where(known, price <= passing.entry * (1 + TINY), price == 0)
        back = near & ~once[:, n] & (not level and tensor.exact)
        again = np.where(back, networks.returning(level), 0.0)
        energy, refund[:, n] = energy + words * again, refund[:, n] + again
        due[:, n] += np.where(is_open, per_word + sends * again, 0.0)
        # Of a level that does not hold them all partial sums come back, also the first time.
        in_doubt |= ~(once[:, n] | back) | (
            level > 0 and tensor.written and networks.returns(level)
        )
        if passing.hop or passing.router:
            in_doubt |= ~known & is_open & ~whole
    nothing = np.zeros_like(rows.supplied)
    return replace(
        rows,
        due=due,
        refund=refund,
        energy=energy,
        network=network,
        doubts=rows.doubts | np.where(in_doubt, DOUBTFUL, 0),
        passed=passed,
        hops=hops,
        supplied=nothing,
        arranged=nothing,
    )


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
            for each in costs.spreads.meshes[number]:
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
                known &= _each_once(costs, number, passed[pending])
            energy[pending] += onwards(passed[pending], together, known)
    return energy


def linking(rows: InnerMappings, number: int, words: Floats) -> Floats:
    """What networks charge in pJ for what compute units pass on of an open tensor, if its outermost
    holder so far gets so many words.
    """
    most, less = rows.linked[:, number].T
    return np.asarray(np.maximum(most - less * words, 0.0))


def _sending(rows: InnerMappings, sliding: Sliding, states: Ints, more: Floats) -> InnerMappings:
    """The rows with new states of a tensor, of which so many times as many words are sent."""
    column, now, due, sent = sliding.column, rows.states.copy(), rows.due.copy(), rows.sent.copy()
    due[:, sliding.number] *= more
    place, network = (np.arange(len(rows)), column, sliding.outermost(rows)), rows.network.copy()
    sent[place] *= more
    network[place] /= more
    now[:, column] = states
    return replace(rows, states=now, due=due, sent=sent, network=network)


def splits(rows: InnerMappings, dim: int) -> Flags:
    """Whether a temporal loop over a dimension of windows would stand apart from another one over
    it at the same level. A mapping has one loop over each dimension there, which may slide windows
    less.
    """
    looped, newest = rows.looped.T
    return np.asarray((looped >> dim & 1 > 0) & (newest != dim))


def repeat(costs: Costs, rows: InnerMappings, move: Move, number: int) -> InnerMappings:
    """The rows with a temporal loop, outside all other loops."""
    dim = move.dim
    tile = rows.tile.copy()
    tile[:, dim] *= move.bound
    is_open, due, sends = rows.open.copy(), rows.due.copy(), rows.sends.copy()
    energy, charged, states, lost = rows.energy, rows.charged, rows.states.copy(), rows.lost
    anew = rows.anew.copy()
    goes_on = (tile[:, dim] < costs.sizes[dim]) & (dim in costs.moving)
    doubts = rows.doubts
    looped = rows.looped[:, 0] & ~(1 << dim) | np.where(goes_on, 1 << dim, 0)
    looped = np.column_stack([looped, np.where(goes_on, dim, -1)])
    rounds: Floats = np.prod(costs.sizes / tile, axis=1)
    passed, hops, linked = rows.passed.copy(), rows.hops.copy(), rows.linked.copy()
    moved, pending, shared = rows.moved.copy(), rows.pending.copy(), rows.shared.copy()
    for each in costs.sliding:
        less = each.repeated(rows, dim, move.bound, rounds)
        states[:, each.column] = less.states
        energy, charged = energy - less.energy, charged + less.charged
        due[:, each.number] -= less.words
        lost, doubts = lost + less.lost, doubts | less.doubts
        moved[:, each.number, :, SENT_AND_FILLED] -= moved_by_levels(
            costs, rows, each, less.fetched, less.sent
        )
        shared[:, each.number, :, LEAST] -= paid_by_levels(
            costs, rows, each, less.fetched, less.sent
        )
        shared[:, each.number, :, MOST] -= paid_by_levels(costs, rows, each, less.kept, less.sent)
    for n, tensor in enumerate(costs.tensors):
        if dim in tensor.fixed and not tensor.ranks:
            words = costs.base(n, rows.tile)
            closes = is_open[:, n]
            energy = energy + np.where(closes, due[:, n] * words, 0.0)
            if costs.networks:
                energy = energy + hopping(costs, rows, n, words) + linking(rows, n, words)
            passed[:, n] = hops[:, n] = linked[:, n] = 0.0
            moved[:, n, :, SENT_AND_FILLED] += pending[:, n] * words[:, None, None]
            pending[:, n] = 0.0
            shared[:, n, :, PAID] += (shared[:, n, :, DUE] * words[:, None])[..., None]
            shared[:, n, :, DUE] = 0.0
            due[:, n] = np.where(closes, anew[:, n] + sends[:, n] * words, due[:, n])
            is_open[:, n], sends[:, n], anew[:, n] = False, 1.0, 0.0
    here, products, laid = costs.loops.with_loop(rows, move.level, dim, move.bound, None)
    found = replace(
        rows,
        here=here,
        products=products,
        laid=laid,
        tile=tile,
        moved=moved,
        pending=pending,
        shared=shared,
        open=is_open,
        due=due,
        sends=sends,
        anew=anew,
        energy=energy,
        charged=charged,
        states=states,
        lost=lost,
        doubts=doubts,
        passed=passed,
        hops=hops,
        linked=linked,
        looped=looped,
        move=_same(rows, number),
    )
    return replace(found, pace=paced(costs, found))


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
    is_open, due, sends = rows.open.copy(), rows.due.copy(), rows.sends.copy()
    anew, refund, energy = rows.anew.copy(), rows.refund.copy(), rows.energy
    states, fetched, sent = rows.states.copy(), rows.fetched.copy(), rows.sent.copy()
    copies, lost, doubts = rows.copies.copy(), rows.lost, rows.doubts
    moved, pending = held_words(costs, rows, level, held)
    shared = rows.shared.copy()
    place = costs.clustered.index(level) if level in costs.clustered else None
    if level and held and costs.architecture.levels[level].block_size > 1:
        doubts = doubts | DOUBTFUL
    for each in costs.sliding:
        n, column = each.number, each.column
        if n in held:
            send = costs.price(n, level)
            words = np.maximum(due[:, n], costs.tensors[n].words)
            energy = energy + words * (send + each.carried(rows))
            if level:
                rounded = each.rounded(rows)
                lost = lost + ROUNDED * send * rounded
                doubts = doubts | np.where(rounded > 0, DOUBTFUL, 0)
            else:
                # All that it sends is known, of which it has no share from neighbours.
                whole = nearest(words)
                energy = energy + (whole - words) * send + costs.last_blocks(n, whole)
            due[:, n] = costs.base(n, rows.tile) if level else 0.0
            fills = due[:, n] * float(costs.rates[n][level].fill)
            energy = energy + fills
            if place is not None:
                shared[:, n, place, PAID] = (words * send + fills)[:, None]
            fetched[:, column, level] = sent[:, column, level] = costs.tensors[n].tile_words(
                rows.tile
            )
            copies[:, column, level] = 1.0
            states[:, column] = each.held(rows, level)
    for n in held:
        tensor = costs.tensors[n]
        refund[:, n] += costs.first_times(n, level)
        if place is not None:
            shared[:, n, place, FIRST] = costs.first_times(n, level)
        if tensor.ranks:
            continue
        send, fill = costs.price(n, level), float(costs.rates[n][level].fill)
        if tensor.written and not tensor.read_again:
            fill = 0.0
        now = np.where(is_open[:, n], anew[:, n], due[:, n]) * send
        later = np.where(is_open[:, n], send * sends[:, n], 0.0) + fill
        energy = energy + now
        if not level and any(costs.block_prices[n]):
            words = anew[:, n] + sends[:, n] * costs.base(n, rows.tile)
            energy = energy + costs.last_blocks(n, np.where(is_open[:, n], words, due[:, n]))
        due[:, n] = np.where(is_open[:, n], due[:, n], 0.0) + later
        if place is not None:
            shared[:, n, place, PAID], shared[:, n, place, DUE] = now[:, None], later
        is_open[:, n], sends[:, n], anew[:, n] = True, 1.0, 0.0
    found = replace(
        rows,
        open=is_open,
        due=due,
        sends=sends,
        anew=anew,
        refund=refund,
        moved=moved,
        pending=pending,
        shared=shared,
        energy=energy,
        states=states,
        fetched=fetched,
        sent=sent,
        copies=copies,
        lost=lost,
        doubts=doubts,
        supplied=_supplied(costs, rows, level, held),
        looped=np.full_like(rows.looped, [0, -1]),
        here=np.ones_like(rows.here),
        move=_same(rows, number),
    )
    return replace(found, pace=paced(costs, found, windows=True))


def _supplied(costs: Costs, rows: InnerMappings, level: int, held: list[int]) -> Ints:
    """`InnerMappings.supplied` if `level` comes to hold the tensors `held`."""
    charge = level and costs.networks and costs.networks.charge_below(level - 1)
    return np.full(len(rows), sum(1 << n for n in held) if charge else 0, dtype=np.int64)


def _same(rows: InnerMappings, number: int) -> Ints:
    return np.full(len(rows), number, dtype=np.int64)

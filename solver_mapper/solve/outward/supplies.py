"""What the next supply of each tensor costs at least, by who sends it and by the next loop.

Three things are granted: as many instances as may share a tensor's words do so; loops to come spare
what they may; and whoever waits for words gets them from any level that may hold the tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver_mapper.solve.outward.costs import ENDS, FIXED, IDLE, Costs
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Ints, Outside
from solver_mapper.solve.outward.sliding import Sliding


class SparedWords(NamedTuple):
    """What loops to come may spare a tensor with windows at most, in pJ and in words; and the words
    that the next loop brings at least, from wherever: (rows,) each.
    """

    energy: Floats
    words: Floats
    asked: Floats

    def take(self, some: Ints | Flags) -> SparedWords:
        """The same of some of the rows."""
        return SparedWords(*(each[some] for each in self))


class Supply:
    """Who may supply tensor `number`: some of the levels `outside` (`Costs.suppliers`), to so many
    `instances` (rows,) further out than the inner mapping together, of which at most `shared`
    (..., holders, rows) share its words that each level sends; whatever these share, figures are
    (..., suppliers, rows).

    carried: what networks further in charge in pJ for each word, whoever shares it.
    overlap: how many times as many instances may hold a word as may share it (rows,), since tiles
             overlap; `alike`: as many, at most.
    users: how many instances may use a word that each level sends, at most, at once or as
           neighbours pass it on; if that is known to be less than all.
    """

    def __init__(
        self,
        costs: Costs,
        number: int,
        outside: Outside,
        instances: Ints,
        shared: Floats,
        carried: Floats | float,
        overlap: Floats | float = 1.0,
        users: Ints | None = None,
    ):
        # The outermost level may send to all.
        self.costs, self.number, self.shared = costs, number, shared[..., :1, :]
        self.levels, self.tensor = costs.suppliers(number, outside.holders), costs.tensors[number]
        rates = [costs.rates[number][outer] for outer in self.levels]
        rooms = np.array([[costs.room(outer)] for outer in self.levels])
        self.apart = np.minimum(shared[..., self.levels, :], instances // rooms)
        self.users = instances // rooms
        if users is not None:
            self.users = np.minimum(users[..., self.levels, :], self.users)
        sent = [each.update if self.tensor.written else each.send for each in rates]
        passing = [costs.entries(outer, outside.meshes) for outer in self.levels]
        self.prices = (np.array(sent, dtype=float) + passing)[:, None]
        self.carried = carried
        self.again = np.array([[costs.again(number, outer)] for outer in self.levels])
        self.alike = np.minimum(self.shared * overlap, instances)
        self.first = self.tensor.span * np.minimum(self.alike, rooms)

    def sent(self, words: Floats, beside: Floats | int = 1, asked: Floats | float = 0.0) -> Floats:
        """What the next holder sends at least that has to send `words` if no instances share any;
        for each level that may be that one.

        `beside`: how many instances of the mesh that is being filled may share words already.
        `asked`: the words that instances get at least, from wherever.
        """
        least = np.maximum(words / (self.apart * beside), asked / self.users)
        return np.asarray(np.maximum(least, self.tensor.words))

    def read_again(self, sent: Floats) -> Floats:
        """Of partial sums that so many words are sent of, those that the holder reads again."""
        return np.asarray(np.maximum(sent - self.first, 0.0))

    def energy(
        self, words: Floats, beside: Floats | int = 1, asked: Floats | float = 0.0
    ) -> Floats:
        """The least energy of the next holder for what it sends."""
        sent = self.sent(words, beside, asked)
        energy = sent * self.prices + np.maximum(words, self.tensor.words) * self.carried
        if self.again.any():
            energy += self.read_again(sent) * self.again
        if self.levels[0] == 0 and any(self.costs.block_prices[self.number]):
            energy[..., 0, :] += self.costs.least_last_block(self.number, sent[..., 0, :])
        return np.asarray(energy)


def waiting(
    costs: Costs,
    rows: InnerMappings,
    number: int,
    spared: dict[int, SparedWords] | None,
    helped: Flags,
) -> dict[int, Floats]:
    """The words (rows,) of a tensor that the next holder has to send if no instances share any, by
    the kind of the next temporal loop: a plain tensor stays as long as loops can spare it, unless
    that is over a fixed dimension; one with windows may be `spared` so much.

    `helped`: see `Costs.may_be_helped` (rows,).
    """
    due = rows.due[:, number]
    if spared is None:
        base, density = costs.base(number, rows.tile), costs.tensors[number].density(rows.tile)
        is_open, anew = rows.open[:, number], rows.anew[:, number]
        stays = np.where(is_open, anew, due)
        moves = stays + np.where(is_open, rows.sends[:, number] * base, 0.0)
        stays, moves = np.where(helped, 0.0, stays), np.where(helped, density * base, moves)
        return {ENDS: stays, IDLE: stays, FIXED: moves}
    closed = np.where(helped, 0.0, np.maximum(due, 0.0))
    less = {
        kind: np.where(helped, 0.0, np.maximum(due - each.words, 0.0))
        for kind, each in spared.items()
    }
    return {ENDS: closed, FIXED: closed, **less}


def supplied(rows: InnerMappings, supply: Supply, words: Floats, kind: int) -> Floats:
    """The least energy further out of a tensor without windows, if the next temporal loop is of
    this kind; `words`, see `waiting`.
    """
    number, tensor = supply.number, supply.tensor
    due, is_open, refund = rows.due[:, number], rows.open[:, number], rows.refund[:, number]
    sent = supply.energy(words)
    closed = sent - refund * tensor.words * supply.shared
    if not is_open.any():
        return np.asarray(closed)
    if kind == FIXED:
        late = np.where(is_open, due * supply.costs.base(number, rows.tile), 0.0)
        return np.asarray(closed + late)
    # Instances that share words each pay what is due, and each have the refund.
    net = due - refund
    net = np.where(is_open, net * np.where(net > 0, 1.0, supply.shared), 0.0)
    return np.where(is_open, sent + net * tensor.words, closed)


def windows_supplied(
    rows: InnerMappings, supply: Supply, words: Floats, spared: SparedWords | None, beside: Floats
) -> Floats:
    """The same of a tensor with windows, of which loops to come may spare as much as `spared`."""
    asked = spared.asked if spared else 0.0
    found = supply.energy(words, beside, asked) - (spared.energy if spared else 0.0)
    if supply.tensor.written:
        found = found - rows.refund[:, supply.number] * supply.tensor.span * supply.alike
    return np.asarray(found)


def spared_windows(
    costs: Costs, rows: InnerMappings, sliding: Sliding, helped: Flags
) -> dict[int, SparedWords]:
    """What a tensor with windows may be spared, by the kind of the next temporal loop. `helped`:
    see `Costs.may_be_helped` (rows,).
    """
    tensor = costs.tensors[sliding.number]
    return {
        tensor.kind(dim): SparedWords(
            sliding.sparing_energy(rows, each),
            sliding.sparing_words(rows, each),
            np.where(helped, 0.0, sliding.asked_words(rows, each)),
        )
        for dim, each in sliding.sparing(rows, tensor.words).items()
    }

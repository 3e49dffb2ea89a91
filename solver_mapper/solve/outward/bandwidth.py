"""How quick an inner mapping is where bandwidth limits levels.

A level whose instances move so many words in the whole run, all together, needs these words by its
bandwidth and its instances in use, in cycles. Compute units need operations by units in use. Loops
further out multiply both numbers of instances alike, so that the slowest level is known at once, as
operations a cycle: the *pace*.

Words of a tensor that stays open are known when a loop closes it, at all levels that hold it. Until
then they are each word once at least. Words of sliding windows are counted as if every loop to come
brought whole tiles; what loops spare is taken off when they are added.

Not all words are moved: of partial sums that differ each instance reads none the first time, and is
filled with none; and what is not a whole number for an instance is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from solver_mapper.solve.outward.costs import NOISE, Costs
from solver_mapper.solve.outward.draft import Draft
from solver_mapper.solve.outward.inner import Flags, Floats, InnerMappings, Ints
from solver_mapper.solve.outward.sliding import ROUNDED, AtRisk, Sliding, Sparing

SENT, FILLED, OFF = range(3)
"""Columns of `InnerMappings.moved`; the first two are those of `pending` as well."""
SENT_AND_FILLED = slice(2)
SAME = 1e-12
"""How far sums of doubles are apart, relative, that mean the same."""


def count_moved(costs: Costs, draft: Draft, level: int, held: Sequence[int]) -> None:
    """What `level` moves of the tensors that it comes to hold is counted, if it has a bandwidth.
    Partial sums whose tiles are not what their iterations touch fill nothing here.
    """
    if level not in costs.slow:
        return
    place, rows = costs.slow.index(level), draft.rows
    for n in held:
        if level < costs.first_holder[n]:
            continue
        filled = level > costs.first_holder[n]
        tensor, due, is_open = costs.tensors[n], rows.due[:, n], rows.open[:, n]
        moved, pending = draft.moved[:, n, place], draft.pending[:, n, place]
        moved[:, OFF] = costs.room(level)
        if tensor.ranks:
            if tensor.written:
                moved[:, OFF] = tensor.span
            moved[:, SENT] = np.maximum(due, tensor.words)
            moved[:, FILLED] = costs.base(n, rows.tile) if filled else 0.0
            continue
        moved[:, SENT] = np.where(is_open, rows.anew[:, n], due)
        pending[:, SENT] = np.where(is_open, rows.sends[:, n], 0.0)
        if filled and (tensor.exact or not tensor.written):
            pending[:, FILLED] = 1.0
        if tensor.exact:
            moved[:, OFF] = tensor.words if tensor.written else 0.0


def moved_by_levels(
    costs: Costs, rows: InnerMappings, sliding: Sliding, fetched: Floats, sent: Floats
) -> Floats:
    """Words of all chains of a tensor with windows (rows, depth + 1), as each instance of levels
    with a bandwidth sends them and is filled with them (rows, slow, 2).
    """
    found = np.zeros((len(rows), len(costs.slow), 2))
    suppliers = sliding.suppliers(rows) if costs.slow else None
    for place, level in enumerate(costs.slow):
        copies = np.maximum(rows.copies[:, sliding.column, level], 1.0)
        found[:, place, SENT] = np.where(suppliers == level, sent, 0.0).sum(axis=1) / copies
        found[:, place, FILLED] = fetched[:, level] / copies
    return found


def paced(costs: Costs, rows: InnerMappings, *, windows: bool = False) -> Floats:
    """The pace of inner mappings at most. Unless `windows` are looked at, which takes time, their
    words are left out.
    """
    if not costs.slow:
        return rows.pace
    words = np.column_stack([costs.once(n, rows.tile) for n in range(len(costs.tensors))])
    least = rows.moved[..., SENT_AND_FILLED] + rows.pending * words[..., None, None]
    for each in costs.sliding:
        mine = least[:, each.number]
        if windows:
            sparing = each.most_sparing(rows, costs.tensors[each.number].words)
            mine = np.maximum(mine - _may_spare(costs, rows, each, sparing), 0.0)
        least[:, each.number] = mine if windows else 0.0
    pace = rows.pace
    for place, level in enumerate(costs.slow):
        room = costs.room(level)
        reads, writes = np.zeros(len(pace)), np.zeros(len(pace))
        for n, tensor in enumerate(costs.tensors):
            mine, off = least[:, n, place], rows.moved[:, n, place, OFF]
            if not tensor.exact:
                lost = np.full_like(off, room) if tensor.read_again else off
                mine = nearest(mine) if room == 1 else np.maximum(mine - lost[:, None], 0.0)
            sent, filled = mine.T
            if not tensor.written:
                reads, writes = reads + sent, writes + filled
                continue
            writes = writes + sent
            if tensor.read_again:
                off = off * np.minimum(room, costs.held_alike(n, rows.tile))
                reads = reads + np.maximum(sent - off, 0.0)
                writes = writes + np.maximum(filled - off, 0.0)
        for cycles in cycles_of(costs, level, reads, writes):
            pace = np.minimum(pace, costs.operations / np.maximum(cycles, 1.0))
    return pace


def _may_spare(costs: Costs, rows: InnerMappings, sliding: Sliding, sparing: Sparing) -> Floats:
    """What loops to come may spare levels (rows, slow, 2)."""
    mine, theirs = rows.fetched[:, sliding.column], rows.sent[:, sliding.column]
    fetched = mine * (sparing.fetched + sparing.passed)
    return moved_by_levels(costs, rows, sliding, fetched, theirs * sparing.sent)


class Traffic:
    """The words that levels which hold tensors already come to move, to compare rows of the same
    tile: whatever follows, that does to these words the same in all of them.
    """

    def __init__(self, costs: Costs, rows: InnerMappings, at_risk: Sequence[AtRisk]):
        self._costs, self._rows = costs, rows
        known = rows.moved[..., SENT_AND_FILLED]
        numbers = range(len(costs.tensors))
        base = np.column_stack([costs.base(n, rows.tile) for n in numbers])
        once = np.column_stack([costs.once(n, rows.tile) for n in numbers])
        self._most = known + rows.pending * base[..., None, None]
        self._least = known + rows.pending * once[..., None, None]
        self._at_risk = [
            (each, _may_spare(costs, rows, each.sliding, each.sparing)) for each in at_risk
        ]
        self._plain = [n for n, tensor in enumerate(costs.tensors) if not tensor.ranks]
        written = np.array([tensor.written for tensor in costs.tensors])
        rounded = np.array([ROUNDED * (not tensor.exact) for tensor in costs.tensors])
        self._cycles = np.zeros((len(rows), len(costs.slow)))
        for place, level in enumerate(costs.slow):
            sent, filled = np.moveaxis(self._most[:, :, place] + rounded[:, None], 2, 0)
            reads, writes = sent.sum(axis=1), filled.sum(axis=1) + sent[:, written].sum(axis=1)
            for cycles in cycles_of(costs, level, reads, writes):
                self._cycles[:, place] = np.maximum(self._cycles[:, place], cycles)

    def no_slower(self, one: Ints, other: Ints) -> Flags:
        """Whether no level of `one` comes to need more cycles than some level of `other`."""
        enough = self._costs.operations / self._rows.pace[other]
        found = np.asarray((self._cycles[one] <= enough[:, None]).all(axis=1))
        rest = np.flatnonzero(~found)
        one, other, enough = one[rest], other[rest], enough[rest]
        fewer = np.ones(len(rest), dtype=bool)
        for place in range(len(self._costs.slow)):
            fewer &= (self._cycles[one, place] <= enough) | self._no_more(place, one, other)
        found[rest] = fewer
        return found

    def _no_more(self, place: int, one: Ints, other: Ints) -> Flags:
        """Whether a level of `one` moves no more words, and no fewer are taken off."""
        rows, more = self._rows, 1 + SAME
        off = rows.moved[:, :, place, OFF]
        found = np.asarray((off[one] * more >= off[other]).all(axis=1))
        both = (rows.open[one] & rows.open[other])[..., None]
        mine, theirs = rows.pending[one, :, place], rows.pending[other, :, place]
        found &= (~both | (mine <= theirs * more)).all(axis=(1, 2))
        known, its = (rows.moved[each, :, place, SENT_AND_FILLED] for each in (one, other))
        most = np.where(both, known, self._most[one, :, place])
        least = np.where(both, its, self._least[other, :, place]) * more
        for risk, spared in self._at_risk:
            n, alike = risk.number, risk.alike(one, other)[:, None]
            left = least[:, n] - spared[other, place]
            found &= (most[:, n] - np.where(alike, spared[one, place], 0.0) <= left).all(axis=1)
            found &= (most[:, n] <= np.where(alike, least[:, n], left)).all(axis=1)
        read = [n for n in self._plain if not self._costs.tensors[n].written]
        others = [n for n in self._plain if n not in read]
        found &= (most[:, others] <= least[:, others]).all(axis=(1, 2))
        return np.asarray(found & (most[:, read].sum(1) <= least[:, read].sum(1)).all(axis=1))


def cycles_of(costs: Costs, level: int, reads: Floats, writes: Floats) -> Iterator[Floats]:
    """What each port of a level needs for so many words of all its instances."""
    buffer = costs.architecture.levels[level]
    for words, bandwidth in (
        (reads, buffer.read_bandwidth),
        (writes, buffer.write_bandwidth),
        (reads + writes, buffer.shared_bandwidth),
    ):
        if bandwidth is not None:
            yield np.asarray(words / float(bandwidth))


def rounded(words: Floats, instances: int) -> Floats:
    """Words of all instances together, at least, where those of each may be rounded."""
    return nearest(words) if instances == 1 else np.asarray(np.maximum(words - instances, 0.0))


def nearest(words: Floats) -> Floats:
    """The nearest whole numbers, but for halves and what is too close to these to tell: the next
    lower ones.
    """
    return np.asarray(np.floor(words * (1 - NOISE) + 0.5))

"""How quick an inner mapping is where bandwidth limits a level.

A level whose instances move so many words in the whole run, all together, needs these words by its
bandwidth and its instances in use, in cycles. Compute units need operations by units in use. Loops
further out multiply both numbers of instances alike, so that the slowest level is known at once, as
operations a cycle: the *pace*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from solver_mapper.solve.outward.costs import NOISE, Costs, rounds_alone
from solver_mapper.solve.outward.inner import Floats, InnerMappings


def slowed(costs: Costs, rows: InnerMappings, level: int, held: Sequence[int]) -> Floats:
    """The pace of inner mappings at most, if `level` comes to hold the tensors `held`.

    What tensors that stay open move is known at the outermost level only; it is each word once at
    least. Of what is sent of tensors over which windows slide, loops to come may spare a part.
    """
    windows = {each.number: each for each in costs.sliding}
    reads, writes = np.zeros(len(rows)), np.zeros(len(rows))
    instances = costs.room(level)
    for n in held:
        tensor = costs.tensors[n]
        if tensor.ranks:
            due = rows.due[:, n]
            if level:
                sparing = windows[n].most_sparing(rows, tensor.words)
                due = due - windows[n].sparing_words(rows, sparing)
            reads += rounded(np.maximum(due, tensor.words), instances)
            continue
        once = np.full(len(rows), float(tensor.words))
        once = once if tensor.exact else rounded(once, instances)
        late = rows.anew[:, n] + rows.sends[:, n] * costs.base(n, rows.tile)
        once = np.maximum(once, rows.anew[:, n])
        sent = rows.due[:, n] if tensor.exact else rounded(rows.due[:, n], instances)
        sent = np.where(rows.open[:, n], once if level else rounded(late, instances), sent)
        if not tensor.written:
            reads += sent
            writes += once if level else 0.0
            continue
        writes += sent
        if tensor.exact:
            # Each instance reads none of its words the first time.
            new = tensor.words * np.minimum(instances, rounds_alone(costs, n, rows.tile))
            reads += np.maximum(sent - new, 0.0)
    pace = rows.pace
    for cycles in cycles_of(costs, level, reads, writes):
        pace = np.minimum(pace, costs.operations / np.maximum(cycles, 1.0))
    return pace


def fewest_cycles(costs: Costs) -> float:
    """What the bandwidth of the outermost level leaves at least: it sends each word of what is read
    once, and gets each word that is written.
    """
    reads = sum(tensor.words for tensor in costs.tensors if not tensor.written)
    writes = sum(tensor.words for tensor in costs.tensors if tensor.written)
    return max(map(float, cycles_of(costs, 0, np.array(reads), np.array(writes))), default=0.0)


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

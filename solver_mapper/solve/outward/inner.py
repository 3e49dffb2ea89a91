"""Many inner mappings at once: what the innermost levels do, and what that costs so far.

An inner mapping has loops and stores from some level inwards. What it will cost further out
depends on little: its tile, the instances in use, and for each tensor who waits for it. So two
inner mappings can be compared, and the worse one dropped (`dominance.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

DOUBTFUL = 1 << 62
"""A bit of doubts."""
DENSE = 8
"""How many times as many kinds as rows there may be that are looked up rather than sorted."""


class Outside(NamedTuple):
    """What is still to come: the `holders` outermost levels may hold tensors, and the `meshes`
    outermost ones may have spatial loops; the innermost of these not over the first `spread`
    dimensions of `Costs.order`.
    """

    holders: int
    meshes: int
    spread: int = 0


@dataclass(frozen=True)
class InnerMappings:
    """One row each; arrays are (rows,), or (rows, dimensions), (rows, tensors), or for tensors with
    sliding windows (rows, windowed) and (rows, windowed, depth + 1), as said.

    A tensor is *open* as long as no loop outside its outermost holder so far makes that holder
    fetch anew, so that idle loops may still follow for free. Otherwise it is closed: how many words
    the holder gets is known. One with sliding windows always counts as closed (`sliding.py`).

    tile: (rows, dimensions), the product of all loop bounds so far.
    open: (rows, tensors).
    due: (rows, tensors). Of an open tensor the energy in pJ that the holders so far will spend for
         each word sent to them; of a closed one the words that the next holder has to send.
    sends: (rows, tensors). Of an open tensor the words that the next holder has to send for each
         word of the tile; not 1 where a rank has a stride.
    anew: (rows, tensors). Of an open tensor the words that the next holder has to send to compute
          units although the tile stays: what no unit beside them has.
    refund: (rows, tensors), in pJ a word: partial sums are not read again the first time.
    pace: operations a cycle that all instances in use do at most (`bandwidth.py`).
    moved: (rows, tensors, slow, 3), of each level with a bandwidth that holds a tensor: the words
           that one instance sends inwards (of partial sums, gets from there) and is filled with, as
           far as these are known; and the words that may be taken off (`bandwidth.py`).
    pending: (rows, tensors, slow, 2). Of an open tensor, the first two for each word that its
             outermost holder so far gets, of all its instances.
    shared: (rows, tensors, clustered, 4), of each level with clusters that holds a tensor, in pJ:
            what it pays of `energy`, at least and at most, of `due`, and of `refund`
            (`clusters.py`). `used`: (rows, clustered), instances of such levels in use so far.
    energy: in pJ, what is settled. `charged`: what words cost that neighbours pass on, if no more
            instances than so far have some between their elements.
    states: (rows, windowed), the numbers of their `TileState`.
    fetched, sent: (rows, windowed, depth + 1), for each chain by the level of its holder: the words
         of a tile, and those that the next holder sends of it, in one round of all loops so far.
    copies, parents: the same, instances in use so far: of the holder, and of the level outside it.
    lost: in pJ, what rounding may save.
    doubts: of what the cost model may count more than `energy` says: one bit for each holder whose
            neighbours pass words on, which it rounds, and DOUBTFUL for all else.
    network: (rows, windowed, depth + 1), in pJ: what networks between a chain's holder and the next
             one charge on average for a word that the latter sends; as far as is known, if there is
             none yet.
    passed, hops: (rows, tensors, depth), if networks charge for anything: words that enter the
                  networks below each level where the next one inwards does not hold the tensor, and
                  for each word that this would take, the hops for which nothing is charged yet.
    linked: (rows, tensors, 2), if networks charge for anything: of an open tensor that compute
            units pass on, what networks charge for that in pJ if the units' tile stays for good,
            and how much less they do for each word that its outermost holder so far gets.
    supplied: what the next level inwards holds, one bit for each tensor.
    arranged: the number of the loops of the mesh that is being filled (`spreads.py`): that of the
              compute units, or one where networks charge. Both are 0 elsewhere.
    looped: (rows, 2), of the level that is being filled: the dimensions of windows with temporal
            loops of which more may come, one bit each, and the last loop's dimension if it is one
            of these, or else -1.
    meshes: (rows, 2), what is in use along X and Y of the mesh that is being filled.
    here: (rows, dimensions), bounds of the temporal loops of the level that is being filled;
          `products`: (rows, limits), of what limits speak of; `laid`: the number of the loops of
          the mesh that is being filled (`constraints.py`). Nothing, or 0, without constraints.
    even: of the ways in which dimensions may trade places, one bit for each that has made no
          difference to the tiles so far (`twins.py`).
    floor: the best bound so far of the energy in pJ, apart from that of operations and leakage,
           over the history of the row. `least`: the same of the goal's rank.
    parent, move: the row of the history that this one comes from, and by which move; -1 for none.
    """

    tile: Ints
    open: Flags
    due: Floats
    sends: Floats
    anew: Floats
    refund: Floats
    pace: Floats
    moved: Floats
    pending: Floats
    shared: Floats
    used: Floats
    energy: Floats
    charged: Floats
    states: Ints
    fetched: Floats
    sent: Floats
    copies: Floats
    parents: Floats
    lost: Floats
    doubts: Ints
    network: Floats
    passed: Floats
    hops: Floats
    linked: Floats
    supplied: Ints
    arranged: Ints
    looped: Ints
    meshes: Ints
    here: Ints
    products: Ints
    laid: Ints
    even: Ints
    floor: Floats
    least: Floats
    parent: Ints
    move: Ints

    def __len__(self) -> int:
        return len(self.energy)

    def columns(self) -> tuple[NDArray[np.generic], ...]:
        """All arrays, in the order of the fields."""
        return (
            *(self.tile, self.open, self.due, self.sends, self.anew, self.refund),
            *(self.pace, self.moved, self.pending, self.shared, self.used),
            *(self.energy, self.charged),
            *(self.states, self.fetched, self.sent),
            *(self.copies, self.parents, self.lost, self.doubts),
            *(self.network, self.passed, self.hops, self.linked, self.supplied, self.arranged),
            *(self.looped, self.meshes, self.here, self.products, self.laid),
            *(self.even, self.floor, self.least, self.parent, self.move),
        )

    def take(self, rows: Ints | Flags | slice) -> InnerMappings:
        """Some of the rows; copies, unless a slice is asked for."""
        if isinstance(rows, slice):
            return InnerMappings(*(each[rows] for each in self.columns()))  # type: ignore[arg-type]
        places = np.arange(len(self))[rows]
        columns = (each.take(places, axis=0) for each in self.columns())
        return InnerMappings(*columns)  # type: ignore[arg-type]


def joined(parts: Sequence[InnerMappings]) -> InnerMappings:
    """All rows of one or more parts."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.columns() for part in parts), strict=True)
    return InnerMappings(*(np.concatenate(each) for each in columns))


def alike(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """One row of each kind, where rows agree in all columns of numbers from 0 on; and of which kind
    each row is.
    """
    key = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column in columns:
        radix = int(column.max(initial=0)) + 1
        if size * radix >= 2**62:
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            size = int(key.max(initial=0)) + 1
        key, size = key * radix + column, size * radix
    if size > DENSE * len(key):
        _, first, where = np.unique(key, return_index=True, return_inverse=True)
        return first, where.reshape(-1)
    first = np.full(size, -1)
    first[key[::-1]] = np.arange(len(key))[::-1]
    found = first >= 0
    return first[found], (np.cumsum(found) - 1)[key]

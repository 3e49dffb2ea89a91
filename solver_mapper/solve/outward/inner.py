"""Many inner mappings at once: what the innermost levels do, and what that costs so far.

An inner mapping has loops and stores from some level inwards. What it will cost further out
depends on little: its tile, the instances in use, and for each tensor who waits for it. So two
inner mappings can be compared, and the worse one dropped (`dominance.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class InnerMappings:
    """One row each. A tensor is *open* where no loop outside its outermost holder so far makes that
    holder fetch anew: idle loops that follow are still free. Otherwise its traffic is known.

    tile: extents of all loops so far, for each dimension.
    open: for each tensor, whether it is open.
    due: for each tensor: if open, the energy in pJ that each word will cost that the holders so far
         are sent; if not, the words that the next holder will have to send.
    sends: for each open tensor, the words that the next holder will have to send for each word
         of the tile of all loops so far; not 1 where a rank has a stride.
    refund: for each tensor, the energy in pJ of each of its words that partial sums are not read
         again the first time.
    used: instances in use.
    energy: in pJ, what is settled.
    meshes: what is in use along X and Y of the mesh that is being filled.
    parent, move: the row of the history that this one comes from, and by which move.
    """

    tile: Ints
    open: Flags
    due: Floats
    sends: Floats
    refund: Floats
    used: Ints
    energy: Floats
    meshes: Ints
    parent: Ints
    move: Ints

    def __len__(self) -> int:
        return len(self.energy)

    def columns(self) -> tuple[NDArray[np.generic], ...]:
        """All arrays, in the order of the fields."""
        return (
            *(self.tile, self.open, self.due, self.sends, self.refund),
            *(self.used, self.energy, self.meshes, self.parent, self.move),
        )

    def take(self, rows: NDArray[np.generic] | slice) -> InnerMappings:
        """Some of the rows; copies, unless a slice is asked for."""
        return InnerMappings(*(each[rows] for each in self.columns()))  # type: ignore[arg-type]


def joined(parts: Sequence[InnerMappings]) -> InnerMappings:
    """All rows of one or more parts."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.columns() for part in parts), strict=True)
    return InnerMappings(*(np.concatenate(each) for each in columns))

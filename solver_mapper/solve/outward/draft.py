"""Inner mappings while a move changes them, column by column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from solver_mapper.solve.outward.inner import DOUBTFUL, Flags, InnerMappings

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Draft(InnerMappings):
    """New rows whose arrays are changed in place. An array is a copy of its own from its first use
    here on; all others stay those of `rows`, from which figures before the change are read.
    """

    rows: InnerMappings

    def __init__(self, rows: InnerMappings):
        self.rows = rows

    if not TYPE_CHECKING:  # Names and types of arrays are those of the base class.

        def __getattr__(self, name: str) -> NDArray[np.generic]:
            copy = self.__dict__[name] = getattr(self.rows, name).copy()
            return copy

    def finished(self) -> InnerMappings:
        """The new rows."""
        changed = dict(vars(self))
        rows: InnerMappings = changed.pop("rows")
        return replace(rows, **changed)

    def doubt(self, which: Flags) -> None:
        """The cost model may count more than is known of some rows."""
        self.doubts[:] |= np.where(which, DOUBTFUL, 0)

"""The elements of a mesh whose loops are all perfect, and which of them have neighbours that could
pass words on (docs/explanation/model.md "Links"): the same as `links`, for one shift at a time,
since there may be tens of thousands of elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import sub

from solver_mapper.cost.timeloop.projection import Projection
from solver_mapper.cost.timeloop.spatial_elements import Elements, Grid, lay_out
from solver_mapper.cost.timeloop.tiles import PlacedLoop


@dataclass(frozen=True)
class EvenMesh:
    """Elements that stand row by row on a grid `width` wide."""

    elements: Elements
    width: int

    def served(self, shift: int) -> list[int]:
        """The elements that have a neighbour whose data is displaced from theirs by a shift, given
        by its code.
        """
        found = set[int]()
        for step, displaced in self._neighbours:
            for code, first in ((shift, 0), (-shift, step)):
                if code in displaced:
                    found.update(i for i, each in enumerate(displaced, first) if each == code)
        return sorted(found)

    @cached_property
    def _neighbours(self) -> list[tuple[int, list[int | None]]]:
        """How many places on neighbours stand along X and along Y, and by how much the data of the
        next one there is displaced from that of each element; None where there is no next one.
        """
        offsets = self.elements.offsets
        in_row: list[int | None] = list(map(sub, offsets[1:], offsets))
        for end in range(self.width - 1, len(in_row), self.width):
            in_row[end] = None
        return [(1, in_row), (self.width, list(map(sub, offsets[self.width :], offsets)))]


@lru_cache(maxsize=64)
def even_mesh(loops: tuple[PlacedLoop, ...], projection: Projection, grid: Grid) -> EvenMesh:
    """The elements of spatial loops, outer loop first, and the data of one tensor."""
    return EvenMesh(lay_out(loops, projection.codes), grid.width)

"""Which mappings of one Einsum a bound is about, and in which units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solver_mapper.bounds.bound import Counting
from solver_mapper.bounds.dataflow import restriction
from solver_mapper.bounds.search import Restriction
from solver_mapper.core.problem import Problem


@dataclass(frozen=True)
class BoundOptions:
    """What `bound` may be asked besides the problem: see there."""

    word_bits: Mapping[str, int] | None = None
    stationary: str | None = None
    order: Sequence[str] | None = None
    tiles: Mapping[str, int] | None = None
    constrained: bool = False
    regular_shifts: bool = False
    bypass: bool = False

    @property
    def counting(self) -> Counting:
        """How words are counted."""
        return Counting(self.regular_shifts, self.bypass)

    def dataflow(self, problem: Problem) -> Restriction:
        """The mappings of the dataflow asked for. Raises: InputError for names or sizes that do not
        fit the problem.
        """
        return restriction(problem, self.stationary, self.order, self.tiles)

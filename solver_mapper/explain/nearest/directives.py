"""A mapping as it was given, level by level of the architecture, with one loop for a dimension in
each nest.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, replace

from solver_mapper.core.architecture import Architecture
from solver_mapper.core.constraints import Kind
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.problem import Problem

KINDS: tuple[Kind, Kind] = ("temporal", "spatial")
Nest = dict[str, Loop]
"""The loops of one level and kind by dimension, innermost first. Loops of bound 1 stand where their
writer put them.
"""


@dataclass(frozen=True)
class MappingDirectives:
    """`nests[level, kind]` and `levels[level]` for each level of the architecture, by number."""

    levels: tuple[LevelMapping, ...]
    nests: Table[tuple[int, Kind], Nest]

    def loop(self, level: int, kind: Kind, dim: str) -> Loop:
        """The loop over a dimension; one of bound 1 where none is written."""
        return self.nests[level, kind].get(dim, Loop(dim, 1, 1))


def directives_of(
    mapping: Mapping, architecture: Architecture, problem: Problem
) -> MappingDirectives:
    """What `mapping` says about the levels, dimensions and tensors that there are. A level that it
    does not mention holds every tensor.
    """
    known = {level.level: level for level in mapping.levels}
    everything = frozenset(problem.tensor_names)
    levels = tuple(
        (
            replace(level, keep=level.keep & everything)
            if level is not None
            else LevelMapping(name, keep=everything)
        )
        for name, level in ((name, known.get(name)) for name in architecture.level_names)
    )
    nests = {
        (index, kind): _nest(level, kind, problem)
        for index, level in enumerate(levels)
        for kind in KINDS
    }
    return MappingDirectives(levels, nests)


def _nest(level: LevelMapping, kind: Kind, problem: Problem) -> Nest:
    """Several loops over one dimension count as one, at the position of the innermost."""
    nest: dict[str, Loop] = {}
    for each in reversed(level.temporal if kind == "temporal" else level.spatial):
        inner = nest.get(each.dim)
        if each.dim in problem.bounds and inner is None:
            nest[each.dim] = each
        elif inner is not None:
            nest[each.dim] = Loop(
                each.dim,
                each.bound * inner.bound,
                (each.last - 1) * inner.bound + inner.last,
                inner.axis,
            )
    return nest

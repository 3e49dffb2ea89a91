"""One of each pair of mappings that are alike but for dimensions that trade places.

Say rows and columns of a square convolution may trade places. Then each mapping has a twin of the
same cost, which has passed each step of a walk with the twin of its tile. Of the two a walk follows
the one whose tile has more iterations along the first dimension in which their tiles differ, at the
first step at which they do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver_mapper.mapspace.space import build_space
from solver_mapper.mapspace.symmetry import symmetries
from solver_mapper.solve.outward.inner import Flags, InnerMappings, Ints
from solver_mapper.verify.mapspace import EnumeratedMapspace


def trades(mapspace: EnumeratedMapspace, but: frozenset[int]) -> Ints:
    """Ways in which dimensions may trade places, but for some: (ways, dimensions), the one that
    each gives its place to.
    """
    space = build_space(mapspace.architecture, mapspace.problem, mapspace.constraints)
    dims, found = list(mapspace.problem.dims), []
    for pairs in symmetries(space):
        places = np.arange(len(dims))
        for pair in pairs:
            one, other = map(dims.index, pair)
            places[[one, other]] = other, one
        if all(places[dim] == dim for dim in but):
            found.append(places)
    return np.array(found, dtype=np.int64).reshape(-1, len(dims))


def without_twins(rows: InnerMappings, ways: Ints) -> InnerMappings:
    """The rows that a walk follows: without those of which it follows the twin. Sound at steps at
    which no mesh is partly filled: there dimensions come in an order, which twins do not share.
    """
    keep, even = np.ones(len(rows), dtype=bool), rows.even
    for number, places in enumerate(ways):
        less = rows.tile - rows.tile[:, places]
        first = less[np.arange(len(rows)), (less != 0).argmax(axis=1)]
        keep &= (first >= 0) | (even >> number & 1 == 0)
        even = np.where(first == 0, even, even & ~(1 << number))
    return replace(rows, even=even).take(keep)


def as_free(rows: InnerMappings, one: Ints, other: Ints) -> Flags:
    """Whether whatever may follow `other` may follow `one`, though of twins one is left out."""
    return np.asarray(rows.even[one] & ~rows.even[other] == 0)

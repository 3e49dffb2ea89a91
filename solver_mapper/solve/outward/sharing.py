"""How many instances further out can share the words of tensors, of all of them together and of
each for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import product
from math import inf, prod
from operator import mul

import numpy as np

from solver_mapper.deadline import check_time
from solver_mapper.solve.outward.costs import IDLE, Costs
from solver_mapper.solve.outward.inner import Floats, Ints, Outside, alike
from solver_mapper.solve.outward.packing import (
    Group,
    Mesh,
    most_side_by_side,
)

Share = tuple[int, ...]
"""How many instances share the words of each tensor."""


class Shares:
    """How many instances further out can share the words of all tensors, at most."""

    def __init__(self, costs: Costs):
        self._costs = costs
        self._known: dict[tuple[int, Outside], list[Share]] = {}
        self._every = cache(self._side_by_side)

    def most(self, outside: Outside, left: int) -> list[Share]:
        """Shares if `left` are left of the innermost mesh to come; those that others reach in every
        tensor are left out.
        """
        outside = outside._replace(holders=0)
        if (left, outside) not in self._known:
            room = left * self._costs.beyond(outside)
            some = [each for each, used in self._every(outside) if used <= room]
            # Where constraints leave no loops that fit, nothing is shared.
            self._known[left, outside] = largest(some) or [(1,) * len(self._costs.tensors)]
        return self._known[left, outside]

    def _side_by_side(self, outside: Outside) -> list[tuple[Share, int]]:
        """What loops share that use no more instances than there are, if nothing is in use of the
        innermost mesh to come; and how many instances that takes at least.
        """
        none = np.ones((1, 2), dtype=np.int64)
        room = int(self._costs.left(outside, none)[0]) * self._costs.beyond(outside)
        shares = {(1,) * len(self._costs.tensors): 1}
        for dims in self._together:
            check_time()
            grown: dict[Share, int] = {}
            for bounds in self._bounds(dims, outside, room):
                more = [tensor.shared(bounds) for tensor in self._costs.tensors]
                for each, before in shares.items():
                    used = before * prod(bounds.values())
                    if used <= room:
                        share = tuple(map(mul, each, more))
                        grown[share] = min(used, grown.get(share, used))
            shares = grown
        return list(shares.items())

    @cached_property
    def _together(self) -> list[tuple[int, ...]]:
        """Dimensions by whether windows slide along them together."""
        groups = [{dim} for dim in range(len(self._costs.sizes))]
        for rank in (rank for tensor in self._costs.tensors for rank in tensor.ranks):
            joint = [each for each in groups if each & set(rank.dims)]
            groups = [each for each in groups if each not in joint] + [set().union(*joint)]
        return [tuple(sorted(each)) for each in groups]

    def _bounds(
        self, dims: tuple[int, ...], outside: Outside, room: int
    ) -> Iterator[dict[int, int]]:
        """Spatial loops over these dimensions that have room; those that are spread have no more
        over the innermost mesh to come.
        """
        beyond, spread = self._costs.beyond(outside), set(self._costs.order[: outside.spread])
        options = [
            [
                bound
                for bound in self._costs.loops.spread_over(dim, outside)
                if bound <= (beyond if dim in spread else room)
            ]
            for dim in dims
        ]
        for bounds in product(*options):
            if prod(bounds) <= room:
                yield dict(zip(dims, bounds, strict=True))


def largest(shares: Iterable[Share]) -> list[Share]:
    """Those that no other one reaches everywhere."""
    kept: list[Share] = []
    rest = np.array(sorted(set(shares), reverse=True))
    while len(rest):
        kept.append(tuple(rest[0].tolist()))
        rest = rest[(rest > rest[0]).any(axis=1)]
    return kept


def most_shared(
    costs: Costs,
    number: int,
    tile: Ints,
    outside: Outside,
    meshes: Ints | None = None,
    begun: Ints | None = None,
) -> Floats:
    """How many instances further out can share a tensor's words that each level outside sends
    (holders, rows): over idle loops, and over those of a window that bring different iterations to
    the same words and are on the same mesh. The outermost level may send to all.

    meshes: what is in use of the innermost mesh still to come, if that is not none of it.
    begun: the tiles without the loops of the mesh that is being filled, if these may share words
           with others to come.
    """
    tensor, rest = costs.tensors[number], costs.sizes // tile
    used = np.ones((len(tile), 2), dtype=np.int64) if meshes is None else meshes
    idle = [dim for dim in costs.order if tensor.kind(dim) == IDLE]
    dims = [*((dim,) for dim in idle), *(rank.dims for rank in tensor.ranks)]
    spread = {*costs.order[: outside.spread]}
    done = [not spread.isdisjoint(each) for each in dims]
    columns = [*costs.sides_left(outside, used).T, *rest[:, idle].T]
    for rank in tensor.ranks:
        most = rank.most_shared(tile, tile if begun is None else begun).astype(np.int64)
        # Of windows that share nothing it does not matter what is left.
        columns += [most, *(rest[:, rank.dims] ** (most > 1)[:, None]).T]
    kinds, where = alike(columns)
    further = tuple(costs.sides[: max(outside.meshes - 1, 0)])
    about = len(idle), tuple(done), further, max(outside.holders, 1)
    rows = map(tuple, np.column_stack(columns)[kinds].tolist())
    found = np.array([_by_level(row, *about) for row in rows], dtype=float)
    return found.T.take(where, axis=1)


@lru_cache(maxsize=1_000_000)
def _by_level(
    row: tuple[int, ...],
    idle: int,
    done: tuple[bool, ...],
    further: tuple[Mesh, ...],
    holders: int,
) -> list[int]:
    """What instances can share of what each level sends, at most. `row`: what is left of the
    innermost mesh along X and Y; the rounds of each of so many `idle` dimensions; and for each
    window how many may share, and the rounds of its dimensions.
    """
    x, y, *left = row
    groups = [Group((rounds,), inf) for rounds in left[:idle]]
    windows = zip(*[iter(left[idle:])] * 3, strict=True)
    groups += [Group((one, other), most) for most, one, other in windows]
    now, later = (
        tuple(each for each, over in zip(groups, done, strict=True) if over is which)
        for which in (False, True)
    )
    found: list[int] = []
    for level in range(holders):
        # Levels without a mesh between them send to as many.
        if level and max(further[level - 1 : level], default=(1, 1)) == (1, 1):
            found.append(found[-1])
        else:
            found.append(most_side_by_side(now, later, ((x, y), *reversed(further[level:]))))
    return found

"""How many instances further out can share the words of tensors, of all of them together and of
each for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from math import inf, prod
from operator import mul

import numpy as np

from solver_mapper.core.primes import divisors
from solver_mapper.solve.outward.costs import IDLE, Costs
from solver_mapper.solve.outward.inner import Floats, Ints, Outside, alike
from solver_mapper.solve.outward.packing import (
    Group,
    Mesh,
    few,
    laid,
    most_side_by_side,
)

Share = tuple[int, ...]
"""How many instances share the words of each tensor."""


class Shares:
    """How many instances further out can share the words of all tensors, at most."""

    def __init__(self, costs: Costs):
        self._costs = costs
        self._known: dict[tuple[int, Outside], list[Share]] = {}
        self._rest: dict[tuple[int, Outside, tuple[Mesh, ...]], list[Share]] = {}
        groups = [{dim} for dim in range(len(costs.sizes))]
        for rank in (rank for tensor in costs.tensors for rank in tensor.ranks):
            joint = [each for each in groups if each & set(rank.dims)]
            groups = [each for each in groups if each not in joint] + [set().union(*joint)]
        self._groups = [tuple(sorted(each)) for each in groups]
        """Dimensions by whether windows slide along them together."""

    def most(self, outside: Outside, left: int) -> list[Share]:
        """Shares if `left` are left of the innermost mesh to come; those that others reach in every
        tensor are left out.
        """
        outside = outside._replace(holders=0)
        if (left, outside) not in self._known:
            sides = self._costs.sides[: outside.meshes]
            mesh = sides.pop() if sides else (1, 1)
            # Along which axis the mesh is used already is not known.
            meshes = few([mesh if left == prod(mesh) else (left, 1), *reversed(sides)])
            # Where constraints leave no loops that fit, nothing is shared.
            nothing = [(1,) * len(self._costs.tensors)]
            self._known[left, outside] = self._of(0, outside, meshes) or nothing
        return self._known[left, outside]

    def _of(self, first: int, outside: Outside, meshes: tuple[Mesh, ...]) -> list[Share]:
        """Over the groups from the `first` one on."""
        if first == len(self._groups):
            return [(1,) * len(self._costs.tensors)]
        key = first, outside, meshes
        if key not in self._rest:
            self._rest[key] = largest(
                tuple(map(mul, mine, theirs))
                for left, some in self._ways(self._groups[first], outside, meshes).items()
                for theirs in self._of(first + 1, outside, left)
                for mine in some
            )
        return self._rest[key]

    def _ways(
        self, dims: tuple[int, ...], outside: Outside, meshes: tuple[Mesh, ...]
    ) -> dict[tuple[Mesh, ...], list[Share]]:
        """What loops over some dimensions share, by what they leave of the meshes."""
        spread = self._costs.order[: outside.spread]
        allowed = [set(self._costs.loops.spread_over(dim, outside)) for dim in dims]
        here = tuple(dim for dim in dims if dim not in spread)
        along = [
            self._along(dims, here, meshes[0]),
            *(self._along(dims, dims, n) for n in meshes[1:]),
        ]
        found: dict[tuple[Mesh, ...], set[Share]] = defaultdict(set)
        for chosen in product(*along):
            totals = map(prod, zip(*(bounds for bounds, _, _ in chosen), strict=True))
            if all(total in each for total, each in zip(totals, allowed, strict=True)):
                share = tuple(map(prod, zip(*(share for _, share, _ in chosen), strict=True)))
                for left in product(*(lefts for _, _, lefts in chosen)):
                    found[left].add(share)
        return {left: largest(some) for left, some in found.items()}

    def _along(
        self, dims: tuple[int, ...], free: tuple[int, ...], mesh: Mesh
    ) -> list[tuple[tuple[int, ...], Share, set[Mesh]]]:
        """All loops over dimensions along one mesh, of one iteration if these are not `free`; what
        they share, and what they may leave of the mesh.
        """
        sizes = [int(self._costs.sizes[dim]) if dim in free else 1 for dim in dims]
        found = []
        for bounds in product(*map(divisors, sizes)):
            lefts = laid(bounds, mesh) if prod(bounds) <= prod(mesh) else set()
            if lefts:
                named = dict(zip(dims, bounds, strict=True))
                share = tuple(tensor.shared(named) for tensor in self._costs.tensors)
                found.append((bounds, share, lefts))
        return found


def largest(shares: Iterable[Share]) -> list[Share]:
    """Those that no other one reaches everywhere."""
    kept: list[Share] = []
    for most in sorted(set(shares), reverse=True):
        if not any(all(map(int.__ge__, other, most)) for other in kept):
            kept.append(most)
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
    return np.array([_by_level(row, *about) for row in rows], dtype=float).T[:, where]


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

"""The loops of a mesh that is being filled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations, product
from math import factorial, prod
from typing import NamedTuple

from solver_mapper.solve.numbering import Numbering
from solver_mapper.solve.outward.layouts import APART, IDLE, MOST_ORDERS, OTHER, Grid, Placed
from solver_mapper.solve.outward.mesh_sharing import least_sharing


class Spread(NamedTuple):
    """A spatial loop: `axis` is 0 along X, 1 along Y. Along each axis of the mesh of compute units
    the first one that is spread is the innermost.
    """

    dim: int
    bound: int
    axis: int


Spreads = Numbering[tuple[Spread, ...]]
"""The loops of meshes, inner to outer; number 0 has none."""


def orders(mesh: tuple[Spread, ...], *, first_known: bool) -> Iterator[tuple[Spread, ...]]:
    """The loops outer to inner, those along Y first, in all orders along each axis; in one alone if
    there are too many.
    """
    fixed, free = [], []
    for axis in (1, 0):
        mine = [loop for loop in mesh if loop.axis == axis]
        known = mine[:1] if first_known else []
        fixed.append(known)
        free.append(mine[len(known) :])
    if prod(factorial(len(each)) for each in free) > MOST_ORDERS:
        yield tuple(loop for axis in (1, 0) for loop in reversed(mesh) if loop.axis == axis)
        return
    for y, x in product(*map(permutations, free)):
        yield (*y, *fixed[0], *x, *fixed[1])


@lru_cache(maxsize=100_000)
def may_pass(mesh: tuple[Spread, ...], fixed: frozenset[int], sides: tuple[int, int]) -> bool:
    """Whether compute units may pass words of a tensor on, whatever loops still come outside those
    that stand; those along X come first.

    Words of two units differ if these are at different places along a dimension that is `fixed`.
    Units stand beside each other in rows of the mesh, which is X by Y `sides` large and filled row
    by row. So along a row the innermost loop of all is at another place in each unit; and in the
    unit one row on, if its bound does not divide the width of the mesh. If the loops along X fill a
    row, what changes from row to row is the innermost loop along Y.
    """
    along = [[loop for loop in mesh if loop.axis == axis] for axis in (0, 1)]
    innermost = next((mine[0] for mine in along if mine), None)
    if innermost is None or innermost.dim not in fixed:
        return True
    (width, height), (x, y) = sides, along
    if width % innermost.bound:
        return False
    if not y:
        return True
    used = prod(loop.bound for loop in x)
    return y[0].dim not in fixed if used == width else used * height > width


def asked_anew(
    mesh: tuple[Spread, ...], fixed: Iterable[int], width: int, *, multicast: bool = True
) -> tuple[float, float, bool]:
    """Of a tensor without windows, the share (0 to 1) of its different words that compute units ask
    the level above for in each step, although the words stay: those that no unit beside them has;
    and the share of the units that have one beside them. The least over all orders of the loops,
    and whether all orders agree. Without `multicast`, each unit's words are different ones.

    Args:
        mesh: all spatial loops above the compute units.
        fixed: the tensor's dimensions.
        width: of the mesh, in units.
    """
    fixed, first = set(fixed), [True, True]
    placed = []
    for loop in mesh:
        side = APART if loop.dim in fixed else IDLE
        placed.append(Placed(OTHER, side, 1, loop.bound, loop.axis, int(first[loop.axis])))
        first[loop.axis] = False
    x, y = (prod(loop.bound for loop in mesh if loop.axis == axis) for axis in (0, 1))
    grid = Grid((x, y), width)
    if not multicast and not grid.few:
        return 0.0, 0.0, False
    sharing = least_sharing(tuple(placed), 1, grid, multicast=multicast)
    served = min((link.fewest for link in sharing.links), default=0.0)
    return min((link.rest for link in sharing.links), default=1.0), served, sharing.certain

"""How many iterations loops side by side can have at most, if each dimension lies along one axis of
a mesh; and which loops can lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import inf, prod
from typing import NamedTuple

from solver_mapper.core.primes import divisors

Mesh = tuple[int, int]
"""The elements along X and Y that are left."""

EXACT = 1
"""How many meshes with axes there are outside the first one."""
MOST_MESHES = 2
"""On more meshes than that loops may lie as if these were one row."""


class Group(NamedTuple):
    """One dimension of which so many `rounds` are left, or the two of a window: of the loops over
    these on each mesh the shorter one counts, and no more than `most` in all.
    """

    rounds: tuple[int, ...]
    most: float = inf

    @property
    def counts(self) -> bool:
        """Whether loops over it can have more than one iteration."""
        return min(self.rounds) > 1 and self.most > 1


Groups = tuple[Group, ...]


def most_side_by_side(groups: Groups, done: Groups, meshes: tuple[Mesh, ...]) -> int:
    """How many iterations, multiplied, loops over all groups can have on the meshes. Those over
    groups that are `done` have no more of the first mesh.
    """
    first, *others = meshes or ((1, 1),)
    rest = [each for each in others if max(each) > 1]
    # Of many meshes nothing but the nearest ones are told apart.
    together = [(prod(x * y for x, y in rest[EXACT:]), 1)] if len(rest) > EXACT else []
    alike = (tuple(sorted(each for each in which if each.counts)) for which in (groups, done))
    return int(_most(*alike, _turned(first), tuple(map(_turned, [*rest[:EXACT], *together]))))


def _turned(mesh: Mesh) -> Mesh:
    """The mesh with its longer side first: sides are alike."""
    return max(mesh), min(mesh)


@lru_cache(maxsize=1_000_000)
def _most(groups: Groups, done: Groups, first: Mesh, others: tuple[Mesh, ...]) -> float:
    if groups:
        now, *later = groups
        rest: tuple[Groups, Groups] = tuple(later), done
        ways = _ways(now.rounds, (first, *others))
    elif done:
        now, *later = done
        rest = (), tuple(later)
        ways = tuple((count, (first, *left)) for count, left in _ways(now.rounds, others))
    else:
        return 1
    return max(min(count, now.most) * _most(*rest, left[0], left[1:]) for count, left in ways)


@lru_cache(maxsize=1_000_000)
def _ways(
    rounds: tuple[int, ...], meshes: tuple[Mesh, ...]
) -> tuple[tuple[int, tuple[Mesh, ...]], ...]:
    """How often loops over one group may count at most, by what is left of the meshes."""
    if not meshes:
        return ((1, ()),)
    first, *others = meshes
    most: dict[tuple[Mesh, ...], int] = {}
    for bounds in _bounds(rounds):
        left_over = tuple(each // bound for each, bound in zip(rounds, bounds, strict=True))
        for left in _laid(bounds, first):
            for count, further in _ways(left_over, tuple(others)):
                rest = (left, *further)
                most[rest] = max(most.get(rest, 0), min(bounds) * count)
    return tuple((count, left) for left, count in most.items())


def _bounds(rounds: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The loops that a group may have on one mesh: each of more than one iteration, or none."""
    first, *others = rounds
    yield (1,) * len(rounds)
    for bound in divisors(first)[1:]:
        if not others:
            yield (bound,)
            continue
        for its_bounds in _bounds(tuple(others)):
            if min(its_bounds) > 1:
                yield bound, *its_bounds


def _laid(bounds: tuple[int, ...], mesh: Mesh) -> set[Mesh]:
    """What is left of a mesh, for all ways to lay loops of these bounds along its axes."""
    found = {mesh}
    for bound in bounds:
        if bound > 1:
            ways = (left for x, y in found for left in ((x // bound, y), (x, y // bound)))
            found = {_turned(left) for left in ways if min(left)}
    return found


def may_lie(bounds: Iterable[int], meshes: Iterable[Mesh]) -> bool:
    """Whether loops of these bounds, each over another dimension, can lie side by side: any factors
    of each bound along one axis of any meshes.
    """
    used = [_turned(mesh) for mesh in meshes if max(mesh) > 1]
    if len(used) > MOST_MESHES:
        used = [(prod(x * y for x, y in used), 1)]
    return _may_lie(tuple(sorted(bound for bound in bounds if bound > 1)), tuple(sorted(used)))


@lru_cache(maxsize=1_000_000)
def _may_lie(bounds: tuple[int, ...], meshes: tuple[Mesh, ...]) -> bool:
    if not bounds:
        return True
    if prod(bounds) > prod(x * y for x, y in meshes):
        return False
    *others, largest = bounds
    return any(_may_lie(tuple(others), left) for left in _left_over(largest, meshes))


def _left_over(bound: int, meshes: tuple[Mesh, ...]) -> set[tuple[Mesh, ...]]:
    """What is left of meshes, for all ways to lay a loop along one axis of each."""
    if not meshes:
        return {()} if bound == 1 else set()
    first, *others = meshes
    return {
        tuple(sorted((left, *further)))
        for factor in divisors(bound)
        for left in _laid((factor,), first)
        for further in _left_over(bound // factor, tuple(others))
    }

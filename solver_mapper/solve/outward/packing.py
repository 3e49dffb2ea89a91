"""How many iterations loops side by side can have at most, if each dimension lies along one axis of
a mesh.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from math import prod

from solver_mapper.core import primes

Mesh = tuple[int, int]
"""The elements along X and Y that are left."""

EXACT = 1
"""How many meshes with axes there are outside the first one."""


@lru_cache(maxsize=500_000)
def most_side_by_side(
    rounds: tuple[int, ...], done: tuple[int, ...], meshes: tuple[Mesh, ...]
) -> int:
    """How many elements of all meshes loops over dimensions can use, of which so many rounds are
    left each. Those over dimensions that are `done` have no more of the first mesh.
    """
    first, *others = meshes or ((1, 1),)
    rest = [each for each in others if max(each) > 1]
    # Of many meshes nothing but the nearest ones are told apart.
    together = [(prod(x * y for x, y in rest[EXACT:]), 1)] if len(rest) > EXACT else []
    alike = (tuple(sorted(each for each in which if each > 1)) for which in (rounds, done))
    return _most(*alike, _turned(first), tuple(map(_turned, [*rest[:EXACT], *together])))


def _turned(mesh: Mesh) -> Mesh:
    """The mesh with its longer side first: sides are alike."""
    return max(mesh), min(mesh)


@cache
def divisors(number: int) -> tuple[int, ...]:
    """See `primes.divisors`."""
    return primes.divisors(number)


@lru_cache(maxsize=500_000)
def _most(
    rounds: tuple[int, ...], done: tuple[int, ...], first: Mesh, others: tuple[Mesh, ...]
) -> int:
    if rounds:
        now, *later = rounds
        ways = _ways(now, (first, *others))
    elif done:
        now, *later = done
        ways = ((used, (first, *left)) for used, left in _ways(now, others))
    else:
        return 1
    rest = (tuple(later), done) if rounds else ((), tuple(later))
    return max(
        used * _most(*rest, _turned(left[0]), tuple(_turned(each) for each in left[1:]))
        for used, left in ways
    )


def _ways(rounds: int, meshes: tuple[Mesh, ...]) -> Iterator[tuple[int, tuple[Mesh, ...]]]:
    """How many iterations loops over one dimension may have, and what is left of the meshes."""
    if not meshes:
        yield 1, ()
        return
    (x, y), *others = meshes
    for bound in divisors(rounds):
        for left in {(x // bound, y), (x, y // bound)} if bound > 1 else {(x, y)}:
            if min(left):
                for used, further in _ways(rounds // bound, tuple(others)):
                    yield bound * used, (left, *further)

"""Whole numbers as exponents of primes: the logarithms in which every product of loop bounds is
linear.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod


@lru_cache(maxsize=4096)
def factorize(number: int) -> tuple[tuple[int, int], ...]:
    """Prime factorization of `number >= 1` as (prime, multiplicity), ascending."""
    found: list[tuple[int, int]] = []
    prime, rest = 2, number
    while prime * prime <= rest:
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        if count:
            found.append((prime, count))
        prime += 1 if prime == 2 else 2
    if rest > 1:
        found.append((rest, 1))
    return tuple(found)


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """All divisors of `number`, ascending."""
    found = [1]
    for prime, count in factorize(number):
        found = [value * prime**power for value in found for power in range(count + 1)]
    return tuple(sorted(found))


def with_more_divisors(number: int, share: float, times: int = 1) -> int:
    """The number with the most divisors from `number` up to as much more as `share` says, the least
    of them; `number` itself unless that one has more than `times` as many.
    """
    found = max(range(number, number + int(number * share) + 1), key=_divisors)
    return found if _divisors(found) > times * _divisors(number) else number


def _divisors(number: int) -> int:
    return prod(count + 1 for _, count in factorize(number))


def exponents_of(number: int, primes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Exponents of `number` over `primes`, or None if it has another prime factor."""
    powers = []
    for prime in primes:
        count = 0
        while number % prime == 0:
            number //= prime
            count += 1
        powers.append(count)
    return tuple(powers) if number == 1 else None


def grid(limits: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All exponent vectors with entry i in 0..limits[i]."""
    return list(product(*(range(limit + 1) for limit in limits)))

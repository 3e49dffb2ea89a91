"""Arithmetic of cut-offs: what a limit on a goal leaves to one of its metrics."""

from __future__ import annotations

from fractions import Fraction

from solver_mapper.solve.cpsat.linear_form import LinearForm, highest


def most_energy(rank: Fraction, scale: Fraction, cycles: int, a: int, b: int, slack: int) -> int:
    """The most scaled energy whose a-th power times `cycles` to the b-th stays below `rank` (at
    most `rank` without `slack`).
    """
    value = rank * scale**a / Fraction(cycles) ** b
    most = root(value, a)
    return most - slack if most**a == value else most


def is_whole(amount: LinearForm) -> bool:
    """Whether the amount's coefficients are whole numbers at its scale."""
    scale = amount.scale()
    return all((w * scale).denominator == 1 for _, w in amount.terms)


def middle(amount: LinearForm) -> Fraction:
    """Some value of the right size, to weigh metrics against each other before there is an
    incumbent.
    """
    high = amount.constant + sum((abs(w) * highest(v) for v, w in amount.terms), Fraction(0))
    return max(Fraction(1), high / 16)


def root(value: Fraction, power: int) -> int:
    """The largest whole number whose `power`-th power is at most `value`."""
    low, high = 0, 1
    while Fraction(high) ** power <= value:
        high *= 2
    while low + 1 < high:
        middle = (low + high) // 2
        if Fraction(middle) ** power <= value:
            low = middle
        else:
            high = middle
    return low
